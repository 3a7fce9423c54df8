package io.github.corank;

import io.github.corank.v1.CombineSetsRequest;
import io.github.corank.v1.SortOrder;
import java.util.List;
import java.util.Objects;

/**
 * Combines two sorted arrays as multisets into a sorted array. All NaNs are one key, and so are
 * both zeros. {@link CountSets} returns only the number of keys.
 */
public final class CombineSets extends Operator<CombineSetsResult> {
  private final SetOperation operation;
  private final Input left;
  private final Input right;
  private Input leftValues;
  private Input rightValues;
  private SortOrder order = SortOrder.SORT_ORDER_ASCENDING;

  private CombineSets(SetOperation operation, Input left, Input right) {
    this.operation = Objects.requireNonNull(operation, "operation");
    this.left = Objects.requireNonNull(left, "left");
    this.right = Objects.requireNonNull(right, "right");
  }

  /** Combines arrays of one type, each sorted, which the server checks. */
  public static CombineSets of(SetOperation operation, Input left, Input right) {
    return new CombineSets(operation, left, right);
  }

  /**
   * Moves values with the keys of both sides: as many as there are keys, all of one type. Only for
   * a union and a symmetric difference.
   */
  public CombineSets values(Input left, Input right) {
    leftValues = Objects.requireNonNull(left, "left_values");
    rightValues = Objects.requireNonNull(right, "right_values");
    return this;
  }

  /**
   * Moves values with the keys of the left side, as many as there are keys. Only for an
   * intersection and a difference, whose results are all from the left.
   */
  public CombineSets values(Input left) {
    leftValues = Objects.requireNonNull(left, "left_values");
    rightValues = null;
    return this;
  }

  /** Says that both sides are sorted, and the result is wanted, greatest first. */
  public CombineSets descending() {
    order = SortOrder.SORT_ORDER_DESCENDING;
    return this;
  }

  /** Both sides of a request. */
  static CombineSetsRequest.Builder add(
      Task task, SetOperation operation, SortOrder order, Input left, Input right) {
    CombineSetsRequest.Builder request = task.operation.getCombineSetsBuilder();
    request.setOperation(operation.wire()).setOrder(order);
    task.input("left", left, request.getLeftBuilder());
    task.input("right", right, request.getRightBuilder());
    return request;
  }

  @Override
  Task task() {
    Task task = new Task(Method.COMBINE_SETS);
    CombineSetsRequest.Builder request = add(task, operation, order, left, right);
    long most = operation.most(left.count(), right.count());
    task.outputUpTo(
        "keys",
        request.getKeysDestinationBuilder(),
        left,
        most,
        found -> found.getCombineSets().getKeys());
    if (leftValues == null) {
      return task;
    }
    task.input("left_values", leftValues, request.getLeftValuesBuilder());
    if (rightValues != null) {
      task.input("right_values", rightValues, request.getRightValuesBuilder());
    }
    task.outputUpTo(
        "values",
        request.getValuesDestinationBuilder(),
        leftValues,
        most,
        found -> found.getCombineSets().getValues());
    return task;
  }

  @Override
  CombineSetsResult result(List<Elements> outputs) {
    return new CombineSetsResult(outputs.get(0), leftValues == null ? null : outputs.get(1));
  }
}
