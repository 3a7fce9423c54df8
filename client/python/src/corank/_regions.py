"""Memory that is registered with the server: POSIX shared memory of this client, and GPU memory of this process."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import secrets
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, Callable, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corank import _cuda as cuda
from corank import _errors as errors
from corank import _forks as forks
from corank import _leftovers as leftovers
from corank._copying import bytes_of
from corank._idle import IdleBlocks
from corank._lease import Lease, Server
from corank._retry import Limit, Repeat
from corank.v1 import memory_service_pb2 as memory

_FOLDER = "/dev/shm"
_SWEEP_SECONDS = 1.0
_SCRATCH_STEPS = (1 << 20, 16 << 20)  # the least and the most
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.EFBIG)
_DENIED = (errno.EACCES, errno.EPERM, errno.EROFS)


class RegionsLost(Exception):
    """The server does not know a region that this client registered: it is another process now."""


class _Mapping(mmap.mmap):
    """Mapped memory that says when it goes, before it is unmapped: its address may be another array's right after."""

    on_drop: Callable[[], object] | None = None

    def __del__(self) -> None:
        if self.on_drop is not None:
            self.on_drop()


class Place(NamedTuple):
    """The place of an array within a registered region."""

    region: str
    offset: int
    lease: Lease
    """The lease that the region ends with."""


class _Region(NamedTuple):
    """A registered region, which is one for as long as its lease holds."""

    name: str
    lease: Lease
    extent: int
    """Bytes of shared memory; the id of the allocation on the GPU."""


