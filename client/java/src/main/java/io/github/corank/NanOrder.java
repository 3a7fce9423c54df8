package io.github.corank;

/** The place of the NaNs of a {@link Column}. */
public enum NanOrder {
  /** Greater than all numbers, so that a descending column begins with them. */
  GREATEST(io.github.corank.v1.NanOrder.NAN_ORDER_GREATEST),
  /** Between the numbers and the nulls, also in a descending column and without a validity. */
  BESIDE_NULLS(io.github.corank.v1.NanOrder.NAN_ORDER_BESIDE_NULLS),
  /** Among the nulls, as their equals, also without a validity. */
  AS_NULLS(io.github.corank.v1.NanOrder.NAN_ORDER_AS_NULLS);

  private final io.github.corank.v1.NanOrder wire;

  NanOrder(io.github.corank.v1.NanOrder wire) {
    this.wire = wire;
  }

  io.github.corank.v1.NanOrder wire() {
    return wire;
  }
}
