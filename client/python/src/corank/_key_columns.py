"""Keys of tables of Arrow as key columns of the server.

The order is that of pyarrow's sort_indices: nulls at the end that the caller chose, NaN next to them in both
directions, -0.0 equal to +0.0, strings and binaries byte by byte. An Order may also take NaN for a number or for null.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corank._elements import flag
from corank._joined_strings import JoinedStrings, is_view
from corank._pieces import PIECE_ROWS, of_pieces
from corank._taking import joined

U64 = NDArray[np.uint64]
Nulls = Literal["first", "last"]
Nan = Literal["beside_null", "null", "greatest"]
NANS: tuple[Nan, ...] = ("beside_null", "null", "greatest")


class Order(NamedTuple):
    """How rows of a table compare."""

    keys: tuple[str, ...]
    descending: tuple[bool, ...]
    nulls: tuple[Nulls, ...]
    """Where nulls go, whatever the direction."""
    nan: tuple[Nan, ...]
    """Whether NaN comes between the numbers and the nulls, equals null, or is greater than every number."""


def one_array(column: Any) -> Any:
    """A column as one array; strings with 64-bit offsets, because all of them may exceed 2 GiB."""
    type_ = held_type(column.type)
    if not _is_bytes(type_):
        return combined(column.cast(type_) if type_ != column.type else column)
    if len(column) <= PIECE_ROWS:
        return _large(column)
    if needs_joining(column):
        return JoinedStrings(column).array()
    if has_strings(column.type):
        return _large(column)
    pieces = of_pieces(lambda piece: _large(column[piece]), len(column))  # of what a dictionary or a type holds
    return JoinedStrings(pa.chunked_array(pieces)).array()


def _large(column: Any) -> Any:
    """Strings as one array with 64-bit offsets."""
    return combined(column.cast(held_type(column.type)).cast(pa.large_binary()))


def needs_joining(column: Any) -> bool:
    """Whether a column holds strings in several chunks or as views."""
    return has_strings(column.type) and (is_view(column.type) or getattr(column, "num_chunks", 1) > 1)


def has_strings(type_: Any) -> bool:
    """Whether the elements are strings or binaries of any length."""
    types = pa.types
    is_narrow = types.is_string(type_) or types.is_binary(type_)
    return bool(is_narrow or types.is_large_string(type_) or types.is_large_binary(type_) or is_view(type_))


def combined(column: Any) -> Any:
    """A column in one chunk; strings of more than 2 GiB with 32-bit offsets stay in several."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    is_plain = is_number(column.type) and not pa.types.is_boolean(column.type) and not column.null_count
    if is_plain and len(column) >= PIECE_ROWS:
        return pa.array(joined([numbers_of(chunk) for chunk in column.chunks])).view(column.type)
    return column.combine_chunks()


def held_type(type_: Any) -> Any:
    """The type of a column's values: of a dictionary's values, and of what an extension type stores."""
    while True:
        if pa.types.is_dictionary(type_):
            type_ = type_.value_type
        elif isinstance(type_, pa.BaseExtensionType):
            type_ = type_.storage_type
        else:
            return type_


def _is_bytes(type_: Any) -> bool:
    return has_strings(type_) or bool(pa.types.is_fixed_size_binary(type_))


def check_type(name: str, type_: Any) -> None:
    """Refuses a key column that has no order here.

    Raises:
        TypeError: its message names the column.
    """
    types = pa.types
    held = held_type(type_)
    if not (is_number(held) or types.is_decimal(held) or types.is_null(held) or _is_bytes(held)):
        has_parts = types.is_nested(held)
        advice = "make columns of its parts" if has_parts else "convert it to one of them"
        known = "numbers, bools, decimals, dates, times, strings and binaries"
        raise TypeError(f"key: column {name!r} is {type_}; keys are {known}: {advice}")


def kind_of(type_: Any) -> str:
    """What values of a type compare with: "number", "bool", "time", "bytes" or "null"."""
    types = pa.types
    if types.is_null(type_):
        return "null"
    if _is_bytes(type_):
        return "bytes"
    return "bool" if types.is_boolean(type_) else "time" if _width_of_time(type_) else "number"


def is_number(type_: Any) -> bool:
    """Whether the values are numbers, bools, dates or times of at most 64 bits."""
    types = pa.types
    is_one = types.is_integer(type_) or types.is_floating(type_) or types.is_boolean(type_)
    return is_one or _width_of_time(type_) > 0


