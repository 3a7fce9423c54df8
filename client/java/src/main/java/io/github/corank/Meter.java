package io.github.corank;

import java.util.function.Consumer;

/** Counts the bytes of a call, and tells the caller. Thread-safe. */
final class Meter {
  private final Consumer<? super Progress> told;
  private final long toSend;
  private final long toReceive;
  private long sent;
  private long received;
  private int attempt = 1;

  /** Counts; null: nobody wants to know. */
  Meter(Consumer<? super Progress> told, long toSend, long toReceive) {
    this.told = told;
    this.toSend = toSend;
    this.toReceive = toReceive;
  }

  synchronized void restart(int attempt) {
    this.attempt = attempt;
    sent = 0;
    received = 0;
  }

  /** Counts bytes. The lock is held meanwhile, so that the caller sees numbers in order. */
  synchronized void add(long sentNow, long receivedNow) {
    sent += sentNow;
    received += receivedNow;
    if (told != null) {
      told.accept(new Progress(sent, toSend, received, toReceive, attempt));
    }
  }
}
