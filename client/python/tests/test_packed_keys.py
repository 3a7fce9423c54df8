"""Keys of several numbers as one number, beside the rows themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

from table_cases import TYPES, column  # noqa: E402

from corank._packed_keys import packed_keys  # noqa: E402
from corank._pieces import PIECE_ROWS  # noqa: E402

TIMES = [type_ for type_ in TYPES if pa.types.is_temporal(type_)]
NARROW = [pa.bool_(), pa.int8(), pa.uint16(), pa.int32(), pa.date32()]


def check(keys: list[Any], is_null: list[Any]) -> tuple[Any, Any]:
    """Equal rows have equal numbers, other rows do not, and rows of `is_null` match none of the other side."""
    found = packed_keys(keys, is_null)
    assert found is not None, keys[0].schema
    numbers: dict[Any, set[int]] = {}
    for at, (table, nulls, side) in enumerate(zip(keys, is_null, found)):
        assert side.size == table.num_rows
        assert side.dtype in (np.uint32, np.uint64)
        for row, (values, number) in enumerate(zip(zip(*(each.to_pylist() for each in table.columns)), side.tolist())):
            numbers.setdefault(("none", at) if nulls is not None and nulls[row] else values, set()).add(number)
    assert all(len(each) == 1 for each in numbers.values())
    assert len(set.union(set(), *numbers.values())) == len(numbers)
    return found


@pytest.mark.parametrize("seed", range(40))
def test_rows_have_equal_numbers_if_and_only_if_they_are_equal(seed: int) -> None:
    rng = np.random.default_rng(seed)
    types = [TIMES[seed % len(TIMES)]] if seed < 15 else [NARROW[at] for at in rng.integers(0, len(NARROW), 2)]
    tables = []
    for rows in rng.choice([0, 1, 7, 60], 2):
        columns = [column(rng, type_, int(rows), bool(rng.integers(2))) for type_ in types]
        chunks = [pa.chunked_array([each[: len(each) // 3], each[len(each) // 3 :]]) for each in columns]
        tables.append(pa.table(chunks, [str(at) for at in range(len(types))]))
    check(tables, [None, None])
    masks = [np.asarray(pa.compute.is_null(each.column(0))) if each.num_rows else None for each in tables]
    check(tables, masks)


@pytest.mark.parametrize("rows", [PIECE_ROWS - 1, PIECE_ROWS, PIECE_ROWS + 1, 3 * PIECE_ROWS])
def test_pieces_of_rows_make_one_whole(rows: int) -> None:
    rng = np.random.default_rng(rows)
    first, second = rng.integers(-5, 6, rows), rng.integers(-(2**40), 2**40, rows)
    mask = rng.random(rows) < 0.1
    table = pa.table({"0": pa.array(first, pa.int8(), mask=mask), "1": second})
    check([table, table.slice(rows // 2)], [None, mask[rows // 2 :]])


def test_keys_of_exactly_64_bits_are_packed() -> None:
    ends = pa.array([-(2**63), 2**63 - 1, 0, -1])
    constant = pa.array([7] * 4, pa.int16())
    for columns in ([ends, constant], [constant, ends], [constant, ends, constant]):
        table = pa.table(columns, [str(at) for at in range(len(columns))])
        assert check([table, table], [None, None])[0].dtype == np.uint64
    halves = pa.table({"0": pa.array([0, 2**32 - 1], pa.uint32()), "1": pa.array([-(2**31), 2**31 - 1], pa.int32())})
    check([halves, halves], [None, None])
    assert packed_keys([halves, halves], [None, np.array([True, False])]) is None
    nullable = pa.table({"0": pa.array([2**64 - 1, 0, None], pa.uint64())})
    assert packed_keys([nullable, nullable], [None, None]) is None
    check([nullable.slice(1), nullable.slice(1)], [None, None])


def test_few_bits_make_numbers_of_32_bits() -> None:
    for greatest, dtype in ((2**16 - 1, np.uint32), (2**16, np.uint64)):
        table = pa.table({"0": [2**50, 2**50 + 2**16 - 1], "1": [-3, greatest - 3]})
        assert check([table, table], [None, None])[0].dtype == dtype


@pytest.mark.parametrize("type_", [pa.float64(), pa.string(), pa.decimal128(9, 2), pa.null()])
def test_other_keys_are_not_packed(type_: Any) -> None:
    table = pa.table({"0": pa.array([1, 2]), "1": pa.array([None, None], type_)})
    assert packed_keys([table, table], [None, None]) is None
