/**
 * The client of corank, a service that sorts, merges and moves arrays on a GPU. Start with {@link
 * Client}.
 */
package io.github.corank;
