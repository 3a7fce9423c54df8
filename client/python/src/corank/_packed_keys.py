"""Keys of several numbers, or of one with nulls, as one number for each row, equal for equal rows only.

Most such keys have few bits: their types are narrow, or their values lie close together. A join sends these numbers as
they are, so nothing needs a check afterwards, as hashes do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corank._key_columns import filled, is_number, numbers_of, one_array
from corank._pieces import of_pieces
from corank._taking import pooled

_WORD = (1 << 64) - 1


class _Field(NamedTuple):
    """The bits of a key column."""

    least: int
    """What the number 0 stands for, unless null has it."""
    bits: int
    has_null: bool
    """Whether 0 is null, and 1 the least value."""


def packed_keys(keys: Sequence[Any], is_null: Sequence[Any]) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """The number of each row of both key tables, which have one schema. Nulls of one column are equal.

    Args:
        keys: the key tables.
        is_null: of each side, the rows that equal none of the other side; None: there are none.

    Returns:
        Arrays of uint32 or uint64; None if a key is no integer, bool, date or time, or all have more than 64 bits.
    """
    if not all(is_number(type_) and not pa.types.is_floating(type_) for type_ in keys[0].schema.types):
        return None
    columns = [[_integers(column) for column in each.columns] for each in keys]
    fields = [_field(arrays) for arrays in zip(*columns)]
    bits = sum(field.bits for field in fields)
    none_at = 1 << bits  # a number of each side for its rows that equal none
    most = none_at + 1 if any(each is not None for each in is_null) else none_at - 1
    if most > _WORD:
        return None
    dtype = np.min_scalar_type(max(most, 1 << 16))
    sides = _packed(columns[0], fields, dtype), _packed(columns[1], fields, dtype)
    for at, (side, nulls) in enumerate(zip(sides, is_null)):
        if nulls is not None:
            side[nulls] = none_at + at
    return sides


def _integers(column: Any) -> Any:
    """Integers, bools, dates or times as one array of integers."""
    array = one_array(column)
    if pa.types.is_boolean(array.type):
        return array.cast(pa.uint8())
    return array.view(f"int{array.type.bit_width}") if pa.types.is_temporal(array.type) else array


def _field(arrays: Sequence[Any]) -> _Field:
    """The bits of a column of both sides."""
    ends = [end.as_py() for each in arrays for end in pc.min_max(each).values() if end.is_valid]
    has_null = any(each.null_count for each in arrays)
    least, greatest = (min(ends), max(ends)) if ends else (0, 0)
    return _Field(least, (greatest - least + has_null).bit_length(), has_null)


def _packed(arrays: Sequence[Any], fields: Sequence[_Field], dtype: np.dtype[Any]) -> NDArray[Any]:
    out = pooled(len(arrays[0]), dtype)
    base = 0
    for field in fields:
        base = (base << field.bits) + field.least - field.has_null

    def pack_piece(piece: slice) -> None:
        packed = np.zeros(piece.stop - piece.start, np.uint64)
        for array, field in zip(arrays, fields):
            part = array.slice(piece.start, packed.size)
            numbers = numbers_of(filled(part))
            if part.null_count:
                numbers = numbers.astype(np.uint64)
                numbers[np.asarray(part.is_null())] = (field.least - 1) & _WORD
            packed <<= np.uint64(field.bits)
            np.add(packed, numbers, out=packed, dtype=np.uint64, casting="unsafe")  # modulo 2**64
        np.subtract(packed, np.uint64(base & _WORD), out=out[piece], casting="unsafe")

    of_pieces(pack_piece, out.size)
    return out
