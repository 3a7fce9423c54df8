package io.github.corank;

import java.util.List;

/**
 * An operator with its arguments, made by the static methods of its class: {@code
 * Sort.of(keys).descending()}. {@link Client#run} runs it, as often as wanted. Setters change the
 * operator and return it. Not thread-safe while it is being set up.
 *
 * @param <R> the type of its results
 */
public abstract sealed class Operator<R>
    permits Sort,
        SortColumns,
        Merge,
        Search,
        SearchColumns,
        Expand,
        Move,
        Gather,
        Scatter,
        LoadBalance,
        Group,
        CombineSets,
        CountSets,
        Join,
        CountJoin,
        Selecting,
        Remove,
        Insert,
        Rank {
  Operator() {}

  /**
   * Makes the request.
   *
   * @throws CorankException.InvalidArgument an argument does not fit the others
   */
  abstract Task task();

  /**
   * The results out of the arrays of all outputs, in their order; null where an output stayed on
   * the server.
   */
  abstract R result(List<Elements> outputs);

  /** The operator of the call that follows one which failed so; null: none does. */
  Operator<R> again(CorankException error) {
    return null;
  }
}
