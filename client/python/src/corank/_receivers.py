"""Receives results from their places, as the arrays that the caller gets."""

from __future__ import annotations

import contextlib
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from corank import _conversion as conversion
from corank import _cuda as cuda
from corank import _errors as errors
from corank._copying import copy_into
from corank._elements import INDEX_DTYPES, check_positions
from corank._kept import StoredArray
from corank._regions import Place
from corank._stream import Sink
from corank._task import Output
from corank._wire import IncomingArray, OutgoingArray
from corank.v1 import array_pb2


class Answer(NamedTuple):
    """An operator's response: the message, and its arrays."""

    message: Any
    found: dict[str, IncomingArray]


class Receiver(Protocol):
    """Takes one result."""

    @property
    def place(self) -> array_pb2.Destination | None:
        """The destination in the request; None: the result comes in the response."""

    @property
    def outlives(self) -> bool:
        """Whether the server puts it where it outlives the call: the caller's memory, or an array that it keeps."""

    def is_over(self, leaf: OutgoingArray) -> bool:
        """Whether the server writes it over this input."""

    def result(self, answer: Answer) -> Any:
        """Makes the object that the caller gets.

        Raises:
            Internal: the server's answer is not what it should be.
        """


def check_target(target: NDArray[Any], output: Output) -> None:
    """Refuses an `out` array that the result does not fit.

    Raises:
        TypeError: it has another dtype, or one that is too narrow for positions.
        InvalidArgument: it has another length, is strided or cannot be written.
    """
    if output.indices:
        # Ranks are less than the number of results, which is the target's or an error.
        check_positions("out", target.dtype, target.size - 1 if output.greatest is None else output.greatest)
    conversion.check_out(target, None if output.indices else output.dtype, output.count)


def gpu_target(target: Any, output: Output) -> cuda.GpuArray:
    """An `out` array on the GPU that the result fits.

    Raises:
        TypeError: it is none, or of another type.
        InvalidArgument: it has another length.
    """
    found = cuda.gpu_array(target)
    if found is None:
        raise TypeError(f"out: results do not go into a {type(target).__name__}")
    if found._type != output.type:
        raise TypeError(f"out: is {found.dtype}, the result is {output.dtype}")
    if output.count is not None and found.count != output.count:
        raise errors.InvalidArgument(f"out: has {found.count} elements, the result has {output.count}", field="out")
    return found


def _incoming(answer: Answer, output: Output) -> IncomingArray:
    """A result in the response, or what the response says of it.

    Raises:
        Internal: there is none, or it has another type.
    """
    if output.field not in answer.found:
        raise errors.Internal(f"the server's answer lacks {output.field}")
    found = answer.found[output.field]
    record_bytes = output.dtype.itemsize if output.type == array_pb2.ELEMENT_TYPE_RECORD else 0
    if not output.indices and (found.header.type, found.header.record_bytes) != (output.type, record_bytes):
        raise errors.Internal(f"the server answered {output.field} of type {found.header.type}, not of {output.dtype}")
    return found


def _count(answer: Answer, output: Output) -> int:
    """The number of elements of a result that is not in the response."""
    header = _incoming(answer, output).header
    if output.indices and INDEX_DTYPES.get(header.type) != output.dtype:
        raise errors.Internal(f"the server answered {output.field} of type {header.type}, not of {output.dtype}")
    if output.count is not None and header.count != output.count:
        raise errors.Internal(f"the server answered {header.count} elements of {output.count} of {output.field}")
    return int(header.count)


def _of_length(target: NDArray[Any], count: int) -> NDArray[Any]:
    if target.size != count:
        raise errors.InvalidArgument(f"out: has {target.size} elements, the result has {count}", field="out")
    return target


def _into(target: NDArray[Any], result: NDArray[Any]) -> NDArray[Any]:
    copy_into(_of_length(target, result.size), result)
    return target


class _Back:
    """A result that comes back with the answer."""

    outlives = False

    def is_over(self, leaf: OutgoingArray) -> bool:
        """The server writes over no input."""
        return False


class Inline(_Back):
    """In the response."""

    place = None

    def __init__(self, output: Output, target: NDArray[Any] | None, copy: bool) -> None:
        self._output, self._target, self._copy = output, target, copy

    def result(self, answer: Answer) -> Any:
        """A new array, `out`, or a view of the response."""
        output, incoming = self._output, _incoming(answer, self._output)
        if output.indices and self._target is None:
            found = conversion.indices(incoming, output.as_dtype)
        else:
            dtype = INDEX_DTYPES.get(incoming.header.type, output.dtype) if output.indices else output.dtype
            found = conversion.incoming(incoming, dtype, self._copy and self._target is None)
        if output.count is not None and found.size != output.count:
            raise errors.Internal(f"the server answered {found.size} elements of {output.count} of {output.field}")
        return found if self._target is None else _into(self._target, found)


