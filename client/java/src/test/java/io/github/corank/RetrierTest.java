package io.github.corank;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class RetrierTest {
  private static final Limit NEVER = new Limit(new Clock(), null);

  private static CorankException unavailable(CorankException.Failure failure, Duration retryAfter) {
    return new CorankException.Unavailable("no").with(failure, retryAfter);
  }

  private static double delay(
      CorankException error, Retrier.Repeat repeat, int attempt, int retries, double random) {
    return Retrier.next(error, repeat, attempt, retries, NEVER, random).delay();
  }

  @Test
  void waitIsAtLeastWhatTheServerAsksForAndGrows() {
    CorankException refused = unavailable(CorankException.Failure.REFUSED, Duration.ofMillis(1500));
    assertEquals(1.5, delay(refused, Retrier.Repeat.ALWAYS, 1, 5, 0), 1e-9);
    assertEquals(3.0, delay(refused, Retrier.Repeat.ALWAYS, 1, 5, 1), 1e-9);
    assertEquals(4.5, delay(refused, Retrier.Repeat.ALWAYS, 2, 5, 1), 1e-9);
    CorankException lost = unavailable(CorankException.Failure.LOST, null);
    assertEquals(0.05, delay(lost, Retrier.Repeat.ALWAYS, 1, 9, 1), 1e-9);
    assertEquals(5, delay(lost, Retrier.Repeat.ALWAYS, 9, 9, 1), 1e-9);
  }

  @Test
  void callThatMayDoHarmIsNotRepeatedAfterALostAnswer() {
    CorankException lost = unavailable(CorankException.Failure.LOST, null);
    assertTrue(delay(lost, Retrier.Repeat.UNLESS_LOST, 1, 5, 0) < 0);
    CorankException notSent = unavailable(CorankException.Failure.NOT_SENT, null);
    assertTrue(delay(notSent, Retrier.Repeat.UNLESS_LOST, 1, 5, 0) >= 0);
  }

  @Test
  void triesAreCountedAndFinalErrorsAreFinal() {
    CorankException lost = unavailable(CorankException.Failure.LOST, null);
    assertTrue(delay(lost, Retrier.Repeat.ALWAYS, 6, 5, 0) < 0);
    assertTrue(delay(lost, Retrier.Repeat.ALWAYS, 1, 0, 0) < 0);
    CorankException full = new CorankException.ResourceExhausted("no");
    assertTrue(delay(full, Retrier.Repeat.ALWAYS, 1, 5, 0) < 0);
  }

  @Test
  void noTryBeginsAfterTheDeadline() {
    CorankException refused = unavailable(CorankException.Failure.REFUSED, Duration.ofSeconds(2));
    Limit soon = new Limit(new Clock(), Duration.ofSeconds(1));
    assertTrue(Retrier.next(refused, Retrier.Repeat.ALWAYS, 1, 5, soon, 0).delay() < 0);
    Limit later = new Limit(new Clock(), Duration.ofSeconds(3));
    assertTrue(Retrier.next(refused, Retrier.Repeat.ALWAYS, 1, 5, later, 1).delay() < 3);
  }
}
