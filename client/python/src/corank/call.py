"""One call: deadline, retries, progress. Knows bytes and methods, nothing of arrays."""

from __future__ import annotations

import random
import sys
import threading
import time
from typing import TYPE_CHECKING, Callable, NamedTuple, TextIO

import grpc

from corank import errors

_SHOW_AFTER_SECONDS = 0.5
_REDRAW_SECONDS = 0.1
_MAX_BACKOFF_SECONDS = 5.0
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"

if TYPE_CHECKING:
    Method = grpc.UnaryUnaryMultiCallable[bytes, bytes]


class Answer(NamedTuple):
    """What a call brought."""

    response: bytes
    request_id: str
    attempts: int


class Progress:
    """A line on a terminal that says for how long a call has run; nothing for short calls, nothing off a terminal."""

    def __init__(self, label: str, enabled: bool, out: TextIO | None = None) -> None:
        self._label = label
        self._out = sys.stderr if out is None else out
        self._done = threading.Event()
        self._thread: threading.Thread | None = None
        if enabled and self._out.isatty():
            self._thread = threading.Thread(target=self._draw, name="corank-progress", daemon=True)

    def __enter__(self) -> Progress:
        if self._thread is not None:
            self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()

    def _draw(self) -> None:
        start = time.monotonic()
        if self._done.wait(_SHOW_AFTER_SECONDS):
            return
        frame = 0
        while True:
            spin = _SPINNER[frame % len(_SPINNER)]
            self._out.write(f"\r\x1b[K{spin} {self._label}  {time.monotonic() - start:.1f} s")
            self._out.flush()
            frame += 1
            if self._done.wait(_REDRAW_SECONDS):
                break
        self._out.write("\r\x1b[K")
        self._out.flush()


def retry_delay(error: errors.CorankError, attempt: int, remaining: float | None, jitter: float) -> float | None:
    """Seconds to wait before attempt number `attempt` + 1 (from 1), or None if `error` is final.

    Only what a server refused with RetryInfo is tried again: a server that cannot be reached is reported at once. The
    server's delay doubles with each attempt, is lengthened by up to a quarter (`jitter` from 0 to 1) so that refused
    callers do not return together, and must end before `remaining` seconds have passed.
    """
    if not isinstance(error, errors.Retryable) or error.retry_after is None:
        return None
    backoff = min(error.retry_after * 2.0 ** (attempt - 1), _MAX_BACKOFF_SECONDS)
    delay = max(error.retry_after, backoff) * (1 + jitter / 4)
    return None if remaining is not None and delay >= remaining else delay


def invoke(
    method: Method,
    request: bytes,
    *,
    operator: str,
    address: str,
    deadline: float | None,
    retries: int,
    sleep: Callable[[float], None] = time.sleep,
) -> Answer:
    """Calls `method`, and again while the server asks for it and the deadline (seconds, over all attempts) allows.

    Raises:
        CorankError: the last attempt's.
    """
    end = None if deadline is None else time.monotonic() + deadline
    attempt = 1
    while True:
        remaining = None if end is None else max(end - time.monotonic(), 0.0)
        try:
            response, call = method.with_call(request, timeout=remaining)
            metadata = {str(key): value for key, value in (call.trailing_metadata() or ())}
            return Answer(response, str(metadata.get("x-request-id", "")), attempt)
        except grpc.RpcError as rpc_error:
            error = errors.from_rpc(rpc_error, operator=operator, address=address, deadline=deadline)
            cause = rpc_error
        remaining = None if end is None else end - time.monotonic()
        delay = retry_delay(error, attempt, remaining, random.random()) if attempt <= retries else None
        if delay is None:
            raise error from cause
        sleep(delay)
        attempt += 1
