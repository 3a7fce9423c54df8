"""NumPy arrays as corank arrays and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corank.errors import Internal, InvalidArgument
from corank.v1 import array_pb2
from corank.wire import IncomingArray, OutgoingArray

MAX_RECORD_BYTES = 256

_TYPES: dict[str, int] = {
    name[len("ELEMENT_TYPE_") :].lower(): number
    for name, number in array_pb2.ElementType.items()
    if number not in (array_pb2.ELEMENT_TYPE_UNSPECIFIED, array_pb2.ELEMENT_TYPE_RECORD)
}
_INDEX_DTYPES: dict[int, np.dtype[Any]] = {
    array_pb2.ELEMENT_TYPE_UINT32: np.dtype("<u4"),
    array_pb2.ELEMENT_TYPE_UINT64: np.dtype("<u8"),
}

KEY_TYPES = tuple(_TYPES)
"""The names of the key types, "int8" to "float64"."""


def _bytes_of(array: NDArray[Any]) -> memoryview:
    return memoryview(array.view(np.uint8))  # type: ignore[arg-type]  # NumPy 1's stubs do not know that it is a buffer


def _key_bytes(name: str) -> int:
    return 2 if name == "bfloat16" else np.dtype(name).itemsize


def outgoing(field: str, array: NDArray[Any], type_: int, record_bytes: int = 0) -> OutgoingArray:
    """A part of a request: `array` as the field of this name."""
    # A mypy stub of protobuf wants ElementType.ValueType, which is an int.
    header = array_pb2.Array(type=type_, count=array.size, record_bytes=record_bytes)  # type: ignore[arg-type]
    return OutgoingArray(field, header, _bytes_of(array))


def one_dimensional(field: str, array: ArrayLike) -> NDArray[Any]:
    """`array` as a contiguous one-dimensional NumPy array; no copy if it is one.

    Raises:
        InvalidArgument: it has another number of dimensions.
        TypeError: it is masked, or holds Python objects.
    """
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(f"{field}: masked arrays lose their mask; pass array.compressed() or array.filled(value)")
    out = np.asarray(array)
    if out.ndim != 1:
        hint = "pass array.ravel(), or rows as segments" if out.ndim > 1 else "pass a list or an array"
        raise InvalidArgument(
            f"{field}: must have 1 dimension, has {out.ndim} (shape {out.shape}); {hint}", field=field
        )
    if out.dtype.hasobject:
        raise TypeError(f"{field}: elements are Python objects; corank takes fixed-width numbers and records")
    return np.ascontiguousarray(out)


def keys(field: str, array: ArrayLike, key_type: str | None = None) -> tuple[OutgoingArray, np.dtype[Any]]:
    """An array that is compared, and the dtype in which it comes back (the same, little-endian).

    `key_type` reads the elements' bits as another type of the same width.

    Raises:
        TypeError: the dtype has no order that corank knows.
    """
    out = one_dimensional(field, array)
    out = out.astype(out.dtype.newbyteorder("<"), copy=False)
    name = out.dtype.name if key_type is None else key_type
    if name == "bool":
        name = "uint8"
    if name not in _TYPES:
        hint = ""
        if out.dtype.kind in "mM":
            hint = "; pass array.view(np.int64), which puts NaT first"
        elif out.dtype.kind in "VSU":
            hint = "; records and strings can be values, not keys; sort_columns takes byte strings"
        raise TypeError(f"{field}: {name} cannot be compared; keys are {', '.join(KEY_TYPES)}{hint}")
    if key_type is not None and out.dtype.itemsize != _key_bytes(name):
        raise TypeError(f"{field}: elements of {out.dtype.itemsize} bytes ({out.dtype.name}) cannot be read as {name}")
    return outgoing(field, out, _TYPES[name]), out.dtype


def values(field: str, array: ArrayLike) -> tuple[OutgoingArray, np.dtype[Any]]:
    """An array that is only moved, and its dtype: a number type, or any record of 1 to 256 bytes.

    Raises:
        TypeError: the elements are wider than 256 bytes, or have no bytes.
    """
    out = one_dimensional(field, array)
    if out.dtype.name in _TYPES and out.dtype == out.dtype.newbyteorder("<"):
        return outgoing(field, out, _TYPES[out.dtype.name]), out.dtype
    if not 1 <= out.dtype.itemsize <= MAX_RECORD_BYTES:
        raise TypeError(f"{field}: elements have {out.dtype.itemsize} bytes; 1 to {MAX_RECORD_BYTES} can be moved")
    return outgoing(field, out, array_pb2.ELEMENT_TYPE_RECORD, out.dtype.itemsize), out.dtype


def integers(field: str, array: ArrayLike) -> OutgoingArray:
    """Counts or offsets, as int64.

    Raises:
        TypeError: they are not integers.
        InvalidArgument: one does not fit in 64 bits with sign.
    """
    out = one_dimensional(field, array)
    if out.size and out.dtype.kind not in "iu":
        raise TypeError(f"{field}: must be integers, are {out.dtype.name}")
    if out.dtype.kind == "u" and out.dtype.itemsize == 8 and out.size and int(out.max()) > np.iinfo(np.int64).max:
        raise InvalidArgument(f"{field}[{int(out.argmax())}]: {out.max()} is more than 2^63 - 1", field=field)
    return outgoing(field, out.astype("<i8", copy=False), array_pb2.ELEMENT_TYPE_INT64)


def like(field: str, array: ArrayLike, dtype: np.dtype[Any]) -> NDArray[Any]:
    """`array` in `dtype`, if no element changes by it.

    Raises:
        TypeError: an element would change.
    """
    found = one_dimensional(field, array)
    if found.dtype == dtype:
        return found
    with np.errstate(all="ignore"):
        out = found.astype(dtype)
        back = out.astype(found.dtype)
    same = (back == found) | ((found != found) & (back != back))
    # A cast between signed and unsigned wraps both ways, so the sign is compared as well.
    if found.dtype.kind in "iuf" and dtype.name in _TYPES:
        same &= (out < 0) == (found < 0)
    if not bool(np.all(same)):
        at = int(np.argmin(same))
        raise TypeError(f"{field}[{at}]: {found[at]} ({found.dtype.name}) is not a {dtype.name}")
    return out


def incoming(response: bytes, array: IncomingArray, dtype: np.dtype[Any], copy: bool) -> NDArray[Any]:
    """A result as a NumPy array of `dtype`: a view of `response`, or a writable copy.

    Raises:
        Internal: the server's answer is not what it should be.
    """
    nbytes = array.stop - array.start
    if nbytes % dtype.itemsize or (array.header.HasField("count") and array.header.count * dtype.itemsize != nbytes):
        raise Internal(
            f"the server answered {nbytes} bytes for {array.header.count} elements of {dtype.itemsize} bytes"
        )
    view: NDArray[Any] = np.frombuffer(memoryview(response)[array.start : array.stop], np.uint8).view(dtype)
    return view.copy() if copy else view


def indices(response: bytes, array: IncomingArray, dtype: np.dtype[Any] | None) -> NDArray[Any]:
    """An index array in `dtype`, or in the server's uint32 or uint64 if that is None; always writable."""
    wire_dtype = _INDEX_DTYPES.get(array.header.type)
    if wire_dtype is None:
        raise Internal(f"the server answered indices of type {array.header.type}")
    out = incoming(response, array, wire_dtype, copy=False)
    return out.astype(wire_dtype if dtype is None else dtype)
