"""Places of arrays for the test double: regions, leases and kept arrays, and MemoryService over them."""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
from collections.abc import Iterable, Iterator
from typing import Any

import grpc
from google.protobuf.message import Message

from corank.v1 import array_pb2
from corank.v1 import memory_service_pb2 as memory

PREFIX = "/corank-double-"
DEVICE_UUID = "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"
# For each field of a response, the field of the request that holds its destination.
DESTINATIONS = {
    "sort": {"keys": "keys_destination", "values": "values_destination", "indices": "indices_destination"},
    "merge": {"keys": "keys_destination", "values": "values_destination"},
    "expand_intervals": {"values": "destination"},
    "move_intervals": {"result": "result_destination"},
    "gather_intervals": {"result": "destination"},
    "scatter_intervals": {"result": "result_destination"},
    "load_balance": {"objects": "objects_destination", "ranks": "ranks_destination"},
    "search": {"positions": "destination"},
    "group": {
        name: f"{name}_destination" for name in ("keys", "counts", "firsts", "sums", "minima", "maxima", "value_counts")
    },
    "combine_sets": {name: f"{name}_destination" for name in ("keys", "values", "count")},
    "join": {name: f"{name}_destination" for name in ("left_rows", "right_rows", "count")},
    "select": {name: f"{name}_destination" for name in ("elements", "values", "indices", "count")},
    "rank": {"ranks": "ranks_destination"},
}


