package io.github.corank;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/**
 * Decides when to retry a call that failed; see docs/concepts/retries.md. Knows errors and time,
 * not gRPC. Thread-safe.
 */
final class Retrier {
  private static final double INITIAL_SECONDS = 0.05;
  private static final double MAX_SECONDS = 5;
  private static final double BUDGET = 20;
  private static final double REFILL = 0.1;

  /** The failures after which a call may be retried. */
  enum Repeat {
    /** Those that the server reports; not a lost answer, after which the work may be done. */
    UNLESS_LOST,
    /** All, because doing the call twice does no harm. */
    ALWAYS
  }

  /** One try of a call. */
  interface Try<T> {
    /** Starts try number `attempt`, from 1. */
    CompletableFuture<T> start(int attempt);
  }

  /**
   * What follows on a failure: seconds to wait before another try; negative: there is none, for a
   * reason in words.
   */
  record Next(double delay, String reason) {
    static Next none(String reason) {
      return new Next(-1, reason);
    }
  }

  final Clock clock;
  private double tokens = BUDGET;

  Retrier(Clock clock) {
    this.clock = clock;
  }

  private synchronized boolean take() {
    tokens = Math.max(tokens - 1, 0);
    return tokens > BUDGET / 2;
  }

  private synchronized void refill() {
    tokens = Math.min(tokens + REFILL, BUDGET);
  }

  /**
   * Decides what follows.
   *
   * <p>The wait is at least what the server asks for, and drawn from as much again, or from 0.05
   * seconds if that is more, doubled with each try, 5 seconds at most, and never up to the
   * deadline.
   *
   * @param random from 0 to 1
   */
  static Next next(
      CorankException error, Repeat repeat, int attempt, int retries, Limit limit, double random) {
    if (error.failure() == CorankException.Failure.FINAL || retries < 1) {
      return Next.none("");
    }
    if (repeat == Repeat.UNLESS_LOST && error.failure() == CorankException.Failure.LOST) {
      return Next.none("it may have been done, and doing it twice may do harm");
    }
    if (attempt > retries) {
      return Next.none("no more than " + (retries + 1) + " tries are allowed");
    }
    double least = error.retryAfter().map(each -> each.toNanos() / 1e9).orElse(0.0);
    double left = limit.left() / 1e9;
    if (limit.isSet() && least >= left) {
      return Next.none("the next try would begin after the deadline");
    }
    // Callers that all got the same delay must not all retry at the same moment.
    double spread =
        Math.min(Math.max(INITIAL_SECONDS, least) * Math.pow(2, attempt - 1), MAX_SECONDS);
    return new Next(least + Math.min(spread, left - least) * random, "");
  }

  /** Makes tries until one succeeds or no other may help. */
  <T> CompletableFuture<T> run(
      Try<T> once, Caller caller, Limit limit, int retries, Repeat repeat, Scope scope) {
    Tries<T> tries = new Tries<>(once, caller, limit, retries, repeat, scope);
    tries.start();
    return tries.out;
  }

  private final class Tries<T> {
    private final Try<T> once;
    private final Caller caller;
    private final Limit limit;
    private final int retries;
    private final Repeat repeat;
    private final Scope scope;
    private final long begin = clock.nanos();
    private final CompletableFuture<T> out = new CompletableFuture<>();
    private int attempt = 1;
    private String before = "";
    private boolean reloaded;

    Tries(Try<T> once, Caller caller, Limit limit, int retries, Repeat repeat, Scope scope) {
      this.once = once;
      this.caller = caller;
      this.limit = limit;
      this.retries = retries;
      this.repeat = repeat;
      this.scope = scope;
    }

    void start() {
      if (scope.isCancelled()) {
        out.completeExceptionally(cancelled());
        return;
      }
      CompletableFuture<T> started;
      try {
        if (limit.left() <= 0) {
          // If it were sent anyway, the server might do it after the caller was told otherwise.
          throw new CorankException.DeadlineExceeded(Errors.late(caller));
        }
        started = once.start(attempt);
      } catch (RuntimeException error) {
        ended(null, error);
        return;
      }
      started.whenComplete(this::ended);
    }

    private CorankException cancelled() {
      return new CorankException.Cancelled(caller.operator() + ": cancelled by the caller");
    }

    private void ended(T value, Throwable thrown) {
      Throwable error = thrown instanceof CompletionException ? thrown.getCause() : thrown;
      if (error == null) {
        refill();
        out.complete(value);
      } else if (error instanceof CorankException failed) {
        failed(failed);
      } else {
        out.completeExceptionally(error);
      }
    }

    private void failed(CorankException error) {
      if (!reloaded && caller.reload(error)) {
        reloaded = true;
        ++attempt;
        start();
        return;
      }
      Next next = next(error, repeat, attempt, retries, limit, clock.random());
      if (error.failure() != CorankException.Failure.FINAL && !take() && next.delay() >= 0) {
        next = Next.none("too many calls of this client fail now for more tries");
      }
      if (next.delay() < 0) {
        String late = error instanceof CorankException.DeadlineExceeded ? before : "";
        out.completeExceptionally(
            error.ended(attempt, (clock.nanos() - begin) / 1e9, next.reason(), late));
        return;
      }
      before = error.getMessage();
      ++attempt;
      Runnable onCancel = () -> out.completeExceptionally(cancelled());
      scope.add(onCancel);
      clock.after(
          (long) (next.delay() * 1e9),
          () -> {
            scope.remove(onCancel);
            start();
          });
    }
  }
}
