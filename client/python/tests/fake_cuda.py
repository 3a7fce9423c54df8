"""A CUDA driver and array libraries whose GPU memory is this process's, for tests of what is passed to the server."""

from __future__ import annotations

import contextlib
import ctypes
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

_OTHER_THAN_CUDA_MALLOC = 801


class FakeDriver:
    """libcuda, as far as corank._cuda uses it. Allocations are NumPy arrays of bytes.

    Attributes:
        waits: "context" or the stream of each synchronisation.
        depth: contexts that are pushed now.
        expandable: allocations cannot be exported: by their attribute, or only when that is tried ("late").
    """

    def __init__(self) -> None:
        self.allocations: dict[int, tuple[int, NDArray[np.uint8]]] = {}
        self.waits: list[Any] = []
        self.depth = 0
        self.expandable: bool | str = False
        self._next_id = 1

    def allocate(self, nbytes: int) -> NDArray[np.uint8]:
        """Like cudaMalloc."""
        memory = np.zeros(max(nbytes, 1), np.uint8)
        self.renew(memory)
        return memory

    def renew(self, memory: NDArray[np.uint8]) -> None:
        """Frees an allocation and makes another one at its address."""
        self.allocations[memory.ctypes.data] = (self._next_id, memory)
        self._next_id += 1

    def _find(self, pointer: int) -> int:
        for base, (_, memory) in self.allocations.items():
            if base <= pointer < base + memory.nbytes:
                return base
        raise AssertionError("not a pointer of the GPU")

    def cuInit(self, flags: int) -> int:  # noqa: D102, N802 - the driver's names
        return 0

    def cuGetErrorString(self, code: int, text: Any) -> int:  # noqa: D102, N802
        text._obj.value = b"operation not supported"
        return 0

    def cuPointerGetAttribute(self, value: Any, attribute: int, pointer: Any) -> int:  # noqa: D102, N802
        base = self._find(pointer.value)
        value._obj.value = {7: self.allocations[base][0], 9: 0, 10: int(self.expandable is not True)}[attribute]
        return 0

    def cuDevicePrimaryCtxRetain(self, context: Any, device: int) -> int:  # noqa: D102, N802
        context._obj.value = 1
        return 0

    def cuCtxPushCurrent_v2(self, context: Any) -> int:  # noqa: D102, N802
        self.depth += 1
        return 0

    def cuCtxPopCurrent_v2(self, context: Any) -> int:  # noqa: D102, N802
        self.depth -= 1
        return 0

    def cuCtxSynchronize(self) -> int:  # noqa: D102, N802
        self.waits.append("context")
        return 0

    def cuStreamSynchronize(self, stream: Any) -> int:  # noqa: D102, N802
        self.waits.append(stream.value)
        return 0

    def cuMemGetAddressRange_v2(self, base: Any, size: Any, pointer: Any) -> int:  # noqa: D102, N802
        base._obj.value = self._find(pointer.value)
        size._obj.value = self.allocations[base._obj.value][1].nbytes
        return 0

    def cuIpcGetMemHandle(self, handle: Any, pointer: Any) -> int:  # noqa: D102, N802
        if self.expandable == "late":
            return _OTHER_THAN_CUDA_MALLOC
        assert pointer.value in self.allocations, "not the start of an allocation"
        handle.raw = int(pointer.value).to_bytes(8, "little") + bytes(56)
        return 0

    def cuDeviceGetUuid_v2(self, uuid: Any, device: int) -> int:  # noqa: D102, N802
        uuid.raw = bytes(range(16))
        return 0


class GpuArray:
    """An array of `library` on the fake GPU: a part of an allocation."""

    def __init__(self, memory: NDArray[np.uint8], dtype: DTypeLike, first: int = 0, count: int | None = None) -> None:
        self.memory = memory
        whole = memory[: memory.nbytes // np.dtype(dtype).itemsize * np.dtype(dtype).itemsize].view(dtype)
        self.host: NDArray[Any] = whole[first:][:count]
        self.device = contextlib.nullcontext()

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3, with a stream."""
        return {
            "shape": self.host.shape,
            "typestr": self.host.dtype.str,
            "data": (self.host.ctypes.data if self.host.size else 0, False),
            "strides": None if self.host.flags.c_contiguous else self.host.strides,
            "stream": 7,
            "version": 3,
        }

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.host.size

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of its elements."""
        return self.host.dtype

    def astype(self, dtype: DTypeLike, copy: bool = True) -> NDArray[Any]:
        """A NumPy array, which tests can look at."""
        return self.host.astype(dtype, copy=copy)


class CupyArray(GpuArray):
    """One that says that it is CuPy's."""

    __module__ = "cupy.double"

    def astype(self, dtype: DTypeLike, copy: bool = True) -> Any:
        """Another one, on the GPU."""
        found = CupyArray(self.memory, dtype)
        found.host = self.host.astype(dtype, copy=copy)
        return found

    def get(self) -> NDArray[Any]:
        """A copy on the host."""
        return self.host.copy()

    def __getitem__(self, part: slice) -> CupyArray:
        """A view of a part, on the same allocation."""
        found = CupyArray(self.memory, self.host.dtype)
        found.host = self.host[part]
        return found


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class DlpackArray:
    """An array that speaks DLPack only, as PyTorch's bfloat16 does."""

    def __init__(self, memory: NDArray[np.uint8], code: int, bits: int, count: int, device: int = 2) -> None:
        self.memory, self._device = memory, device
        self._shape, self._strides = (ctypes.c_int64 * 1)(count), (ctypes.c_int64 * 1)(1)
        self._tensor = _DLTensor(
            memory.ctypes.data - 4, (device, 0), 1, code, bits, 1, self._shape, self._strides, byte_offset=4
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        """CUDA, unless told otherwise."""
        return self._device, 0

    def __dlpack__(self) -> Any:
        """A capsule."""
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self._tensor), b"dltensor", None)


def cupy(driver: FakeDriver) -> Iterator[types.ModuleType]:
    """The module `cupy`, as far as corank._cuda uses it."""
    module = types.ModuleType("cupy")

    def empty(count: int, dtype: DTypeLike) -> CupyArray:
        return CupyArray(driver.allocate(count * np.dtype(dtype).itemsize), dtype, 0, count)

    module.empty = empty  # type: ignore[attr-defined]
    yield module


class TorchTensor:
    """A tensor of PyTorch, as far as corank._cuda converts it."""

    __module__ = "torch.double"

    def __init__(self, host: NDArray[Any]) -> None:
        self.host = host

    def element_size(self) -> int:
        """Bytes."""
        return self.host.itemsize

    def view(self, dtype: DTypeLike) -> TorchTensor:
        """The tensor's bits as another type."""
        return TorchTensor(self.host.view(dtype))

    def to(self, dtype: DTypeLike) -> TorchTensor:
        """The tensor's numbers as another type; PyTorch converts few unsigned ones."""
        assert self.host.dtype.kind == "i"
        return TorchTensor(self.host.astype(dtype))

    def bitwise_and_(self, mask: int) -> TorchTensor:
        """In place."""
        self.host &= mask
        return self


def torch() -> Iterator[types.ModuleType]:
    """The module `torch`, as far as corank._cuda uses it."""
    module = types.ModuleType("torch")
    for name in ("uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
        setattr(module, name, np.dtype(name))
    yield module
