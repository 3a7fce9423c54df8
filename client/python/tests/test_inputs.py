"""Arrays of every kind that NumPy sorts, arrays of other libraries, and what is no array."""

from __future__ import annotations

import io
import os
import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from fake_server import FakeServer

import corank
from corank.testing import LocalServer

DAYS = np.array(["2024-02-29", "NaT", "1969-12-31", "2024-02-29", "NaT"], "M8[D]")
SPANS = np.array([5, "NaT", -3, 0], "m8[ns]")
BIG = 2**53 + 1  # float64 does not hold it


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[corank.Client]:
    """A client of a real server with everything on."""
    if not os.environ.get("CORANKD"):
        pytest.skip("CORANKD is not set, and the double sorts no strings")
    with LocalServer(os.environ["CORANKD"], ["--shared-memory=/corank-in-", "--kept-bytes=1000000"]) as local:
        yield local.connect()


def same(got: Any, expected: Any) -> None:
    """Checks that two arrays are equal bit for bit."""
    assert got.dtype == expected.dtype
    assert got.tobytes() == expected.tobytes()


@pytest.mark.parametrize("keys", [DAYS, SPANS, DAYS.astype(">M8[s]"), DAYS[[0, 2, 3]]], ids=str)
def test_dates_and_times_sort_like_numpys(client: corank.Client, keys: Any) -> None:
    little = keys.astype(keys.dtype.newbyteorder("<"))
    order = np.argsort(little, kind="stable")
    values = np.arange(keys.size)
    before = keys.tobytes()
    same(client.sort(keys), little[order])
    same(client.argsort(keys), order)
    for got, expected in zip(client.sort(keys, values=values), (little[order], values[order])):
        same(got, expected)
    for got, expected in zip(client.sort_with_indices(keys), (little[order], order)):
        same(got, expected)
    # Downwards NaT comes first, as NaN does; equal keys keep their order.
    nat = np.flatnonzero(np.isnat(little))
    rest = np.flatnonzero(~np.isnat(little))
    down = np.concatenate([nat, rest[np.argsort(-little[rest].view(np.int64), kind="stable")]])
    same(client.argsort(keys, descending=True), down)
    same(client.sort(keys, descending=True, limit=2), little[down][:2])
    same(client.sort(keys, copy=False), little[order])
    assert keys.tobytes() == before


@pytest.mark.parametrize("place", ["inline", "stream", "shared_memory"])
def test_dates_travel_in_every_place(fake_client: corank.Client, place: Any) -> None:
    rng = np.random.default_rng(3)
    keys = rng.integers(-(2**40), 2**40, 40_000).astype("M8[us]")
    keys[rng.integers(0, keys.size, 100)] = np.datetime64("NaT", "us")
    out = np.empty_like(keys)
    assert fake_client.sort(keys, place=place, out=out) is out
    same(out, np.sort(keys))
    same(fake_client.sort(keys, place=place, copy=False), np.sort(keys))
    same(fake_client.sort(keys, place=place, out=keys), out)
    same(keys, out)


def test_dates_merge_and_are_searched(client: corank.Client) -> None:
    ordered = np.sort(DAYS)
    same(client.merge([ordered, ordered[:3]]), np.sort(np.concatenate([ordered, ordered[:3]])))
    same(client.merge([ordered[:3], ordered[:2]]), np.sort(np.concatenate([ordered[:3], ordered[:2]])))
    keys, rows = client.merge([ordered, ordered[:1]], values=[[0, 1, 2, 3, 4], [5]])
    same(keys, np.sort(np.concatenate([ordered, ordered[:1]])))
    same(rows, np.array([0, 5, 1, 2, 3, 4]))
    needles = np.array(["2024-02-29T00", "1969-12-31T00", "NaT"], "M8[h]")
    same(client.search(ordered, needles), np.array([1, 0, 3]))
    same(client.search(ordered[:3], needles, side="right"), np.array([3, 1, 3]))
    assert client.search(ordered, np.datetime64("2024-01-01")) == 1
    with pytest.raises(TypeError, match=r"needles\[0\]: 2024-02-29T01 .* is not a datetime64\[D\]"):
        client.search(ordered, np.array(["2024-02-29T01"], "M8[h]"))


