"""search_columns, against bisect on rows whose comparison is written here."""

from __future__ import annotations

import bisect
import decimal
import math
from bisect import bisect_left, bisect_right
from functools import cmp_to_key
from typing import Any, NamedTuple

import numpy as np
import pytest

import corank
from corank._columns import Order, columns_of
from corank._wire import encode
from corank.v1 import operators_pb2 as operators


class Rule(NamedTuple):
    """How the values of a column compare."""

    descending: bool
    nulls: Any
    nan: Any


def compare(a: Any, b: Any, rule: Rule) -> int:
    """Less than 0 if `a` comes before `b`; None is null."""

    def place(value: Any) -> tuple[int, int]:
        """The group of a value: among values 0; beyond them 1 to 3, on the side of the nulls or of great numbers."""
        is_nan = isinstance(value, float) and math.isnan(value)
        side = 1 if rule.nulls == "last" else -1
        if value is None or (is_nan and rule.nan == "null"):
            return (3 * side, 0)
        if is_nan and rule.nan == "beside_null":
            return (2 * side, 0)
        return (0, (-1 if rule.descending else 1) if is_nan else 0)

    if place(a) != place(b):
        return -1 if place(a) < place(b) else 1
    if place(a) != (0, 0) or a == b:
        return 0
    return -1 if (a < b) != rule.descending else 1


def row_key(rules: list[Rule]) -> Any:
    """A key of rows that orders them by their columns."""

    def compare_rows(a: tuple[Any, ...], b: tuple[Any, ...]) -> int:
        return next((found for found in map(compare, a, b, rules) if found != 0), 0)

    return cmp_to_key(compare_rows)


def expected(haystack: list[list[Any]], needles: list[list[Any]], rules: list[Rule], side: str) -> list[int]:
    """Where each row of the needles belongs."""
    key = row_key(rules)
    rows = [key(row) for row in zip(*haystack)]
    bisect = bisect_left if side == "left" else bisect_right
    return [bisect(rows, key(row)) for row in zip(*needles)]


def in_order(columns: list[list[Any]], rules: list[Rule]) -> list[list[Any]]:
    """The rows, sorted."""
    rows = sorted(zip(*columns), key=row_key(rules))
    return [list(column) for column in zip(*rows)] if rows else [[] for _ in columns]


def some_values(rng: np.random.Generator, kind: str, count: int) -> list[Any]:
    """Values with many ties."""
    if kind.startswith(("int", "uint")):
        return [int(each) for each in rng.integers(0 if kind[0] == "u" else -2, 3, count).astype(kind)]
    if kind.startswith("float"):
        choices = [0.0, -0.0, 1.5, -1.5, math.inf, -math.inf, math.nan]
        return [choices[at] for at in rng.integers(0, len(choices), count)]
    pieces = ["", "a", "b", "ab", "a\0", "é", "common beginning of many bytes 0", "common beginning of many bytes 1"]
    return [pieces[at] for at in rng.integers(0, len(pieces), count)]


def as_column(rng: np.random.Generator, kind: str, values: list[Any], form: int) -> Any:
    """Values in one of the forms that users pass. None is null."""
    has_null = any(each is None for each in values)
    if kind in ("str", "bytes"):
        given = [each if each is None or kind == "str" else each.encode() for each in values]
        if not has_null and form == 1:
            return np.array(given, "U33" if kind == "str" else "S33")
        return given
    filled = np.array([0 if each is None else each for each in values], kind)
    if not has_null:
        return filled
    mask = np.array([each is None for each in values])
    filled[mask] = rng.integers(0, 3)  # what a null holds does not matter
    return corank.Nullable(filled, mask) if form else np.ma.MaskedArray(filled, mask)


KINDS = ("int8", "int64", "uint16", "float32", "float64", "str", "bytes")


