package io.github.corank;

import io.github.corank.v1.SearchBound;
import io.github.corank.v1.SearchRequest;
import io.github.corank.v1.SortOrder;
import java.util.List;
import java.util.Objects;

/**
 * Finds where needles belong in a sorted haystack. The result is one position for each needle, from
 * 0 to the length of the haystack: UINT32, or UINT64 for a haystack of 2^32 elements or more.
 */
public final class Search extends Operator<Elements> {
  private final Input haystack;
  private final Input needles;
  private SearchBound bound = SearchBound.SEARCH_BOUND_LOWER;
  private SortOrder order = SortOrder.SORT_ORDER_ASCENDING;
  private boolean assumeSorted;

  private Search(Input haystack, Input needles) {
    this.haystack = Objects.requireNonNull(haystack, "haystack");
    this.needles = Objects.requireNonNull(needles, "needles");
  }

  /**
   * Finds, for each needle, the first position whose key does not come before it.
   *
   * @param haystack sorted keys
   * @param needles keys of the same type, in any order
   */
  public static Search of(Input haystack, Input needles) {
    return new Search(haystack, needles);
  }

  /** Finds the first position whose key comes after the needle instead. */
  public Search upperBound() {
    bound = SearchBound.SEARCH_BOUND_UPPER;
    return this;
  }

  /** Says that the haystack is sorted greatest first. */
  public Search descending() {
    order = SortOrder.SORT_ORDER_DESCENDING;
    return this;
  }

  /** Skips the check that the haystack is sorted. If it is not, positions are unspecified. */
  public Search assumeSorted() {
    assumeSorted = true;
    return this;
  }

  @Override
  Task task() {
    Task task = new Task(Method.SEARCH);
    SearchRequest.Builder request = task.operation.getSearchBuilder();
    request.setBound(bound).setOrder(order).setAssumeSorted(assumeSorted);
    task.input("haystack", haystack, request.getHaystackBuilder());
    task.input("needles", needles, request.getNeedlesBuilder());
    task.positions(
        "positions",
        request.getDestinationBuilder(),
        haystack.count(),
        needles.count(),
        false,
        found -> found.getSearch().getPositions());
    return task;
  }

  @Override
  Elements result(List<Elements> outputs) {
    return outputs.get(0);
  }
}
