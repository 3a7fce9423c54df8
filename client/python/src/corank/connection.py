"""A connection: options, messages and statistics of calls, without knowledge of operators."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable, Literal, TypedDict, TypeVar

import grpc
import numpy as np
from google.protobuf.message import Message
from numpy.typing import DTypeLike, NDArray

from corank import arrays, columns, errors
from corank.call import Progress, invoke
from corank.columns import Column
from corank.results import Stats
from corank.v1 import operators_pb2 as operators
from corank.wire import IncomingArray, OutgoingArray, OutgoingMessage, decode, encode

if TYPE_CHECKING:
    from typing_extensions import Self

    from corank.call import Method

DEFAULT_ADDRESS = "127.0.0.1:50051"
_SERVICE = "/corank.v1.CorankService/"
_COMPRESSION = {"none": grpc.Compression.NoCompression, "gzip": grpc.Compression.Gzip}
_LOOPBACK = ("127.", "localhost:", "[::1]:", "unix:")

Priority = Literal["low", "normal", "high"]
R = TypeVar("R", bound=Message)


class CallOptions(TypedDict, total=False):
    """What every method takes beside its own arguments, by keyword."""

    deadline: float | None
    """Seconds until DeadlineExceeded, retries included; None: no limit. Default: connect()'s."""
    retries: int
    """How often to try again when the server is too busy or drains. Default: connect()'s."""
    progress: bool
    """Whether to show on stderr for how long a long call has run, if that is a terminal. Default: connect()'s."""
    copy: bool
    """False: results are read-only views of the response's bytes, maybe unaligned. Default: True, writable arrays."""
    on_stats: Callable[[Stats], object]
    """Called with the call's Stats before it returns; `on_stats=a_list.append` keeps them."""
    priority: Priority
    """What the server takes first when requests wait. Default: "normal"."""
    request_id: str
    """Comes back in logs and errors; at most 128 printable ASCII characters. Default: the server makes one."""


def names(prefix: str, enum: Any) -> dict[str, int]:
    """The values of a protobuf enum by their names here: SORT_ALGORITHM_RADIX is "radix"."""
    return {name[len(prefix) :].lower().replace("_", "-"): number for name, number in enum.items()}


SORT_ALGORITHMS = names("SORT_ALGORITHM_", operators.SortAlgorithm)
MERGE_ALGORITHMS = names("MERGE_ALGORITHM_", operators.MergeAlgorithm)
ENGINES = {number: name for name, number in names("ENGINE_", operators.Engine).items()}
_PRIORITIES = names("PRIORITY_", operators.Priority)


# What only responses name: what AUTO found the keys to be.
_FOUND = ("copy", "reverse", "merge-runs", "count")


def choice(field: str, name: str, choices: Mapping[str, int], without: Sequence[str] = ("unspecified", *_FOUND)) -> Any:
    """The number of the choice `name` for a request's `field`; InvalidArgument if there is none."""
    if name not in choices or name in without:
        known = ", ".join(repr(choice) for choice in choices if choice not in without)
        raise errors.InvalidArgument(f"{field}: {name!r} is none of {known}", field=field)
    return choices[name]


class Result:
    """A response: its message without arrays, its arrays, and how the caller wants them."""

    def __init__(self, message: Any, response: bytes, found: dict[str, IncomingArray], copy: bool) -> None:
        self.message = message
        self._response, self._found, self._copy = response, found, copy

    def _array(self, field: str) -> IncomingArray:
        if field not in self._found:
            raise errors.Internal(f"the server's answer lacks {field}")
        return self._found[field]

    def array(self, field: str, dtype: np.dtype[Any]) -> NDArray[Any]:
        """The array of this field, whose elements are `dtype`."""
        return arrays.incoming(self._response, self._array(field), dtype, self._copy)

    def column(self, index: int, column: Column) -> NDArray[Any] | list[bytes] | list[str]:
        """The sorted column at `index`, in the form in which it was given."""
        data = f"key_columns[{index}].data"
        if column.strings is None:
            return self.array(data, column.dtype)
        offsets = arrays.incoming(
            self._response, self._array(f"key_columns[{index}].offsets"), np.dtype("<i8"), copy=False
        )
        return columns.unpack(self._response, self._array(data), offsets, column.strings)

    def indices(self, field: str, dtype: DTypeLike | None) -> NDArray[Any]:
        """The index array of this field, in `dtype`."""
        return arrays.indices(self._response, self._array(field), None if dtype is None else np.dtype(dtype))


