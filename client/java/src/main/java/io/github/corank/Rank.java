package io.github.corank;

import io.github.corank.v1.RankRequest;
import io.github.corank.v1.SortOrder;
import java.util.List;
import java.util.Objects;

/**
 * Ranks keys, from 1. All NaNs are one key, which comes after all numbers, and both zeros are one
 * key. The result is one rank for each key, in their order: FLOAT64 with {@link
 * RankMethod#AVERAGE}, otherwise UINT32, or UINT64 for 2^32 keys or more; {@link
 * Elements#positions} reads both.
 */
public final class Rank extends Operator<Elements> {
  private final Input keys;
  private RankMethod method = RankMethod.AVERAGE;
  private SortOrder order = SortOrder.SORT_ORDER_ASCENDING;
  private boolean keysSorted;
  private Input segments;

  private Rank(Input keys) {
    this.keys = Objects.requireNonNull(keys, "keys");
  }

  /** Ranks keys of any type but records, in any order. Equal keys have the mean of their ranks. */
  public static Rank of(Input keys) {
    return new Rank(keys);
  }

  /** Chooses the rank of equal keys. Default: the mean of their ranks. */
  public Rank method(RankMethod method) {
    this.method = Objects.requireNonNull(method, "method");
    return this;
  }

  /** Gives rank 1 to the greatest key. */
  public Rank descending() {
    order = SortOrder.SORT_ORDER_DESCENDING;
    return this;
  }

  /**
   * Says that the keys, or those of each segment, are in this order, which saves the server their
   * sort; it checks that.
   */
  public Rank keysSorted() {
    keysSorted = true;
    return this;
  }

  /**
   * Ranks each segment by itself: segment i is from offsets[i] to offsets[i + 1]; offsets rise from
   * 0 to the count.
   */
  public Rank segments(long... offsets) {
    return segments(Elements.of(offsets));
  }

  /** As {@link #segments(long...)}, with INT64 offsets that may be on the server. */
  public Rank segments(Input offsets) {
    segments = Objects.requireNonNull(offsets, "offsets");
    return this;
  }

  @Override
  Task task() {
    Task task = new Task(Method.RANK);
    RankRequest.Builder request = task.operation.getRankBuilder();
    request.setMethod(method.wire()).setOrder(order).setKeysSorted(keysSorted);
    task.input("keys", keys, request.getKeysBuilder());
    if (segments != null) {
      task.integers("segment_offsets", segments, request.getSegmentOffsetsBuilder());
    }
    boolean isMean = method == RankMethod.AVERAGE;
    task.output(
        "ranks",
        request.getRanksDestinationBuilder(),
        isMean ? ElementType.FLOAT64 : Task.positionType(keys.count()),
        keys.count(),
        found -> found.getRank().getRanks());
    return task;
  }

  @Override
  Elements result(List<Elements> outputs) {
    return outputs.get(0);
  }
}
