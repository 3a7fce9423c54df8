"""Arrays that the server keeps."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import grpc
import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from corank import _aside as aside
from corank import _conversion as conversion
from corank import _errors as errors
from corank._elements import NAMES, TYPES, RemoteArray, storage
from corank._options import FetchOptions, options_of
from corank._progress import Display, Progress
from corank._retry import Limit, Repeat
from corank._signatures import optionless
from corank._stream import Sink, Source, chunks
from corank._text import html_table, size, table
from corank._wire import decode_chunk, encode_chunk, nested, parts_of
from corank.v1 import array_pb2
from corank.v1 import memory_service_pb2 as memory

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from corank._channels import Channels
    from corank._options import Settings

_HEADER = memory.StoreArrayRequest.DESCRIPTOR.fields_by_name["header"].number
_FETCHED = memory.FetchArrayResponse.DESCRIPTOR.fields_by_name


class Sharded(str):
    """The name of a result that the server divides among its GPUs: `keep=Sharded("name")`.

    Every operator takes it. All these GPUs work on sorts, argsorts, merge, expand, gather, scatter, move and
    load_balance together; others bring sharded arrays to one of them.

    Examples:
        >>> client.store("big", [3, 1, 2], sharded=True)
        StoredArray('big', 3 x int64, sharded)
        >>> client.sort(client.stored("big"), keep=corank.Sharded("sorted"))
        StoredArray('sorted', 3 x int64, sharded)
    """

    __slots__ = ()


class StoredArray(RemoteArray):
    """The handle of an array that the server keeps. Every operator takes it in place of a NumPy array.

    Attributes:
        name: the name that the server keeps the array under.
        dtype: the dtype of its elements.
        count: the number of its elements.
        sharded: whether the server divides it among its GPUs.
    """

    _temporary = False

    def __init__(
        self, connection: Channels, name: str, type_: int, dtype: np.dtype[Any], count: int, sharded: bool = False
    ) -> None:
        super().__init__(type_, dtype, count)
        self._connection, self.name, self.sharded = connection, str(name), sharded

    def _what(self) -> str:
        return f"{self.count:,} x {NAMES.get(self._type, self.dtype)}{', sharded' if self.sharded else ''}"

    def __repr__(self) -> str:
        return f"StoredArray({self.name!r}, {self._what()})"

    @options_of(FetchOptions)
    def fetch(self, **options: Unpack[FetchOptions]) -> NDArray[Any]:
        """Copies the elements from the server.

        Args:
            **options: see CallOptions.

        Returns:
            A new array, or `out`.

        Raises:
            NotFound: the server keeps another array, or none, under this name now.
        """
        return fetch(self._connection, self, self._connection.settings(options))

    @optionless
    def delete(self) -> None:
        """Has the server forget the array.

        Raises:
            NotFound: the server has already forgotten it.
            CorankError: a request uses it (FAILED_PRECONDITION).
        """
        delete(self._connection, self.name)

    def _place(self) -> array_pb2.StoredPlace:
        """The place of the array as the request names it."""
        return array_pb2.StoredPlace(name=self.name, temporary=self._temporary, sharded=self.sharded)


class StoredArrays(NamedTuple):
    """The arrays that the server keeps for a caller."""

    arrays: list[StoredArray]
    """Ordered by name."""
    used_bytes: int
    """Bytes in use."""
    quota_bytes: int
    """Bytes that may be in use."""

    def _title(self) -> str:
        arrays = "1 array" if len(self.arrays) == 1 else f"{len(self.arrays)} arrays"
        return f"{arrays}, {size(self.used_bytes)} of {size(self.quota_bytes)}"

    def _rows(self) -> dict[str, str]:
        return {array.name: f"{array._what()}, {size(array.nbytes)}" for array in self.arrays}

    def __repr__(self) -> str:
        return table(self._title(), self._rows())

    def _repr_html_(self) -> str:
        return html_table(self._title(), self._rows())


def handle(connection: Channels, found: Any) -> StoredArray:
    """The handle of a StoredArray message."""
    dtype = storage(found.type, found.record_bytes)
    return StoredArray(connection, found.name, found.type, dtype, found.count, found.shards > 0)


def listed(connection: Channels) -> StoredArrays:
    """All arrays that the server keeps for this caller."""
    pages = list(connection.memory_pages("ListArrays", memory.ListArraysRequest(), memory.ListArraysResponse))
    arrays = [handle(connection, each) for page in pages for each in page.arrays]
    return StoredArrays(arrays, pages[-1].used_bytes, pages[-1].quota_bytes)


def find(connection: Channels, name: str) -> StoredArray:
    """The handle of the array of this name.

    Raises:
        NotFound: there is none.
    """
    for found in listed(connection).arrays:
        if found.name == name:
            return found
    raise errors.NotFound(f"the server keeps no array {name!r}")


def delete(connection: Channels, name: str) -> None:
    """Has the server forget the array of this name."""
    # A second try could delete an array that another caller stored under the name in between.
    request = memory.DeleteArrayRequest(name=name)
    connection.memory_release("DeleteArray", request, memory.DeleteArrayResponse, Repeat.UNLESS_LOST)


def _expiry_seconds(expires: float | None) -> int:
    """The value in the request: whole seconds, 0 for the server's default."""
    if expires is None:
        return 0
    if not 0 < expires < 2**63:
        raise errors.InvalidArgument(f"expires: {expires} is not a number of seconds of more than 0", field="expires")
    return math.ceil(expires)


