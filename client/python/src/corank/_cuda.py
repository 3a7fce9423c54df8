"""Arrays on an NVIDIA GPU, of whatever library, and how another process gets at their memory.

Only the CUDA driver library is used, found when the first such array comes; no CUDA package is needed.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from typing import Any, NamedTuple

import numpy as np

from corank import _errors as errors
from corank._elements import NAMES, TYPES, RemoteArray
from corank.v1 import array_pb2

_DLPACK_CUDA = 2
_DLPACK_CODES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 6: "uint"}  # 6: bool
# Values of CUpointer_attribute.
_BUFFER_ID, _DEVICE_ORDINAL, _IPC_CAPABLE = 7, 9, 10
_HANDLE_BYTES = 64
_EXPORT_HELP = (
    "this GPU memory cannot be shared with another process: it is not from cudaMalloc. PyTorch's expandable segments "
    "(PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True), cudaMallocAsync pools and managed memory cannot; start "
    "without them, or pass the array as NumPy"
)


class GpuArray(RemoteArray):
    """A dense one-dimensional array on a GPU. It keeps the array that it was made of alive.

    Attributes:
        pointer: the address of its first byte on the GPU.
        array: the array that it was made of.
    """

    def __init__(self, type_: int, count: int, pointer: int, stream: int | None, array: Any) -> None:
        super().__init__(type_, np.dtype(_dtype_name(NAMES[type_])).newbyteorder("<"), count)
        self.pointer, self.array = pointer, array
        self._stream = stream

    def wait(self) -> None:
        """Returns once all work on it is done that its library has started."""
        _driver().wait(self.pointer, self._stream)


def _dtype_name(name: str) -> str:
    return "uint16" if name == "bfloat16" else name


class Allocation(NamedTuple):
    """The allocation that an array is in, as another process needs to know it."""

    base: int
    size: int
    buffer_id: int
    """Differs between allocations that have had the same address."""
    handle: bytes
    device_uuid: str


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


def gpu_array(array: Any) -> GpuArray | None:
    """`array`, if it is on a GPU: anything with `__cuda_array_interface__` or `__dlpack__`. Else None.

    Raises:
        InvalidArgument: it has another number of dimensions than 1, or is not dense.
        TypeError: its elements have no type that corank knows.
    """
    if isinstance(array, (np.ndarray, list, tuple, range, int, float)):
        return None
    interface = _interface(array)
    if interface is not None:
        return _from_interface(array, interface)
    device = getattr(array, "__dlpack_device__", None)
    if device is None or int(device()[0]) != _DLPACK_CUDA:
        return None
    return _from_dlpack(array)


def _interface(array: Any) -> dict[str, Any] | None:
    try:
        found = getattr(array, "__cuda_array_interface__", None)
    except TypeError:
        return None  # PyTorch's bfloat16, which DLPack knows
    return found if isinstance(found, dict) else None


def _checked(shape: tuple[int, ...], stride: int | None, name: str, array: Any) -> int:
    """The type of elements of this name, if the array is dense and has one dimension."""
    if len(shape) != 1:
        raise errors.InvalidArgument(f"array on the GPU: must have 1 dimension, has {len(shape)} (shape {shape})")
    if stride is not None and stride != 1 and shape[0] > 1:
        raise errors.InvalidArgument("array on the GPU: must be dense, has strides; pass a contiguous copy")
    if name not in TYPES:
        raise TypeError(f"array on the GPU: elements of type {name} ({type(array).__name__}) are not known")
    return TYPES[name]


def _from_interface(array: Any, interface: dict[str, Any]) -> GpuArray:
    dtype = np.dtype(interface["typestr"])
    shape, strides = tuple(interface["shape"]), interface.get("strides")
    stride = None if not strides else strides[0] // dtype.itemsize if strides[0] % dtype.itemsize == 0 else -1
    name = "uint8" if dtype.name == "bool" else dtype.name
    type_ = _checked(shape, stride, name, array)
    return GpuArray(type_, int(shape[0]), int(interface["data"][0] or 0), interface.get("stream"), array)


def _from_dlpack(array: Any) -> GpuArray:
    capsule = array.__dlpack__()
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = _DLTensor.from_address(get(capsule, b"dltensor"))
    shape = tuple(tensor.shape[at] for at in range(tensor.ndim))
    stride = tensor.strides[0] if tensor.strides and tensor.ndim == 1 else None
    name = f"{_DLPACK_CODES.get(tensor.code, 'code ' + str(tensor.code))}{tensor.bits}"
    type_ = _checked(shape, stride, name if tensor.lanes == 1 else f"{name}x{tensor.lanes}", array)
    return GpuArray(type_, int(shape[0]), int(tensor.data or 0) + int(tensor.byte_offset), None, array)


class Driver:
    """The calls of the CUDA driver that are needed. `library` is libcuda, or a double of it."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._call("cuInit", 0)
        self._contexts: dict[int, ctypes.c_void_p] = {}

    def _call(self, name: str, *arguments: Any) -> None:
        code = getattr(self._library, name)(*arguments)
        if code != 0:
            text = ctypes.c_char_p()
            self._library.cuGetErrorString(code, ctypes.byref(text))
            raise errors.CorankError(f"CUDA: {name}: {(text.value or b'').decode() or code}")

    def _attribute(self, attribute: int, pointer: int, value: Any) -> Any:
        self._call("cuPointerGetAttribute", ctypes.byref(value), attribute, ctypes.c_uint64(pointer))
        return value.value

    def _enter(self, pointer: int) -> int:
        """Makes the context of a pointer's GPU current, until _leave; returns its ordinal."""
        ordinal = int(self._attribute(_DEVICE_ORDINAL, pointer, ctypes.c_int()))
        if ordinal not in self._contexts:
            context = ctypes.c_void_p()
            self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), ordinal)
            self._contexts[ordinal] = context
        self._call("cuCtxPushCurrent_v2", self._contexts[ordinal])
        return ordinal

    def _leave(self) -> None:
        self._call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    def wait(self, pointer: int, stream: int | None) -> None:
        """Waits for a stream, or for all work on the pointer's GPU."""
        self._enter(pointer)
        try:
            if stream is None:
                self._call("cuCtxSynchronize")
            else:
                self._call("cuStreamSynchronize", ctypes.c_void_p(stream))
        finally:
            self._leave()

    def allocation(self, pointer: int) -> Allocation:
        """The allocation that `pointer` is in.

        Raises:
            InvalidArgument: its memory cannot be shared.
        """
        ordinal = self._enter(pointer)
        try:
            if not self._attribute(_IPC_CAPABLE, pointer, ctypes.c_int()):
                raise errors.InvalidArgument(_EXPORT_HELP)
            base, size = ctypes.c_uint64(), ctypes.c_size_t()
            self._call("cuMemGetAddressRange_v2", ctypes.byref(base), ctypes.byref(size), ctypes.c_uint64(pointer))
            buffer_id = int(self._attribute(_BUFFER_ID, base.value, ctypes.c_uint64()))
            handle, uuid = ctypes.create_string_buffer(_HANDLE_BYTES), ctypes.create_string_buffer(16)
            try:
                self._call("cuIpcGetMemHandle", handle, ctypes.c_uint64(base.value))
            except errors.CorankError as error:
                raise errors.InvalidArgument(f"{_EXPORT_HELP} ({error})") from error
            self._call("cuDeviceGetUuid_v2", uuid, ordinal)
        finally:
            self._leave()
        digits = uuid.raw.hex()
        text = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
        return Allocation(base.value, size.value, buffer_id, handle.raw, f"GPU-{text}")


