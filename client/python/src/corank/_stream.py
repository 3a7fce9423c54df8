"""Execute: arrays of any size in chunks, over one connection or several, with memory for one chunk per direction."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import grpc
import numpy as np
from numpy.typing import NDArray

from corank import _aside as aside
from corank import _errors as errors
from corank._call import Caller, trailing
from corank._copying import copy_into
from corank._progress import Progress
from corank._wire import decode_chunk, encode_chunk, nested, parts_of
from corank.v1 import corank_service_pb2 as service

if TYPE_CHECKING:
    StreamMethod = grpc.StreamStreamMultiCallable[bytes, bytes]

MAX_STREAMS = 1024
CHUNK_BYTES = 2 << 20
_RESPONSE = service.ExecuteResponse.DESCRIPTOR.fields_by_name
_PLAN_IN_REQUEST = service.ExecuteRequest.DESCRIPTOR.fields_by_name["plan"].number


class Source(NamedTuple):
    """An array that is sent in chunks."""

    stream_id: int
    data: memoryview  # bytes
    element_bytes: int


class Sink:
    """Takes the chunks of one result, in any order and from any thread, and writes them where they belong.

    Args:
        dtype: of the elements as they travel.
        into: where they go, converted to its dtype; None: the length is not known, a new array grows as they come.
    """

    def __init__(self, dtype: np.dtype[Any], into: NDArray[Any] | None) -> None:
        self._dtype, self._grows = dtype, into is None
        self._into = np.empty(0, dtype) if into is None else into
        self._elements = 0
        self._lock = threading.Lock()

    def restart(self) -> None:
        """Forgets what came: the call is tried once more."""
        self._elements = 0

    def write(self, first_element: int, data: memoryview) -> None:
        """Writes a chunk.

        Raises:
            Internal: it is not a part of the result.
        """
        if data.nbytes % self._dtype.itemsize:
            raise errors.Internal(f"the server sent {data.nbytes} bytes for elements of {self._dtype.itemsize} bytes")
        count = data.nbytes // self._dtype.itemsize
        with self._lock:
            self._elements += count
            if self._grows:
                if first_element + count > self._into.size:
                    grown = _empty(max(first_element + count, 2 * self._into.size), self._dtype)
                    grown[: self._into.size] = self._into
                    self._into = grown
                # A larger array must not replace this one meanwhile.
                self._copy(first_element, count, data)
                return
        if first_element + count > self._into.size:
            size = self._into.size
            raise errors.Internal(f"the server sent element {first_element + count - 1} of a result of {size}")
        self._copy(first_element, count, data)

    def _copy(self, first_element: int, count: int, data: memoryview) -> None:
        elements = np.frombuffer(data, np.uint8).view(self._dtype)
        copy_into(self._into[first_element : first_element + count], elements)

    def result(self, count: int) -> NDArray[Any]:
        """The result, which has `count` elements, once all chunks have come.

        Raises:
            Internal: they did not.
        """
        if self._elements != count or (not self._grows and count != self._into.size):
            raise errors.Internal(f"the server sent {self._elements} of the {count} elements of a result")
        return self._into[:count] if self._grows else self._into


def _empty(count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    try:
        return np.empty(count, dtype)
    except (MemoryError, OverflowError, ValueError) as error:
        size = count * dtype.itemsize
        raise errors.ResourceExhausted(f"the result: this process has no memory for {size:,} bytes of it") from error


def chunks(sources: Sequence[Source], part: int, parts: int, chunk_bytes: int) -> Iterator[tuple[int, int, memoryview]]:
    """(stream_id, first element, bytes) of each chunk of one part of a job.

    All arrays advance together, so that the keys and the values of one range of elements arrive one after the other.
    """
    ranges = []
    rounds = 0
    for source in sources:
        count = source.data.nbytes // source.element_bytes
        begin, end = part * count // parts, (part + 1) * count // parts
        ranges.append((begin, end))
        rounds = max(rounds, -(-(end - begin) // max(1, chunk_bytes // source.element_bytes)))
    for step in range(rounds):
        for source, (begin, end) in zip(sources, ranges):
            first = begin + step * (end - begin) // rounds
            last = begin + (step + 1) * (end - begin) // rounds
            if last > first:
                width = source.element_bytes
                yield source.stream_id, first, source.data[first * width : last * width]


class Job:
    """One Execute call, or several that are the parts of a job.

    Args:
        methods: Execute of each connection; as many parts are made.
        operations: the plan's operations, each serialised as the field of Plan.
        sources: the arrays to send.
        sinks: where results go, by stream_id.
        chunk_bytes: the most bytes to put into a chunk.
        progress: is told of every chunk.
    """

    def __init__(
        self,
        methods: Sequence[StreamMethod],
        operations: bytes,
        sources: Sequence[Source],
        sinks: dict[int, Sink],
        chunk_bytes: int,
        progress: Progress,
    ) -> None:
        self._methods, self._operations = methods, operations
        self._sources, self._sinks = sources, sinks
        self._chunk_bytes, self._progress = chunk_bytes, progress
        self._lock = threading.Lock()
        self._calls: list[Any] = []
        self._error: BaseException | None = None
        self._results: list[bytes] = []
        self.request_id = ""
        """The name of the call in the server's log."""
        self.request_bytes = self.response_bytes = 0
        """Length of all messages sent and received."""

    def run(self, caller: Caller, remaining: float | None) -> list[bytes]:
        """Does the job once, within `remaining` seconds, and returns the OperationResults, serialised.

        An exception in this thread, such as Ctrl-C, cancels all parts before it goes on.

        Raises:
            CorankError: a part failed; the others are cancelled.
        """
        self._calls, self._error, self._results = [], None, []
        self.request_bytes = self.response_bytes = 0
        for sink in self._sinks.values():
            sink.restart()
        self._progress._restart()
        job_id = secrets.token_hex(8) if len(self._methods) > 1 else ""

        def work(part: int) -> None:
            try:
                self._run_part(part, job_id, remaining, caller)
            except grpc.RpcError as error:
                self._fail(caller.failed(error))
            except errors.CorankError as error:
                self._fail(error)
            except ValueError as error:
                self._fail(errors.Internal(f"{caller.operator}: the answer is not an ExecuteResponse: {error}"))
            except BaseException as error:
                self._fail(error)

        threads = [
            threading.Thread(target=work, args=(part,), name=f"corank-part-{part}", daemon=True)
            for part in range(len(self._methods))
        ]
        with caller.uploads.sending(sum(source.data.nbytes for source in self._sources)), aside.holding(self):
            aside.attend(threads, lambda: self._fail(KeyboardInterrupt()))
            if self._error is not None:
                raise self._error
        return self._results

    def cancel(self) -> None:
        """Ends the job, from another thread."""
        self._fail(errors.Cancelled("Execute: cancelled by the caller"))

    def _fail(self, error: BaseException) -> None:
        with self._lock:
            self._error = self._error or error
            calls = list(self._calls)
        for call in calls:
            call.cancel()

    def _requests(self, part: int, job_id: str) -> Iterator[bytes]:
        parts = len(self._methods)
        plan = service.Plan(job_id=job_id, part=part, parts=parts if job_id else 0)
        request = nested(_PLAN_IN_REQUEST, self._operations + plan.SerializeToString())
        self._count(request_bytes=len(request))
        yield request
        for stream_id, first, data in chunks(self._sources, part, parts, self._chunk_bytes):
            request = encode_chunk(stream_id, first, data)
            self._count(request_bytes=len(request))
            yield request
            self._progress._add(sent=data.nbytes)

    def _run_part(self, part: int, job_id: str, remaining: float | None, caller: Caller) -> None:
        requests = self._requests(part, job_id)
        call = self._methods[part](requests, timeout=remaining, metadata=caller.metadata())
        with self._lock:
            self._calls.append(call)
            failed = self._error is not None
        if failed:
            call.cancel()
        results = []
        for response in call:
            self._count(response_bytes=len(response))
            for number, start, end in parts_of(response):
                if number == _RESPONSE["result"].number:
                    results.append(response[start:end])
                elif number == _RESPONSE["chunk"].number:
                    chunk = decode_chunk(response, start, end)
                    if chunk.stream_id not in self._sinks:
                        raise errors.Internal(
                            f"the server sent a chunk of stream {chunk.stream_id}, which is no result"
                        )
                    self._sinks[chunk.stream_id].write(chunk.first_element, chunk.data)
                    self._progress._add(received=chunk.data.nbytes)
        if part == 0:
            self._results = results
            self.request_id = trailing(call)

    def _count(self, request_bytes: int = 0, response_bytes: int = 0) -> None:
        with self._lock:
            self.request_bytes += request_bytes
            self.response_bytes += response_bytes
