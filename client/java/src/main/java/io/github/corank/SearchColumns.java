package io.github.corank;

import io.github.corank.v1.SearchBound;
import io.github.corank.v1.SearchRequest;
import java.util.List;

/**
 * Finds where rows belong in a table that is sorted as by {@link SortColumns}. The result is one
 * position for each row of the needles, from 0 to the rows of the haystack: UINT32, or UINT64 for a
 * haystack of 2^32 rows or more.
 */
public final class SearchColumns extends Operator<Elements> {
  private final List<Column> haystack;
  private final List<Column> needles;
  private SearchBound bound = SearchBound.SEARCH_BOUND_LOWER;
  private boolean assumeSorted;

  private SearchColumns(List<Column> haystack, List<Column> needles) {
    this.haystack = haystack;
    this.needles = needles;
  }

  /**
   * Finds, for each row of the needles, the first row that does not come before it.
   *
   * @param haystack 1 to 32 columns of the same number of rows, sorted
   * @param needles as many columns, of the same types, with rows in any order; their order is that
   *     of the haystack, so leave it as it is or repeat it
   */
  public static SearchColumns of(List<Column> haystack, List<Column> needles) {
    for (String name : List.of("haystack", "needle")) {
      if ((name.equals("needle") ? needles : haystack).isEmpty()) {
        throw new CorankException.InvalidArgument(
            name + "_columns: at least one is needed", name + "_columns");
      }
    }
    return new SearchColumns(List.copyOf(haystack), List.copyOf(needles));
  }

  /** Finds the first row that comes after the needle instead. */
  public SearchColumns upperBound() {
    bound = SearchBound.SEARCH_BOUND_UPPER;
    return this;
  }

  /** Skips the check that the haystack is sorted. If it is not, positions are unspecified. */
  public SearchColumns assumeSorted() {
    assumeSorted = true;
    return this;
  }

  @Override
  Task task() {
    Task task = new Task(Method.SEARCH);
    SearchRequest.Builder request = task.operation.getSearchBuilder();
    request.setBound(bound).setAssumeSorted(assumeSorted);
    for (int at = 0; at < haystack.size(); ++at) {
      String path = "haystack_columns[" + at + "].";
      haystack.get(at).addTo(task, path, request.addHaystackColumnsBuilder());
    }
    for (int at = 0; at < needles.size(); ++at) {
      String path = "needle_columns[" + at + "].";
      needles.get(at).addTo(task, path, request.addNeedleColumnsBuilder());
    }
    task.positions(
        "positions",
        request.getDestinationBuilder(),
        haystack.get(0).rows(),
        needles.get(0).rows(),
        true,
        found -> found.getSearch().getPositions());
    return task;
  }

  @Override
  Elements result(List<Elements> outputs) {
    return outputs.get(0);
  }
}