def store(
    connection: Channels,
    name: str,
    array: ArrayLike,
    expires: float | None,
    sharded: bool,
    dtype: DTypeLike | None,
    settings: Settings,
) -> StoredArray:
    """Has the server keep an array; see Client.store."""
    if conversion.remote(array) is not None:
        raise TypeError("store: pass a NumPy array; keep= keeps results")
    found = conversion.one_dimensional("array", array)
    # Keeps big-endian numbers, bools, dates and times as numbers; as records the server could only move them.
    numbers = dtype is not None or found.dtype.name in TYPES or found.dtype == np.bool_
    if numbers or (found.dtype.kind in "mM" and not np.isnat(found).any()):
        part, element_dtype, _ = conversion.keys("array", found, dtype)
    else:
        part, element_dtype = conversion.values("array", found)
    assert part.data is not None
    header = memory.StoreArrayHeader(name=name, array=part.header, sharded=sharded)
    header.expiry.seconds = _expiry_seconds(expires)
    header.array.stream.stream_id = 0
    progress = Progress(f"corank store {name}, {connection.address}", part.data.nbytes, 0)
    source = Source(0, part.data, element_dtype.itemsize)
    method = connection.memory_upload("StoreArray")
    limit = Limit(connection.retrier.clock, connection.deadline(settings, part.data.nbytes))
    caller = connection.caller("StoreArray", limit.seconds, settings.traceparent)
    chunk_bytes = connection.chunk_bytes(limit)

    def requests() -> Iterator[bytes]:
        yield nested(_HEADER, header.SerializeToString())
        for stream_id, first, data in chunks([source], 0, 1, chunk_bytes):
            yield encode_chunk(stream_id, first, data)
            progress._add(sent=data.nbytes)

    def send(calls: aside.Calls, remaining: float | None) -> Any:
        call = method.future(requests(), timeout=remaining, metadata=caller.metadata())
        calls.add(call)
        return memory.StoreArrayResponse.FromString(call.result()).array

    def once(remaining: float | None) -> Any:
        progress._restart()
        with caller.uploads.sending(source.data.nbytes):
            try:
                return aside.run(lambda calls: send(calls, remaining))
            except grpc.FutureCancelledError:
                raise errors.Cancelled("StoreArray: cancelled by the caller") from None
            except grpc.RpcError as error:
                raise caller.failed(error) from None

    with Display(progress, settings.progress):
        # A second try could replace an array that another caller stored under the name in between.
        kept, _ = connection.retrier.run(
            once,
            deadline=limit.left(),
            retries=settings.retries,
            repeat=Repeat.UNLESS_LOST,
            reload=caller.reload,
            progress=progress,
        )
    return StoredArray(connection, kept.name, kept.type, element_dtype, kept.count, kept.shards > 0)


def fetch(connection: Channels, array: StoredArray, settings: Settings) -> NDArray[Any]:
    """The elements of a kept array."""
    target = settings.out[0] if settings.out is not None else None
    if target is not None:
        conversion.check_out(target, array.dtype, None)
    progress = Progress(f"corank fetch {array.name}, {connection.address}", 0, array.nbytes)
    deadline = connection.deadline(settings, array.nbytes)
    caller = connection.caller("FetchArray", deadline, settings.traceparent)
    method = connection.memory_stream("FetchArray")
    request = memory.FetchArrayRequest(name=array.name).SerializeToString()

    def take(calls: aside.Calls, remaining: float | None) -> NDArray[Any]:
        call = method(request, timeout=remaining, metadata=caller.metadata())
        calls.add(call)
        return _taken(call, array, target, progress)

    def once(remaining: float | None) -> NDArray[Any]:
        progress._restart()
        try:
            return aside.run(lambda calls: take(calls, remaining))
        except grpc.RpcError as error:
            raise caller.failed(error) from None

    with Display(progress, settings.progress):
        return connection.retrier.run(
            once,
            deadline=deadline,
            retries=settings.retries,
            repeat=Repeat.ALWAYS,
            reload=caller.reload,
            progress=progress,
        )[0]


def _taken(call: Any, array: StoredArray, target: NDArray[Any] | None, progress: Progress) -> NDArray[Any]:
    """The array that FetchArray answers with."""
    sink: Sink | None = None
    count = 0
    for response in call:
        for number, start, end in parts_of(response):
            if number == _FETCHED["array"].number:
                kept = memory.StoredArray.FromString(response[start:end])
                count = kept.count
                found = storage(kept.type, kept.record_bytes)
                if kept.type != array._type or found.itemsize != array.dtype.itemsize:
                    raise errors.NotFound(
                        f"{array.name}: is another array now, of {NAMES.get(kept.type, found)}; ask for it again"
                    )
                if target is not None:
                    conversion.check_out(target, array.dtype, count)
                sink = Sink(array.dtype, np.empty(count, array.dtype) if target is None else target)
            elif number == _FETCHED["chunk"].number and sink is not None:
                chunk = decode_chunk(response, start, end)
                sink.write(chunk.first_element, chunk.data)
                progress._add(received=chunk.data.nbytes)
    if sink is None:
        raise errors.Internal("FetchArray: the server did not say what it keeps")
    return sink.result(count)
