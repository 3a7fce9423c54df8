"""Element types of arrays, and arrays whose bytes are not in this process's memory."""

from __future__ import annotations

import functools
import operator
from typing import Any, Protocol, Union

import numpy as np
from numpy.typing import ArrayLike

from corank._errors import InvalidArgument
from corank.v1 import array_pb2

MAX_RECORD_BYTES = 256
_MAX_INT64 = 2**63 - 1

TYPES: dict[str, int] = {
    name[len("ELEMENT_TYPE_") :].lower(): number
    for name, number in array_pb2.ElementType.items()
    if number not in (array_pb2.ELEMENT_TYPE_UNSPECIFIED, array_pb2.ELEMENT_TYPE_RECORD)
}
NAMES = {number: name for name, number in TYPES.items()}
INDEX_DTYPES: dict[int, np.dtype[Any]] = {
    array_pb2.ELEMENT_TYPE_UINT32: np.dtype("<u4"),
    array_pb2.ELEMENT_TYPE_UINT64: np.dtype("<u8"),
}


@functools.lru_cache(256)  # NumPy puts the name together each time
def name_of(dtype: np.dtype[Any]) -> str:
    """The name of a dtype, such as "int32"."""
    return dtype.name


@functools.lru_cache(256)
def is_little(dtype: np.dtype[Any]) -> bool:
    """Whether all its numbers are little-endian."""
    return dtype == dtype.newbyteorder("<")


def whole(option: str, given: Any, least: int = 0) -> int:
    """`given` as an int.

    Raises:
        TypeError: it is no integer.
        InvalidArgument: it is less than `least`, or does not fit in 64 bits.
    """
    try:
        number = operator.index(given)
    except TypeError:
        raise TypeError(f"{option}: must be an integer, is {given!r} ({type(given).__name__})") from None
    if number < least:
        raise InvalidArgument(f"{option}: {number} is less than {least}", field=option)
    if number > _MAX_INT64:
        raise InvalidArgument(f"{option}: {number} is more than {_MAX_INT64}", field=option)
    return number


def flag(option: str, given: Any) -> bool:
    """`given` as a bool; 0 and 1 are bools too.

    Raises:
        TypeError: it is none. A text such as "asc" would count as True.
    """
    if not isinstance(given, (bool, int, np.bool_, np.integer)) or given not in (0, 1):
        raise TypeError(f"{option}: must be True or False, is {given!r}")
    return bool(given)


def movable(option: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """`dtype`, if its elements can be moved.

    Raises:
        TypeError: they are Python objects, wider than 256 bytes, or have no bytes.
    """
    if dtype.hasobject:
        raise TypeError(f"{option}: elements are Python objects; corank takes fixed-width numbers and records")
    if not 1 <= dtype.itemsize <= MAX_RECORD_BYTES:
        raise TypeError(f"{option}: elements have {dtype.itemsize} bytes; 1 to {MAX_RECORD_BYTES} can be moved")
    return dtype


def storage(type_: int, record_bytes: int = 0) -> np.dtype[Any]:
    """The dtype that holds elements of this ELEMENT_TYPE; bfloat16 is held as uint16."""
    if type_ == array_pb2.ELEMENT_TYPE_RECORD:
        return np.dtype(f"V{record_bytes}")
    return np.dtype("<u2" if type_ == array_pb2.ELEMENT_TYPE_BFLOAT16 else NAMES[type_]).newbyteorder("<")


def key_bytes(name: str) -> int:
    """Bytes of a key of the type of this name."""
    return 2 if name == "bfloat16" else np.dtype(name).itemsize


def index_dtype(greatest: int) -> np.dtype[Any]:
    """The dtype of indices in an answer, if none exceeds `greatest`."""
    return np.dtype("<u4" if greatest < 2**32 else "<u8")


def check_positions(option: str, dtype: np.dtype[Any], greatest: int | None) -> None:
    """Refuses a dtype in which a position up to `greatest` (None: not known before the answer) would be another one.

    Raises:
        TypeError: it is narrower, or none of integers.
    """
    if dtype.kind not in "iu":
        raise TypeError(f"{option}: positions do not go into {dtype}")
    most = int(np.iinfo(dtype).max)
    if greatest is None and most < _MAX_INT64:
        raise TypeError(
            f"{option}: {dtype} holds {most:,} at most; how far these positions go is not known yet: use int64"
        )
    if greatest is not None and most < greatest:
        raise TypeError(f"{option}: {dtype} holds {most:,} at most, these positions go up to {greatest:,}")


def alignment(element_bytes: int) -> int:
    """The alignment of an array within a region, in bytes."""
    return min(element_bytes, 16)


class RemoteArray:
    """An array that operators take although its bytes are elsewhere: kept by the server, of a chain, or on a GPU.

    Attributes:
        type: its ELEMENT_TYPE.
        dtype: the dtype in which its elements come back.
        count: number of elements.
    """

    def __init__(self, type_: int, dtype: np.dtype[Any], count: int) -> None:
        self._type, self.dtype, self.count = type_, dtype, count

    def __len__(self) -> int:
        return self.count

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.count * self.dtype.itemsize

    def _header(self) -> array_pb2.Array:
        """The Array message, without a place."""
        record_bytes = self.dtype.itemsize if self._type == array_pb2.ELEMENT_TYPE_RECORD else 0
        # A mypy stub of protobuf wants ElementType.ValueType, which is an int.
        return array_pb2.Array(type=self._type, count=self.count, record_bytes=record_bytes)  # type: ignore[arg-type]


class OnGpu(Protocol):
    """Arrays of CuPy, Numba and others."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 2 or later."""


class Dlpack(Protocol):
    """Arrays of PyTorch and others."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """(kind of the device, its number)."""


Input = Union[ArrayLike, RemoteArray, OnGpu, Dlpack]
"""The inputs of operators: anything that NumPy makes an array of, kept arrays, and arrays on the GPU."""
