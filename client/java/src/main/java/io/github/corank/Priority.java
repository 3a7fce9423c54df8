package io.github.corank;

/** The order in which the server takes calls that wait. */
public enum Priority {
  /** After all others. */
  LOW,
  /** The default. */
  NORMAL,
  /** Before all others, as far as the caller's tenant may. */
  HIGH;

  io.github.corank.v1.Priority wire() {
    return io.github.corank.v1.Priority.valueOf("PRIORITY_" + name());
  }
}
