package io.github.corank;

/** How arrays without a place of their own travel. */
public enum Place {
  /** In messages while they fit and are small, otherwise in chunks. */
  AUTO,
  /** In one message each way. */
  INLINE,
  /** In chunks of one call, or of several that are parts of one job. */
  STREAM
}
