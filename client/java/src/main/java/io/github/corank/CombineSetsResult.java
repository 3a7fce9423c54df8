package io.github.corank;

/**
 * The results of {@link CombineSets}. What was not asked for, and what stayed on the server, is
 * null.
 *
 * @param keys the keys of the result, sorted, with the bits of the elements that they are
 * @param values their values
 */
public record CombineSetsResult(Elements keys, Elements values) {}
