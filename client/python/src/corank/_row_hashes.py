"""A number of 64 bits for each row of a key table, equal for equal rows, and the check that rows are equal.

A join sends these numbers in place of its keys. Keys are mixed in 8 bytes at a time by NumPy, in pieces of rows that
stay in a core's cache, a thread for each.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corank._copying import bytes_of
from corank._key_columns import U64, Nan, decimal_words, filled, is_number, numbers_of, one_array
from corank._pieces import of_pieces

_MOST_MIXED = 1024
"""Bytes of a string that NumPy mixes in. Longer ones have a digest, because each 8 bytes take a round of the piece."""
_SHIFTS = np.uint64(32), np.uint64(29)
_NULL = np.uint64(0x6E756C6C)
_FIRST_BYTES = np.array([(1 << 8 * count) - 1 for count in range(9)], np.uint64)


def row_hashes(keys: Any, nan: Nan, seed: int) -> U64:
    """The number of each row of a key table, in which null equals null, NaN equals NaN, and 0 equals -0."""
    out, factors = np.full(keys.num_rows, seed, np.uint64), _factors(seed)

    def mix_piece(piece: slice) -> None:
        for column in keys.columns:
            _mix_column(out[piece], one_array(column.slice(piece.start, piece.stop - piece.start)), nan, factors)

    of_pieces(mix_piece, keys.num_rows)
    return out


def _factors(seed: int) -> U64:
    """Two odd numbers. With factors that everybody knows, keys that collide could be chosen whatever the seed is."""
    digest = hashlib.blake2b(seed.to_bytes(8, "little"), digest_size=16).digest()
    return np.frombuffer(digest, np.uint64) | np.uint64(1)


def _mix(state: U64, words: Any, factors: U64) -> None:
    """Mixes a word into each number."""
    state ^= words
    for factor, shift in zip(factors, _SHIFTS):
        state *= factor
        state ^= state >> shift


def _widened(array: Any) -> Any:
    """Halves as floats, which pyarrow knows better."""
    return array.cast(pa.float32()) if pa.types.is_float16(array.type) else array


def _nulls(array: Any, nan: Nan) -> NDArray[np.bool_] | None:
    """Which elements are null; None: none is."""
    is_nan_null = nan == "null" and pa.types.is_floating(array.type)
    if array.null_count == 0 and not is_nan_null:
        return None
    found: NDArray[np.bool_] = np.asarray(array.is_null(nan_is_null=is_nan_null))
    return found


def _mix_column(state: U64, array: Any, nan: Nan, factors: U64) -> None:
    array = _widened(array)
    type_, nulls = array.type, _nulls(array, nan)
    if pa.types.is_null(type_):
        return
    of_nulls = None if nulls is None else state[nulls]
    if is_number(type_):
        _mix(state, _words(numbers_of(filled(array))), factors)
    elif pa.types.is_decimal(type_):
        for words in decimal_words(array).T:
            _mix(state, words, factors)
    else:
        _mix_strings(state, *_strings(array), factors)
    if of_nulls is not None:
        _mix(of_nulls, _NULL, factors)
        state[nulls] = of_nulls


def _words(numbers: NDArray[Any]) -> U64:
    """Numbers as words that are equal for equal ones."""
    if numbers.dtype.kind == "f":
        numbers = np.where(np.isnan(numbers), numbers.dtype.type(np.nan), numbers + numbers.dtype.type(0))
        numbers = numbers.view(f"u{numbers.dtype.itemsize}")
    return numbers.astype(np.uint64)


def _strings(array: Any) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The bytes of strings, and where each begins and the last one ends."""
    count, buffers = len(array), array.buffers()
    data = np.zeros(0, np.uint8) if buffers[-1] is None else np.frombuffer(buffers[-1], np.uint8)
    if pa.types.is_fixed_size_binary(array.type):
        return data, np.arange(array.offset, array.offset + count + 1) * array.type.byte_width
    return data, np.frombuffer(buffers[1], np.int64, count + 1, array.offset * 8)


def _mix_strings(state: U64, data: NDArray[np.uint8], offsets: NDArray[np.int64], factors: U64) -> None:
    begins, lengths = offsets[:-1], np.diff(offsets)
    _mix(state, lengths.view(np.uint64), factors)
    if offsets[-1] + 8 > data.size:  # words may reach beyond the last string
        data, begins = np.append(data[offsets[0] : offsets[-1]], np.zeros(8, np.uint8)), begins - offsets[0]
    words_at = np.ndarray((data.size - 7,), np.uint64, data, strides=(1,))
    shortest, longest = int(lengths.min()), int(lengths.max())
    for done in range(0, min(longest, _MOST_MIXED), 8):
        if longest == shortest:  # the words of the rows have one distance
            left, mixed = lengths[:1] - done, state
            words = np.ndarray(len(lengths), np.uint64, data, int(begins[0]) + done, (longest,)).copy()
        elif done < shortest:
            left, words, mixed = lengths - done, words_at[begins + done], state
        else:
            rows = np.flatnonzero(lengths > done)
            left, words, mixed = lengths[rows] - done, words_at[begins[rows] + done], state[rows]
        if done + 8 > shortest:
            words &= _FIRST_BYTES[np.minimum(left, 8)]
        _mix(mixed, words, factors)
        if done >= shortest:
            state[rows] = mixed
    for row in np.flatnonzero(lengths > _MOST_MIXED) if longest > _MOST_MIXED else ():
        key = int(state[row]).to_bytes(8, "little")
        digest = hashlib.blake2b(bytes_of(data[begins[row] : begins[row] + lengths[row]]), digest_size=8, key=key)
        state[row] = int.from_bytes(digest.digest(), "little")


def are_equal(keys: Sequence[Any], rows: Sequence[NDArray[Any]], nan: Nan) -> bool:
    """Whether these rows of two key tables of one schema are equal, one by one, as `row_hashes` says."""
    columns = [[one_array(column) for column in each.columns] for each in keys]

    def is_equal(piece: slice) -> bool:
        at, other = (pa.array(each[piece]) for each in rows)
        return all(_equal(left.take(at), right.take(other), nan) for left, right in zip(*columns))

    return all(of_pieces(is_equal, rows[0].size))


def _equal(left: Any, right: Any, nan: Nan) -> bool:
    if pa.types.is_null(left.type):
        return True
    left, right = _widened(left), _widened(right)
    if is_number(left.type):
        numbers = [_words(numbers_of(filled(each))) for each in (left, right)]
        equal: Any = numbers[0] == numbers[1]
    else:
        equal = np.asarray(pc.equal(left, right).fill_null(False))
    is_null, other_is_null = _nulls(left, nan), _nulls(right, nan)
    if is_null is None or other_is_null is None:
        return is_null is other_is_null and bool(equal.all())
    return bool((np.where(is_null | other_is_null, is_null & other_is_null, equal)).all())
