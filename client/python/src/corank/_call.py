"""One try of a call: bytes and methods, no arrays."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import grpc

from corank import _aside as aside
from corank import _errors as errors
from corank._credentials import Credentials, trace_id

_SMALL_BYTES = 64 << 10  # what always fits into a socket
_GRACE_SECONDS = 0.5


def trailing(call: Any) -> str:
    """The request id that came with the end of a call; empty if none did."""
    metadata = {str(key): value for key, value in (call.trailing_metadata() or ())}
    return str(metadata.get("x-request-id", ""))


class Uploads:
    """Counts the bytes that one client has on the way to the server. Thread-safe.

    While a message waits in this process behind stalled messages, gRPC does not end its call at the deadline. The
    client must wait for such calls in another way, which costs more.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bytes = 0
        self._stands = False  # as far as the last call that ended knows

    @contextlib.contextmanager
    def sending(self, nbytes: int) -> Iterator[None]:
        """A context around a call that sends so many bytes."""
        self.begin(nbytes)
        stands = True
        try:
            yield
            stands = False
        finally:
            self.end(nbytes, stands)

    def begin(self, nbytes: int) -> bool:
        """A call sends so many bytes from now on: whether they leave this process at once in any case."""
        with self._lock:
            self._bytes += nbytes
            return self._bytes <= _SMALL_BYTES and not self._stands

    def end(self, nbytes: int, stands: bool) -> None:
        """That call ended; whether its bytes may still be in this process."""
        with self._lock:
            self._bytes -= nbytes
            self._stands = stands


class Caller:
    """The state that all tries of one call share.

    Args:
        operator: the method, for errors.
        peer: the server, for errors.
        credentials: of the client.
        deadline: seconds for the whole call.
        uploads: of the client.
        traceparent: of the span that makes the call; None: none.
    """

    def __init__(
        self,
        operator: str,
        peer: errors.Peer,
        credentials: Credentials,
        deadline: float | None,
        uploads: Uploads,
        traceparent: str | None = None,
    ) -> None:
        self.operator, self.peer, self.deadline, self.uploads = operator, peer, deadline, uploads
        self._credentials, self._traceparent = credentials, traceparent
        self._sent = ""

    def metadata(self) -> tuple[tuple[str, str], ...]:
        """The metadata of a try."""
        self._sent = self._credentials.authorization
        given = (("authorization", self._sent), ("traceparent", self._traceparent))
        return tuple((name, value) for name, value in given if value)

    def reload(self, error: errors.CorankError) -> bool:
        """Whether the token file holds another token than the one that the server refused."""
        return error.code == "UNAUTHENTICATED" and self._credentials.reload(self._sent)

    def failed(self, error: grpc.RpcError) -> errors.CorankError:
        """The exception for a try that failed."""
        return errors.from_rpc(
            error,
            operator=self.operator,
            peer=self.peer,
            deadline=self.deadline,
            trace_id=trace_id(self._traceparent),
        )


class Name(NamedTuple):
    """The name of a method."""

    method: str
    service: str = "corank"


class Methods(Protocol):
    """The part of the channels that a call needs."""

    def method(self, name: str, kind: str = "unary_unary", of: str = "corank", connection: int = 0) -> Any:
        """A method as gRPC calls it."""

    def blocking(self, name: Name, request: bytes, timeout: float | None, metadata: Any) -> tuple[bytes, Any]:
        """Calls a unary method: the response and the call."""


def unary(methods: Methods, name: Name, request: bytes, caller: Caller, remaining: float | None) -> tuple[bytes, str]:
    """Calls a method once, for `remaining` seconds: the response and the request id.

    Raises:
        CorankError: it failed.
    """
    if remaining is not None and remaining <= 0:
        # If it were sent anyway, the server might do it after the caller was told otherwise.
        raise errors.DeadlineExceeded(errors.late_text(caller.operator, caller.deadline))
    stands = True
    fits = caller.uploads.begin(len(request))
    try:
        if fits and aside.scope() is None:
            response, call = methods.blocking(name, request, remaining, caller.metadata())
        else:
            response, call = aside.run(lambda calls: _in_time(methods, name, request, caller, remaining, calls))
        stands = False
    except grpc.RpcError as error:
        raise caller.failed(error) from None
    finally:
        caller.uploads.end(len(request), stands)
    return answered(caller.operator, response), trailing(call)


def answered(operator: str, response: bytes | None) -> bytes:
    """A response, if there is one: gRPC returns None for a success without a message.

    Raises:
        Internal: there is none.
    """
    if response is None:
        raise errors.Internal(f"{operator}: the server answered no message")
    return response


def _in_time(
    methods: Methods, name: Name, request: bytes, caller: Caller, remaining: float | None, calls: aside.Calls
) -> tuple[bytes, Any]:
    """Calls a method once and keeps its deadline even if gRPC does not; see Uploads."""
    method = methods.method(name.method, of=name.service)
    call: Any = method.future(request, timeout=remaining, metadata=caller.metadata())
    calls.add(call)
    try:
        return call.result(timeout=None if remaining is None else remaining + _GRACE_SECONDS), call
    except grpc.FutureCancelledError:
        raise errors.Cancelled(f"{caller.operator}: cancelled by the caller") from None
    except grpc.FutureTimeoutError:
        raise errors.DeadlineExceeded(
            f"{caller.operator}: the deadline of {caller.deadline:g} s passed while the request was being sent"
        ) from None
    finally:
        call.cancel()
