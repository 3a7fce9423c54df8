package io.github.corank;

import io.github.corank.v1.MoveIntervalsRequest;
import java.util.List;
import java.util.Objects;

/**
 * Copies many intervals: for each i, counts[i] elements from source[sourceOffsets[i]] on to
 * destination[destinationOffsets[i]] on. The result is the destination after all copies, in the
 * type of the source.
 */
public final class Move extends Operator<Elements> {
  private final Input source;
  private final Input sourceOffsets;
  private final Input destinationOffsets;
  private final Input counts;
  private Input destination;
  private long destinationCount;
  private boolean allowOverlap;

  private Move(Input source, Input sourceOffsets, Input destinationOffsets, Input counts) {
    this.source = Objects.requireNonNull(source, "source");
    this.sourceOffsets = Objects.requireNonNull(sourceOffsets, "sourceOffsets");
    this.destinationOffsets = Objects.requireNonNull(destinationOffsets, "destinationOffsets");
    this.counts = Objects.requireNonNull(counts, "counts");
  }

  /**
   * Moves intervals. Say with {@link #into(long)} or {@link #into(Input)} what lies between them.
   *
   * @param source of any type, records included
   * @param sourceOffsets where each interval begins in the source; intervals may overlap there
   * @param destinationOffsets where each interval goes; intervals must not overlap there
   * @param counts elements of each interval, 0 or more
   */
  public static Move of(
      Input source, long[] sourceOffsets, long[] destinationOffsets, long[] counts) {
    return new Move(
        source, Elements.of(sourceOffsets), Elements.of(destinationOffsets), Elements.of(counts));
  }

  /** As {@link #of(Input, long[], long[], long[])}, with INT64 arrays that may be on the server. */
  public static Move of(Input source, Input sourceOffsets, Input destinationOffsets, Input counts) {
    return new Move(source, sourceOffsets, destinationOffsets, counts);
  }

  /** Makes a new destination of so many elements, all bytes zero. Default: of none. */
  public Move into(long destinationCount) {
    this.destinationCount = destinationCount;
    destination = null;
    return this;
  }

  /**
   * Starts with a copy of this destination, which has the type of the source and does not change.
   */
  public Move into(Input destination) {
    this.destination = Objects.requireNonNull(destination, "destination");
    return this;
  }

  /**
   * Skips the check that destination intervals are apart. Where they overlap, any of the copies may
   * win.
   */
  public Move allowOverlap() {
    allowOverlap = true;
    return this;
  }

  @Override
  Task task() {
    Task task = new Task(Method.MOVE);
    MoveIntervalsRequest.Builder request =
        task.operation.getMoveIntervalsBuilder().setAllowOverlap(allowOverlap);
    task.input("source", source, request.getSourceBuilder());
    task.integers("source_offsets", sourceOffsets, request.getSourceOffsetsBuilder());
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
        found -> found.getMoveIntervals().getResult());
    return task;
  }

  @Override
  Elements result(List<Elements> outputs) {
    return outputs.get(0);
  }
}
