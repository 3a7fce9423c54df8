"""The numbers that stand for rows in a join, beside Python's own comparison."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

from table_cases import OF_POLARS, TYPES, column, plain  # noqa: E402

from corank import _frames as frames  # noqa: E402
from corank import _row_hashes as row_hashes  # noqa: E402
from corank import _table_libraries as libraries  # noqa: E402
from corank._key_columns import Nan  # noqa: E402
from corank._pieces import PIECE_ROWS  # noqa: E402

SEED = 2**64 - 3


def same(value: Any, nan: Nan) -> Any:
    """A value, in a form that is equal for equal keys."""
    if value != value:
        return None if nan == "null" else "NaN"
    return value


@pytest.mark.parametrize("nan", ["null", "beside_null"])
@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_rows_have_equal_numbers_if_and_only_if_they_are_equal(type_: Any, nan: Nan) -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        tables = [
            pa.table({"a": column(rng, type_, 60, has_nulls), "b": pa.array(rng.integers(0, 2, 60), pa.int8())})
            for has_nulls in (bool(seed & 1), bool(seed & 2))
        ]
        if pa.types.is_dictionary(type_):
            tables = [table.set_column(0, "a", plain(table["a"])) for table in tables]
        tables[1] = pa.concat_tables([tables[1][:7], tables[1][7:]])[3:]  # pieces that begin within a byte
        hashes = [row_hashes.row_hashes(table, nan, SEED) for table in tables]
        left, right = ([tuple(same(e, nan) for e in row.values()) for row in table.to_pylist()] for table in tables)
        at, other = (each.ravel() for each in np.indices((len(left), len(right))))
        expected = np.array([left[a] == right[b] for a, b in zip(at, other)])
        np.testing.assert_array_equal(hashes[0][at] == hashes[1][other], expected)
        assert row_hashes.are_equal(tables, [at[expected], other[expected]], nan)
        for a, b in zip(at[~expected][::37], other[~expected][::37]):
            assert not row_hashes.are_equal(tables, [np.array([a]), np.array([b])], nan), (left[a], right[b])


def test_keys_chosen_to_collide_by_some_seeds_do_not_by_others() -> None:
    """The second key of a row makes up for what the first one changes, if that is known."""

    def hashed(keys: list[int], others: Any, seed: int) -> Any:
        table = pa.table({"a": pa.array(keys, pa.uint64()), "b": pa.array(others, pa.uint64())})
        return row_hashes.row_hashes(table, "null", seed)

    def of_first(seed: int) -> Any:
        return row_hashes.row_hashes(pa.table({"a": pa.array([0, 2**63], pa.uint64())}), "null", seed)

    rng = np.random.default_rng(0)
    changes = np.array([np.bitwise_xor.reduce(of_first(seed)) for seed in range(1000)])
    for seed in (int(each) for each in rng.integers(2**63, size=300)):
        numbers = hashed([0] + [2**63] * len(changes), np.append(np.uint64(0), changes), seed)
        assert not (numbers[1:] == numbers[0]).any()


def test_strings_of_any_length_have_numbers_of_their_own() -> None:
    lengths = [*range(30), 1023, 1024, 1025, 5000]
    texts = [b"\0" * length for length in lengths]
    texts += [text[:at] + b"x" + text[at + 1 :] for text in texts for at in {0, len(text) // 2, len(text) - 1} if text]
    array = pa.array(texts)
    hashes = row_hashes.row_hashes(pa.table({"k": array}), "null", SEED)
    assert len(set(hashes.tolist())) == len(set(texts))
    for at in range(0, len(texts), 5):  # alone, and as the last string of its buffer
        for alone in (array[at : at + 1], pa.array([texts[at]], pa.binary_view())):
            assert row_hashes.row_hashes(pa.table({"k": alone}), "null", SEED).tolist() == [hashes[at]]
    assert not set(hashes.tolist()) & set(row_hashes.row_hashes(pa.table({"k": array}), "null", 1).tolist())


@pytest.mark.parametrize("count", [0, 1, PIECE_ROWS - 1, PIECE_ROWS, PIECE_ROWS + 1, 3 * PIECE_ROWS + 5])
def test_pieces_of_rows_make_one_whole(count: int) -> None:
    places = np.random.default_rng(count).permutation(count)
    texts = pa.array([f"{at % 1000:0{at % 23}}" for at in range(count)], pa.string())
    table = pa.table({"n": pa.array(np.arange(count) % 77), "s": texts})
    hashes = row_hashes.row_hashes(table, "null", SEED)
    moved = table.take(pa.array(places))
    np.testing.assert_array_equal(row_hashes.row_hashes(moved, "null", SEED), hashes[places])
    assert row_hashes.are_equal([table, moved], [places, np.arange(count)], "null")
    if count > 1:
        places[-1] = places[-2]
        assert not row_hashes.are_equal([table, moved], [places, np.arange(count)], "null")


@pytest.mark.parametrize("type_", OF_POLARS, ids=str)
def test_polars_numbers_equal_rows_alike(type_: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    polars = pytest.importorskip("polars")
    monkeypatch.setattr(frames, "_ROWS_TO_HASH", 7)
    library, _ = libraries.library_of("left", polars.DataFrame())
    rng = np.random.default_rng(5)
    table = pa.table({"a": plain(column(rng, type_, 80, True)), "b": column(rng, pa.string(), 80, True)})
    keys = polars.from_arrow(table).to_arrow()
    places = rng.permutation(80)
    hashes = library.hashes(keys, SEED)
    np.testing.assert_array_equal(library.hashes(keys.take(pa.array(places)), SEED), hashes[places])
    rows = [tuple(same(e, "greatest") for e in row.values()) for row in keys.to_pylist()]
    at, other = (each.ravel() for each in np.indices((80, 80)))
    expected = np.array([rows[a] == rows[b] for a, b in zip(at, other)])
    np.testing.assert_array_equal(hashes[at] == hashes[other], expected)
    assert library.are_equal([keys, keys], [at[expected], other[expected]])
    for a, b in zip(at[~expected][::97], other[~expected][::97]):
        assert not library.are_equal([keys, keys], [np.array([a]), np.array([b])]), (rows[a], rows[b])
