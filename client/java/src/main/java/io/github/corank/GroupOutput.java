package io.github.corank;

/** A result of {@link Group}. It has an element for each group. */
public enum GroupOutput {
  /** The first key of each group, with its bits. */
  KEYS,
  /** How many keys each group has; INT64. */
  COUNTS,
  /** The position of each group's first key; UINT32, or UINT64 above 2^32 keys. */
  FIRSTS,
  /** The sum of each group's values: INT64, UINT64 or FLOAT64. Sums of integers are exact. */
  SUMS,
  /** The least value of each group. A NaN is greater than every number. */
  MINIMA,
  /** The greatest value of each group. */
  MAXIMA,
  /** How many values of each group are not null; INT64. */
  VALUE_COUNTS;

  io.github.corank.v1.GroupOutput wire() {
    return io.github.corank.v1.GroupOutput.forNumber(ordinal() + 1);
  }

  boolean needsValues() {
    return compareTo(SUMS) >= 0;
  }
}
