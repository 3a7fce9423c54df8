package io.github.corank;

import io.github.corank.v1.SortOrder;
import io.github.corank.v1.SortOutput;
import io.github.corank.v1.SortRequest;
import java.util.List;
import java.util.Objects;

/**
 * Sorts keys, alone or with values, whole or by segments. Stable in both directions; NaNs come
 * after all numbers.
 */
public final class Sort extends Operator<SortResult> {
  private final Input keys;
  private Input values;
  private Input segments;
  private Long limit;
  private long offset;
  private SortOrder order = SortOrder.SORT_ORDER_ASCENDING;
  private SortAlgorithm algorithm = SortAlgorithm.AUTO;
  private SortOutput output = SortOutput.SORT_OUTPUT_KEYS;

  private Sort(Input keys) {
    this.keys = Objects.requireNonNull(keys, "keys");
  }

  /** Sorts keys of any type but records. */
  public static Sort of(Input keys) {
    return new Sort(keys);
  }

  /**
   * Moves one value with each key, of any type, records included. Not with {@link #indices} or
   * {@link #withIndices}.
   */
  public Sort values(Input values) {
    this.values = Objects.requireNonNull(values, "values");
    return this;
  }

  /** Puts the greatest key first, and NaNs before it; equal keys keep the order of their input. */
  public Sort descending() {
    order = SortOrder.SORT_ORDER_DESCENDING;
    return this;
  }

  /**
   * Returns the permutation that sorts the keys, instead of the keys. With segments, positions
   * count from the start.
   */
  public Sort indices() {
    output = SortOutput.SORT_OUTPUT_INDICES;
    return this;
  }

  /** Returns the sorted keys and the permutation that sorts them. */
  public Sort withIndices() {
    output = SortOutput.SORT_OUTPUT_KEYS_AND_INDICES;
    return this;
  }

  /**
   * Sorts each segment by itself: segment i is from offsets[i] to offsets[i + 1]; offsets rise from
   * 0 to the count.
   */
  public Sort segments(long... offsets) {
    return segments(Elements.of(offsets));
  }

  /** As {@link #segments(long...)}, with INT64 offsets that may be on the server. */
  public Sort segments(Input offsets) {
    segments = Objects.requireNonNull(offsets, "offsets");
    return this;
  }

  /**
   * Returns only the first elements in sorted order; with segments, the first of each segment, one
   * segment after the other: {@link #limitedSegments}.
   */
  public Sort limit(long limit) {
    this.limit = limit;
    return this;
  }

  /**
   * Leaves out the first elements of the order, before {@link #limit} counts. Not with segments.
   */
  public Sort offset(long offset) {
    this.offset = offset;
    return this;
  }

  /**
   * Finds the segments of the result of a sort with these segments and this limit: the results of
   * segment i are from result[i] to result[i + 1].
   */
  public static long[] limitedSegments(long[] offsets, long limit) {
    long[] limited = new long[Math.max(1, offsets.length)];
    for (int at = 1; at < offsets.length; ++at) {
      limited[at] = limited[at - 1] + Math.max(0, Math.min(offsets[at] - offsets[at - 1], limit));
    }
    return limited;
  }

  /** Chooses how the server sorts; the result is the same. */
  public Sort algorithm(SortAlgorithm algorithm) {
    this.algorithm = Objects.requireNonNull(algorithm, "algorithm");
    return this;
  }

  @Override
  Task task() {
    Task task = new Task(Method.SORT);
    SortRequest.Builder request = task.operation.getSortBuilder();
    request.setOrder(order).setAlgorithm(algorithm.wire()).setOutput(output);
    if (limit != null) {
      request.setLimit(limit);
    }
    if (offset != 0) {
      request.setOffset(offset);
    }
    FirstRows rows = FirstRows.of(keys.count(), offset, limit, segments);
    task.pieces("keys", keys, request.getKeysBuilder());
    if (values != null) {
      task.pieces("values", values, request.getValuesBuilder());
    }
    if (segments != null) {
      task.integers("segment_offsets", segments, request.getSegmentOffsetsBuilder());
    }
    if (output != SortOutput.SORT_OUTPUT_INDICES) {
      task.outputInPieces(
          "keys",
          request.getKeysDestinationBuilder(),
          keys,
          rows,
          found -> found.getSort().getKeys());
    }
    if (values != null) {
      task.outputInPieces(
          "values",
          request.getValuesDestinationBuilder(),
          values,
          rows,
          found -> found.getSort().getValues());
    }
    if (output != SortOutput.SORT_OUTPUT_KEYS) {
      task.positions(
          "indices",
          request.getIndicesDestinationBuilder(),
          keys.count() - 1,
          rows,
          found -> found.getSort().getIndices());
    }
    return task;
  }

  @Override
  SortResult result(List<Elements> outputs) {
    int at = 0;
    Elements sorted = output == SortOutput.SORT_OUTPUT_INDICES ? null : outputs.get(at++);
    Elements moved = values == null ? null : outputs.get(at++);
    return new SortResult(
        sorted, moved, output == SortOutput.SORT_OUTPUT_KEYS ? null : outputs.get(at));
  }
}
