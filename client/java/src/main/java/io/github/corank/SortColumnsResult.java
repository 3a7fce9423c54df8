package io.github.corank;

import java.util.List;

/**
 * The results of {@link SortColumns}. What was not asked for, and what stayed on the server, is
 * null.
 *
 * @param columns the sorted columns; empty if only indices or ranks were asked for
 * @param values the values in the order of their rows
 * @param indices the row numbers in order
 * @param ranks the rank of each row of the request
 */
public record SortColumnsResult(
    List<SortedColumn> columns, Elements values, Elements indices, Elements ranks) {}
