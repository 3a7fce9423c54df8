"""Sort by several key columns, from the Python client to a real server and back, against Python's own sorted."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import corank
import numpy as np
import pytest
from numpy.typing import NDArray

RNG_SEED = 33
ROWS = (0, 1, 2, 1000, 20_011)
ALGORITHMS = ("auto", "mergesort", "radix", "odd-even-mergesort")


def rows_of(column: Any) -> list[Any]:
    """A column as Python objects; byte strings of one width keep their zero bytes."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "SV":
        data, width = column.tobytes(), column.dtype.itemsize
        return [data[at : at + width] for at in range(0, len(data), width)]
    return list(column.tolist() if isinstance(column, np.ndarray) else column)


def key_of(value: Any) -> Any:
    """A key in whose order values are sorted: NaNs are equal and come last, and so are zeros of both signs."""
    if not isinstance(value, float):
        return value
    return (math.isnan(value), 0.0 if math.isnan(value) else value)


def order_of(columns: Sequence[Any], descending: Sequence[bool]) -> list[int]:
    """The stable permutation, by sorting by the last column first. Python's `reverse` keeps equal rows in order."""
    count = len(columns[0])
    order = list(range(count))
    for column, reverse in reversed(list(zip(columns, descending, strict=True))):
        keys = [key_of(value) for value in rows_of(column)]
        order.sort(key=keys.__getitem__, reverse=reverse)
    return order


def ranks_of(columns: Sequence[Any], order: Sequence[int]) -> list[int]:
    """The number of distinct rows before each, from the sorted order."""
    rows = list(zip(*([key_of(value) for value in rows_of(column)] for column in columns), strict=True))
    ranks = [1] * len(rows)
    for before, row in itertools.pairwise(order):
        ranks[row] = ranks[before] + (rows[before] != rows[row])
    return ranks


def bits(column: Any) -> list[Any]:
    """A column's rows in a form in which equal means equal bit for bit."""
    if isinstance(column, np.ndarray) and column.dtype.kind == "f":
        return list(column.view(f"u{column.dtype.itemsize}").tolist())
    return rows_of(column)


def check(client: corank.Client, columns: Sequence[Any], descending: Sequence[bool], **arguments: Any) -> None:
    """Sorts with every method and compares with order_of, bit for bit."""
    expected = order_of(columns, descending)
    limit, offset = arguments.get("limit"), arguments.get("offset", 0)
    wanted = expected[offset:][:limit]
    found = client.argsort_columns(columns, descending=descending, **arguments)
    assert found.tolist() == wanted
    if limit is None and not offset:
        ranks = client.rank_columns(columns, descending=descending, **arguments)
        assert ranks.tolist() == ranks_of(columns, expected)
    values = np.arange(len(expected), dtype=np.int64) * 3
    result, moved = client.sort_columns(columns, values=values, descending=descending, **arguments)
    assert moved.tolist() == [3 * i for i in wanted]
    for before, after in zip(columns, result, strict=True):
        assert type(after) is (list if isinstance(before, (list, tuple)) else np.ndarray) or len(before) == 0
        old = bits(before)
        assert bits(after) == [old[i] for i in wanted]


def words(rng: np.random.Generator, count: int, prefix: bytes = b"") -> list[bytes]:
    """Strings of 0 to 20 bytes from a small alphabet with zero bytes, after a prefix; many are prefixes of others."""
    lengths = rng.integers(0, 21, count)
    return [prefix + bytes(rng.integers(0, 3, length, dtype=np.uint8)) for length in lengths]


@pytest.mark.parametrize("count", ROWS)
def test_numbers_of_several_types_and_directions(client: corank.Client, count: int) -> None:
    rng = np.random.default_rng(RNG_SEED)
    special = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1e-40, -3.5], np.float32)
    columns = [
        rng.integers(-2, 3, count, dtype=np.int64),
        special[rng.integers(0, len(special), count)],
        rng.integers(0, 4, count, dtype=np.uint16),
    ]
    for descending in itertools.product((False, True), repeat=3):
        check(client, columns, descending)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("width", [1, 7, 8, 9, 16, 64, 256])
def test_byte_strings_of_fixed_width(client: corank.Client, width: int, algorithm: str) -> None:
    rng = np.random.default_rng(width)
    rows = rng.integers(0, 2, (3000, width), dtype=np.uint8)
    rows[:, : width - 3] = rows[0, : width - 3]  # all but the last bytes are equal
    column: NDArray[Any] = np.ascontiguousarray(rows).view(f"S{width}").ravel()
    check(client, [column, rng.integers(0, 2, 3000, dtype=np.int8)], [False, True], algorithm=algorithm)
    check(client, [column.view(f"V{width}")], [True], algorithm=algorithm)


@pytest.mark.parametrize("prefix", [b"", b"prefix..", b"\0" * 70, b"x" * 300])
@pytest.mark.parametrize("descending", [False, True])
def test_strings_of_any_length(client: corank.Client, prefix: bytes, descending: bool) -> None:
    rng = np.random.default_rng(len(prefix))
    strings = [*words(rng, 3000, prefix), b"", prefix, prefix + b"\0"]
    check(client, [strings], [descending])
    check(client, [strings, rng.integers(0, 2, len(strings)), strings[::-1]], [descending, True, not descending])
    check(client, [rng.integers(0, 5, len(strings)), strings], [True, descending], limit=100)
    check(client, [rng.integers(0, 5, len(strings)), strings], [True, descending], limit=100, offset=1234)


