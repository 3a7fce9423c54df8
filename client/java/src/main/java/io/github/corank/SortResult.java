package io.github.corank;

/**
 * The results of {@link Sort}. What was not asked for, and what stayed on the server, is null.
 *
 * @param keys the sorted keys
 * @param values the values in the order of their keys
 * @param indices the permutation, so that keys[indices[i]] is the i-th sorted key; UINT32, or
 *     UINT64 above 2^32 keys
 */
public record SortResult(Elements keys, Elements values, Elements indices) {}
