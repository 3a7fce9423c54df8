package io.github.corank;

/**
 * The results of {@link Partition}. What was not asked for, and what stayed on the server, is null.
 *
 * @param elements the selected elements in their order, then the others in theirs
 * @param values their values
 * @param selected the number of selected elements
 */
public record PartitionResult(Elements elements, Elements values, Long selected) {}