def _width_of_time(type_: Any) -> int:
    """Bits of a date or time; 0: it is neither."""
    types = pa.types
    if types.is_date32(type_) or types.is_time32(type_):
        return 32
    is_time = types.is_date64(type_) or types.is_time64(type_) or types.is_timestamp(type_) or types.is_duration(type_)
    return 64 if is_time else 0


def numbers_of(array: Any) -> NDArray[Any]:
    """Numbers, bools, dates or times without nulls as a NumPy array; dates and times as integers."""
    width = _width_of_time(array.type)
    if width:
        array = array.view(pa.int32() if width == 32 else pa.int64())
    values: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return values


def decimal_words(array: Any) -> U64:
    """The unscaled integers of decimals, shape (n, words): two's complement, the least significant word first."""
    words = max(array.type.bit_width // 64, 1)
    if len(array) == 0:
        return np.zeros((0, words), np.uint64)
    raw = np.frombuffer(array.buffers()[1], "<i4" if array.type.bit_width == 32 else "<u8")
    parts = raw[array.offset * words : (array.offset + len(array)) * words].reshape(-1, words)
    return parts.astype(np.int64).view(np.uint64)


def filled(array: Any) -> Any:
    """Numbers, dates or times with 0 for null."""
    if array.null_count == 0:
        return array
    type_ = array.type
    if pa.types.is_float16(type_):  # pyarrow before 26 does not fill these
        return array.cast(pa.float32()).fill_null(0.0)
    width = _width_of_time(type_)
    if width:
        return array.fill_null(pa.scalar(0, pa.int32() if width == 32 else pa.int64()).cast(type_))
    return array.fill_null(pa.scalar(False if pa.types.is_boolean(type_) else 0).cast(type_))


class Columns(NamedTuple):
    """The keys of a table as key columns of the server, the most significant first."""

    arrays: list[Any]
    """Arrays of pyarrow or NumPy, or chunked arrays of strings, as many as `descending` and `nulls`."""
    descending: list[bool]
    nulls: list[Nulls]
    nan: list[Nan]


def key_columns(table: Any, order: Order) -> Columns:
    """The keys of a table in this order. Keys of Arrow's type null have no column."""
    out = Columns([], [], [], [])
    for name, descending, nulls, nan in zip(*order):
        column = table.column(name)
        for array in [column] if has_strings(column.type) else _parts(one_array(column)):
            out.arrays.append(array)
            out.descending.append(descending)
            out.nulls.append(nulls)
            out.nan.append(nan)
    return out


def _parts(array: Any) -> list[Any]:
    """The columns that stand for one key: a decimal has one for each 64 bits of its unscaled integer."""
    if pa.types.is_null(array.type):
        return []
    if not pa.types.is_decimal(array.type):
        return [array]
    words = decimal_words(array)
    is_null = np.asarray(array.is_null()) if array.null_count else None
    lower = [pa.array(words[:, at], mask=is_null) for at in range(words.shape[1] - 2, -1, -1)]
    return [pa.array(words[:, -1].view(np.int64), mask=is_null), *lower]


def direct_keys(column: Any, descending: bool, nulls: Nulls, nan: Nan) -> NDArray[Any] | None:
    """A key column as an array that the server sorts in the same order by itself; None: it has to be a key column.

    The server takes NaN for the greatest number.
    """
    if not is_number(held_type(column.type)):
        return None
    array = one_array(column)
    if array.null_count:
        return None
    keys = numbers_of(array)
    is_float = keys.dtype.kind == "f"
    if is_float and nan != "greatest" and descending != (nulls == "first") and bool(np.isnan(keys).any()):
        return None
    return keys


def order_of(keys: str | Sequence[str], descending: bool | Sequence[bool], nulls: str) -> Order:
    """An order as users give it.

    Raises:
        TypeError: a key is no name.
        ValueError: there are no keys, one is given twice, there are not as many directions, or `nulls` is neither word.
    """
    names = (keys,) if isinstance(keys, str) else tuple(keys)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"key: {name!r} is a {type(name).__name__}; keys are names of columns")
    if not names or len(set(names)) < len(names):
        raise ValueError(f"key: {list(names)}; give one column or more, each once")
    given = [descending] * len(names) if isinstance(descending, (str, bool, np.bool_)) else descending
    directions = tuple(flag("descending", each) for each in given)
    if len(directions) != len(names):
        raise ValueError(f"descending: {len(directions)} directions for {len(names)} keys")
    if nulls not in ("first", "last"):
        raise ValueError(f"nulls: {nulls!r} is neither 'first' nor 'last'")
    placements: tuple[Nulls, ...] = ("first" if nulls == "first" else "last",) * len(names)
    return Order(names, directions, placements, tuple(NANS[0] for _ in names))
