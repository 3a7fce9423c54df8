"""Elements of columns of numbers by several threads, and chunks of keys put together, beside NumPy and pyarrow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

from corank._key_columns import combined  # noqa: E402
from corank._pieces import PIECE_ROWS  # noqa: E402
from corank._taking import joined, taken  # noqa: E402

TYPES = [pa.int64(), pa.float16(), pa.timestamp("us", "UTC"), pa.date32(), pa.bool_()]
COUNTS = [0, 1, PIECE_ROWS - 1, PIECE_ROWS, PIECE_ROWS + 1, 3 * PIECE_ROWS + 5]


@pytest.mark.parametrize("row_type", [np.int32, np.uint32, np.int64])
@pytest.mark.parametrize("count", COUNTS)
def test_elements_are_those_of_the_rows(count: int, row_type: Any) -> None:
    rng = np.random.default_rng(count)
    rows = rng.integers(0, 1000, count).astype(row_type)
    every_third = np.arange(3000, dtype=np.int16)[::3]
    columns: list[Any] = [
        rng.random(1000),
        every_third,
        rng.integers(0, 2, 1000).astype(bool),
        every_third.astype("M8[us]"),
    ]
    found = taken(columns, rows)
    for column, elements in zip(columns, found):
        assert elements.dtype == column.dtype
        np.testing.assert_array_equal(elements, column[rows])
    assert taken([], rows) == []


@pytest.mark.parametrize("wrong", [-1, 1000])
def test_a_row_that_no_column_has_is_an_error(wrong: int) -> None:
    rows = np.zeros(2 * PIECE_ROWS, np.int32)
    rows[PIECE_ROWS + 7] = wrong
    with pytest.raises(IndexError):
        taken([np.zeros(2000), np.zeros(1000)], rows)


@pytest.mark.parametrize("sizes", [[0], [3], [3, 0, 5], [1] * 40])
def test_chunks_are_put_together(sizes: list[int]) -> None:
    chunks = [np.random.default_rng(size).integers(0, 9, size) for size in sizes]
    np.testing.assert_array_equal(joined(chunks), np.concatenate(chunks))


@pytest.mark.parametrize("type_", TYPES, ids=str)
@pytest.mark.parametrize("has_null", [False, True])
@pytest.mark.parametrize("count", [9, 2 * PIECE_ROWS])
def test_keys_in_chunks_become_one_array(type_: Any, has_null: bool, count: int) -> None:
    step = {pa.date32(): pa.int32(), pa.float16(): pa.float32()}.get(type_, pa.int64())
    bits = pa.array(np.arange(count) % 5).cast(step).cast(type_)
    if has_null:
        bits = pa.concat_arrays([bits[1:], pa.nulls(1, type_)])
    given = pa.chunked_array([bits[:2], bits[2:2], bits[2 : count // 2], bits[count // 2 :]])
    found = combined(given)
    assert found.type == type_
    assert found.equals(given.combine_chunks())