@pytest.mark.parametrize("seed", range(60))
def test_positions_are_those_of_a_binary_search_of_rows(corankd_client: corank.Client, seed: int) -> None:
    rng = np.random.default_rng([91, seed])
    rules: list[Rule] = []
    haystack: list[list[Any]] = []
    needles: list[list[Any]] = []
    kinds: list[str] = []
    rows = [int(rng.integers(0, most)) for most in ((1, 3, 200)[seed % 3] + 1, 120)]
    for _ in range(int(rng.integers(1, 33 if seed % 20 == 0 else 5))):
        kind = KINDS[rng.integers(len(KINDS))]
        nulls, nan = ("last", "first")[rng.integers(2)], ("greatest", "beside_null", "null")[rng.integers(3)]
        rules.append(Rule(bool(rng.integers(2)), nulls, nan))
        kinds.append(kind)
        for table, count in ((haystack, rows[0]), (needles, rows[1])):
            values = some_values(rng, kind, count)
            if rng.integers(2):
                values = [None if rng.integers(4) == 0 else each for each in values]
            table.append(values)
    haystack = in_order(haystack, rules)
    form = int(rng.integers(2))
    # Byte strings of NumPy end before their zero bytes, so these are lists on both sides.
    forms = [
        0 if any("\0" in (each or "") for each in (*a, *b) if isinstance(each, str)) else form
        for a, b in zip(haystack, needles)
    ]
    sent = [[as_column(rng, *each) for each in zip(kinds, table, forms)] for table in (haystack, needles)]
    for side in ("left", "right"):
        got = corankd_client.search_columns(
            *sent,
            side=side,
            descending=[rule.descending for rule in rules],
            nulls=[rule.nulls for rule in rules],
            nan=[rule.nan for rule in rules],
        )
        assert got.tolist() == expected(haystack, needles, rules, side), (kinds, rules)


def test_positions_in_a_large_table_are_those_of_numpy(corankd_client: corank.Client) -> None:
    rng = np.random.default_rng(5)
    table, needles = rng.integers(0, 300, (2, 50_000)), rng.integers(0, 300, (2, 20_000))
    table = table[:, np.lexsort(table[::-1])]
    joined = [part[0] * 1000 + part[1] for part in (table, needles)]
    for side in ("left", "right"):
        got = corankd_client.search_columns(list(table), list(needles), side=side)
        np.testing.assert_array_equal(got, np.searchsorted(*joined, side))  # type: ignore[call-overload]


def test_needles_become_what_the_haystack_is(corankd_client: corank.Client) -> None:
    search: Any = corankd_client.search_columns
    days = np.array(["2026-01-01", "2026-01-03"], "datetime64[D]")
    assert search([days], [np.array(["2026-01-02T00:00:00"], "datetime64[s]")]).tolist() == [1]
    assert search([np.array([1, 2], np.int8)], [[2, 1]]).tolist() == [1, 0]
    with pytest.raises(TypeError, match=r"needle_columns\[0\]\[1\]: 300"):
        search([np.array([1, 2], np.int8)], [[2, 300]])
    assert search([np.array(["a", "bb"])], [np.array(["bbbb", "b", "é"])]).tolist() == [2, 1, 2]
    assert search([np.array([b"a", b"bbb"])], [np.array([b"b"])]).tolist() == [1]
    assert search([["a", "bb"]], [np.array(["b"])]).tolist() == [1]
    assert search([np.array(["a", "bb"])], [["b", None]]).tolist() == [1, 2]
    assert search([[]], [np.array([5, 6], np.int32)]).tolist() == [0, 0]
    assert search([np.array([5, 6], np.int32)], [[]]).tolist() == []
    assert search([np.array([True, False]), [1, 2]], [[False], [1]], descending=[True, False]).tolist() == [1]


def test_columns_of_arrow_are_searched(corankd_client: corank.Client) -> None:
    pa = pytest.importorskip("pyarrow")
    table = [pa.array(["a", "b", None]), pa.array([2, 1, 0], pa.int16())]
    needles = [pa.array(["b", None, "a"], pa.large_string()), pa.array([0, 1, None], pa.int64())]
    assert corankd_client.search_columns(table, needles).tolist() == [1, 3, 1]
    assert corankd_client.search_columns(table, [["b"], [1]], side="right").tolist() == [2]


