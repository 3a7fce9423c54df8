"""corank.v1 by hand, for calls that the Python client never makes: every method, calls of several parts, regions."""

from __future__ import annotations

import mmap
import os
import threading
import uuid
from collections.abc import Iterator
from typing import Any, NamedTuple

import grpc
import numpy as np
from corank.v1 import array_pb2 as a
from corank.v1 import corank_service_pb2 as service
from corank.v1 import group_pb2 as group
from corank.v1 import join_pb2 as join
from corank.v1 import memory_service_pb2 as memory
from corank.v1 import operators_pb2 as o
from corank.v1 import rank_pb2 as rank
from corank.v1 import select_pb2 as select
from corank.v1 import sets_pb2 as sets
from e2e_support import details_of
from random_operators import RECORD, Array, Elements

PREFIX = "/corank-random-"
"""The prefix of the names of shared-memory objects."""
MAX_CHUNK_BYTES = 4 << 20
_OPTIONS = [
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.enable_retries", 0),
    ("grpc.enable_http_proxy", 0),
]
_SECONDS = 60
METHODS: dict[str, tuple[str, Any]] = {
    "sort": ("Sort", o.SortResponse),
    "merge": ("Merge", o.MergeResponse),
    "expand_intervals": ("ExpandIntervals", o.ExpandIntervalsResponse),
    "move_intervals": ("MoveIntervals", o.MoveIntervalsResponse),
    "gather_intervals": ("GatherIntervals", o.GatherIntervalsResponse),
    "scatter_intervals": ("ScatterIntervals", o.ScatterIntervalsResponse),
    "load_balance": ("LoadBalance", o.LoadBalanceResponse),
    "search": ("Search", o.SearchResponse),
    "group": ("Group", group.GroupResponse),
    "combine_sets": ("CombineSets", sets.CombineSetsResponse),
    "join": ("Join", join.JoinResponse),
    "select": ("Select", select.SelectResponse),
    "rank": ("Rank", rank.RankResponse),
}


class RefusedError(Exception):
    """A call that ended with a status.

    Attributes:
        code: the name of the status code.
        field: the field that the status names.
        again: whether the status says when to retry.
    """

    def __init__(self, error: Any) -> None:
        super().__init__(f"{error.code().name}: {error.details()}")
        self.code = error.code().name
        details = details_of(error)
        if not details.info.reason:
            raise AssertionError(f"an error without a reason: {error.code().name}: {error.details()}")
        self.field, self.again = "".join(details.violations[:1]), details.has_retry_delay


class Chunk(NamedTuple):
    """A piece of a streamed array."""

    stream_id: int
    first: int
    data: bytes


class Answer(NamedTuple):
    """The responses to one part of an Execute."""

    chunks: list[Chunk]
    results: list[service.OperationResult]


class Region:
    """A shared-memory object of this process, registered with a server, and its expected contents."""

    def __init__(self, wire: Wire, size: int, skipped: int = 0) -> None:
        self.name = uuid.uuid4().hex
        path = f"/dev/shm{PREFIX}{self.name}"
        file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        try:
            os.ftruncate(file, skipped + size)
            self._map = mmap.mmap(file, skipped + size)
            wire.register(self.name, f"{PREFIX}{self.name}", skipped, size)
        finally:
            os.close(file)
            os.unlink(path)
        self.bytes = np.frombuffer(self._map, np.uint8)[skipped:]
        self.should: Array = np.zeros(size, np.uint8)
        self.used = 0

    def write(self, begin: int, data: Array) -> None:
        """Writes bytes and records them as expected."""
        self.bytes[begin : begin + data.nbytes] = self.should[begin : begin + data.nbytes] = data.view(np.uint8)


def header(elements: Elements) -> Any:
    """An Array without place and count."""
    record_bytes = elements.width if elements.type == RECORD else 0
    return a.Array(type=elements.type, record_bytes=record_bytes)  # type: ignore[arg-type]


