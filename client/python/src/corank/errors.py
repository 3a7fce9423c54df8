"""What can go wrong with a call, as exceptions."""

from __future__ import annotations

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

_DETAILS = "grpc-status-details-bin"
_REQUEST_ID = "x-request-id"


class CorankError(Exception):
    """A call that failed. It has changed nothing.

    Attributes:
        code: the gRPC status, such as "INVALID_ARGUMENT"; also for what is refused before it is sent.
        message: what the caller can change, in words.
        request_id: the name of the request in the server's log; empty if the server did not answer.
    """

    code = "UNKNOWN"

    def __init__(self, message: str, *, code: str | None = None, request_id: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.code = code or type(self).code
        self.request_id = request_id


class InvalidArgument(CorankError, ValueError):
    """Malformed, out of range, unsorted, overlapping, or larger than the server takes.

    Attributes:
        field: the field of the request, such as "keys" or "segment_offsets[2]"; empty if none is to blame.
    """

    code = "INVALID_ARGUMENT"

    def __init__(self, message: str, *, field: str = "", code: str | None = None, request_id: str = "") -> None:
        super().__init__(message, code=code, request_id=request_id)
        self.field = field


class Retryable(CorankError):
    """The server could not do it now.

    Attributes:
        retry_after: seconds after which the server wants to see the call again; None if it did not say.
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


class NotFound(CorankError, LookupError):
    """No region or kept array has this name."""

    code = "NOT_FOUND"


class PermissionDenied(CorankError, PermissionError):
    """Not allowed, or not known who asks (code "UNAUTHENTICATED")."""

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
    grpc.StatusCode.NOT_FOUND: NotFound,
    grpc.StatusCode.PERMISSION_DENIED: PermissionDenied,
    grpc.StatusCode.UNAUTHENTICATED: PermissionDenied,
    grpc.StatusCode.UNIMPLEMENTED: Unimplemented,
    grpc.StatusCode.INTERNAL: Internal,
    grpc.StatusCode.DATA_LOSS: Internal,
}


def _details(metadata: dict[str, object]) -> tuple[str, float | None]:
    """The violated field and the retry delay in seconds that a status carries."""
    field, retry_after = "", None
    raw = metadata.get(_DETAILS)
    if not isinstance(raw, bytes):
        return field, retry_after
    try:
        status = status_pb2.Status.FromString(raw)
        for detail in status.details:
            bad_request, retry_info = error_details_pb2.BadRequest(), error_details_pb2.RetryInfo()
            if detail.Unpack(bad_request) and bad_request.field_violations:
                field = bad_request.field_violations[0].field
            elif detail.Unpack(retry_info):
                retry_after = retry_info.retry_delay.ToTimedelta().total_seconds()
    except DecodeError:
        pass  # details of a proxy, not of corankd: the status code and message stand without them
    return field, retry_after


def from_rpc(error: grpc.RpcError, *, operator: str, address: str, deadline: float | None) -> CorankError:
    """The exception for a failed call of `operator` at `address` with `deadline` seconds."""
    if not isinstance(error, grpc.Call):
        return CorankError(f"{operator}: {error}")
    code = error.code() or grpc.StatusCode.UNKNOWN
    details = error.details() or ""
    metadata: dict[str, object] = {str(key): value for key, value in (error.trailing_metadata() or ())}
    field, retry_after = _details(metadata)
    request_id = str(metadata.get(_REQUEST_ID, ""))
    if code in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.OUT_OF_RANGE):
        message = details if not field or field in details else f"{field}: {details}"
        return InvalidArgument(f"{operator}: {message}", field=field, code=code.name, request_id=request_id)
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
        return ResourceExhausted(f"{operator}: {details}", retry_after=retry_after, request_id=request_id)
    if code is grpc.StatusCode.UNAVAILABLE:
        message = f"{operator}: {details}"
        if retry_after is None:
            message = (
                f"{operator}: no answer from a corank server at {address} ({details}); is corankd running there? "
                "Set CORANK_SERVER or give connect() another address"
            )
        return Unavailable(message, retry_after=retry_after, request_id=request_id)
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        limit = "its deadline" if deadline is None else f"its deadline of {deadline:g} s"
        return DeadlineExceeded(f"{operator}: not done within {limit}", request_id=request_id)
    kind = _PLAIN.get(code, CorankError)
    return kind(f"{operator}: {details or code.name}", code=code.name, request_id=request_id)
