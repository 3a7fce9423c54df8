package io.github.corank;

import java.util.List;

/**
 * The results of {@link SortColumns}. What was not asked for, and what stayed on the server, is
 * null.
 *
 * @param columns the sorted columns; empty if only indices were asked for
 * @param values the values in the order of their rows
 * @param indices the row numbers in order
 */
public record SortColumnsResult(List<SortedColumn> columns, Elements values, Elements indices) {}