class Regions:
    """The regions of one client. Thread-safe: no call of the server is made under the lock.

    An array from `allocate` is ordinary memory of this process too: it stays usable when the client is closed or the
    server goes away. Its region is given back when the last array on it is gone, and all of them when the client is
    closed or its process ends. The objects have no name in the file system after registration. In a child of a fork
    its arrays are ordinary memory, which the parent's threads see too.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._begin()

    def _begin(self) -> None:
        """Forgets all regions: this process has registered none yet."""
        self._lock = threading.Lock()
        self._lease: Lease | None = None
        self._shared: dict[int, _Region] = {}  # by address
        self._gpu: dict[int, _Region] = {}  # by address of the allocation
        self._dropped: deque[str] = deque()  # regions to unregister
        self._idle = IdleBlocks(self.sweep)
        self._has_tidied = False
        self._full_until = 0.0  # as the server said

    def forked(self) -> None:
        """In a child: regions and lease are the parent's, which still works in them."""
        forks.forever((self._lease, self._shared, self._gpu))
        self._begin()

    def allocate(self, nbytes: int, limit: Limit | None = None, retries: int | None = None) -> NDArray[np.uint8]:
        """`nbytes` bytes of shared memory, registered with the server until `limit` (None: the client's); zeros.

        Args:
            nbytes: how many.
            limit: of the call that this is a part of.
            retries: how often a busy server is asked again; None: as the client's calls.

        Raises:
            Unimplemented: the server has shared memory switched off, or this system has no /dev/shm.
            ResourceExhausted: there is not that much shared memory, or no file to have it by.
            PermissionDenied: this process may make none.
            CorankError: the server refused it, or did not answer until `limit`.
        """
        limit = limit or self._server.limit()
        info = self._server.server(limit)
        if "shared_memory" not in info.places or not info.shared_memory_prefixes:
            raise errors.Unimplemented("place: this server takes no shared memory (corankd --shared-memory)")
        if not os.path.isdir(_FOLDER):
            raise errors.Unimplemented(f"place: shared memory needs {_FOLDER}, which this system does not have")
        self.sweep(limit)
        size = -(-max(nbytes, 1) // mmap.PAGESIZE) * mmap.PAGESIZE
        if size > sys.maxsize:
            raise errors.ResourceExhausted(f"shared memory: {size:,} bytes do not fit into {_FOLDER}; ask for less")
        if not self._has_tidied:
            self._has_tidied = True
            leftovers.remove(_FOLDER, info.shared_memory_prefixes[0])
        key = f"{info.shared_memory_prefixes[0]}{os.getpid()}-{secrets.token_hex(8)}"
        mapped = _map(_FOLDER + key, size)
        try:
            request = memory.RegisterSharedMemoryRequest(key=key, size_bytes=size)
            answer = memory.RegisterSharedMemoryResponse
            region = self._register("RegisterSharedMemory", "shm", request, answer, size, limit, retries)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(_FOLDER + key)
        out = np.frombuffer(mapped, np.uint8)
        address = out.ctypes.data
        with self._lock:
            self._shared[address] = region
        mapped.on_drop = lambda: self._drop(address)
        return out[:nbytes]

    def _register(
        self,
        method: str,
        kind: str,
        request: Any,
        response: type[Any],
        extent: int,
        limit: Limit,
        retries: int | None = None,
    ) -> _Region:
        """Has the server register what `request` says, under a name of this kind."""
        lease = None

        def prepare() -> tuple[Any, type[Any]]:
            nonlocal lease
            # A lost try may have registered a region, which ends with the lease that was lost too.
            lease = self._open(limit)
            request.name = f"{kind}-{os.getpid()}-{secrets.token_hex(8)}"
            request.lease_id = lease.id
            return request, response

        try:
            self._server.memory_tries(method, prepare, Repeat.ALWAYS, limit, retries)
        except errors.NotFound:
            if lease is None or lease.holds():
                raise
            # Another thread gave the lease up.
            self._server.memory_tries(method, prepare, Repeat.ALWAYS, limit, retries)
        except errors.DeadlineExceeded:
            if request.name:
                self._dropped.append(request.name)  # the server may do it yet
            raise
        assert lease is not None
        return _Region(request.name, lease, extent)

    def _open(self, limit: Limit) -> Lease:
        """The lease, another one if the server let go of it."""
        with self._lock:
            if self._lease is not None and self._lease.holds():
                return self._lease
        made = Lease(self._server, limit)
        with self._lock:
            if self._lease is None or not self._lease.holds():
                self._lease = made
                for regions in (self._shared, self._gpu):
                    for address, region in list(regions.items()):
                        if not region.lease.holds():
                            regions.pop(address, None)
            lease = self._lease
        if lease is not made:
            made.end()  # another thread was faster
        return lease

    def _drop(self, address: int) -> None:
        # Runs in any thread that drops the last array, even one of gRPC's, so it takes no lock and sends nothing.
        known = self._shared.pop(address, None)
        if known is not None:
            self._dropped.append(known.name)

    def find(self, data: memoryview, align: int) -> Place | None:
        """The place of these bytes, if one region holds them all at a multiple of `align`; else None."""
        if not self._shared:
            return None
        begin = np.frombuffer(data, np.uint8).ctypes.data
        for start, region in list(self._shared.items()):
            if start <= begin and begin + data.nbytes <= start + region.extent:
                usable = region.lease.holds() and (begin - start) % align == 0
                return Place(region.name, begin - start, region.lease) if usable else None
        return None

    @contextlib.contextmanager
    def scratch(self, nbytes: int, limit: Limit, waits: bool) -> Iterator[Scratch]:
        """Shared memory for one call.

        The largest few blocks are kept for later ones for a minute: registering costs more than copying.

        Args:
            nbytes: how much.
            limit: of the call.
            waits: whether to try again where the server has no room for it. Without, it is not even asked before the
                time that it named the last time.

        Raises:
            CorankError: as `allocate`.
        """
        self.sweep(limit)
        scratch = Scratch(self._idle.take(nbytes, lambda block: self.find(bytes_of(block), 1) is not None))
        if scratch.block is None:
            if not waits and time.monotonic() < self._full_until:
                raise errors.ResourceExhausted("shared memory: the server has no room for regions")
            try:
                scratch.block = self.allocate(_scratch_bytes(nbytes), limit, None if waits else 0)
            except errors.ResourceExhausted as error:
                self._full_until = time.monotonic() + (error.retry_after or 0)
                raise
        try:
            yield scratch
            self._keep_idle(scratch)
        except errors.Retryable as error:
            if error.retry_after is not None:  # the server says that it is through with the block
                self._keep_idle(scratch)
            raise
        finally:
            # After a failure it is not kept: the server may still write into it.
            scratch.block = None
            self.sweep(limit)

    def _keep_idle(self, scratch: Scratch) -> None:
        """Keeps the block of a call that is done, if it was not given away."""
        if scratch.block is not None:
            shared = os.statvfs(_FOLDER)
            self._idle.keep(scratch.block, shared.f_blocks * shared.f_frsize // 4)

    def gpu(self, array: cuda.GpuArray, limit: Limit) -> Place:
        """The place of an array on the GPU. Registers its allocation until `limit`, if that is not registered yet.

        Raises:
            Unimplemented: the server takes no GPU memory.
            InvalidArgument: the memory cannot be shared.
            CorankError: the server refused it, or did not answer until `limit`.
        """
        if "cuda_ipc" not in self._server.server(limit).places:
            raise errors.Unimplemented("place: this server takes no arrays on the GPU (corankd --cuda-ipc=true)")
        allocation = cuda.allocation(array)
        with self._lock:
            region = self._of(allocation)
        self.sweep(limit)
        if region is None:
            request = memory.RegisterCudaIpcRequest(
                handle=allocation.handle, size_bytes=allocation.size, device_uuid=allocation.device_uuid
            )
            answer = memory.RegisterCudaIpcResponse
            made = self._register("RegisterCudaIpc", "gpu", request, answer, allocation.buffer_id, limit)
            with self._lock:
                region = self._of(allocation)
                if region is None:
                    region = self._gpu[allocation.base] = made
                else:
                    self._dropped.append(made.name)  # another thread was faster
        return Place(region.name, array.pointer - allocation.base, region.lease)

    def _of(self, allocation: cuda.Allocation) -> _Region | None:
        """The region of an allocation, if it has one. Under the lock."""
        known = self._gpu.get(allocation.base)
        if known is None or (known.extent == allocation.buffer_id and known.lease.holds()):
            return known
        # Its lease ended; or that memory was freed, and this is another allocation at its address.
        del self._gpu[allocation.base]
        if known.lease.holds():
            self._dropped.append(known.name)
        return None

    def unregister(self, array: NDArray[Any]) -> None:
        """Unregisters the region of `array` now, which stays ordinary memory.

        Raises:
            CorankError: a request uses it.
        """
        begin = array.ctypes.data
        with self._lock:
            known = self._shared.pop(begin, None)  # calls that begin from now on copy it
        if known is None:
            return
        request = memory.UnregisterRegionRequest(name=known.name)
        try:
            self._server.memory_release("UnregisterRegion", request, memory.UnregisterRegionResponse)
        except errors.NotFound:
            pass  # it went with its lease, or by a try whose answer was lost
        except BaseException:
            with self._lock:
                self._shared[begin] = known
            raise

    def sweep(self, limit: Limit | None = None) -> None:
        """Unregisters the regions whose last array is gone; what does not go within a second waits for the next time.

        Args:
            limit: of the call that this is a part of; None: the client's.
        """
        if not self._dropped:
            return
        soon = (limit or self._server.limit()).sooner(_SWEEP_SECONDS)
        again = []
        for _ in range(len(self._dropped)):
            try:
                name = self._dropped.popleft()
            except IndexError:
                break  # another thread was faster
            request, answer = memory.UnregisterRegionRequest(name=name), memory.UnregisterRegionResponse
            try:
                self._server.memory_call("UnregisterRegion", request, answer, Repeat.NEVER, soon, retries=0)
            except errors.NotFound:
                pass  # it went with its lease
            except (errors.DeadlineExceeded, errors.Unavailable):
                again.append(name)
                break
            except errors.CorankError:
                again.append(name)  # in use
        self._dropped.extend(again)

    def lost(self, places: Sequence[Place], limit: Limit) -> bool:
        """Whether the server does not know one of these any more. Whatever has the same lease is given up then."""
        if places and all(place.lease.holds() for place in places):
            request, answer = memory.ListRegionsRequest(), memory.ListRegionsResponse
            pages = self._server.memory_pages("ListRegions", request, answer, limit)
            known = {region.name for page in pages for region in page.regions}
            for place in places:
                if place.region not in known:
                    place.lease.end()
        return not all(place.lease.holds() for place in places)

    def forget(self) -> None:
        """Lets go of all regions: the server does not know them any more."""
        with self._lock:
            lease, self._lease = self._lease, None
            self._shared.clear()
            self._gpu.clear()
            self._dropped.clear()
        self._idle.clear()
        if lease is not None:
            lease.end()


def _map(path: str, size: int) -> _Mapping:
    """A new object of shared memory, mapped; it still has its name.

    Raises:
        ResourceExhausted: there is not that much, or no file to have it by.
        PermissionDenied: this process may make none.
    """
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            leftovers.hold(handle)
            # Allocates the pages now; later, a full /dev/shm would kill this process and the server with SIGBUS.
            os.posix_fallocate(handle, 0, size)
            return _Mapping(handle, size)
        except BaseException:
            os.unlink(path)
            raise
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno in _DENIED:
            raise errors.PermissionDenied(
                f"shared memory: this process may make nothing in {_FOLDER} ({error.strerror}); give it the right, or "
                "have arrays streamed (place='stream')"
            ) from error
        what = "do not fit into" if error.errno in _FULL else "cannot be had in"
        raise errors.ResourceExhausted(f"shared memory: {size:,} bytes {what} {_FOLDER} ({error.strerror})") from error


def _scratch_bytes(nbytes: int) -> int:
    """The bytes to register for a call that needs so many, rounded so that calls of about one size share blocks."""
    step, most = _SCRATCH_STEPS
    while step < most and 8 * step <= nbytes:
        step *= 2
    return -(-nbytes // step) * step


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
    """The offset of the next array in scratch memory of which `used` bytes are taken."""
    unit = 64 * min(element_bytes, 16)  # of a cache line, and of every element size that offsets are checked against
    return -(-used // unit) * unit


class SharedArray:
    """An array in shared memory: a context manager that yields it as a NumPy array.

        with client.share(x) as shared:
            client.sort(shared, out=shared)  # nothing is copied

    It stands for that array wherever NumPy or an operator takes one, too.
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

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if dtype is not None and np.dtype(dtype) != self.array.dtype:
            return self.array.astype(dtype)
        return self.array.copy() if copy else self.array

    def __repr__(self) -> str:
        return f"SharedArray({self.array.size:,} x {self.array.dtype})"

    def __len__(self) -> int:
        return int(self.array.size)

    def __getitem__(self, at: Any) -> Any:
        return self.array[at]

    def __setitem__(self, at: Any, values: Any) -> None:
        self.array[at] = values

    def __enter__(self) -> NDArray[Any]:
        return self.array

    def __exit__(self, *exc_info: object) -> None:
        self.close()
