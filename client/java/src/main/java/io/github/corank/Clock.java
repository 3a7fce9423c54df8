package io.github.corank;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/** Time and chance, as tests replace them. */
class Clock {
  /** Nanoseconds since some moment. */
  long nanos() {
    return System.nanoTime();
  }

  /** Runs a task later, on another thread. */
  void after(long nanos, Runnable task) {
    CompletableFuture.delayedExecutor(nanos, TimeUnit.NANOSECONDS).execute(task);
  }

  /** A random number from 0 to less than 1. */
  double random() {
    return ThreadLocalRandom.current().nextDouble();
  }
}
