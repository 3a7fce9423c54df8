"""Memory that is registered with the server: POSIX shared memory of this client, and GPU memory of this process."""

from __future__ import annotations

import contextlib
import mmap
import os
import secrets
import threading
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Protocol

import grpc
import numpy as np
from numpy.typing import NDArray

from corank import cuda, errors
from corank.copying import bytes_of
from corank.retry import Repeat
from corank.v1 import memory_service_pb2 as memory

if TYPE_CHECKING:
    from corank.call import Caller
    from corank.results import ServerInfo

_FOLDER = "/dev/shm"
_LEASE_SECONDS = 10.0
_SCRATCH_STEP = 16 << 20


class Place(NamedTuple):
    """Where an array is within a registered region."""

    region: str
    offset: int


class Server(Protocol):
    """What regions need of a connection."""

    def server(self) -> ServerInfo:
        """What the server is, asked once."""

    def memory_call(self, name: str, request: Any, response: type[Any]) -> Any:
        """Calls a unary method of MemoryService."""

    def memory_tries(self, name: str, prepare: Callable[[], tuple[Any, type[Any]]], repeat: Repeat) -> Any:
        """The same with another request for each try."""

    def caller(self, operator: str, deadline: float | None) -> Caller:
        """What the tries of one call share."""

    def memory_release(self, name: str, request: Any, response: type[Any]) -> None:
        """memory_call of what gives memory back, which waits a moment for requests that still use it."""

    def memory_stream(self, name: str) -> Any:
        """A method of MemoryService that answers with a stream."""


class _Mapping(mmap.mmap):
    """Mapped memory that says when it goes, before it is unmapped: its address may be another array's right after."""

    on_drop: Callable[[], object] | None = None

    def __del__(self) -> None:
        if self.on_drop is not None:
            self.on_drop()


class _Lease:
    """A lease of the server: an open call. When it ends, also because this process died, its regions end."""

    def __init__(self, server: Server) -> None:
        caller = server.caller("OpenLease", _LEASE_SECONDS)
        request = memory.OpenLeaseRequest().SerializeToString()
        self._call = server.memory_stream("OpenLease")(request, metadata=caller.metadata())
        timer = threading.Timer(_LEASE_SECONDS, self._call.cancel)
        timer.daemon = True
        timer.start()
        try:
            first = next(self._call)
        except grpc.RpcError as error:
            raise caller.failed(error) from error
        except StopIteration:
            raise errors.Internal("OpenLease: the server answered nothing") from None
        finally:
            timer.cancel()
        self.id: str = memory.OpenLeaseResponse.FromString(first).lease_id

    def holds(self) -> bool:
        """Whether the server still keeps its regions, as far as this process knows."""
        return bool(self._call.is_active())

    def end(self) -> None:
        """Gives everything back."""
        self._call.cancel()


