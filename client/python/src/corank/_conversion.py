"""NumPy arrays as corank arrays and back."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from corank import _cuda as cuda
from corank._copying import bytes_of
from corank._elements import (
    INDEX_DTYPES,
    NAMES,
    TYPES,
    Input,
    RemoteArray,
    is_little,
    key_bytes,
    movable,
    name_of,
)
from corank._errors import Internal, InvalidArgument
from corank._inputs import array_of
from corank._wire import IncomingArray, OutgoingArray
from corank.v1 import array_pb2

KEY_TYPES = tuple(TYPES)
"""The names of the key types, "int8" to "float64"."""
NO_NAT = "keys: NaT has no place in what the server keeps; drop NaT first, or pass array.view(np.int64)"


def is_scalar(given: object) -> bool:
    """Whether it is one number, date or time."""
    return isinstance(given, (int, float, np.generic)) or (isinstance(given, np.ndarray) and given.ndim == 0)


def outgoing(field: str, array: NDArray[Any], type_: int, record_bytes: int = 0) -> OutgoingArray:
    """A part of a request: `array` as the field of this name."""
    # A mypy stub of protobuf wants ElementType.ValueType, which is an int.
    header = array_pb2.Array(type=type_, count=array.size, record_bytes=record_bytes)  # type: ignore[arg-type]
    return OutgoingArray(field, header, bytes_of(array))


def remote(array: object) -> RemoteArray | None:
    """`array` as a RemoteArray, if it is one or is on a GPU; else None."""
    return array if isinstance(array, RemoteArray) else cuda.gpu_array(array)


def _elsewhere(field: str, array: RemoteArray, header: array_pb2.Array) -> OutgoingArray:
    return OutgoingArray(field, header, None, array)


def one_dimensional(field: str, array: Input) -> NDArray[Any]:
    """`array` as a contiguous one-dimensional NumPy array; no copy if it is one.

    Raises:
        InvalidArgument: it has another number of dimensions.
        TypeError: it is no array, has nulls, or holds Python objects.
    """
    out = array_of(field, array)
    if out.ndim != 1:
        hint = "pass array.ravel(), or rows as segments" if out.ndim > 1 else "pass a list or an array"
        raise InvalidArgument(
            f"{field}: must have 1 dimension, has {out.ndim} (shape {out.shape}); {hint}", field=field
        )
    return np.ascontiguousarray(out)


def _key_type(given: DTypeLike) -> str:
    """The name of a key type that was given as such, or as NumPy has it.

    Raises:
        TypeError: it is none.
    """
    name = given if isinstance(given, str) and given in TYPES else ""
    if not name:
        try:
            name = np.dtype(given).name
        except TypeError:
            name = str(given)
    if name not in TYPES:
        raise TypeError(f"dtype: {given!r} is no key type; these are {', '.join(KEY_TYPES)}")
    return name


class Keys(NamedTuple):
    """An array that is compared."""

    part: OutgoingArray
    dtype: np.dtype[Any]
    """The dtype in which it comes back: its own, little-endian."""
    is_shifted: bool = False
    """Whether its dates or times travel less 1; see `restored`."""


def keys(field: str, array: Input, dtype: DTypeLike | None = None, shift: bool | None = None) -> Keys:
    """An array that is compared.

    Dates and times travel as int64. NaT, the least int64, must come last, so an array with NaT travels less 1: that
    makes NaT the greatest int64 and keeps the order of all others.

    Args:
        field: its name in the request.
        array: the array.
        dtype: read the elements' bits as this type of the same width.
        shift: whether dates and times travel less 1; None: if one of them is NaT.

    Raises:
        TypeError: the dtype has no order that corank knows.
    """
    key_type = None if dtype is None else _key_type(dtype)
    found = remote(array)
    if found is not None:
        return Keys(_remote_keys(field, found, key_type), found.dtype)
    out = one_dimensional(field, array)
    if not is_little(out.dtype):
        out = out.astype(out.dtype.newbyteorder("<"))
    if out.dtype.kind in "mM" and key_type is None:
        is_shifted = bool(np.isnat(out).any()) if shift is None else shift
        numbers = out.view("<i8") - 1 if is_shifted else out.view("<i8")
        return Keys(outgoing(field, numbers, array_pb2.ELEMENT_TYPE_INT64), out.dtype, is_shifted)
    name = name_of(out.dtype) if key_type is None else key_type
    if name == "bool":
        name = "uint8"
    if name not in TYPES:
        hint = ""
        if out.dtype.kind in "VSU":
            hint = "; records can be values, and `sort`, `argsort` and `sort_columns` take strings"
        raise TypeError(f"{field}: {name} cannot be compared; keys are {', '.join(KEY_TYPES)}{hint}")
    if key_type is not None and out.dtype.itemsize != key_bytes(name):
        raise TypeError(f"{field}: elements of {out.dtype.itemsize} bytes ({out.dtype.name}) cannot be read as {name}")
    return Keys(outgoing(field, out, TYPES[name]), out.dtype)


def restored(array: NDArray[Any]) -> NDArray[Any]:
    """Dates or times that travelled less 1, as they were; in place if the array can be written."""
    numbers = array.view("<i8")
    if not array.flags.writeable:
        return (numbers + 1).view(array.dtype)
    numbers += 1
    return array


def _remote_keys(field: str, array: RemoteArray, key_type: str | None) -> OutgoingArray:
    header = array._header()
    name = NAMES.get(array._type) if key_type is None else key_type
    if name not in TYPES:
        raise TypeError(f"{field}: {name or 'records'} cannot be compared; keys are {', '.join(KEY_TYPES)}")
    if key_bytes(name) != array.dtype.itemsize:
        raise TypeError(f"{field}: elements of {array.dtype.itemsize} bytes cannot be read as {name}")
    header.type = TYPES[name]  # type: ignore[assignment]
    header.record_bytes = 0
    return _elsewhere(field, array, header)


def values(field: str, array: Input) -> tuple[OutgoingArray, np.dtype[Any]]:
    """An array that is only moved, and its dtype: a number type, or any record of 1 to 256 bytes.

    Raises:
        TypeError: the elements are wider than 256 bytes, or have no bytes.
    """
    found = remote(array)
    if found is not None:
        return _elsewhere(field, found, found._header()), found.dtype
    out = one_dimensional(field, array)
    if name_of(out.dtype) in TYPES and is_little(out.dtype):
        return outgoing(field, out, TYPES[name_of(out.dtype)]), out.dtype
    movable(field, out.dtype)
    return outgoing(field, out, array_pb2.ELEMENT_TYPE_RECORD, out.dtype.itemsize), out.dtype


def integers(field: str, array: Input, count: int | None = None) -> OutgoingArray:
    """Counts or offsets, as int64; one number stands for `count` of them, unless that is None.

    Raises:
        TypeError: they are not integers.
        InvalidArgument: one does not fit in 64 bits with sign.
    """
    found = remote(array)
    if found is not None:
        if found._type != array_pb2.ELEMENT_TYPE_INT64:
            hint = ""
            if found._type in INDEX_DTYPES:
                hint = "; positions are uint32 or uint64 on the server: pass what comes back, without keep= or chain"
            raise TypeError(f"{field}: must be int64 where it is, is {found.dtype.name}{hint}")
        return _elsewhere(field, found, found._header())
    if count is not None and is_scalar(array):
        array = np.full(count, array)
    out = one_dimensional(field, array)
    if out.size and out.dtype.kind not in "iu":
        raise TypeError(f"{field}: must be integers, are {out.dtype.name}")
    if out.dtype.kind == "u" and out.dtype.itemsize == 8 and out.size and int(out.max()) > np.iinfo(np.int64).max:
        raise InvalidArgument(f"{field}[{int(out.argmax())}]: {out.max()} is more than 2^63 - 1", field=field)
    return outgoing(field, out.astype("<i8", copy=False), array_pb2.ELEMENT_TYPE_INT64)


def like(field: str, array: Input, dtype: np.dtype[Any]) -> NDArray[Any] | RemoteArray:
    """`array` in `dtype`, if no element changes by it. An array that is elsewhere must be of `dtype`.

    Raises:
        TypeError: an element would change.
    """
    elsewhere = remote(array)
    if elsewhere is not None:
        if elsewhere.dtype != dtype:
            raise TypeError(f"{field}: is {elsewhere.dtype.name}, must be {dtype.name}")
        return elsewhere
    found = one_dimensional(field, array)
    if found.dtype == dtype:
        return found
    if found.dtype.kind in "mM" and found.dtype.kind == dtype.kind:
        return _like_time(field, found, dtype)
    if dtype.kind in "mM" or (found.dtype.kind not in "biuf" and found.dtype.name != "bfloat16"):
        raise TypeError(f"{field}: {found.dtype.name} is no kind of number that can be compared with {dtype.name}")
    with np.errstate(all="ignore"):
        out = found.astype(dtype)
        back = out.astype(found.dtype)
        same = (back == found) | ((found != found) & (back != back))
        # A cast between signed and unsigned wraps both ways, so the sign is compared as well.
        if dtype.kind != "b" and found.dtype.kind != "b":
            same &= (out < 0) == (found < 0)
    if not bool(np.all(same)):
        at = int(np.argmin(same))
        raise TypeError(f"{field}[{at}]: {found[at]} ({found.dtype.name}) is not a {dtype.name}")
    return out


def _like_time(field: str, found: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Dates or times in another unit.

    Raises:
        TypeError: one is not in it.
    """
    out = found.astype(dtype)
    back = out.astype(found.dtype)
    same = (back == found) & (np.isnat(out) == np.isnat(found)) | (np.isnat(out) & np.isnat(found))
    if not bool(np.all(same)):
        at = int(np.argmin(same))
        raise TypeError(f"{field}[{at}]: {found[at]} ({found.dtype.name}) is not a {dtype.name}")
    return out


