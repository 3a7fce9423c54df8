package io.github.corank;

import io.github.corank.v1.GatherIntervalsRequest;
import java.util.List;
import java.util.Objects;

/**
 * Copies intervals of a source, one after the other, into a dense result of the type of the source,
 * as long as the sum of counts.
 */
public final class Gather extends Operator<Elements> {
  private final Input source;
  private final Input sourceOffsets;
  private final Input counts;

  private Gather(Input source, Input sourceOffsets, Input counts) {
    this.source = Objects.requireNonNull(source, "source");
    this.sourceOffsets = Objects.requireNonNull(sourceOffsets, "sourceOffsets");
    this.counts = Objects.requireNonNull(counts, "counts");
  }

  /**
   * Gathers intervals.
   *
   * @param source of any type, records included
   * @param sourceOffsets where each interval begins; intervals may overlap
   * @param counts elements of each interval, 0 or more
   */
  public static Gather of(Input source, long[] sourceOffsets, long[] counts) {
    return new Gather(source, Elements.of(sourceOffsets), Elements.of(counts));
  }

  /** As {@link #of(Input, long[], long[])}, with INT64 arrays that may be on the server. */
  public static Gather of(Input source, Input sourceOffsets, Input counts) {
    return new Gather(source, sourceOffsets, counts);
  }

  @Override
  Task task() {
    Task task = new Task(Method.GATHER);
    GatherIntervalsRequest.Builder request = task.operation.getGatherIntervalsBuilder();
    task.input("source", source, request.getSourceBuilder());
    task.integers("source_offsets", sourceOffsets, request.getSourceOffsetsBuilder());
    task.integers("counts", counts, request.getCountsBuilder());
    Counts.checkReach(source, counts);
    task.output(
        "result",
        request.getDestinationBuilder(),
        source,
        Counts.total(counts),
        found -> found.getGatherIntervals().getResult());
    return task;
  }

  @Override
  Elements result(List<Elements> outputs) {
    return outputs.get(0);
  }
}
