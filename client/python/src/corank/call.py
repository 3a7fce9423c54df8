"""One call: deadline and retries. Knows bytes and methods, nothing of arrays."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Any, Callable, TypeVar

import grpc

from corank import errors

_MAX_BACKOFF_SECONDS = 5.0

if TYPE_CHECKING:
    Method = grpc.UnaryUnaryMultiCallable[bytes, bytes]


R = TypeVar("R")


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


def trailing(call: Any) -> str:
    """The request id that came with the end of a call; empty if none did."""
    metadata = {str(key): value for key, value in (call.trailing_metadata() or ())}
    return str(metadata.get("x-request-id", ""))


def attempts(
    once: Callable[[float | None], R],
    *,
    deadline: float | None,
    retries: int,
    before_again: Callable[[errors.CorankError], bool] = lambda error: True,
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[R, int]:
    """Calls once(seconds left), and again while its error asks for it and the deadline (in all) allows.

    Args:
        once: makes one attempt.
        deadline: seconds for all attempts.
        retries: how many attempts may follow the first.
        before_again: prepares another attempt after an error, or returns False to give up.
        sleep: waits for seconds.

    Returns:
        What `once` returned, and the number of attempts.

    Raises:
        CorankError: the last attempt's.
    """
    end = None if deadline is None else time.monotonic() + deadline
    attempt = 1
    while True:
        try:
            return once(None if end is None else max(end - time.monotonic(), 0.0)), attempt
        except errors.CorankError as error:
            remaining = None if end is None else end - time.monotonic()
            delay = retry_delay(error, attempt, remaining, random.random()) if attempt <= retries else None
            if delay is None or not before_again(error):
                raise
        sleep(delay)
        attempt += 1


def unary(
    method: Method, request: bytes, *, operator: str, address: str, deadline: float | None, remaining: float | None
) -> tuple[bytes, str]:
    """Calls `method` once, for `remaining` seconds of the call's `deadline`: the response and the request id.

    Raises:
        CorankError: it failed.
    """
    try:
        response, call = method.with_call(request, timeout=remaining)
    except grpc.RpcError as error:
        raise errors.from_rpc(error, operator=operator, address=address, deadline=deadline) from error
    return response, trailing(call)
