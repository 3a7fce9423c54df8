package io.github.corank;

/**
 * What {@link CombineSets} makes of two sorted multisets. Where a key occurs m times on the left
 * and n times on the right, the first min(m, n) occurrences on each side are partners.
 */
public enum SetOperation {
  /** All keys of the left, and the keys of the right without a partner, after equal ones. */
  UNION,
  /** The keys of the left that have a partner. */
  INTERSECTION,
  /** The keys of the left without a partner. */
  DIFFERENCE,
  /** The keys of both sides without a partner. */
  SYMMETRIC_DIFFERENCE;

  io.github.corank.v1.SetOperation wire() {
    return io.github.corank.v1.SetOperation.forNumber(ordinal() + 1);
  }

  /** The length of the longest result; -1: not known. */
  long most(long left, long right) {
    boolean isKnown = left >= 0 && right >= 0;
    return switch (this) {
      case DIFFERENCE -> left;
      case INTERSECTION -> isKnown ? Math.min(left, right) : Math.max(left, right);
      case UNION, SYMMETRIC_DIFFERENCE -> isKnown ? left + right : -1;
    };
  }
}
