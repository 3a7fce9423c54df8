package io.github.corank;

/**
 * How an element compares with the threshold of {@link Selection#where} to be selected. As in
 * {@link Sort}, NaNs are greater than every number and equal to each other, and both zeros are
 * equal.
 */
public enum Comparison {
  /** Less than the threshold. */
  LESS,
  /** Equal to it. */
  EQUAL,
  /** Less than it or equal. */
  LESS_OR_EQUAL,
  /** Greater than it. */
  GREATER,
  /** Less or greater than it. */
  NOT_EQUAL,
  /** Greater than it or equal. */
  GREATER_OR_EQUAL;

  io.github.corank.v1.Comparison wire() {
    return io.github.corank.v1.Comparison.forNumber(ordinal() + 1);
  }
}
