package io.github.corank;

import io.github.corank.v1.ExpandIntervalsRequest;
import java.util.List;
import java.util.Objects;

/**
 * Repeats value i counts[i] times. The result is an array of the type of the values, as long as the
 * sum of counts.
 */
public final class Expand extends Operator<Elements> {
  private final Input values;
  private final Input counts;

  private Expand(Input values, Input counts) {
    this.values = Objects.requireNonNull(values, "values");
    this.counts = Objects.requireNonNull(counts, "counts");
  }

  /**
   * Repeats values.
   *
   * @param values of any type, records included
   * @param counts one for each value, 0 or more
   */
  public static Expand of(Input values, long... counts) {
    return new Expand(values, Elements.of(counts));
  }

  /** As {@link #of(Input, long...)}, with INT64 counts that may be on the server. */
  public static Expand of(Input values, Input counts) {
    return new Expand(values, counts);
  }

  @Override
  Task task() {
    Task task = new Task(Method.EXPAND);
    ExpandIntervalsRequest.Builder request = task.operation.getExpandIntervalsBuilder();
    task.input("values", values, request.getValuesBuilder());
    task.integers("counts", counts, request.getCountsBuilder());
    boolean isKnown = values.count() >= 0 && counts.count() >= 0;
    if (isKnown && values.count() != counts.count()) {
      throw new CorankException.InvalidArgument(
          "counts: " + counts.count() + " for " + values.count() + " values; each value needs one",
          "counts");
    }
    task.output(
        "values",
        request.getDestinationBuilder(),
        values,
        Counts.total(counts),
        found -> found.getExpandIntervals().getValues());
    return task;
  }

  @Override
  Elements result(List<Elements> outputs) {
    return outputs.get(0);
  }
}