def test_dtypes_and_places_of_positions(corankd_client: corank.Client) -> None:
    table: list[Any] = [["a", "b"], [1, 2]]
    assert corankd_client.search_columns(table, table, index_dtype=None).dtype == np.uint32
    out = np.zeros(2, np.int16)
    assert corankd_client.search_columns(table, table, side="right", out=out) is out
    assert out.tolist() == [1, 2]
    with corankd_client.chain() as chain:
        needles: list[Any] = [["b"], [0]]
        found = chain.search_columns(table, needles)
        again = chain.expand([7, 8], [1, 2])
    assert (found.result().tolist(), again.result().tolist()) == ([1], [7, 8, 8])


def test_wrong_tables_are_named(corankd_client: corank.Client) -> None:
    search: Any = corankd_client.search_columns
    with pytest.raises(corank.InvalidArgument, match="haystack_columns: not sorted by its columns: row 2") as caught:
        search([[1, 1, 1], ["a", "b", "a"]], [[1], ["a"]])
    assert (caught.value.field, caught.value.reason) == ("haystack_columns", "KEYS_NOT_SORTED")
    assert search([[1, 1, 1], ["a", "b", "a"]], [[2], ["a"]], assume_sorted=True).tolist() == [3]
    with pytest.raises(corank.InvalidArgument, match="1 columns, but haystack has 2") as caught:
        search([[1], [2]], [[1]])
    assert caught.value.field == "needle_columns"
    with pytest.raises(corank.InvalidArgument, match="at least one is needed") as caught:
        search([], [])
    assert caught.value.field == "haystack_columns"
    with pytest.raises(corank.InvalidArgument, match="descending: 1 for 2 columns"):
        search([[1], [2]], [[1], [2]], descending=[True])
    with pytest.raises(corank.InvalidArgument, match=r"needle_columns\[1\]"):
        search([[1], [2]], [[1], [2, 3]])
    with pytest.raises(
        corank.InvalidArgument, match=r"needle_columns\[0\].offsets: not set, but haystack_columns\[0\]"
    ):
        search([["a"]], [[1]])


def test_both_tables_become_columns_of_one_message() -> None:
    order = Order([True, False], "first", "null")
    request = operators.SearchRequest()
    columns = [
        *columns_of("haystack_columns", [[1, 2], ["x", "yz"]], order),
        *columns_of("needle_columns", [[3], ["w"]], order),
    ]
    sent = operators.SearchRequest.FromString(encode(request, [column.part for column in columns]))
    assert [column.data.count for column in sent.haystack_columns] == [2, 3]
    assert [column.data.count for column in sent.needle_columns] == [1, 1]
    for each in (*sent.haystack_columns, *sent.needle_columns):
        assert (each.nulls, each.nans) == (operators.NULL_ORDER_FIRST, operators.NAN_ORDER_AS_NULLS)
        assert not each.HasField("data_destination")


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_tables_are_searched_in_their_own_order(corankd_client: corank.Client, library: str) -> None:
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip(library)
    rng = np.random.default_rng(12)
    # The places of nulls and NaNs that tables.md gives for each library.
    nulls, nan = {"pandas": ("last", "null"), "polars": ("first", "greatest"), "pyarrow": ("last", "beside_null")}[
        library
    ]
    rules = [Rule(True, nulls, nan), Rule(False, nulls, nan)]

    def rows(count: int) -> list[list[Any]]:
        floats = [[None, 1.5, -2.0, 0.0][at] for at in rng.integers(0, 4, count)]
        return [floats, [["b", None, "a", "", "bb"][at] for at in rng.integers(0, 5, count)]]

    def made(columns: list[list[Any]]) -> Any:
        table = pa.table({"x": pa.array(columns[0], pa.float64()), "s": pa.array(columns[1], pa.string())})
        if library == "pandas":
            return table.to_pandas()
        if library == "polars":
            import polars

            return polars.from_arrow(table)
        return table

    haystack, needles = in_order(rows(300), rules), rows(100)
    for side in ("left", "right"):
        found = corankd_client.search_by(
            made(haystack),
            made(needles),
            ["x", "s"],
            side=side,
            descending=[True, False],
        )
        assert found.tolist() == expected(haystack, needles, rules, side)
    text = r"^table: not sorted by 'x', 's'; sort_by\(table, ...\) in the same order first$"
    with pytest.raises(corank.InvalidArgument, match=text) as caught:
        corankd_client.search_by(made(needles), made(needles), ["x", "s"])
    assert (caught.value.field, caught.value.reason) == ("table", "KEYS_NOT_SORTED")


