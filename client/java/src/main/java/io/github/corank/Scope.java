package io.github.corank;

import java.util.ArrayList;
import java.util.List;

/** The way to cancel one call of the caller, whatever it does at the moment. Thread-safe. */
final class Scope {
  private final List<Runnable> hooks = new ArrayList<>(2);
  private boolean cancelled;

  /** Runs a hook once the call is cancelled; at once if it is. */
  void add(Runnable hook) {
    synchronized (this) {
      if (!cancelled) {
        hooks.add(hook);
        return;
      }
    }
    hook.run();
  }

  /** Forgets a hook: there is nothing to cancel any more. */
  synchronized void remove(Runnable hook) {
    hooks.remove(hook);
  }

  /** Cancels. */
  void cancel() {
    List<Runnable> found;
    synchronized (this) {
      cancelled = true;
      found = List.copyOf(hooks);
      hooks.clear();
    }
    found.forEach(Runnable::run);
  }

  synchronized boolean isCancelled() {
    return cancelled;
  }
}
