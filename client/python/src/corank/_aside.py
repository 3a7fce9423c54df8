"""Keeps Ctrl-C out of gRPC.

Python raises KeyboardInterrupt, and what else handlers of signals raise, between any two instructions of the main
thread. Where that is inside of gRPC, a lock of a channel may stay taken, and every later call on it waits in vain.
"""

from __future__ import annotations

import threading
from typing import Any, Callable, TypeVar

_SIGNAL_SECONDS = 0.1

R = TypeVar("R")


def on_main_thread() -> bool:
    """Whether this is the thread that signals interrupt."""
    return threading.current_thread() is threading.main_thread()


class Calls:
    """The calls of one try, of gRPC. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: list[Any] = []
        self._cancelled = False

    def add(self, call: Any) -> None:
        """A call began; it is cancelled if the try is."""
        with self._lock:
            self._calls.append(call)
            cancelled = self._cancelled
        if cancelled:
            call.cancel()

    def cancel(self) -> None:
        """Cancels all of them, and those that begin from now on."""
        with self._lock:
            self._cancelled = True
            calls = list(self._calls)
        for call in calls:
            call.cancel()


def wait(threads: list[threading.Thread]) -> None:
    """Until all have ended."""
    for thread in threads:
        # In steps: a signal that another thread took would not wake this one, and Ctrl-C would wait for the end.
        while thread.is_alive():
            thread.join(_SIGNAL_SECONDS)


def run(work: Callable[[Calls], R]) -> R:
    """work(), on another thread if this is the main one. An exception here cancels its calls and waits until it ended.

    Raises:
        BaseException: what `work` raised.
    """
    calls = Calls()
    if not on_main_thread():
        try:
            return work(calls)
        except BaseException:
            calls.cancel()
            raise
    results: list[R] = []
    failures: list[BaseException] = []

    def target() -> None:
        try:
            results.append(work(calls))
        except BaseException as error:
            calls.cancel()
            failures.append(error)

    threads = [threading.Thread(target=target, name="corank-call", daemon=True)]
    attend(threads, calls.cancel)
    if failures:
        try:
            raise failures[0]
        finally:
            failures.clear()  # else the exception would hold the frame that holds it
    return results[0]


def attend(threads: list[threading.Thread], cancel: Callable[[], object]) -> None:
    """Starts threads and waits for them; an exception in this one, such as Ctrl-C, has them cancelled first."""
    try:
        for thread in threads:
            thread.start()
        wait(threads)
    except BaseException:
        # On a thread of its own: Ctrl-C may come once more.
        threads = [*threads, threading.Thread(target=cancel, name="corank-cancel", daemon=True)]
        threads[-1].start()
        wait([thread for thread in threads if thread.ident is not None])
        raise