def test_needles_of_tables_that_would_change_are_refused(corankd_client: corank.Client) -> None:
    pa = pytest.importorskip("pyarrow")
    days, more = pa.table({"day": pa.array([1, 3], pa.int8())}), pa.table({"day": pa.array([2, 300], pa.int64())})
    assert corankd_client.search_by(days, more.slice(0, 1), "day").tolist() == [1]
    with pytest.raises(TypeError, match="needles: key 'day' is int64, and the table's is int8"):
        corankd_client.search_by(days, more, "day")
    with pytest.raises(corank.InvalidArgument, match="keys"):
        corankd_client.search_by(days, pa.table({"night": [1]}), "day")


@pytest.mark.parametrize("count", [1, 2, 32, 33, 70])
def test_any_number_of_keys_and_decimals_are_found(corankd_client: corank.Client, count: int) -> None:
    pa = pytest.importorskip("pyarrow")
    rng = np.random.default_rng(count)
    numbers = [[int(each) * 10**20 for each in rng.integers(-2, 3, 60)] for _ in range(count)]
    types = [pa.decimal128(30, 2), pa.int64(), pa.decimal256(50, 2)]
    names = [f"c{at}" for at in range(count)]
    columns = [
        pa.array([each // 10**20 if pa.types.is_integer(types[at % 3]) else decimal.Decimal(each) for each in column])
        for at, column in enumerate(numbers)
    ]
    table = pa.table([column.cast(types[at % 3]) for at, column in enumerate(columns)], names)
    rows = list(zip(*numbers))
    order = sorted(range(40), key=rows.__getitem__)
    haystack = [rows[row] for row in order]
    for side, bound in (("left", bisect.bisect_left), ("right", bisect.bisect_right)):
        found = corankd_client.search_by(table.take(order), table, names, side=side)  # type: ignore[arg-type]
        assert found.tolist() == [bound(haystack, row) for row in rows]


def test_needles_that_do_not_compare_with_the_table_are_refused(corankd_client: corank.Client) -> None:
    pa = pytest.importorskip("pyarrow")
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")

    def search(needle: Any, haystack: Any) -> list[int]:
        table, needles = pa.table({"k": haystack}), pa.table({"k": needle})
        return list(corankd_client.search_by(table, needles, "k").tolist())

    assert search(pa.array([1.5, None, math.nan]), pa.array([1.5, 2.0], pa.float32())) == [0, 2, 2]
    assert search(pa.array([b"b", b"\xff"]), pa.array(["a", "b"])) == [1, 2]
    assert search(pa.array([2, 1]), pa.array([1.0, 2.0])) == [1, 0]
    assert search(pa.nulls(1), pa.array(["a"])) == [1]
    assert search(pa.array([1.5]), pa.array([decimal.Decimal("1.5"), decimal.Decimal("2.5")])) == [0]
    for needle, haystack in [
        (pa.array([5]), pa.array(["5"])),
        (pa.array(["5"]), pa.array([5])),
        (pa.array([5]), pa.array([True])),
        (pa.array([1.25]), pa.array([decimal.Decimal("1.2")], pa.decimal128(20, 1))),
        (pa.array([0.1]), pa.array([0.1], pa.float32())),
        (pa.array([1.5]), pa.array([1])),
        (pa.array([2**60 + 1]), pa.array([1.0])),
        (pa.array([3]), pa.array([3], pa.timestamp("s"))),
    ]:
        with pytest.raises(TypeError, match="needles: key 'k' is "):
            search(needle, haystack)
    for table, needles in [
        tuple(pandas.DataFrame({"k": pandas.Categorical(["a"], each)}) for each in (["b", "a"], ["a"])),
        tuple(polars.DataFrame({"k": polars.Series(["a"], dtype=polars.Enum(each))}) for each in (["b", "a"], ["a"])),
        (pandas.DataFrame({"k": pandas.Categorical(["a"])}), pandas.DataFrame({"k": [0]})),
    ]:
        with pytest.raises(corank.InvalidArgument, match="needles: the categories of 'k' are not those of the table"):
            corankd_client.search_by(table, needles, "k")
        assert corankd_client.search_by(table, table, "k").tolist() == [0]
