package io.github.corank;

/**
 * The results of {@link LoadBalance}, of one type: UINT32, or UINT64 above 2^32 objects or items.
 * What stayed on the server is null.
 *
 * @param objects for each item the index of its object
 * @param ranks for each item its rank within its object, from 0
 */
public record LoadBalanceResult(Elements objects, Elements ranks) {}
