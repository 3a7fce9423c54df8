"""Failures of calls as exceptions."""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

import grpc
from google.protobuf.message import DecodeError

from corank import _messages as messages

_RpcStatus = messages.message("corank.wire.v1.RpcStatus")
_ErrorInfo = messages.message("corank.wire.v1.ErrorInfo")
_BadRequest = messages.message("corank.wire.v1.BadRequest")
_RetryInfo = messages.message("corank.wire.v1.RetryInfo")
_TYPES = "type.googleapis.com/google.rpc."
_DETAILS = "grpc-status-details-bin"
_DOMAIN = "corank"
# A part whose caller went away. Its job may be run again as a whole; any other cause would come again.
_LOST_PARTS = ("CALLER_CANCELLED", "REQUEST_INCOMPLETE")
# The path of the only operation of a plan, which the client itself made for a call of one operator.
_ONLY_OPERATION = "plan.operations[0]."
_REQUEST_ID = "x-request-id"
_ELSEWHERE = " Set CORANK_SERVER or give connect() another address"
# gRPC's messages for a call that was never sent. A call with any other message counts as lost, which is safe.
_NOT_SENT = ("failed to connect to all addresses", "DNS resolution failed", "errors resolving")
_CUT_OFF = ("Socket closed", "onnection reset", "Broken pipe", "HTTP/2")


class Failure(enum.Enum):
    """The kinds of failure of one try."""

    FINAL = enum.auto()
    """It would fail again."""
    NOT_SENT = enum.auto()
    """There was no connection."""
    REFUSED = enum.auto()
    """The server says that it did not do the call, and that a retry may help."""
    LOST = enum.auto()
    """The connection broke, and the server may have done the call."""


class Peer(NamedTuple):
    """A server, as this client is set up to reach it."""

    address: str
    tls: bool = False
    ca: str | None = None
    """The file of the authorities that may have signed its certificate."""


