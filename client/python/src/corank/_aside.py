"""Keeps Ctrl-C out of gRPC.

Python raises KeyboardInterrupt, and other exceptions of signal handlers, between any two instructions of the main
thread. If gRPC runs at that moment, a lock of its channel may stay taken, and every later call on the channel hangs.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any, Callable, Protocol, TypeVar

_SIGNAL_SECONDS = 0.1

R = TypeVar("R")


class Cancellable(Protocol):
    """Work that another thread can cancel."""

    def cancel(self) -> object:
        """Ends it."""


class Scope:
    """All that one thread does for a future, so that another thread can cancel it. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: list[Cancellable] = []
        self._cancelled = False

    @contextlib.contextmanager
    def holding(self, running: Cancellable) -> Iterator[None]:
        """Around something that ends when the scope does."""
        with self._lock:
            self._running.append(running)
        try:
            if self._cancelled:
                running.cancel()
            yield
        finally:
            with self._lock:
                self._running.remove(running)

    def cancel(self) -> None:
        """Cancels all of it, and what begins from now on."""
        with self._lock:
            self._cancelled = True
            running = list(self._running)
        for each in running:
            each.cancel()

    def pause(self, seconds: float) -> bool:
        """Waits, until the scope is cancelled at most; whether it is."""
        end = _End()
        with self.holding(end):
            return end.wait(seconds)


class _End(threading.Event):
    def cancel(self) -> None:
        self.set()


_scopes = threading.local()


def scope() -> Scope | None:
    """The scope that this thread works in."""
    found: Scope | None = getattr(_scopes, "scope", None)
    return found


@contextlib.contextmanager
def working_in(given: Scope) -> Iterator[None]:
    """Has this thread work in a scope."""
    _scopes.scope = given
    try:
        yield
    finally:
        _scopes.scope = None


def holding(running: Cancellable) -> contextlib.AbstractContextManager[None]:
    """Around something that ends with this thread's scope, if it has one."""
    found = scope()
    return contextlib.nullcontext() if found is None else found.holding(running)


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
        """Adds a call that began, and cancels it if the try is cancelled."""
        with self._lock:
            self._calls.append(call)
            cancelled = self._cancelled
        if cancelled:
            call.cancel()

    def cancel(self) -> None:
        """Cancels all calls, and every call that begins from now on."""
        with self._lock:
            self._cancelled = True
            calls = list(self._calls)
        for call in calls:
            call.cancel()


def wait(threads: list[threading.Thread]) -> None:
    """Waits until all threads have ended."""
    for thread in threads:
        # Waits in steps: a signal that another thread received does not wake this one, so Ctrl-C would hang.
        while thread.is_alive():
            thread.join(_SIGNAL_SECONDS)


def run(work: Callable[[Calls], R]) -> R:
    """Runs work(), on another thread if this is the main one. An exception here cancels the calls and awaits the end.

    Raises:
        BaseException: what `work` raised.
    """
    calls = Calls()
    if not on_main_thread():
        try:
            with holding(calls):
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
    """Starts threads and waits for them. An exception in this thread, such as Ctrl-C, cancels them first."""
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