class Connection:
    """The part of a client that all operators share; see corank.Client."""

    def __init__(
        self,
        address: str | None = None,
        *,
        deadline: float | None = 60.0,
        max_message_bytes: int = 2**31 - 1,
        compression: Literal["none", "gzip"] = "none",
        retries: int = 5,
        progress: bool = False,
    ) -> None:
        if compression not in _COMPRESSION:
            raise errors.InvalidArgument(f"compression: {compression!r} is none of 'none', 'gzip'", field="compression")
        self._address = address
        self._deadline, self._retries, self._progress = deadline, retries, progress
        self._max_message_bytes = max_message_bytes
        self._compression = _COMPRESSION[compression]
        self._lock = threading.Lock()
        self._channel: grpc.Channel | None = None
        self._methods: dict[str, Method] = {}
        self._closed = False

    @property
    def address(self) -> str:
        """HOST:PORT of the server."""
        return self._address or os.environ.get("CORANK_SERVER") or DEFAULT_ADDRESS

    def close(self) -> None:
        """Ends the connection; calls in flight are cancelled. The client cannot be used again."""
        with self._lock:
            self._closed = True
            channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.address!r})"

    def _method(self, name: str) -> Method:
        with self._lock:
            if self._closed:
                raise RuntimeError("the client is closed")
            if self._channel is None:
                options: list[tuple[str, Any]] = [
                    ("grpc.max_send_message_length", self._max_message_bytes),
                    ("grpc.max_receive_message_length", self._max_message_bytes),
                    # Retries are this client's own: it honours RetryInfo.
                    ("grpc.enable_retries", 0),
                ]
                if self.address.startswith(_LOOPBACK):
                    options.append(("grpc.enable_http_proxy", 0))
                self._channel = grpc.insecure_channel(self.address, options, compression=self._compression)
            if name not in self._methods:
                # No serializers: requests and responses are bytes, put together and taken apart by corank.wire.
                self._methods[name] = self._channel.unary_unary(_SERVICE + name)
            return self._methods[name]

    def call(
        self,
        name: str,
        request: Any,
        parts: Sequence[OutgoingArray | OutgoingMessage],
        response_type: type[R],
        options: CallOptions,
    ) -> Result:
        """Calls a method of the service; `parts` are the arrays of the request."""
        unknown = options.keys() - CallOptions.__annotations__.keys()
        if unknown:
            raise TypeError(f"{name}: unexpected keyword argument {min(unknown)!r}")
        start = time.monotonic_ns()
        method = self._method(name)
        if "priority" in options:
            request.options.priority = choice("priority", options["priority"], _PRIORITIES)
        if "request_id" in options:
            request.options.request_id = options["request_id"]
        data = encode(request, parts)
        if len(data) > self._max_message_bytes:
            raise errors.InvalidArgument(
                f"{name}: the request has {len(data):,} bytes, more than max_message_bytes, {self._max_message_bytes:,}"
            )
        label = f"corank {name}, {len(data) / 2**20:.1f} MiB, {self.address}"
        with Progress(label, options.get("progress", self._progress)):
            answer = invoke(
                method,
                data,
                operator=name,
                address=self.address,
                deadline=options.get("deadline", self._deadline),
                retries=options.get("retries", self._retries),
            )
        try:
            message, found = decode(answer.response, response_type)
        except ValueError as error:
            raise errors.Internal(f"{name}: the answer is not a {response_type.__name__}: {error}") from error
        result = Result(message, answer.response, found, options.get("copy", True))
        if "on_stats" in options and isinstance(stats := getattr(message, "stats", None), operators.RequestStats):
            algorithms = SORT_ALGORITHMS if name == "Sort" else MERGE_ALGORITHMS if name == "Merge" else {}
            taken = getattr(message, "algorithm", None)
            options["on_stats"](
                Stats(
                    operator=name,
                    engine=ENGINES.get(stats.engine, "unspecified"),
                    device=stats.device,
                    algorithm=next((key for key, number in algorithms.items() if number == taken), ""),
                    queue_ns=stats.queue_ns,
                    copy_in_ns=stats.copy_in_ns,
                    kernel_ns=stats.kernel_ns,
                    copy_out_ns=stats.copy_out_ns,
                    elapsed_ns=time.monotonic_ns() - start,
                    batch_size=stats.batch_size,
                    workspace_bytes=stats.workspace_bytes,
                    request_bytes=len(data),
                    response_bytes=len(answer.response),
                    attempts=answer.attempts,
                    request_id=answer.request_id,
                )
            )
        return result
