"""Calls that run in threads, as futures that can be cancelled."""

from __future__ import annotations

import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Callable, TypeVar

from corank import _aside as aside

R = TypeVar("R")

_THREADS = 32


class Call(Future[Any]):
    """A call that runs in a thread. `cancel` cancels it on the server too, also when it runs already."""

    def __init__(self, scope: aside.Scope) -> None:
        super().__init__()
        self._scope = scope

    def cancel(self) -> bool:
        """Cancels the call, unless it is done."""
        # A running future cannot be cancelled, so this one never enters that state; see _run.
        cancelled = super().cancel()
        if cancelled:
            self._scope.cancel()
        return cancelled


class Threads:
    """The threads of one client, made when they are first used. Thread-safe."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._process = os.getpid()

    def start(self, work: Callable[[], R]) -> Future[R]:
        """Runs work() in a thread."""
        if self._process != os.getpid():
            self._begin()  # a child of a fork has none of the parent's threads
        call = Call(aside.Scope())
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(_THREADS, "corank-submit")
            self._pool.submit(_run, call, work)
        return call

    def close(self) -> None:
        """Runs nothing more; what runs ends by itself."""
        with self._lock:
            if self._pool is not None:
                self._pool.shutdown(wait=False)


def _run(call: Call, work: Callable[[], Any]) -> None:
    if call.cancelled():
        call.set_running_or_notify_cancel()
        return
    try:
        with aside.working_in(call._scope):
            result = work()
    except BaseException as error:
        if call.set_running_or_notify_cancel():
            call.set_exception(error)
    else:
        if call.set_running_or_notify_cancel():
            call.set_result(result)