class Regions:
    """The regions of one client. Thread-safe.

    An array from `allocate` is ordinary memory of this process too: it stays usable when the client is closed or the
    server goes away. Its region is given back when the last array on it is gone, and all of them when the client is
    closed or its process ends. The objects have no name in the file system after registration.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._lock = threading.RLock()
        self._lease: _Lease | None = None
        self._shared: dict[int, tuple[int, str]] = {}  # address -> (bytes, region)
        self._gpu: dict[int, tuple[int, str]] = {}  # address of the allocation -> (its id, region)
        self._dropped: deque[str] = deque()  # regions to unregister
        self._idle: NDArray[np.uint8] | None = None

    def allocate(self, nbytes: int) -> NDArray[np.uint8]:
        """`nbytes` bytes of shared memory, registered with the server; zeros.

        Raises:
            Unimplemented: the server has shared memory switched off, or this system has no /dev/shm.
            ResourceExhausted: there is not that much shared memory.
            CorankError: the server refused it.
        """
        info = self._server.server()
        if "shared_memory" not in info.places or not info.shared_memory_prefixes:
            raise errors.Unimplemented("place: this server takes no shared memory (corankd --shared-memory)")
        if not os.path.isdir(_FOLDER):
            raise errors.Unimplemented(f"place: shared memory needs {_FOLDER}, which this system does not have")
        self.sweep()
        size = -(-max(nbytes, 1) // mmap.PAGESIZE) * mmap.PAGESIZE
        key = f"{info.shared_memory_prefixes[0]}{os.getpid()}-{secrets.token_hex(8)}"
        path = _FOLDER + key
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            try:
                # Takes the pages now: later, a full /dev/shm would end this process and the server with SIGBUS.
                os.posix_fallocate(handle, 0, size)
            except OSError as error:
                raise errors.ResourceExhausted(
                    f"shared memory: {size:,} bytes do not fit into {_FOLDER} ({error.strerror})"
                ) from error
            mapped = _Mapping(handle, size)

            def prepare() -> tuple[Any, type[Any]]:
                # What a try that was lost may have registered ends with the lease, which was lost with it.
                request = memory.RegisterSharedMemoryRequest(
                    name=f"shm-{os.getpid()}-{secrets.token_hex(8)}",
                    key=key,
                    size_bytes=size,
                    lease_id=self._lease_id(),
                )
                return request, memory.RegisterSharedMemoryResponse

            with self._lock:
                name = self._server.memory_tries("RegisterSharedMemory", prepare, Repeat.ALWAYS).region.name
                out = np.frombuffer(mapped, np.uint8)
                address = out.ctypes.data
                self._shared[address] = (size, name)
                mapped.on_drop = lambda: self._drop(address, name)
        finally:
            os.close(handle)
            os.unlink(path)
        return out[:nbytes]

    def _drop(self, address: int, name: str) -> None:
        # Runs in whatever thread lets go of the last array, maybe one of gRPC's: no lock is taken and nothing is sent.
        self._shared.pop(address, None)
        self._dropped.append(name)

    def find(self, data: memoryview, align: int) -> Place | None:
        """Where these bytes are, if they are all in one region at a multiple of `align`; else None."""
        if not self._shared:
            return None
        begin = np.frombuffer(data, np.uint8).ctypes.data
        with self._lock:
            if self._lease is None or not self._lease.holds():
                return None
            for start, (size, name) in list(self._shared.items()):
                if start <= begin and begin + data.nbytes <= start + size:
                    return Place(name, begin - start) if (begin - start) % align == 0 else None
        return None

    @contextlib.contextmanager
    def scratch(self, nbytes: int) -> Iterator[Scratch]:
        """Shared memory for one call. One block is kept for the next call: registering costs more than copying."""
        self.sweep()
        with self._lock:
            block, self._idle = self._idle, None
        if block is not None and (block.nbytes < nbytes or self.find(bytes_of(block), 1) is None):
            block = None
        scratch = Scratch(block)
        del block
        if scratch.block is None:
            self.sweep()
            scratch.block = self.allocate(-(-nbytes // _SCRATCH_STEP) * _SCRATCH_STEP)
        try:
            yield scratch
            with self._lock:
                if scratch.block is not None and (self._idle is None or self._idle.nbytes < scratch.block.nbytes):
                    self._idle = scratch.block
        finally:
            # After a failure it is not kept: the server may still write into it.
            scratch.block = None
            self.sweep()

    def gpu(self, array: cuda.GpuArray) -> Place:
        """Where an array on the GPU is; its allocation is registered if it is not yet.

        Raises:
            Unimplemented: the server takes no GPU memory.
            InvalidArgument: the memory cannot be shared.
            CorankError: the server refused it.
        """
        if "cuda_ipc" not in self._server.server().places:
            raise errors.Unimplemented("place: this server takes no arrays on the GPU (corankd --cuda-ipc=true)")
        self.sweep()
        allocation = cuda.allocation(array)
        with self._lock:
            self._lease_id()  # forgets what went with an earlier lease
            known = self._gpu.get(allocation.base)
            if known is None or known[0] != allocation.buffer_id:
                if known is not None:  # that memory was freed, and this is another allocation at its address
                    del self._gpu[allocation.base]
                    self._dropped.append(known[1])
                    self.sweep()

                def prepare() -> tuple[Any, type[Any]]:
                    request = memory.RegisterCudaIpcRequest(
                        name=f"gpu-{os.getpid()}-{secrets.token_hex(8)}",
                        handle=allocation.handle,
                        size_bytes=allocation.size,
                        device_uuid=allocation.device_uuid,
                        lease_id=self._lease_id(),
                    )
                    return request, memory.RegisterCudaIpcResponse

                name = self._server.memory_tries("RegisterCudaIpc", prepare, Repeat.ALWAYS).region.name
                known = self._gpu[allocation.base] = (allocation.buffer_id, name)
        return Place(known[1], array.pointer - allocation.base)

    def unregister(self, array: NDArray[Any]) -> None:
        """Unregisters the region of `array` now, which stays ordinary memory.

        Raises:
            CorankError: a request uses it.
        """
        begin = array.ctypes.data
        with self._lock:
            known = self._shared.get(begin)
        if known is not None:
            request = memory.UnregisterRegionRequest(name=known[1])
            self._server.memory_release("UnregisterRegion", request, memory.UnregisterRegionResponse)
            with self._lock:
                self._shared.pop(begin, None)

    def sweep(self) -> None:
        """Unregisters the regions whose last array is gone."""
        again = []
        while True:
            try:
                name = self._dropped.popleft()
            except IndexError:
                break
            request = memory.UnregisterRegionRequest(name=name)
            try:
                self._server.memory_call("UnregisterRegion", request, memory.UnregisterRegionResponse)
            except errors.NotFound:
                pass  # it went with its lease
            except errors.CorankError:
                again.append(name)  # in use, or the server is not there now
        self._dropped.extend(again)

    def lost(self) -> bool:
        """Whether the server does not know one of the regions any more."""
        found = self._server.memory_call("ListRegions", memory.ListRegionsRequest(), memory.ListRegionsResponse)
        known = {region.name for region in found.regions}
        with self._lock:
            return any(name not in known for _, name in [*self._shared.values(), *self._gpu.values()])

    def forget(self) -> None:
        """Lets go of all regions: the server does not know them any more."""
        with self._lock:
            lease, self._lease = self._lease, None
            self._clear()
        if lease is not None:
            lease.end()

    def _clear(self) -> None:
        self._shared.clear()
        self._gpu.clear()
        self._dropped.clear()
        self._idle = None

    def _lease_id(self) -> str:
        if self._lease is None or not self._lease.holds():
            self._clear()
            self._lease = _Lease(self._server)
        return self._lease.id


class Scratch:
    """Shared memory for one call, given out from its start."""

    def __init__(self, block: NDArray[np.uint8] | None) -> None:
        self.block = block
        self._used = 0

    def take(self, nbytes: int, element_bytes: int) -> NDArray[np.uint8]:
        """The next `nbytes` bytes, at an offset that suits the elements."""
        assert self.block is not None
        begin = scratch_offset(self._used, element_bytes)
        self._used = begin + nbytes
        return self.block[begin : self._used]

    def give_away(self) -> None:
        """Leaves the block to the arrays on it: it does not serve another call."""
        self.block = None


def scratch_offset(used: int, element_bytes: int) -> int:
    """Where an array begins in scratch memory of which `used` bytes are taken."""
    unit = 64 * min(element_bytes, 16)  # of a cache line, and of every element size that offsets are checked against
    return -(-used // unit) * unit


class SharedArray:
    """An array in shared memory: a context manager that yields it as a NumPy array.

        with client.share(x) as shared:
            client.sort(shared, out=shared)  # nothing is copied

    On leaving, the region is unregistered. The NumPy array stays usable, as ordinary memory.
    """

    def __init__(self, regions: Regions, count: int, dtype: np.dtype[Any]) -> None:
        self._regions = regions
        self._block = regions.allocate(count * dtype.itemsize)
        self.array: NDArray[Any] = self._block.view(dtype)

    def close(self) -> None:
        """Unregisters it.

        Raises:
            CorankError: a request uses it (FAILED_PRECONDITION).
        """
        self._regions.unregister(self._block)

    def __enter__(self) -> NDArray[Any]:
        return self.array

    def __exit__(self, *exc_info: object) -> None:
        self.close()