class Streamed(_Back):
    """In chunks of the same call.

    Args:
        output: the result.
        stream_id: its stream.
        targets: `out` to write chunks to, and `out` to copy all to at the end; at most one is given.
    """

    def __init__(
        self, output: Output, stream_id: int, targets: tuple[NDArray[Any] | None, NDArray[Any] | None]
    ) -> None:
        self._output, (into, self._target) = output, targets
        self.place = array_pb2.Destination(stream=array_pb2.StreamPlace(stream_id=stream_id))
        if into is None and output.count is not None:
            # Without enough memory, the server decides whether the result really is that long.
            with contextlib.suppress(MemoryError, OverflowError, ValueError):
                into = np.empty(output.count, output.result_dtype)
        self.sink = Sink(output.dtype, into)

    def result(self, answer: Answer) -> Any:
        """A new array, or `out`."""
        found = self.sink.result(_count(answer, self._output))
        if self._target is not None:
            return _into(self._target, found)
        dtype = self._output.result_dtype
        return found if found.dtype == dtype else found.astype(dtype)


class Shared:
    """In shared memory, from where it is copied if `copy`.

    Args:
        output: the result.
        region: where in the server's words.
        view: the same place, in this process.
        target: `out` to copy to.
        copy: whether to copy.
        outlives: whether this is memory of the caller's, and not made for the call.
    """

    def __init__(
        self,
        output: Output,
        region: Place,
        view: NDArray[Any],
        target: NDArray[Any] | None,
        copy: bool,
        outlives: bool,
    ) -> None:
        self.outlives = outlives
        self._output, self._view, self._target, self._copy = output, view, target, copy
        place = array_pb2.RegionPlace(region=region.region, offset_bytes=region.offset)
        self.place = array_pb2.Destination(shared_memory=place)

    def is_over(self, leaf: OutgoingArray) -> bool:
        """Whether the server writes over this input."""
        return leaf.data is not None and np.may_share_memory(np.frombuffer(leaf.data, np.uint8), self._view)

    def result(self, answer: Answer) -> Any:
        """A new array, `out`, or the shared memory."""
        count = _count(answer, self._output)
        if self.outlives:
            return _of_length(self._view, count)
        found = self._view[:count]
        if not self._copy:
            return found
        target = np.empty(count, self._output.result_dtype) if self._target is None else self._target
        return _into(target, found)


class OnGpu:
    """On the GPU, in an array of the caller's library."""

    outlives = True

    def __init__(self, output: Output, region: Place | None, target: cuda.GpuArray, convert: bool) -> None:
        self._output, self._target, self._convert = output, target, convert
        self.place: array_pb2.Destination | None = None
        if region is not None:
            place = array_pb2.RegionPlace(region=region.region, offset_bytes=region.offset)
            self.place = array_pb2.Destination(cuda_ipc=place)

    def is_over(self, leaf: OutgoingArray) -> bool:
        """Whether the server writes over this input."""
        held, target = leaf.held, self._target
        if not isinstance(held, cuda.GpuArray):
            return False
        return held.pointer < target.pointer + target.nbytes and target.pointer < held.pointer + held.nbytes

    def result(self, answer: Answer) -> Any:
        """The array."""
        count, array = _count(answer, self._output), self._target.array
        if self._convert and count < self._target.count:
            array = array[:count]
        elif count != self._target.count:
            raise errors.InvalidArgument(f"out: has {self._target.count} elements, the result has {count}", field="out")
        wanted = self._output.as_dtype
        if self._convert and wanted is not None and wanted != self._output.dtype:
            return cuda.converted(array, wanted)
        return array


class Kept:
    """On the server, under a name."""

    def __init__(self, output: Output, handle: StoredArray) -> None:
        self._output, self._handle = output, handle
        self.outlives = not handle._place().temporary
        self.place = array_pb2.Destination(stored=handle._place())

    def is_over(self, leaf: OutgoingArray) -> bool:
        """An array that is replaced is so once the call has succeeded: its inputs are what they were until then."""
        return False

    def result(self, answer: Answer) -> Any:
        """A handle of it."""
        count = _count(answer, self._output)
        if count != self._handle.count:
            self._handle.count = count
        return self._handle
