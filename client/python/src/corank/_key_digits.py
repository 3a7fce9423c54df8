"""Key columns of Arrow as digits: unsigned numbers whose order, digit by digit, is the order of the rows.

The order is that of pyarrow's sort_indices: nulls at the end that the caller chose, NaN next to them in both
directions, -0.0 equal to +0.0, strings and binaries byte by byte. An Order may also take NaN for a number or for null.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corank._elements import flag

U64 = NDArray[np.uint64]
Nulls = Literal["first", "last"]
Nan = Literal["beside_null", "null", "greatest"]
NANS: tuple[Nan, ...] = ("beside_null", "null", "greatest")

_SIGN = np.uint64(1 << 63)
_WINDOW = 8
"""Bytes of a string that are one digit."""
_LEAST_WIDTH = 8
"""Bits of a digit that is not halved."""
_LEADING = np.array([0, *(((1 << 8 * kept) - 1) << (64 - 8 * kept) for kept in range(1, 9))], np.uint64)
"""Masks that keep the first 0 to 8 bytes of a window."""


class Order(NamedTuple):
    """How rows of a table compare."""

    keys: tuple[str, ...]
    descending: tuple[bool, ...]
    nulls: tuple[Nulls, ...]
    """Where nulls go, whatever the direction."""
    nan: Nan = "beside_null"
    """NaN comes between the numbers and the nulls, equals null, or is greater than every number."""


class Digit:
    """One number for each row: bits [shift, shift + width) of `codes`."""

    def __init__(self, codes: U64, shift: int = 0, width: int = 64) -> None:
        self._codes, self._shift, self.width = codes, shift, width

    def of(self, rows: NDArray[np.intp] | None) -> U64:
        """The digit of these rows; None: of all."""
        found = self._codes if rows is None else self._codes[rows]
        if self._shift == 0 and self.width == 64:
            return found
        return (found >> np.uint64(self._shift)) & np.uint64((1 << self.width) - 1)

    def halves(self) -> list[Digit]:
        """The same as two digits."""
        low = self.width // 2
        return [Digit(self._codes, self._shift + low, self.width - low), Digit(self._codes, self._shift, low)]


class _Bytes(NamedTuple):
    """A column of strings: string i is data[begins[i]:begins[i] + lengths[i]]."""

    data: NDArray[np.uint8]
    begins: NDArray[np.int64]
    lengths: NDArray[np.int64]


class _StringDigit(Digit):
    """Up to 8 bytes of each string, from byte `at` on, as a big-endian number; zeros stand for what is missing."""

    def __init__(self, strings: _Bytes, at: int, descending: bool, first: int = 0, width: int = 64) -> None:
        self._strings, self._at, self._descending, self._first, self.width = strings, at, descending, first, width

    def of(self, rows: NDArray[np.intp] | None) -> U64:
        data, begins, lengths = self._strings
        if rows is not None:
            begins, lengths = begins[rows], lengths[rows]
        starts = begins + self._at
        # The last windows of the data would read beyond its end: they begin earlier and lose their first bytes.
        last = data.size - _WINDOW
        late = np.flatnonzero(starts > last)
        lost = np.minimum(starts[late] - last, _WINDOW - 1)
        starts[late] = last
        windows = np.ndarray((last + 1,), np.uint64, data, strides=(1,))
        codes: U64 = windows[starts]  # take() would copy all windows
        if sys.byteorder == "little":
            codes.byteswap(inplace=True)
        codes[late] <<= (8 * lost).astype(np.uint64)
        left = lengths - self._at
        if left.size and left.min() < _WINDOW:
            codes &= _LEADING[np.minimum(np.maximum(left, 0), _WINDOW)]
        if self._descending:
            np.invert(codes, out=codes)
        if self.width < 64:
            codes >>= np.uint64(64 - self._first - self.width)
            codes &= np.uint64((1 << self.width) - 1)
        return codes

    def halves(self) -> list[Digit]:
        half = self.width // 2
        rest = self.width - half
        return [
            _StringDigit(self._strings, self._at, self._descending, self._first, half),
            _StringDigit(self._strings, self._at, self._descending, self._first + half, rest),
        ]


def one_array(column: Any) -> Any:
    """A column as one array; strings with 64-bit offsets, because all of them may exceed 2 GiB."""
    type_ = held_type(column.type)
    if type_ != column.type:
        column = column.cast(type_)
    if _is_bytes(type_):
        column = column.cast(pa.large_binary())
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


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
    types = pa.types
    views = (getattr(types, "is_string_view", None), getattr(types, "is_binary_view", None))
    return (
        types.is_string(type_)
        or types.is_large_string(type_)
        or types.is_binary(type_)
        or types.is_large_binary(type_)
        or types.is_fixed_size_binary(type_)
        or any(check is not None and check(type_) for check in views)
    )


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


def _digits_of_bytes(array: Any, descending: bool) -> Iterator[Digit]:
    rows = len(array)
    _, offset_buffer, data_buffer = array.buffers()
    offsets = np.frombuffer(offset_buffer, np.int64)[array.offset : array.offset + rows + 1]
    lengths = np.diff(offsets)
    if array.null_count:
        lengths[np.asarray(array.is_null())] = 0
    data = np.zeros(0, np.uint8) if data_buffer is None else np.frombuffer(data_buffer, np.uint8)
    data, begins = data[offsets[0] : offsets[-1]], offsets[:-1] - offsets[0]
    if data.size < _WINDOW:
        data = np.concatenate([data, np.zeros(_WINDOW - data.size, np.uint8)])
        has_zeros = bool((data[: offsets[-1] - offsets[0]] == 0).any())
    else:
        has_zeros = bool((data == 0).any())
    strings = _Bytes(data, begins, lengths)
    for at in range(0, int(lengths.max()), _WINDOW):
        yield _StringDigit(strings, at, descending)
    if has_zeros:  # Only then may a string and its extension have equal windows.
        codes = lengths.astype(np.uint64)
        yield Digit(~codes if descending else codes)


def numbers_of(array: Any) -> NDArray[Any]:
    """Numbers, bools, dates or times without nulls as a NumPy array; dates and times as integers."""
    width = _width_of_time(array.type)
    if width:
        array = array.view(pa.int32() if width == 32 else pa.int64())
    values: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return values


def _codes_of_numbers(array: Any) -> tuple[U64, NDArray[np.bool_] | None]:
    """The codes of numbers, dates or times without nulls, and which of them are NaN."""
    values = numbers_of(array)
    if values.dtype.kind == "f":
        floats = values.astype(np.float64) + 0.0  # -0.0 + 0.0 is +0.0
        codes = floats.view(np.uint64)
        is_nan = np.isnan(floats)
        return codes ^ np.where(codes >= _SIGN, ~np.uint64(0), _SIGN), is_nan if is_nan.any() else None
    if values.dtype.kind == "i":
        signed: U64 = values.astype(np.int64).view(np.uint64)
        return signed ^ _SIGN, None
    return values.astype(np.uint64), None


def decimal_words(array: Any) -> U64:
    """The unscaled integers of decimals, shape (n, words): two's complement, the least significant word first."""
    words = max(array.type.bit_width // 64, 1)
    if len(array) == 0:
        return np.zeros((0, words), np.uint64)
    raw = np.frombuffer(array.buffers()[1], "<i4" if array.type.bit_width == 32 else "<u8")
    parts = raw[array.offset * words : (array.offset + len(array)) * words].reshape(-1, words)
    return parts.astype(np.int64).view(np.uint64)


def _codes_of_decimals(array: Any) -> list[U64]:
    """Decimals as 64-bit codes, most significant first. One column has one scale."""
    parts = decimal_words(array)
    return [parts[:, -1] ^ _SIGN, *(parts[:, at].copy() for at in range(parts.shape[1] - 2, -1, -1))]


def _digits_of_column(array: Any, descending: bool, nulls: Nulls, nan: Nan) -> Iterator[Digit]:
    rows = len(array)
    if rows == 0 or pa.types.is_null(array.type):
        return
    # 0 comes first: values, NaN, nulls, or the other way round.
    kinds = np.zeros(rows, np.uint64)
    is_null = np.asarray(array.is_null()) if array.null_count else None
    if is_null is not None:
        kinds[is_null] = 2
    found: Iterator[Digit]
    if _is_bytes(array.type):
        found = _digits_of_bytes(array, descending)
    else:
        is_nan = None
        if pa.types.is_decimal(array.type):
            codes = _codes_of_decimals(array)
        else:
            of_numbers, is_nan = _codes_of_numbers(filled(array))
            codes = [of_numbers]
        if is_nan is not None and nan == "greatest":
            codes[0] = np.where(is_nan, ~np.uint64(0), codes[0])
        elif is_nan is not None:
            kinds[is_nan] = 1 if nan == "beside_null" else 2
        if descending:
            codes = [~each for each in codes]
        if kinds.any():
            codes = [np.where(kinds == 0, each, np.uint64(0)) for each in codes]
        found = map(Digit, codes)
    if kinds.any():
        yield Digit(2 - kinds if nulls == "first" else kinds, width=2)
    yield from found


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


def digits(table: Any, order: Order) -> Iterator[Digit]:
    """The digits of the rows of a table, most significant first, each made when it is asked for."""
    for name, descending, nulls in zip(order.keys, order.descending, order.nulls):
        yield from _digits_of_column(one_array(table.column(name)), descending, nulls, order.nan)


def direct_keys(column: Any, descending: bool, nulls: Nulls, nan: Nan) -> NDArray[Any] | None:
    """A key column as an array that the server sorts in the same order by itself; None: its keys need digits.

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


class Packer:
    """Packs as many digits as fit into one number of at most 64 bits, level after level."""

    def __init__(self, of: Iterator[Digit]) -> None:
        self._left = of
        self._next: list[Digit] = []
        self.is_done = False
        """Whether no digit is left, so that equal keys of the last level are of equal rows."""

    def _take(self) -> Digit | None:
        return self._next.pop(0) if self._next else next(self._left, None)

    def keys(self, rows: NDArray[np.intp] | None, groups: NDArray[np.intp] | None, group_count: int) -> Any:
        """Keys that order rows of one group as their next digits do, and groups by their numbers.

        Args:
            rows: the rows; None: all.
            groups: the group of each of them, from 0; None: there is one.
            group_count: how many groups there are, at most 2^32.

        Returns:
            An unsigned array; None: all rows of a group are equal in all digits that are left.
        """
        packed: Any = None
        used = 0 if groups is None else int(group_count - 1).bit_length()
        halves: list[U64] = []  # of the first digits of _next, for these rows
        while (digit := self._take()) is not None:
            raw = halves.pop(0) if halves else digit.of(rows)
            codes, bits = _spread(raw, groups, group_count)
            if bits == 0:
                continue
            if used + bits > 64:
                # A digit that does not fit goes on in halves; one of 32 bits always fits beside the group.
                if digit.width <= _LEAST_WIDTH:
                    self._next.insert(0, digit)
                    break
                self._next[:0] = digit.halves()
                low = np.uint64(self._next[1].width)
                halves[:0] = [raw >> low, raw & ((np.uint64(1) << low) - np.uint64(1))]
                continue
            if packed is None and groups is not None:
                packed = groups.astype(np.uint64)
            packed = codes if packed is None else (packed << np.uint64(bits)) | codes
            used += bits
        self.is_done = digit is None
        return None if packed is None else packed.astype(np.min_scalar_type((1 << used) - 1))


def _spread(codes: U64, groups: NDArray[np.intp] | None, group_count: int) -> tuple[U64, int]:
    """Codes less the least one of their group, and the bits of the greatest."""
    if groups is None:
        codes = codes - codes.min()
    else:
        least = np.full(group_count, ~np.uint64(0))
        np.minimum.at(least, groups, codes)
        codes = codes - least[groups]
    return codes, int(codes.max()).bit_length()


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
    return Order(names, directions, placements)