def test_nat_is_kept_nowhere(fake: FakeServer, fake_client: corank.Client) -> None:
    kept = fake_client.store("days", np.sort(DAYS)[:3])
    assert kept.dtype == DAYS.dtype
    same(fake_client.sort(kept), np.sort(DAYS)[:3])
    same(fake_client.sort(DAYS[[0, 2]], keep="two").fetch(), np.sort(DAYS[[0, 2]]))
    fake.requests.clear()
    with pytest.raises(TypeError, match="NaT has no place in what the server keeps; drop NaT first"):
        fake_client.sort(DAYS, keep="x")
    with fake_client.chain() as chain, pytest.raises(TypeError, match="drop NaT first"):
        chain.sort(DAYS)
    assert fake.requests == []


STRINGS = [
    np.array(["b", "", "ab", "ä", "b", "\U0001f600", "a"]),
    np.array([b"b", b"", b"ab", b"\xff", b"b", b"a"]),
    np.array(["b", "a" * 70, "a"]),
    np.array([b"b", b"a" * 300, b"a"]),
    np.array(["b", "a"], ">U3"),
    np.array([], "U3"),
]


@pytest.mark.parametrize("keys", STRINGS, ids=["str", "bytes", "long str", "long bytes", "big-endian", "none"])
def test_strings_sort_like_numpys(server: corank.Client, keys: Any) -> None:
    native = keys.astype(keys.dtype.newbyteorder("="))
    order, values = np.argsort(native, kind="stable"), np.arange(keys.size)
    same(server.sort(keys), native[order])
    same(server.argsort(keys), order)
    found, rows = server.sort(keys, values=values)
    same(found, native[order])
    same(rows, values[order])
    found, rows = server.sort_with_indices(keys)
    same(found, native[order])
    same(rows, order)
    same(server.sort(keys, limit=2, descending=True), np.sort(native)[::-1][:2])
    (column,) = server.sort_columns([keys])
    same(column, native[order])


def test_strings_are_sorted_only(server: corank.Client) -> None:
    keys = np.array(["b", "a"])
    with pytest.raises(TypeError, match="not for strings"):
        server.sort(keys, dtype="uint8")
    with pytest.raises(TypeError, match="`sort`, `argsort` and `sort_columns` take strings"):
        server.merge([keys, keys])
    with server.chain() as chain, pytest.raises(TypeError, match="a chain takes no strings"):
        chain.sort(keys)
    same(server.sort(["b", "a"]), np.array(["a", "b"]))


def test_columns_of_dates_and_strings(server: corank.Client) -> None:
    columns = [np.array(["b", "a", "b", "a", "b"]), DAYS]
    order = np.lexsort([DAYS, columns[0]])
    for got, column in zip(server.sort_columns(columns), columns):
        same(got, column[order])
    same(server.argsort_columns(columns), order)
    same(server.rank_columns(columns), np.array([4, 2, 3, 1, 5]))
    with pytest.raises(TypeError, match="drop NaT first"):
        server.sort_columns(columns, keep=("a", "b"))


def test_one_needle_and_one_count(client: corank.Client) -> None:
    found: Any = client.search(np.array([10, 20, 30]), 25)
    assert (found, type(found)) == (2, np.intp)
    assert client.search([1.5, 2.5], np.float32(1.5), side="right", index_dtype=np.int8) == 1
    same(client.search([10, 20], 15, out=np.zeros(1, np.int16)), np.array([1], np.int16))
    same(client.expand([1, 2], 3), np.array([1, 1, 1, 2, 2, 2]))
    same(client.expand([1, 2], np.uint8(0)), np.array([], np.int64))
    same(client.gather([10, 20, 30, 40], [2, 0], 2), np.array([30, 40, 10, 20]))
    same(client.move([1, 2], [0, 1], [2, 0], 1, destination=3), np.array([2, 0, 1]))
    same(client.scatter([1, 2], [2, 0], 1, destination=3), np.array([2, 0, 1]))


@pytest.mark.parametrize("dtype", [">i2", ">u8", ">f4", ">f8", "bool"])
def test_big_endian_and_bool_keys(client: corank.Client, dtype: str) -> None:
    keys = np.array([1, 0, 1], dtype)
    for got in (client.sort(keys), client.merge([np.sort(keys), keys[:0]])):
        np.testing.assert_array_equal(got, np.sort(keys))
        assert got.dtype == keys.dtype.newbyteorder("<")
    assert client.search(np.sort(keys), keys[:1]) == [1]


