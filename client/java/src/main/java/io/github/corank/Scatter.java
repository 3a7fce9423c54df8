package io.github.corank;

import io.github.corank.v1.ScatterIntervalsRequest;
import java.util.List;
import java.util.Objects;

/**
 * Copies a dense source to intervals of a destination: the first counts[0] elements to
 * destinationOffsets[0], and so on. The result is the destination after all copies, in the type of
 * the source.
 */
public final class Scatter extends Operator<Elements> {
  private final Input source;
  private final Input destinationOffsets;
  private final Input counts;
  private Input destination;
  private long destinationCount;
  private boolean allowOverlap;

  private Scatter(Input source, Input destinationOffsets, Input counts) {
    this.source = Objects.requireNonNull(source, "source");
    this.destinationOffsets = Objects.requireNonNull(destinationOffsets, "destinationOffsets");
    this.counts = Objects.requireNonNull(counts, "counts");
  }

  /**
   * Scatters intervals. Say with {@link #into(long)} or {@link #into(Input)} what lies between
   * them.
   *
   * @param source of any type, as long as the sum of counts
   * @param destinationOffsets where each interval goes; intervals must not overlap
   * @param counts elements of each interval, 0 or more
   */
  public static Scatter of(Input source, long[] destinationOffsets, long[] counts) {
    return new Scatter(source, Elements.of(destinationOffsets), Elements.of(counts));
  }

  /** As {@link #of(Input, long[], long[])}, with INT64 arrays that may be on the server. */
  public static Scatter of(Input source, Input destinationOffsets, Input counts) {
    return new Scatter(source, destinationOffsets, counts);
  }

  /** Makes a new destination of so many elements, all bytes zero. Default: of none. */
  public Scatter into(long destinationCount) {
    this.destinationCount = destinationCount;
    destination = null;
    return this;
  }

  /**
   * Starts with a copy of this destination, which has the type of the source and does not change.
   */
  public Scatter into(Input destination) {
    this.destination = Objects.requireNonNull(destination, "destination");
    return this;
  }

  /** Skips the check that intervals are apart. Where they overlap, any of the copies may win. */
  public Scatter allowOverlap() {
    allowOverlap = true;
    return this;
  }

  @Override
  Task task() {
    Task task = new Task(Method.SCATTER);
    ScatterIntervalsRequest.Builder request =
        task.operation.getScatterIntervalsBuilder().setAllowOverlap(allowOverlap);
    task.input("source", source, request.getSourceBuilder());
    task.integers(
        "destination_offsets", destinationOffsets, request.getDestinationOffsetsBuilder());
    task.integers("counts", counts, request.getCountsBuilder());
    if (destination == null) {
      request.setDestinationCount(destinationCount);
    } else {
      task.input("destination", destination, request.getDestinationBuilder());
    }
    task.output(
        "result",
        request.getResultDestinationBuilder(),
        source,
        destination == null ? destinationCount : destination.count(),
        found -> found.getScatterIntervals().getResult());
    return task;
  }

  @Override
  Elements result(List<Elements> outputs) {
    return outputs.get(0);
  }
}
