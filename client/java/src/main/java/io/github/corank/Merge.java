package io.github.corank;

import io.github.corank.v1.MergeRequest;
import io.github.corank.v1.SortOrder;
import java.util.List;
import java.util.Objects;

/** Merges sorted arrays into one. Stable: equal keys of an earlier array come first. */
public final class Merge extends Operator<MergeResult> {
  private final List<Input> keys;
  private List<Input> values = List.of();
  private SortOrder order = SortOrder.SORT_ORDER_ASCENDING;
  private MergeAlgorithm algorithm = MergeAlgorithm.AUTO;
  private boolean assumeSorted;

  private Merge(List<Input> keys) {
    this.keys = keys;
  }

  /** Merges 2 to 1024 arrays of one type, each sorted. */
  public static Merge of(Input... keys) {
    return of(List.of(keys));
  }

  /** Merges 2 to 1024 arrays of one type, each sorted. */
  public static Merge of(List<? extends Input> keys) {
    if (keys.isEmpty()) {
      throw new CorankException.InvalidArgument("keys: needs 2 arrays or more to merge", "keys");
    }
    return new Merge(List.copyOf(keys));
  }

  /**
   * Moves values with the keys: one array for each array of keys, as long as it, all of one type.
   */
  public Merge values(Input... values) {
    return values(List.of(values));
  }

  /**
   * Moves values with the keys: one array for each array of keys, as long as it, all of one type.
   */
  public Merge values(List<? extends Input> values) {
    this.values = List.copyOf(values);
    return this;
  }

  /** Says that the inputs are sorted, and the result is wanted, greatest first. */
  public Merge descending() {
    order = SortOrder.SORT_ORDER_DESCENDING;
    return this;
  }

  /** Chooses how the server merges; the result is the same. */
  public Merge algorithm(MergeAlgorithm algorithm) {
    this.algorithm = Objects.requireNonNull(algorithm, "algorithm");
    return this;
  }

  /**
   * Skips the check that the inputs are sorted. If they are not, the order of the result is
   * unspecified.
   */
  public Merge assumeSorted() {
    assumeSorted = true;
    return this;
  }

  @Override
  Task task() {
    Task task = new Task(Method.MERGE);
    MergeRequest.Builder request = task.operation.getMergeBuilder();
    request.setOrder(order).setAlgorithm(algorithm.wire()).setAssumeSorted(assumeSorted);
    if (!values.isEmpty() && values.size() != keys.size()) {
      throw new CorankException.InvalidArgument(
          "values: "
              + values.size()
              + " arrays for the "
              + keys.size()
              + " of keys; each needs its own",
          "values");
    }
    keys.forEach(each -> task.pieces("keys", each, request.addKeysBuilder()));
    values.forEach(each -> task.pieces("values", each, request.addValuesBuilder()));
    boolean isKnown = keys.stream().allMatch(each -> each.count() >= 0);
    long count = isKnown ? keys.stream().mapToLong(Input::count).sum() : -1;
    task.outputInPieces(
        "keys",
        request.getKeysDestinationBuilder(),
        keys.get(0),
        count,
        found -> found.getMerge().getKeys());
    if (!values.isEmpty()) {
      task.outputInPieces(
          "values",
          request.getValuesDestinationBuilder(),
          values.get(0),
          count,
          found -> found.getMerge().getValues());
    }
    return task;
  }

  @Override
  MergeResult result(List<Elements> outputs) {
    return new MergeResult(outputs.get(0), values.isEmpty() ? null : outputs.get(1));
  }
}
