"""The calls of a Flight gateway: who makes them, what they hold, and how they end."""

from __future__ import annotations

import contextlib
import hashlib
import json
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import TimeoutError as WaitedTooLong
from typing import Any, Callable, NamedTuple, TypeVar

import pyarrow as pa
from pyarrow import flight

from corank._client import Client
from corank._errors import (
    Aborted,
    Cancelled,
    CorankError,
    DeadlineExceeded,
    Internal,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    ResourceExhausted,
    Unavailable,
    Unimplemented,
)
from corank._flight_memory import BatchBytes, Budget, Held, Hold, in_one_piece

_POLL_SECONDS = 0.05
_TRUST_SECONDS = 10.0
"""How long a token that corankd accepted counts without another question."""
_ASK_SECONDS = 10.0
_IDLE_CLIENT_SECONDS = 600.0
R = TypeVar("R")


def flight_error(error: BaseException) -> BaseException:
    """The exception of pyarrow that gives a caller the status and the message of an error.

    The error loses its traceback, whose frames refer to tables.

    pyarrow adds the traceback of all but FlightErrors to the message, as far as sys.tracebacklimit goes.
    """
    made: BaseException = _flight_error(error)
    error.__traceback__ = None
    return made


def _flight_error(error: BaseException) -> Any:
    if isinstance(error, (flight.FlightError, pa.ArrowException)):
        return error
    if isinstance(error, (InvalidArgument, TypeError, ValueError)):
        return pa.ArrowInvalid(str(error))
    if isinstance(error, NotFound):
        return pa.ArrowKeyError(str(error))
    if isinstance(error, (Unimplemented, ImportError)):
        return pa.ArrowNotImplementedError(str(error))
    if isinstance(error, MemoryError):
        return flight.FlightUnavailableError(
            "the gateway is out of memory; send smaller tables, or give it less --memory"
        )
    if not isinstance(error, CorankError):
        limit = 100  # sys.tracebacklimit is 0 in the gateway
        traceback.print_exception(type(error), error, error.__traceback__, limit=limit, file=sys.stderr)
        return flight.FlightInternalError("a fault of the gateway; its log has the traceback")
    kinds: list[tuple[tuple[type[CorankError], ...], Any]] = [
        ((DeadlineExceeded,), flight.FlightTimedOutError),
        ((Cancelled,), flight.FlightCancelledError),
        ((ResourceExhausted, Unavailable, Aborted), flight.FlightUnavailableError),
        ((Internal,), flight.FlightInternalError),
    ]
    made = next((made for types, made in kinds if isinstance(error, types)), flight.FlightServerError)
    if isinstance(error, PermissionDenied):
        is_unknown = error.code == "UNAUTHENTICATED"
        made = flight.FlightUnauthenticatedError if is_unknown else flight.FlightUnauthorizedError
    told = {
        "code": error.code,
        "reason": error.reason,
        "request_id": error.request_id,
        "retry_after": getattr(error, "retry_after", None),
    }
    return made(str(error), json.dumps({name: value for name, value in told.items() if value}).encode())


class Headers(flight.ServerMiddleware):  # type: ignore[misc]
    """The token and the trace of one call."""

    def __init__(self, token: str | None, traceparent: str | None) -> None:
        self.token, self.traceparent = token, traceparent


class ReadHeaders(flight.ServerMiddlewareFactory):  # type: ignore[misc]
    """Reads the headers of every call."""

    def start_call(self, info: Any, headers: Any) -> Headers:
        """Makes what the handler of the call finds under the name "headers"."""
        found = {str(name).lower(): values for name, values in headers.items()}
        authorization = _first(found.get("authorization"))
        kind, _, token = authorization.partition(" ")
        if authorization and (kind.lower() != "bearer" or not token.strip()):
            raise flight.FlightUnauthenticatedError("authorization: must be 'Bearer TOKEN'")
        return Headers(token.strip() or None, _first(found.get("traceparent")) or None)


def _first(values: Any) -> str:
    value = values[0] if values else ""
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


class Caller(NamedTuple):
    """Who makes a call."""

    owner: str
    """The name under which tables of this caller are kept."""
    client: Client
    traceparent: str | None


