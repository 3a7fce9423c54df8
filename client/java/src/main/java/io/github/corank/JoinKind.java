package io.github.corank;

/** Which rows a {@link Join} has. Partners are rows of both sides with equal keys. */
public enum JoinKind {
  /** Each pair of partners. */
  INNER,
  /** Each pair of partners, and the rows of the left without a partner. */
  LEFT,
  /** Each pair of partners, and the rows of the right without a partner. */
  RIGHT,
  /** Each pair of partners, and the rows of both sides without a partner. */
  FULL,
  /** The rows of the left with a partner, once each. */
  SEMI,
  /** The rows of the left without a partner. */
  ANTI;

  io.github.corank.v1.JoinKind wire() {
    return io.github.corank.v1.JoinKind.forNumber(ordinal() + 1);
  }

  /** Whether the result has rows of the left alone. */
  boolean isLeftOnly() {
    return this == SEMI || this == ANTI;
  }

  /**
   * The rows for which the server makes room; -1: not known.
   *
   * @param left the keys of the left side; -1: not known
   * @param right the keys of the right side; -1: not known
   * @param wanted the most rows that the caller allows; null: any number
   */
  long most(long left, long right, Long wanted) {
    if (left < 0 || right < 0) {
      if (isLeftOnly() && left >= 0) {
        return left;
      }
      return wanted == null ? -1 : wanted;
    }
    long pairs = right > 0 && left > Long.MAX_VALUE / right ? Long.MAX_VALUE : left * right;
    long most =
        switch (this) {
          case INNER -> pairs;
          case LEFT -> Math.max(pairs, left);
          case RIGHT -> Math.max(pairs, right);
          case FULL -> Math.max(pairs, left + right);
          case SEMI, ANTI -> left;
        };
    return Math.min(most, wanted == null ? left + right : wanted);
  }
}
