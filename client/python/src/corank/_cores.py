"""Work that all cores share, in threads that the process keeps."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from corank import _forks as forks

S = TypeVar("S")
T = TypeVar("T")


class _Threads:
    """The helpers of all callers. A thread starts when it is first needed."""

    def __init__(self) -> None:
        self.forked()

    def forked(self) -> None:
        """Begins anew, because a forked child has none of the parent's threads."""
        self.pool = ThreadPoolExecutor(os.cpu_count() or 1, "corank-cores")


_threads = _Threads()
forks.watch(_threads)


class _Crew:
    """The calling thread and its helpers. Each of them runs the same function.

    The caller waits only for helpers that have begun, and can do all the work by itself. So calls may nest and never
    deadlock, however busy the pool is.
    """

    def __init__(self) -> None:
        self._work: Callable[[], None] | None = None
        self._error: BaseException | None = None
        self._helping = 0
        self._changed = threading.Condition()

    def run(self, work: Callable[[], None], helpers: int) -> None:
        """Runs a function in this thread and in up to so many others, until it has returned in each of them."""
        self._work = work
        try:
            with contextlib.suppress(RuntimeError):  # no thread starts when the interpreter exits or has too many
                for _ in range(helpers):
                    _threads.pool.submit(self._help)
            work()
            self._wait()
        finally:  # Ctrl-C may have broken off the wait
            self._work = None  # a busy pool holds this crew for longer, but not the memory of the work
            self._wait()
            error, self._error = self._error, None  # which holds frames that hold this crew
        if error is not None:
            try:
                raise error
            finally:
                del error  # which holds this frame

    def _help(self) -> None:
        with self._changed:
            work = self._work
            if work is None:
                return
            self._helping += 1
        try:
            work()
        except BaseException as error:
            self._error = error
        del work  # before the caller goes on
        with self._changed:
            self._helping -= 1
            self._changed.notify_all()

    def _wait(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._helping)


def by_all_cores(made: Callable[[S], T], items: Sequence[S]) -> list[T]:
    """`[made(item) for item in items]` by a thread for each core. All of them have ended their work by then.

    An exception ends the work before all items are done.
    """
    threads = min(len(items), os.cpu_count() or 1)
    if threads < 2:
        return [made(item) for item in items]
    results: list[Any] = [None] * len(items)
    left = deque(range(len(items)))

    def work() -> None:
        try:
            for at in _popped(left):
                results[at] = made(items[at])
        finally:
            left.clear()

    _Crew().run(work, threads - 1)
    return results


def _popped(left: deque[int]) -> Iterator[int]:
    """Numbers that several threads share."""
    while True:
        try:
            yield left.popleft()
        except IndexError:
            return
