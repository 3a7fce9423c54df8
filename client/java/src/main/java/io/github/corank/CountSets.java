package io.github.corank;

import io.github.corank.v1.CombineSetsRequest;
import io.github.corank.v1.SortOrder;
import java.util.List;
import java.util.Objects;

/**
 * Counts the keys that {@link CombineSets} would return. The result is null where the number stayed
 * on the server, as one INT64.
 */
public final class CountSets extends Operator<Long> {
  private final SetOperation operation;
  private final Input left;
  private final Input right;
  private SortOrder order = SortOrder.SORT_ORDER_ASCENDING;

  private CountSets(SetOperation operation, Input left, Input right) {
    this.operation = Objects.requireNonNull(operation, "operation");
    this.left = Objects.requireNonNull(left, "left");
    this.right = Objects.requireNonNull(right, "right");
  }

  /** Counts the result for arrays of one type, each sorted, which the server checks. */
  public static CountSets of(SetOperation operation, Input left, Input right) {
    return new CountSets(operation, left, right);
  }

  /** Says that both sides are sorted greatest first. */
  public CountSets descending() {
    order = SortOrder.SORT_ORDER_DESCENDING;
    return this;
  }

  @Override
  Task task() {
    Task task = new Task(Method.COMBINE_SETS);
    CombineSetsRequest.Builder request = CombineSets.add(task, operation, order, left, right);
    request.setCountOnly(true);
    task.number(
        "count", request.getCountDestinationBuilder(), found -> found.getCombineSets().getCount());
    return task;
  }

  @Override
  Long result(List<Elements> outputs) {
    return outputs.get(0) == null ? null : outputs.get(0).longArray()[0];
  }
}
