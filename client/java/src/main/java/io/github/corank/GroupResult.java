package io.github.corank;

/**
 * The results of {@link Group}: an element for each group. What was not asked for, and what stayed
 * on the server, is null.
 *
 * @param keys the first key of each group
 * @param counts how many keys each group has; INT64
 * @param firsts the position of each group's first key; UINT32, or UINT64 above 2^32 keys
 * @param sums of the values; INT64, UINT64 or FLOAT64, as they are signed, unsigned or floats
 * @param minima the least value of each group
 * @param maxima the greatest value of each group
 * @param valueCounts how many values of each group are not null; INT64. Where it is 0, the sum is 0
 *     and the minimum and maximum mean nothing
 */
public record GroupResult(
    Elements keys,
    Elements counts,
    Elements firsts,
    Elements sums,
    Elements minima,
    Elements maxima,
    Elements valueCounts) {}