class _Known:
    def __init__(self, client: Client) -> None:
        self.client, self.users, self.used = client, 0, time.monotonic()
        self.checked: float | None = None  # when corankd accepted the token


class Callers:
    """One client of corankd for each token, closed when it was not used for long. Thread-safe."""

    def __init__(self, connect: Callable[[str | None], Client], needs_token: bool) -> None:
        self._connect, self._needs_token = connect, needs_token
        self._lock = threading.Lock()
        self._known: dict[str | None, _Known] = {}

    @contextlib.contextmanager
    def caller(self, headers: Headers) -> Iterator[Caller]:
        """A context around a call, with its caller, if corankd takes the token.

        Raises:
            PermissionDenied: it does not.
            Unavailable: it cannot be reached.
        """
        token = headers.token
        if token is None and self._needs_token:
            raise PermissionDenied("authorization: missing; send the header 'Bearer TOKEN'", code="UNAUTHENTICATED")
        with self._lock:
            known = self._known.get(token)
            if known is None:
                known = self._known[token] = _Known(self._connect(token))
            known.users += 1
        try:
            if known.checked is None or time.monotonic() - known.checked > _TRUST_SECONDS:
                known.client.info(deadline=_ASK_SECONDS)
                known.checked = time.monotonic()
            owner = "" if token is None else hashlib.sha256(token.encode()).hexdigest()
            yield Caller(owner, known.client, headers.traceparent)
        finally:
            with self._lock:
                known.users -= 1
                known.used = time.monotonic()
                is_stranger = known.users == 0 and known.checked is None
                if is_stranger and self._known.get(token) is known:
                    del self._known[token]
            if is_stranger:
                known.client.close()

    def expire(self, seconds: float = _IDLE_CLIENT_SECONDS) -> None:
        """Closes the clients that were not used for `seconds`."""
        end = time.monotonic() - seconds
        with self._lock:
            idle = [token for token, each in self._known.items() if each.users == 0 and each.used <= end]
            closing = [self._known.pop(token).client for token in idle]
        for client in closing:
            client.close()


