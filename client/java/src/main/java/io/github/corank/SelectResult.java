package io.github.corank;

/**
 * The results of {@link Select} and {@link Remove}, in the order of the elements. What was not
 * asked for, and what stayed on the server, is null.
 *
 * @param elements the selected elements
 * @param values their values
 * @param indices their positions; UINT32, or UINT64 above 2^32 elements
 */
public record SelectResult(Elements elements, Elements values, Elements indices) {}