def of_pandas(pandas: Any) -> list[tuple[Any, Any, Any]]:
    """(without nulls, its elements, with a null)."""
    numbers = [(kind, np.dtype(kind.lower())) for kind in ("Int64", "UInt64", "Int8", "Float32")]
    found = [
        (pandas.Series([3, 1], dtype=kind), np.array([3, 1], dtype), pandas.Series([3, None], dtype=kind))
        for kind, dtype in numbers
    ]
    found.append(
        (pandas.Series([BIG, 1], dtype="Int64"), np.array([BIG, 1]), pandas.Series([BIG, None], dtype="Int64"))
    )
    found.append((pandas.array([BIG, 1]), np.array([BIG, 1]), pandas.array([BIG, None], "Int64")))
    found.append((pandas.Series([True, False], dtype="boolean"), np.array([True, False]), pandas.array([True, None])))
    return found


def test_pandas_without_nulls_is_taken_exactly(client: corank.Client) -> None:
    pandas = pytest.importorskip("pandas")
    for whole, elements, holed in of_pandas(pandas):
        same(client.sort(whole), np.sort(elements))
        same(client.expand(whole, [1, 1]), elements)
        with pytest.raises(TypeError, match=r"keys: 1 of 2 elements are null.* use dropna\(\) or fillna\(value\)"):
            client.sort(holed)
    same(client.sort(pandas.Series([2.5, np.nan, 1.5])), np.array([1.5, 2.5, np.nan]))
    same(client.sort(pandas.Index([3, 1])), np.array([1, 3]))
    same(client.sort(pandas.Series(DAYS.astype("M8[s]"))), np.sort(DAYS.astype("M8[s]")))
    zoned = pandas.Series(DAYS[[0]].astype("M8[s]")).dt.tz_localize("UTC")
    with pytest.raises(TypeError, match="tz_localize"):
        client.sort(zoned)
    with pytest.raises(TypeError, match=r"is categorical; pass x\.cat\.codes"):
        client.sort(pandas.Series(["a", "b"], dtype="category"))


def test_strings_of_pandas_and_polars(server: corank.Client) -> None:
    for name in ("pandas", "polars"):
        library = pytest.importorskip(name)
        same(server.sort(library.Series(["b", "a"])), np.array(["a", "b"]))
        with pytest.raises(TypeError, match=r"keys(\[1\])?: .*(null|None)"):
            server.sort(library.Series(["b", None]))


def test_polars_and_arrow_without_nulls_are_taken_exactly(client: corank.Client) -> None:
    polars, arrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    for make in (polars.Series, arrow.array, lambda values: arrow.chunked_array([values])):
        same(client.sort(make([BIG, 1])), np.array([1, BIG]))
        same(client.sort(make([True, False])), np.array([False, True]))
        with pytest.raises(TypeError, match=r"keys: 1 of 2 elements are null.* use drop_nulls?\(\) or fill_null"):
            client.sort(make([BIG, None]))
        with pytest.raises(TypeError, match=r"counts: 1 of 2 elements are null"):
            client.expand([1, 2], make([1, None]))


def test_other_inputs_get_advice(fake: FakeServer, fake_client: corank.Client, tmp_path: pathlib.Path) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    arrow = pytest.importorskip("pyarrow")
    table = {"a": [1, 2]}
    wrong: list[tuple[Any, str]] = [
        (None, "keys: is None; pass an array"),
        ("numbers.npy", r"keys: 'numbers.npy' is text, not an array; load a file first, as with np.load\(path\)"),
        (tmp_path, "load a file first"),
        (b"123", "is text, not an array"),
        (table, r"keys: is a dict; pass an array, such as list\(d.values\(\)\)"),
        ({1, 2}, "keys: is a set; pass list"),
        ((each for each in [1]), "keys: is a generator; pass list"),
        (pandas.DataFrame(table), r"keys: is a DataFrame; pass one column, such as table\['name'\]"),
        (polars.DataFrame(table), "keys: is a DataFrame; pass one column"),
        (polars.LazyFrame(table), "keys: is a LazyFrame; pass one column"),
        (arrow.table(table), "keys: is a Table; pass one column"),
        ([1, None], r"keys\[1\]: is None, which has no place in an order"),
        ([2**63, -1], "float64 would change them"),
        ([2**64], "fit no integer type of 64 bits"),
        (io.BytesIO(b"123"), r"keys: is an open file; load it first, as with np.load\(file\)"),
        (len, "keys: is of type builtin_function_or_method; pass an array"),
    ]
    for given, message in wrong:
        with pytest.raises(TypeError, match=message):
            fake_client.sort(given)
    with pytest.raises(TypeError, match="keys: is of type ndarray; pass a list of sorted arrays"):
        fake_client.merge(np.arange(3))  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="counts: is None"):
        fake_client.expand([1], None)  # type: ignore[call-overload]
    assert fake.requests == []
