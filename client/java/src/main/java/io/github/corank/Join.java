package io.github.corank;

import io.github.corank.v1.JoinRequest;
import java.util.List;
import java.util.Objects;

/**
 * Finds the rows of two arrays, in any order, that have equal keys. All NaNs are one key, and so
 * are both zeros. The result has the rows of the left in their order, each with its partners in
 * their order on the right; then, for {@link JoinKind#RIGHT} and {@link JoinKind#FULL}, the rows of
 * the right without a partner. The server sorts the right side alone. {@link CountJoin} returns
 * only the number of rows.
 *
 * <p>Without {@link #maxRows}, the server makes room for the rows of both sides together. If the
 * join has more, the client calls a second time with their number; a {@link Chain} fails instead.
 */
public final class Join extends Operator<JoinResult> {
  private final JoinKind kind;
  private final Input left;
  private final Input right;
  private boolean rightSorted;
  private Long maxRows;

  private Join(JoinKind kind, Input left, Input right) {
    this.kind = Objects.requireNonNull(kind, "kind");
    this.left = Objects.requireNonNull(left, "left");
    this.right = Objects.requireNonNull(right, "right");
  }

  /** Joins two arrays of one type. */
  public static Join of(JoinKind kind, Input left, Input right) {
    return new Join(kind, left, right);
  }

  /**
   * Says that the keys of the right side ascend, which saves the server their sort; it checks that.
   */
  public Join rightSorted() {
    rightSorted = true;
    return this;
  }

  /**
   * Sets the most rows that the result may have. A join with more fails with the reason {@code
   * TOO_MANY_ROWS}, and {@link CorankException#rows} tells their number.
   */
  public Join maxRows(long maxRows) {
    this.maxRows = maxRows;
    return this;
  }

  /** Both sides of a request. */
  static JoinRequest.Builder add(
      Task task, JoinKind kind, boolean rightSorted, Input left, Input right) {
    JoinRequest.Builder request = task.operation.getJoinBuilder();
    request.setKind(kind.wire()).setRightSorted(rightSorted);
    task.input("left", left, request.getLeftBuilder());
    task.input("right", right, request.getRightBuilder());
    return request;
  }

  @Override
  Task task() {
    Task task = new Task(Method.JOIN);
    JoinRequest.Builder request = add(task, kind, rightSorted, left, right);
    if (maxRows != null) {
      request.setMaxRows(maxRows);
    }
    long most = kind.most(left.count(), right.count(), maxRows);
    boolean isNarrow = Math.max(left.count(), right.count()) <= Integer.MAX_VALUE;
    ElementType type = isNarrow ? ElementType.INT32 : ElementType.INT64;
    task.outputUpTo(
        "left_rows",
        request.getLeftRowsDestinationBuilder(),
        type,
        most,
        found -> found.getJoin().getLeftRows());
    if (!kind.isLeftOnly()) {
      task.outputUpTo(
          "right_rows",
          request.getRightRowsDestinationBuilder(),
          type,
          most,
          found -> found.getJoin().getRightRows());
    }
    return task;
  }

  @Override
  JoinResult result(List<Elements> outputs) {
    return new JoinResult(outputs.get(0), kind.isLeftOnly() ? null : outputs.get(1));
  }

  @Override
  Join again(CorankException error) {
    if (maxRows != null || error.rows().isEmpty()) {
      return null;
    }
    Join made = of(kind, left, right).maxRows(error.rows().getAsLong());
    return rightSorted ? made.rightSorted() : made;
  }
}