class Wire:
    """Connections to a server, and its methods.

    Args:
        address: of the server.
        connections: how many; a call of several parts takes one for each.
    """

    def __init__(self, address: str, connections: int) -> None:
        self._channels = [grpc.insecure_channel(address, _OPTIONS) for _ in range(connections)]

    def close(self) -> None:
        """Closes the connections."""
        for channel in self._channels:
            channel.close()

    def _unary(self, service_name: str, method: str, request: Any, response: Any) -> Any:
        call: Any = self._channels[0].unary_unary(
            f"/corank.v1.{service_name}/{method}", type(request).SerializeToString, response.FromString
        )
        try:
            return call(request, timeout=_SECONDS)
        except grpc.RpcError as error:
            raise RefusedError(error) from None

    def one(self, kind: str, request: Any) -> Any:
        """Calls an operator by its own method."""
        return self._unary("CorankService", METHODS[kind][0], request, METHODS[kind][1])

    def together(self, requests: list[tuple[str, Any]]) -> list[Any]:
        """Calls operators at the same time; some answers may be RefusedErrors.

        Raises:
            RefusedError: a call must be tried again.
        """
        futures = []
        for number, (kind, request) in enumerate(requests):
            method, response = METHODS[kind]
            call: Any = self._channels[number % len(self._channels)].unary_unary(
                f"/corank.v1.CorankService/{method}", type(request).SerializeToString, response.FromString
            )
            futures.append(call.future(request, timeout=_SECONDS))
        answers: list[Any] = []
        for future in futures:
            try:
                answers.append(future.result())
            except grpc.RpcError as error:
                answers.append(RefusedError(error))
        for answer in answers:
            if isinstance(answer, RefusedError) and answer.again:
                raise answer
        return answers

    def register(self, name: str, key: str, offset: int, size: int) -> None:
        """RegisterSharedMemory."""
        request = memory.RegisterSharedMemoryRequest(name=name, key=key, offset_bytes=offset, size_bytes=size)
        self._unary("MemoryService", "RegisterSharedMemory", request, memory.RegisterSharedMemoryResponse)

    def unregister(self, name: str) -> None:
        """UnregisterRegion."""
        request = memory.UnregisterRegionRequest(name=name)
        self._unary("MemoryService", "UnregisterRegion", request, memory.UnregisterRegionResponse)

    def delete(self, name: str) -> None:
        """DeleteArray."""
        self._unary("MemoryService", "DeleteArray", memory.DeleteArrayRequest(name=name), memory.DeleteArrayResponse)

    def names(self, begin: str) -> set[str]:
        """The kept arrays whose names begin with this prefix."""
        found = self._unary("MemoryService", "ListArrays", memory.ListArraysRequest(), memory.ListArraysResponse)
        return {array.name for array in found.arrays if array.name.startswith(begin)}

    def store(self, name: str, elements: Elements) -> None:
        """StoreArray, in one chunk or more."""
        array = header(elements)
        array.count, array.stream.stream_id = len(elements.data), 5
        requests = [memory.StoreArrayRequest(header=memory.StoreArrayHeader(name=name, array=array))]
        step = max(1, (1 << 20) // elements.width)
        for first in range(0, len(elements.data), step):
            piece = a.ArrayChunk(stream_id=5, first_element=first, data=elements.data[first : first + step].tobytes())
            requests.append(memory.StoreArrayRequest(chunk=piece))
        call: Any = self._channels[0].stream_unary(
            "/corank.v1.MemoryService/StoreArray",
            memory.StoreArrayRequest.SerializeToString,
            memory.StoreArrayResponse.FromString,
        )
        try:
            call(iter(requests), timeout=_SECONDS)
        except grpc.RpcError as error:
            raise RefusedError(error) from None

    def fetch(self, name: str) -> tuple[memory.StoredArray, bytes]:
        """FetchArray: the kept array."""
        call: Any = self._channels[0].unary_stream(
            "/corank.v1.MemoryService/FetchArray",
            memory.FetchArrayRequest.SerializeToString,
            memory.FetchArrayResponse.FromString,
        )
        try:
            pieces = list(call(memory.FetchArrayRequest(name=name), timeout=_SECONDS))
        except grpc.RpcError as error:
            raise RefusedError(error) from None
        return pieces[0].array, b"".join(piece.chunk.data for piece in pieces)

    def execute(self, operations: list[Any], parts: list[list[Chunk]]) -> list[Answer | RefusedError]:
        """Execute with these chunks in each part; returns the responses of each part."""
        job = uuid.uuid4().hex if len(parts) > 1 else ""
        outcomes: list[Answer | RefusedError] = [Answer([], []) for _ in parts]

        def requests(part: int) -> Iterator[service.ExecuteRequest]:
            plan = service.Plan(operations=operations, job_id=job, part=part, parts=len(parts) if job else 0)
            yield service.ExecuteRequest(plan=plan)
            for each in parts[part]:
                chunk = a.ArrayChunk(stream_id=each.stream_id, first_element=each.first, data=each.data)
                yield service.ExecuteRequest(chunk=chunk)

        def run(part: int) -> None:
            call: Any = self._channels[part % len(self._channels)].stream_stream(
                "/corank.v1.CorankService/Execute",
                service.ExecuteRequest.SerializeToString,
                service.ExecuteResponse.FromString,
            )
            got = Answer([], [])
            try:
                for response in call(requests(part), timeout=_SECONDS):
                    if response.HasField("chunk"):
                        chunk = response.chunk
                        got.chunks.append(Chunk(chunk.stream_id, chunk.first_element, chunk.data))
                        assert not got.results, "a chunk behind a result"
                    else:
                        got.results.append(response.result)
                outcomes[part] = got
            except grpc.RpcError as error:
                outcomes[part] = RefusedError(error)

        threads = [threading.Thread(target=run, args=(part,)) for part in range(1, len(parts))]
        for thread in threads:
            thread.start()
        run(0)
        for thread in threads:
            thread.join()
        return outcomes