@functools.cache
def _driver() -> Driver:
    for name in ("libcuda.so.1", "libcuda.so"):
        try:
            return Driver(ctypes.CDLL(name))
        except OSError:
            continue
    raise errors.Unimplemented("arrays on the GPU need the NVIDIA driver (libcuda.so.1), which is not on this machine")


def allocation(array: GpuArray) -> Allocation:
    """The allocation that `array` is in; see Driver.allocation."""
    return _driver().allocation(array.pointer)


def empty_like(like: GpuArray, count: int, dtype: np.dtype[Any], type_: int) -> Any:
    """A new array of `count` elements on the GPU and of the library of `like`.

    Raises:
        TypeError: the library is none of CuPy, PyTorch and Numba.
    """
    library = type(like.array).__module__.partition(".")[0]
    if library == "torch":
        torch = sys.modules["torch"]
        name = "bfloat16" if type_ == array_pb2.ELEMENT_TYPE_BFLOAT16 else dtype.name
        return torch.empty(count, dtype=getattr(torch, name), device=like.array.device)
    if library == "cupy":
        cupy = sys.modules["cupy"]
        with like.array.device:
            return cupy.empty(count, dtype)
    if library == "numba":
        return sys.modules["numba.cuda"].device_array(count, dtype)
    raise TypeError(f"results on the GPU: say where they go with out=; new arrays of {library} cannot be made here")


def converted(array: Any, dtype: np.dtype[Any]) -> Any:
    """An index array on the GPU, of uint32 or uint64, in `dtype`, which holds every index."""
    if type(array).__module__.partition(".")[0] != "torch":
        return array.astype(dtype)
    torch = sys.modules["torch"]
    width, wanted = array.element_size(), getattr(torch, dtype.name)
    if width == dtype.itemsize:
        return array.view(wanted)
    # Few operations of PyTorch take unsigned numbers; of signed ones all do.
    numbers = array.view(torch.int32 if width == 4 else torch.int64)
    if width < dtype.itemsize:
        return numbers.to(torch.int64).bitwise_and_(0xFFFFFFFF).view(wanted)
    return numbers.to(wanted)
