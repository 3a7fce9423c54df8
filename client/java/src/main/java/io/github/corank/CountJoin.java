package io.github.corank;

import java.util.List;
import java.util.Objects;

/**
 * Counts the rows that {@link Join} would return. The result is null where the number stayed on the
 * server, as one INT64.
 */
public final class CountJoin extends Operator<Long> {
  private final JoinKind kind;
  private final Input left;
  private final Input right;
  private boolean rightSorted;

  private CountJoin(JoinKind kind, Input left, Input right) {
    this.kind = Objects.requireNonNull(kind, "kind");
    this.left = Objects.requireNonNull(left, "left");
    this.right = Objects.requireNonNull(right, "right");
  }

  /** Counts the rows for two arrays of one type. */
  public static CountJoin of(JoinKind kind, Input left, Input right) {
    return new CountJoin(kind, left, right);
  }

  /**
   * Says that the keys of the right side ascend, which saves the server their sort; it checks that.
   */
  public CountJoin rightSorted() {
    rightSorted = true;
    return this;
  }

  @Override
  Task task() {
    Task task = new Task(Method.JOIN);
    var request = Join.add(task, kind, rightSorted, left, right).setCountOnly(true);
    task.number("count", request.getCountDestinationBuilder(), found -> found.getJoin().getCount());
    return task;
  }

  @Override
  Long result(List<Elements> outputs) {
    return outputs.get(0) == null ? null : outputs.get(0).longArray()[0];
  }
}