def check_out(target: Any, dtype: np.dtype[Any] | None, count: int | None) -> None:
    """Refuses an `out` that is no dense array of `count` elements (None: not known) of `dtype` (None: checked before).

    Raises:
        TypeError: it is none of NumPy's, or of another dtype.
        InvalidArgument: it has another length, is strided or cannot be written.
    """
    if not isinstance(target, np.ndarray):
        raise TypeError(f"out: results do not go into a {type(target).__name__}")
    if dtype is not None and target.dtype != dtype:
        raise TypeError(f"out: is {target.dtype}, the result is {dtype}")
    if target.ndim != 1 or not target.flags.c_contiguous or not target.flags.writeable:
        raise InvalidArgument("out: must be a dense, writable array of 1 dimension", field="out")
    if count is not None and target.size != count:
        raise InvalidArgument(f"out: has {target.size} elements, the result has {count}", field="out")


def incoming(array: IncomingArray, dtype: np.dtype[Any], copy: bool) -> NDArray[Any]:
    """A result as a NumPy array of `dtype`: a view of what came, or a writable copy.

    Raises:
        Internal: the server's answer is not what it should be.
    """
    nbytes = array.data.nbytes
    if nbytes % dtype.itemsize or (array.header.HasField("count") and array.header.count * dtype.itemsize != nbytes):
        raise Internal(
            f"the server answered {nbytes} bytes for {array.header.count} elements of {dtype.itemsize} bytes"
        )
    view: NDArray[Any] = np.frombuffer(array.data, np.uint8).view(dtype)
    return view.copy() if copy else view


def indices(array: IncomingArray, dtype: np.dtype[Any] | None) -> NDArray[Any]:
    """An index array in `dtype`, or in the server's uint32 or uint64 if that is None; always writable."""
    wire_dtype = INDEX_DTYPES.get(array.header.type)
    if wire_dtype is None:
        raise Internal(f"the server answered indices of type {array.header.type}")
    out = incoming(array, wire_dtype, copy=False)
    return out.astype(wire_dtype if dtype is None else dtype)
