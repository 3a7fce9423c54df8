package io.github.corank;

import java.time.Duration;

/** A deadline for all that a call does. */
final class Limit {
  private final Clock clock;
  private final boolean isSet;
  private final long end;

  /** Starts now; null: there is no deadline. */
  Limit(Clock clock, Duration duration) {
    this.clock = clock;
    isSet = duration != null;
    end = isSet ? clock.nanos() + duration.toNanos() : 0;
  }

  boolean isSet() {
    return isSet;
  }

  /** Nanoseconds to the deadline, 0 or more. */
  long left() {
    return isSet ? Math.max(end - clock.nanos(), 0) : Long.MAX_VALUE;
  }
}
