"""Key columns of Arrow as they are in memory: values, offsets and the bitmap of their nulls, without copies.

pyarrow is not imported unless a column is of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from corank._joined_strings import JoinedStrings


class ArrowColumn(NamedTuple):
    """A column of Arrow on its way out."""

    data: NDArray[Any]
    """Numbers, records, or the bytes of all strings."""
    offsets: NDArray[np.int64] | None
    """Where each string begins and the last one ends; None: the rows have one width."""
    validity: NDArray[np.uint8] | None
    """The bitmap of the rows that are not null; None: no row is null."""
    restored: Callable[[Sequence[Any]], Any]
    """Makes a column of the given type of sorted data, offsets and validity, as far as there are any."""
    joined: JoinedStrings | None = None
    """The strings that `data` and `offsets` have room for, but do not hold yet; None: they hold theirs."""


def is_arrow(column: Any) -> bool:
    """Whether it is an Array or a ChunkedArray of pyarrow."""
    return type(column).__module__.partition(".")[0] == "pyarrow" and hasattr(column, "null_count")


def arrow_column(path: str, given: Any) -> ArrowColumn:
    """A column of pyarrow.

    Raises:
        TypeError: its type has no order that the server knows.
    """
    import pyarrow as pa

    from corank._joined_strings import JoinedStrings
    from corank._key_columns import combined, needs_joining

    stored = _stored(given)
    travels = _travelling(path, stored.type)
    offsets, joined = None, None
    if needs_joining(stored):
        joined = JoinedStrings(stored)
        validity = joined.validity() if getattr(stored, "num_chunks", 1) > 1 else _bitmap(combined(stored))
        offsets, data = np.empty(len(stored) + 1, np.int64), np.empty(joined.nbytes, np.uint8)
    else:
        array = combined(stored)
        if travels != array.type:
            array = array.view(travels) if _is_time(array.type) else array.cast(travels)
        validity = _bitmap(array)
        if pa.types.is_large_binary(travels):
            offsets, data = _strings(array)
        else:
            width = travels.byte_width
            is_record = pa.types.is_fixed_size_binary(travels)
            dtype = np.dtype(f"V{width}") if is_record else np.dtype(travels.to_pandas_dtype())
            data = _elements(array.buffers()[1], dtype, array.offset, len(array))

    def restored(results: Sequence[Any]) -> Any:
        left = list(results)
        sorted_data = left.pop(0)
        parts = [sorted_data] if offsets is None else [left.pop(0), sorted_data]
        rows = len(parts[0]) - (offsets is not None)
        buffers = [pa.py_buffer(np.ascontiguousarray(part).view(np.uint8)) for part in (*left, *parts)]
        made = pa.Array.from_buffers(travels, rows, buffers if left else [None, *buffers])
        storage = given.type.storage_type if isinstance(given.type, pa.BaseExtensionType) else given.type
        if storage != travels:
            made = made.view(storage) if _is_time(storage) else made.cast(storage)
        if storage != given.type:
            made = given.type.wrap_array(made)
        return pa.chunked_array([made], given.type) if isinstance(given, pa.ChunkedArray) else made

    return ArrowColumn(data, offsets, validity, restored, joined)


def _stored(given: Any) -> Any:
    """The column, or what a column of an extension type stores."""
    import pyarrow as pa

    if not isinstance(given.type, pa.BaseExtensionType):
        return given
    if isinstance(given, pa.ChunkedArray):
        return pa.chunked_array([chunk.storage for chunk in given.chunks], given.type.storage_type)
    return given.storage


def _is_time(type_: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_temporal(type_)) and not pa.types.is_interval(type_)


def _travelling(path: str, type_: Any) -> Any:
    """The type as which the elements of a type travel."""
    import pyarrow as pa

    from corank._key_columns import has_strings

    types = pa.types
    if types.is_boolean(type_):
        return pa.uint8()
    if types.is_integer(type_) or types.is_floating(type_):
        return type_
    if _is_time(type_):
        return pa.int32() if type_.bit_width == 32 else pa.int64()
    if types.is_fixed_size_binary(type_) and 1 <= type_.byte_width <= 256:
        return type_
    if has_strings(type_):
        return pa.large_binary()
    if types.is_dictionary(type_):
        raise TypeError(f"{path}: is {type_}; pass column.dictionary_decode(), or a table to `sort_by`")
    raise TypeError(f"{path}: is {type_}; columns are numbers, bools, dates, times, strings and binaries")


def _elements(buffer: Any, dtype: np.dtype[Any], offset: int, count: int) -> NDArray[Any]:
    if buffer is None or count == 0:
        return np.zeros(count, dtype)
    return np.frombuffer(buffer, dtype, count, offset * dtype.itemsize)


def _strings(array: Any) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    _, offset_buffer, data_buffer = array.buffers()
    if len(array) == 0:
        return np.zeros(1, np.int64), np.zeros(0, np.uint8)
    offsets = _elements(offset_buffer, np.dtype(np.int64), array.offset, len(array) + 1)
    first, last = int(offsets[0]), int(offsets[-1])
    data = _elements(data_buffer, np.dtype(np.uint8), first, last - first)
    return offsets - first if first else offsets, data


def _bitmap(array: Any) -> NDArray[np.uint8] | None:
    """The validity; a copy only if it begins within a byte."""
    rows = len(array)
    if array.null_count == 0:
        return None
    begin, shift = divmod(array.offset, 8)
    found = np.frombuffer(array.buffers()[0], np.uint8, (shift + rows + 7) // 8, begin)
    return (
        found
        if shift == 0
        else np.packbits(np.unpackbits(found, bitorder="little")[shift : shift + rows], bitorder="little")
    )
