package io.github.corank;

/** The {@link Rank} of keys that are equal. */
public enum RankMethod {
  /** The mean of the ranks that the equal keys have with {@link #ORDINAL}. */
  AVERAGE,
  /** The least of these ranks. */
  MIN,
  /** The greatest of these ranks. */
  MAX,
  /** The number of distinct keys up to this one. */
  DENSE,
  /** Every key has a rank of its own, in the order of a stable sort. */
  ORDINAL;

  io.github.corank.v1.RankMethod wire() {
    return io.github.corank.v1.RankMethod.forNumber(ordinal() + 1);
  }
}