class Failure(Exception):
    """A call that fails with a status."""

    def __init__(self, code: grpc.StatusCode, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.code, self.retry_after = code, retry_after


class Region:
    """Registered memory."""

    def __init__(self, kind: int, data: memoryview, lease: str) -> None:
        self.kind, self.data, self.lease = kind, data, lease


class Call:
    """The places that belong to one call: chunks that came, chunks to go, temporaries."""

    def __init__(self) -> None:
        self.came: dict[int, bytes] = {}
        self.go: dict[int, tuple[bytes, int]] = {}  # stream_id -> bytes, bytes of an element
        self.temporaries: dict[str, Any] = {}


def element_bytes(array: Any) -> int:
    """Bytes of an element of an Array message."""
    widths = {1: 1, 2: 2, 3: 4, 4: 8, 5: 1, 6: 2, 7: 4, 8: 8, 9: 2, 10: 2, 11: 4, 12: 8}
    return widths.get(array.type) or array.record_bytes


class Places:
    """All memory of one double. Calls are told apart by Call objects."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.regions: dict[str, Region] = {}
        self.kept: dict[str, Any] = {}
        self.sharded: set[str] = set()
        self.expiry: dict[str, int] = {}  # seconds that were asked for
        self.page_size = 1000  # entries in a page of a list
        self.leases: set[str] = set()
        self._lease_number = 0
        self.refuse_unregister = 0  # so many times regions are in use
        self.refuses_cuda_ipc: grpc.StatusCode | None = None

    def range_of(self, place: Any, size: int, element: int) -> memoryview:
        """The bytes of a place in a region."""
        with self.lock:
            region = self.regions.get(place.region)
        if region is None:
            raise Failure(grpc.StatusCode.NOT_FOUND, f"no region {place.region!r}")
        if place.offset_bytes % min(element, 16) or not 0 <= place.offset_bytes <= len(region.data) - size:
            raise Failure(grpc.StatusCode.INVALID_ARGUMENT, "offset_bytes: out of the region, or not aligned")
        return region.data[place.offset_bytes : place.offset_bytes + size]

    def bring(self, message: Any, call: Call) -> None:
        """Makes all arrays of a request inline."""
        for field, value in message.ListFields():
            each = [value] if isinstance(value, Message) else value
            if field.message_type is None:
                continue
            for part in each:
                if isinstance(part, array_pb2.Array):
                    self._bring_array(part, call)
                elif field.name == "key_columns":
                    self.bring(part, call)

    def _bring_array(self, array: Any, call: Call) -> None:
        place, size = array.WhichOneof("place"), array.count * element_bytes(array)
        if place in (None, "inline_data"):
            return
        if place != "stored" and not array.HasField("count"):
            raise Failure(grpc.StatusCode.INVALID_ARGUMENT, "count: is required")
        if place == "stream":
            data = call.came.pop(array.stream.stream_id, b"")
        elif place == "stored":
            table = call.temporaries if array.stored.temporary else self.kept
            if array.stored.name not in table:
                raise Failure(grpc.StatusCode.NOT_FOUND, f"no array {array.stored.name!r}")
            data = table[array.stored.name].inline_data
            if not array.HasField("count"):
                array.count = table[array.stored.name].count
                size = len(data)
        else:
            data = bytes(self.range_of(getattr(array, place), size, element_bytes(array)))
        if len(data) != size:
            raise Failure(grpc.StatusCode.INVALID_ARGUMENT, f"count: {len(data)} bytes came for {size}")
        array.inline_data = data

    def deliver(self, operation: str, request: Any, response: Any, call: Call) -> None:
        """Puts the results of an operator where its request says."""
        for field, destination in DESTINATIONS[operation].items():
            if response.HasField(field):
                self._deliver(getattr(response, field), getattr(request, destination), call)
        for given, column in zip(getattr(request, "key_columns", ()), getattr(response, "key_columns", ())):
            self._deliver(column.data, given.data_destination, call)
            if column.HasField("offsets"):
                self._deliver(column.offsets, given.offsets_destination, call)

    def _deliver(self, array: Any, destination: Any, call: Call) -> None:
        place, data = destination.WhichOneof("place"), array.inline_data
        array.count = len(data) // element_bytes(array)
        if place in (None, "inline_response"):
            return
        if place == "stream":
            call.go[destination.stream.stream_id] = (data, element_bytes(array))
            array.stream.CopyFrom(destination.stream)
        elif place == "stored":
            kept = array_pb2.Array()
            kept.CopyFrom(array)
            (call.temporaries if destination.stored.temporary else self.kept)[destination.stored.name] = kept
            self.note_sharded(destination.stored)
            array.stored.CopyFrom(destination.stored)
        else:
            where = getattr(destination, place)
            self.range_of(where, len(data), element_bytes(array))[:] = data
            getattr(array, place).CopyFrom(where)

    # MemoryService.

    def _add(self, request: Any, kind: int, data: memoryview) -> Any:
        with self.lock:
            if request.lease_id and request.lease_id not in self.leases:
                raise Failure(grpc.StatusCode.NOT_FOUND, "no such lease")
            if request.name in self.regions:
                raise Failure(grpc.StatusCode.ALREADY_EXISTS, "the name is taken")
            self.regions[request.name] = Region(kind, data, request.lease_id)
        return memory.Region(name=request.name, kind=kind, size_bytes=request.size_bytes)  # type: ignore[arg-type]

    def register_shared_memory(self, request: Any) -> Message:
        """Maps the object."""
        if not request.key.startswith(PREFIX):
            raise Failure(grpc.StatusCode.PERMISSION_DENIED, "not with this prefix")
        try:
            handle = os.open("/dev/shm" + request.key, os.O_RDWR)
        except FileNotFoundError:
            raise Failure(grpc.StatusCode.NOT_FOUND, "no such object") from None
        data = memoryview(mmap.mmap(handle, request.size_bytes))
        os.close(handle)
        return memory.RegisterSharedMemoryResponse(region=self._add(request, memory.REGION_KIND_SHARED_MEMORY, data))

    def register_cuda_ipc(self, request: Any) -> Message:
        """The double of the driver puts the address, which is of this process, into the handle."""
        if self.refuses_cuda_ipc is not None:
            raise Failure(self.refuses_cuda_ipc, "no handle of this GPU")
        if request.device_uuid != DEVICE_UUID:
            raise Failure(grpc.StatusCode.FAILED_PRECONDITION, "another GPU")
        base = int.from_bytes(request.handle[:8], "little") + request.offset_bytes
        data = memoryview((ctypes.c_ubyte * request.size_bytes).from_address(base)).cast("B")
        return memory.RegisterCudaIpcResponse(region=self._add(request, memory.REGION_KIND_CUDA_IPC, data))

    def open_lease(self, _: Any, context: grpc.ServicerContext) -> Iterator[Message]:
        """Stays open until the caller goes."""
        ended = threading.Event()
        context.add_callback(ended.set)
        with self.lock:
            self._lease_number += 1
            lease = f"lease-{self._lease_number}"
            self.leases.add(lease)
        yield memory.OpenLeaseResponse(lease_id=lease)
        ended.wait()
        with self.lock:
            self.leases.discard(lease)
            self.regions = {name: region for name, region in self.regions.items() if region.lease != lease}

    def unregister_region(self, request: Any) -> Message:
        """Forgets it."""
        with self.lock:
            if self.refuse_unregister > 0:
                self.refuse_unregister -= 1
                raise Failure(grpc.StatusCode.FAILED_PRECONDITION, "a request uses it")
            if self.regions.pop(request.name, None) is None:
                raise Failure(grpc.StatusCode.NOT_FOUND, f"no region {request.name!r}")
        return memory.UnregisterRegionResponse()

    def _page(self, names: Iterable[str], request: Any) -> tuple[list[str], str]:
        """The names of the page that is asked for, and the token of the next."""
        after = sorted(name for name in names if name > request.page_token)
        page = after[: self.page_size]
        return page, page[-1] if len(page) < len(after) else ""

    def list_regions(self, request: Any) -> Message:
        """Names and lengths."""
        names, token = self._page(self.regions, request)
        regions = [
            memory.Region(
                name=name,
                kind=self.regions[name].kind,  # type: ignore[arg-type]
                size_bytes=len(self.regions[name].data),
            )
            for name in names
        ]
        return memory.ListRegionsResponse(regions=regions, next_page_token=token)

    def note_sharded(self, place: Any) -> None:
        """Remembers whether the array of a header or destination is sharded."""
        (self.sharded.add if place.sharded else self.sharded.discard)(place.name)

    def _stored(self, name: str) -> Any:
        if name not in self.kept:
            raise Failure(grpc.StatusCode.NOT_FOUND, f"no array {name!r}")
        array = self.kept[name]
        return memory.StoredArray(
            name=name,
            type=array.type,
            count=array.count,
            record_bytes=array.record_bytes,
            expires_in={"seconds": 60},
            shards=2 if name in self.sharded else 0,
        )

    def store_array(self, requests: Iterator[Any]) -> Message:
        """Keeps what comes."""
        header = next(requests).header
        array = array_pb2.Array(
            type=header.array.type, count=header.array.count, record_bytes=header.array.record_bytes
        )
        array.inline_data = b"".join(request.chunk.data for request in requests)
        if len(array.inline_data) != array.count * element_bytes(array):
            raise Failure(grpc.StatusCode.INVALID_ARGUMENT, "array.count: another number of elements came")
        self.kept[header.name], self.expiry[header.name] = array, header.expiry.seconds
        self.note_sharded(header)
        return memory.StoreArrayResponse(array=self._stored(header.name))

    def fetch_array(self, request: Any) -> Iterator[Message]:
        """In chunks of two elements and more."""
        found, array = self._stored(request.name), self.kept[request.name]
        yield memory.FetchArrayResponse(array=found)
        width = element_bytes(array)
        step = max(2, array.count // 3)
        for first in range(0, array.count, step):
            data = array.inline_data[first * width : (first + step) * width]
            yield memory.FetchArrayResponse(chunk=array_pb2.ArrayChunk(first_element=first, data=data))

    def list_arrays(self, request: Any) -> Message:
        """Names and types."""
        used = sum(len(array.inline_data) for array in self.kept.values())
        names, token = self._page(self.kept, request)
        arrays = [self._stored(name) for name in names]
        return memory.ListArraysResponse(arrays=arrays, used_bytes=used, quota_bytes=1 << 30, next_page_token=token)

    def delete_array(self, request: Any) -> Message:
        """Forgets it."""
        self._stored(request.name)
        del self.kept[request.name]
        return memory.DeleteArrayResponse()
