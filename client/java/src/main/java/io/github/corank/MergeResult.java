package io.github.corank;

/**
 * The results of {@link Merge}. What was not asked for, and what stayed on the server, is null.
 *
 * @param keys all keys in order
 * @param values the values in the order of their keys
 */
public record MergeResult(Elements keys, Elements values) {}