def test_str_come_back_as_str(client: corank.Client) -> None:
    names = ["Ωmega", "alpha", "", "alphabet", "Älpha", "alpha", "\U0001f600", "zeta", "alpha\0"]
    assert client.sort_columns([names]) == [sorted(names)]
    assert client.sort_columns([names], descending=True) == [sorted(names, reverse=True)]
    assert client.sort_columns([names], limit=3) == [sorted(names)[:3]]


def test_one_column_of_numbers_is_what_sort_answers(client: corank.Client) -> None:
    keys = np.random.default_rng(5).standard_normal(30_000)
    assert client.sort_columns([keys])[0].tobytes() == client.sort(keys).tobytes()


def test_ranks_join_two_tables_by_several_columns(client: corank.Client) -> None:
    left = ["b", "a", "b", "c"], np.array([1, 2, 3, 1])
    right = ["a", "b", "b"], np.array([2, 3, 3])
    ranks = client.rank_columns([left[0] + right[0], np.concatenate([left[1], right[1]])], index_dtype=np.int32)
    assert ranks.tolist() == [2, 1, 3, 4, 1, 3, 3]
    rows = client.join(ranks[:4], ranks[4:])
    assert [row.tolist() for row in rows] == [[1, 2, 2], [0, 1, 2]]


def test_a_chain_joins_by_ranks(client: corank.Client) -> None:
    with client.chain() as chain:
        ranks = chain.rank_columns([np.array([3, 1, 3, 2]), np.array([1, 1, 1, 0])], index_dtype=None)
        groups = chain.sort(ranks)
    assert groups.result().tolist() == [1, 2, 3, 3]


@pytest.mark.parametrize("place", ["inline", "stream"])
@pytest.mark.parametrize("cuts", [[0, 3000], [0, 0, 700, 700, 3000], [*range(0, 3000, 100), 3000]])
def test_sorted_tables_merge(client: corank.Client, cuts: list[int], place: Any) -> None:
    rng = np.random.default_rng(len(cuts))
    strings, numbers = words(rng, 3000, b"prefix of all"), rng.integers(0, 5, 3000)
    rows: list[int] = []
    for begin, end in itertools.pairwise(cuts):
        run = order_of([numbers[begin:end], strings[begin:end]], [True, False])
        rows += [begin + at for at in run]
    tables = [numbers[rows], [strings[row] for row in rows]]
    check(client, tables, [True, False], runs=cuts, place=place)
    check(client, tables, [True, False], runs=cuts, place=place, limit=100)


@pytest.mark.parametrize("place", ["inline", "stream"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_rows_are_found_in_a_sorted_table(client: corank.Client, side: Any, place: Any) -> None:
    rng = np.random.default_rng(7)
    columns: list[Any] = [words(rng, 5000, b"prefix of all"), rng.integers(0, 5, 5000), rng.random(5000).round(1)]
    descending = [True, False, True]
    ranks = np.array(ranks_of(columns, order_of(columns, descending)))
    table = np.argsort(ranks[:3000], kind="stable")

    def rows(order: Any) -> list[Any]:
        return [[column[row] for row in order] if isinstance(column, list) else column[order] for column in columns]

    found = client.search_columns(
        rows(table), rows(np.arange(3000, 5000)), side=side, descending=descending, place=place
    )
    np.testing.assert_array_equal(found, np.searchsorted(ranks[table], ranks[3000:], side))
    with pytest.raises(corank.InvalidArgument) as caught:
        client.search_columns(rows(table[::-1]), rows(table), descending=descending, place=place)
    assert caught.value.field == "haystack_columns"


def test_a_chain_merges_tables(client: corank.Client) -> None:
    with client.chain() as chain:
        ranks = chain.rank_columns([np.array([1, 3, 0, 3, 9])], runs=[0, 2, 5], index_dtype=None)
        moved = chain.sort(ranks)
    assert moved.result().tolist() == [1, 2, 3, 3, 4]


@pytest.mark.parametrize(
    ("runs", "field"),
    [
        ([0, 2, 4], "run_offsets[1]"),
        ([0, 4], "run_offsets[0]"),
        ([0, 3], "run_offsets[1]"),
        ([0], "run_offsets.count"),
    ],
)
@pytest.mark.parametrize("place", ["inline", "stream"])
def test_bad_runs_are_named(client: corank.Client, runs: list[int], field: str, place: Any) -> None:
    with pytest.raises(corank.InvalidArgument) as caught:
        client.sort_columns([np.array([1, 2, 9, 3])], runs=runs, place=place)
    assert caught.value.field == field
    if runs == [0, 2, 4]:
        assert "row 3 of the table comes before row 2" in str(caught.value)


@pytest.mark.parametrize(
    ("columns", "field"),
    [
        ([np.arange(3), np.arange(4)], "key_columns[1].data.count"),
        ([np.arange(3), [b"a", b"b"]], "key_columns[1].offsets.count"),
        ([np.arange(2)] * 33, "key_columns"),
        ([np.zeros(2, "V257")], None),
    ],
)
def test_bad_columns_are_named(client: corank.Client, columns: list[Any], field: str | None) -> None:
    if field is None:
        with pytest.raises(TypeError, match="257 bytes"):
            client.sort_columns(columns)
        return
    with pytest.raises(corank.InvalidArgument) as caught:
        client.sort_columns(columns)
    assert caught.value.field == field