class CorankError(Exception):
    """A call that failed.

    It has stored, replaced and deleted nothing on the server, unless the connection was lost or the deadline passed:
    the work may then have been done. Arrays of `out=` may hold a part of the result.

    Attributes:
        code: the gRPC status, such as "INVALID_ARGUMENT"; also for what is refused before it is sent.
        reason: why the server failed the call: a name of the protocol's ErrorReason without its prefix, such as
            "QUEUE_FULL"; empty if the error is not the server's.
        rows: the rows of a join that has more than max_rows (reason "TOO_MANY_ROWS"); None for other errors.
        message: what the caller can change, in words.
        request_id: the name of the request in the server's log; empty if the server did not answer.
        trace_id: the W3C trace that the call belongs to; empty without traceparent=.
        attempts: how often it was tried.
        grpc_error: gRPC's own error, for `debug_error_string()`; None if the call failed in this process.
    """

    code = "UNKNOWN"
    grpc_error: grpc.RpcError | None = None
    _failure = Failure.FINAL
    reason = ""
    rows: int | None = None
    trace_id = ""
    attempts = 1

    def __init__(self, message: str, *, code: str | None = None, request_id: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.code = code or type(self).code
        self.request_id = request_id

    def __reduce__(self) -> tuple[Any, ...]:
        # gRPC's error is of this process.
        state = {name: value for name, value in vars(self).items() if name != "grpc_error"}
        return type(self), (self.message,), state

    def _name_argument(self) -> None:
        """Names the argument itself where the server names its path in a plan of one operation."""
        self.message = self.message.replace(_ONLY_OPERATION, "")
        self.args = (self.message,)

    def _tell(self, attempts: int, seconds: float, reason: str, before: str) -> None:
        """Adds to the message how the call ended: after how many tries, why then, and which request it was."""
        self.attempts = attempts
        told = f"{reason}; the try before: {before}" if reason and before else before and f"the try before: {before}"
        told = told or reason
        if attempts > 1:
            self.message += f" (tried {attempts} times in {seconds:.3g} s{': ' if told else ''}{told})"
        elif reason:
            self.message += f" (not tried again: {reason})"
        named = [f"request {self.request_id}"] if self.request_id else []
        named += [f"trace {self.trace_id}"] if self.trace_id else []
        if named:
            self.message += f" [{', '.join(named)}]"
        self.args = (self.message,)


class InvalidArgument(CorankError, ValueError):
    """Malformed, out of range, unsorted, overlapping, or larger than the server takes.

    Attributes:
        field: the field of the request, such as "keys" or "segment_offsets[2]"; empty if none is to blame.
    """

    code = "INVALID_ARGUMENT"

    def __init__(self, message: str, *, field: str = "", code: str | None = None, request_id: str = "") -> None:
        super().__init__(message, code=code, request_id=request_id)
        self.field = field

    def _name_argument(self) -> None:
        super()._name_argument()
        self.field = self.field.removeprefix(_ONLY_OPERATION)


class Retryable(CorankError):
    """The server cannot do the call now.

    Attributes:
        retry_after: seconds to wait before a retry; None if the server did not say.
    """

    def __init__(
        self,
        message: str,
        *,
        retry_after: float | None = None,
        code: str | None = None,
        request_id: str = "",
    ) -> None:
        super().__init__(message, code=code, request_id=request_id)
        self.retry_after = retry_after


class ResourceExhausted(Retryable):
    """The server's queue or a memory budget is full."""

    code = "RESOURCE_EXHAUSTED"


class Unavailable(Retryable):
    """The server cannot be reached, went away during the call, drains, or lost its device."""

    code = "UNAVAILABLE"


class DeadlineExceeded(CorankError, TimeoutError):
    """The deadline passed before the answer was there."""

    code = "DEADLINE_EXCEEDED"


class Cancelled(CorankError):
    """The call was cancelled."""

    code = "CANCELLED"


class Aborted(CorankError):
    """A call over several connections lost one of them, or the server did not get all of them in time."""

    code = "ABORTED"


class NotFound(CorankError, LookupError):
    """No region or kept array has this name."""

    code = "NOT_FOUND"


class PermissionDenied(CorankError, PermissionError):
    """The credentials do not allow the call, or there are none (code "UNAUTHENTICATED")."""

    code = "PERMISSION_DENIED"


class Unimplemented(CorankError, NotImplementedError):
    """This place is switched off on this server, or cannot hold such an array."""

    code = "UNIMPLEMENTED"


class Internal(CorankError):
    """A fault of the server; its log has the request id."""

    code = "INTERNAL"


_PLAIN: dict[grpc.StatusCode, type[CorankError]] = {
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceeded,
    grpc.StatusCode.CANCELLED: Cancelled,
    grpc.StatusCode.ABORTED: Aborted,
    grpc.StatusCode.NOT_FOUND: NotFound,
    grpc.StatusCode.PERMISSION_DENIED: PermissionDenied,
    grpc.StatusCode.UNAUTHENTICATED: PermissionDenied,
    grpc.StatusCode.UNIMPLEMENTED: Unimplemented,
    grpc.StatusCode.INTERNAL: Internal,
    grpc.StatusCode.DATA_LOSS: Internal,
}


class _Details(NamedTuple):
    """What a status carries beside its code and message."""

    reason: str = ""
    cause: str = ""
    """The reason of the part that ended a job."""
    field: str = ""
    rows: int | None = None
    """Of a join that has more than the request has room for."""
    retry_after: float | None = None
    """Seconds."""


def _details(metadata: dict[str, object]) -> _Details:
    made = _Details()
    raw = metadata.get(_DETAILS)
    if not isinstance(raw, bytes):
        return made
    try:
        for detail in _RpcStatus.FromString(raw).details:
            if detail.type_url == _TYPES + "ErrorInfo":
                info = _ErrorInfo.FromString(detail.value)
                if info.domain == _DOMAIN:
                    made = made._replace(reason=info.reason, cause=info.metadata.get("cause", ""))
                    rows = info.metadata.get("rows", "")
                    if info.reason == "TOO_MANY_ROWS" and rows.isdecimal():
                        made = made._replace(rows=int(rows))
            elif detail.type_url == _TYPES + "BadRequest":
                violations = _BadRequest.FromString(detail.value).field_violations
                made = made._replace(field=violations[0].field if violations else "")
            elif detail.type_url == _TYPES + "RetryInfo":
                delay = _RetryInfo.FromString(detail.value).retry_delay
                made = made._replace(retry_after=delay.seconds + delay.nanos * 1e-9)
    except DecodeError:
        pass  # details of a proxy, not of corankd: the status code and message stand without them
    return made


def _certificate_text(details: str, peer: Peer) -> str:
    text = f"the certificate of the server at {peer.address} is not trusted: "
    if "has expired" in details:
        return text + "it has expired; have it renewed"
    where = "known to gRPC" if peer.ca is None else f"in {peer.ca}"
    return (
        f"{text}it is not signed by an authority {where}, or has expired; give the certificate of the authority that "
        "signed it (tls_ca=), or have it renewed"
    )


def _tls_text(details: str, peer: Peer) -> str:
    """The fault of a connection that no retry can mend; empty: there is none."""
    if "CERTIFICATE_VERIFY_FAILED" in details:
        return _certificate_text(details, peer)
    if "Hostname Verification Check failed" in details or "is not in peer certificate" in details:
        return (
            f"the certificate of the server at {peer.address} does not hold the name that was asked for; use an "
            "address that it holds, or say which name to expect (tls_server_name=)"
        )
    if "WRONG_VERSION_NUMBER" in details:
        return f"the server at {peer.address} does not speak TLS on this port; use its TLS port, or no TLS"
    if "Failed to create security handshaker" in details:
        return (
            "the TLS files cannot be used: there is no valid certificate in tls_ca, or tls_key is not the key of "
            "tls_certificate"
        )
    return ""


def _connection_text(details: str, peer: Peer, failure: Failure) -> str:
    last = details.rpartition(": ")[2]
    if "[" not in last:
        last = last.rstrip("]")  # of a list, whose beginning is cut
    why = f" ({last})" if last else ""
    if failure is Failure.LOST:
        return f"the connection to {peer.address} broke before the answer came{why}"
    if any(words in details for words in _CUT_OFF):
        may = (
            "it may want a certificate that it trusts (tls_certificate=, tls_key=)"
            if peer.tls
            else "it may want TLS (tls_ca=), or be no corank server"
        )
        return f"the server at {peer.address} closed the connection before any call: {may}"
    return f"no answer from a corank server at {peer.address}{why}; is corankd running there?" + _ELSEWHERE


def _unavailable(operator: str, details: str, peer: Peer, retry_after: float | None, request_id: str) -> Unavailable:
    if retry_after is not None:
        failure, text = Failure.REFUSED, details
    elif _tls_text(details, peer):
        failure, text = Failure.FINAL, _tls_text(details, peer)
    else:
        failure = Failure.NOT_SENT if details.startswith(_NOT_SENT) else Failure.LOST
        text = details if request_id else _connection_text(details, peer, failure)
    error = Unavailable(f"{operator}: {text}", retry_after=retry_after, request_id=request_id)
    error._failure = failure
    return error


def of_command(error: BaseException) -> str:
    """The message of an error of a command, whose caller gives the address by a flag."""
    return str(error).replace(_ELSEWHERE, " Set CORANK_SERVER or give another --server")


def late_text(operator: str, deadline: float | None) -> str:
    """The message of a call that missed its deadline."""
    return f"{operator}: not done within its deadline" + ("" if deadline is None else f" of {deadline:g} s")


def from_rpc(error: Any, *, operator: str, peer: Peer, deadline: float | None, trace_id: str = "") -> CorankError:
    """The exception for a failed try of `operator` at `peer` with `deadline` seconds, in the trace of `trace_id`."""
    if not hasattr(error, "code"):  # grpc.Call and grpc.aio.AioRpcError have it
        made = CorankError(f"{operator}: {error}")
        made.grpc_error = error
        return made
    metadata: dict[str, object] = {str(key): value for key, value in (error.trailing_metadata() or ())}
    told = _details(metadata)
    made = _from_call(error, told, str(metadata.get(_REQUEST_ID, "")), operator, peer, deadline)
    made.reason, made.rows, made.trace_id, made.grpc_error = told.reason, told.rows, trace_id, error
    return made


def _from_call(
    error: Any, told: _Details, request_id: str, operator: str, peer: Peer, deadline: float | None
) -> CorankError:
    code = error.code() or grpc.StatusCode.UNKNOWN
    details = error.details() or ""
    field, retry_after = told.field, told.retry_after
    if code in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.OUT_OF_RANGE):
        message = details if not field or field in details else f"{field}: {details}"
        return InvalidArgument(f"{operator}: {message}", field=field, code=code.name, request_id=request_id)
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
        full = ResourceExhausted(f"{operator}: {details}", retry_after=retry_after, request_id=request_id)
        # An error without a delay means a message that is too large, or the caller's own quota.
        full._failure = Failure.FINAL if retry_after is None else Failure.REFUSED
        return full
    if code is grpc.StatusCode.UNAVAILABLE:
        return _unavailable(operator, details, peer, retry_after, request_id)
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        # Only the server knows why it did not begin, or that the caller stood still.
        explains = told.reason not in ("", "DEADLINE_PASSED")
        late = f"{operator}: {details}" if explains else late_text(operator, deadline)
        return DeadlineExceeded(late, request_id=request_id)
    message = details or code.name
    if code is grpc.StatusCode.UNAUTHENTICATED:
        message += "; give a token that the server knows (token=, token_file=)"
    elif code is grpc.StatusCode.PERMISSION_DENIED:
        message += "; the operator of the server can allow it"
    made = _PLAIN.get(code, CorankError)(f"{operator}: {message}", code=code.name, request_id=request_id)
    if code is grpc.StatusCode.ABORTED and (told.reason == "JOB_INCOMPLETE" or told.cause in _LOST_PARTS):
        made._failure = Failure.REFUSED
    return made