class Call:
    """What one call holds, so that another thread can end it. Thread-safe."""

    def __init__(self, context: Any, caller: Caller, budget: Budget) -> None:
        self.caller = caller
        self._context, self._budget = context, budget
        self._lock = threading.Lock()
        self._waits_since: float | None = None
        self._held: Any = None
        self._holds: list[Hold] = []
        self._end: CorankError | None = None

    def hold(self) -> Hold:
        """Bytes of the budget that are free again when the call ends."""
        made = Hold(self._budget)
        with self._lock:
            self._holds.append(made)
        return made

    def keep(self, hold: Hold) -> None:
        """These bytes outlive the call."""
        with self._lock:
            self._holds.remove(hold)

    def free(self) -> None:
        """Frees what the call holds; frames of a failed call may refer to it for longer."""
        with self._lock:
            dropped, self._held = (self._held, self._holds), None
            self._holds = []
        for each in dropped[1]:
            each.free()

    def check(self) -> None:
        """Raises if the call is over: its caller cancelled it or went away, or the gateway ended it."""
        with self._lock:
            end = self._end
        if end is not None:
            raise end
        if self._context.is_cancelled():
            raise Cancelled("cancelled: the caller cancelled the call, went away, or its deadline passed")

    def end(self, error: CorankError) -> None:
        """Ends the call, from another thread: what it holds is free now, and `check` raises the error."""
        with self._lock:
            self._end = self._end or error
        self.free()

    def end_if_idle(self, seconds: float) -> None:
        """Ends the call if its caller has not sent, or taken, anything for so long."""
        with self._lock:
            is_idle = self._waits_since is not None and time.monotonic() - self._waits_since > seconds
        if is_idle:
            self.end(DeadlineExceeded(f"the caller neither sent nor took anything for {seconds:g} s"))

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """A context in which the call waits for its caller."""
        with self._lock:
            self._waits_since = time.monotonic()
        try:
            yield
        finally:
            with self._lock:
                self._waits_since = None

    def _hold(self, held: Any) -> None:
        with self._lock:
            if self._end is None:
                self._held = held

    def _get(self) -> Any:
        self.check()
        with self._lock:
            if self._held is None:
                raise Cancelled("the call is over")
            return self._held

    def receive(self, reader: Any, what: str) -> list[Held]:
        """The tables that the caller streams: batch after batch, each of the table whose number its metadata has.

        Raises:
            InvalidArgument: a number is none, or the next one is missing.
            ResourceExhausted: they do not fit into the budget.
        """
        counted = BatchBytes()
        hold = self.hold()
        batches: list[list[Any]] = []
        self._hold((hold, batches))
        del hold, batches  # only the call holds them, so that `end` frees them
        schema = None
        while True:
            with self.waiting():
                try:
                    schema = reader.schema if schema is None else schema
                    chunk = reader.read_chunk()
                except StopIteration:
                    break
            if chunk.data is None:
                continue
            hold, batches = self._get()
            number = _number(chunk.app_metadata)
            if number > len(batches):
                raise InvalidArgument(f"app_metadata: table {number} before table {len(batches)}; count from 0")
            if number == len(batches):
                batches.append([])
            hold.resize(hold.nbytes + counted.of(chunk.data), what)
            batches[number].append(chunk.data)
            del hold, batches, chunk
        self.check()
        hold, batches = self._get()
        nbytes = hold.nbytes
        hold.resize(2 * nbytes, what)  # while the batches become one piece
        tables = [in_one_piece(each, schema) for each in batches or [[]]]
        batches.clear()
        hold.resize(nbytes, what)
        self._hold(None)
        return [Held(table, hold) for table in tables]

    def run(self, work: Callable[[], R]) -> R:
        """Does work of the caller's client; ends it, on the server too, when the call is over."""
        future = self.caller.client._threads.start(work)
        try:
            while True:
                try:
                    return future.result(_POLL_SECONDS)
                except WaitedTooLong:
                    if future.done():
                        return future.result()
                self.check()
        finally:
            future.cancel()
            del future  # its exception refers to this frame

    def sending(self, held: Any, batches: Iterator[Any]) -> Iterator[Any]:
        """The batches, while the call holds `held` and them."""
        self._hold((held, batches))
        del held, batches
        while True:
            self.check()
            batches = self._get()[1]
            batch = next(batches, None)
            del batches
            if batch is None:
                break
            with self.waiting():
                yield batch
            del batch
        self._hold(None)


def _number(metadata: Any) -> int:
    text = b"" if metadata is None else metadata.to_pybytes()
    if text and not (text.isdigit() and len(text) < 5):
        raise InvalidArgument(f"app_metadata: {text[:20]!r} is no number of a table; give 0, 1 and so on, or nothing")
    return int(text or b"0")


class Calls:
    """The calls that run. Thread-safe."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._changed = threading.Condition()
        self._running: set[Call] = set()
        self._drains = False

    @contextlib.contextmanager
    def running(self, call: Call) -> Iterator[Call]:
        """A context around a call."""
        self.add(call)
        try:
            yield call
        finally:
            self.remove(call)

    def add(self, call: Call) -> None:
        """A call begins.

        Raises:
            Unavailable: the gateway stops.
            ResourceExhausted: too many run.
        """
        with self._changed:
            if self._drains:
                raise Unavailable("the gateway stops; call another one, or try again later")
            if len(self._running) >= self._most:
                raise ResourceExhausted(
                    f"{self._most} calls run, and no more may; try again later, or start the gateway with more --calls"
                )
            self._running.add(call)

    def remove(self, call: Call) -> None:
        """A call has ended."""
        call.free()
        with self._changed:
            self._running.discard(call)
            self._changed.notify_all()

    def now(self) -> list[Call]:
        """The calls that run now."""
        with self._changed:
            return list(self._running)

    def drain(self, seconds: float) -> bool:
        """Refuses new calls, waits for running ones, and ends late ones. Returns whether none was late."""
        with self._changed:
            self._drains = True
            all_ended = self._changed.wait_for(lambda: not self._running, seconds)
        for call in self.now():
            call.end(Unavailable("the gateway stopped before the call was done; try again"))
        with self._changed:
            self._changed.wait_for(lambda: not self._running, 1.0)
        return all_ended
