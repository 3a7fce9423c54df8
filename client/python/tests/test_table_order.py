"""Sorts, merges and searches of Arrow tables, beside pyarrow's stable sort."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import corank

pa = pytest.importorskip("pyarrow")

from table_cases import TYPES, column, expected, tables  # noqa: E402

from corank._arrow_rows import take_rows  # noqa: E402
from corank._key_columns import check_type, order_of  # noqa: E402
from corank._table_order import equal_ranges, merge_order, sort_order  # noqa: E402


def ordered_tables(rng: np.random.Generator, count: int) -> tuple[Any, list[str], list[bool], str]:
    """A table in several chunks, with an order."""
    table, names, descending = tables(rng, count)
    return table, names, descending, str(rng.choice(["first", "last"]))


@pytest.mark.parametrize("seed", range(40))
def test_sort_is_the_stable_sort_of_pyarrow(client: corank.Client, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table, names, descending, nulls = ordered_tables(rng, int(rng.choice([0, 1, 2, 30, 400])))
    found = sort_order(client, table, order_of(names, descending, nulls), {})
    assert found.tolist() == expected(table, names, descending, nulls).tolist(), table.schema


@pytest.mark.parametrize("type_", TYPES, ids=str)
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("nulls", ["first", "last"])
def test_every_type_sorts_as_in_pyarrow(
    corankd_client: corank.Client, type_: Any, descending: bool, nulls: str
) -> None:
    rng = np.random.default_rng(5)
    table = pa.table({"k": column(rng, type_, 300, True)})
    found = sort_order(corankd_client, table, order_of("k", descending, nulls), {})
    assert found.tolist() == expected(table, ["k"], [descending], nulls).tolist()


@pytest.mark.parametrize("seed", range(40))
def test_merge_is_the_stable_sort_of_all_runs(client: corank.Client, seed: int) -> None:
    rng = np.random.default_rng(1000 + seed)
    table, names, descending, nulls = ordered_tables(rng, int(rng.choice([3, 30, 400])))
    cuts = np.sort(rng.integers(0, table.num_rows + 1, int(rng.integers(0, 5))))
    bounds = [0, *cuts.tolist(), table.num_rows]
    runs = [table.slice(begin, end - begin) for begin, end in zip(bounds, bounds[1:])]
    runs = [take_rows(run, expected(run, names, descending, nulls)) for run in runs]
    found = merge_order(client, runs, order_of(names, descending, nulls), {})
    assert found.tolist() == expected(pa.concat_tables(runs), names, descending, nulls).tolist(), table.schema


@pytest.mark.parametrize("seed", range(40))
def test_equal_ranges_count_the_rows_before_and_up_to_a_needle(client: corank.Client, seed: int) -> None:
    rng = np.random.default_rng(2000 + seed)
    table, names, descending, nulls = ordered_tables(rng, int(rng.choice([3, 30, 300])))
    needles = take_rows(table, rng.integers(0, table.num_rows, 6))
    haystack = take_rows(table, rng.choice(table.num_rows, table.num_rows // 2, replace=False))
    haystack = take_rows(haystack, expected(haystack, names, descending, nulls))
    step = int(rng.choice([1, 2, 5]))
    lower, upper = equal_ranges(client, haystack, needles, order_of(names, descending, nulls), {}, step)
    for at in range(needles.num_rows):
        needle = needles.slice(at, 1)
        # A stable sort puts the needle behind its equals if it comes last, and in front of them if it comes first.
        last = expected(pa.concat_tables([haystack, needle]), names, descending, nulls).tolist()
        first = expected(pa.concat_tables([needle, haystack]), names, descending, nulls).tolist()
        assert (lower[at], upper[at]) == (first.index(0), last.index(haystack.num_rows)), (table.schema, at)


def test_merge_refuses_runs_that_are_not_sorted(corankd_client: corank.Client) -> None:
    unsorted, one = pa.table({"k": [1, 3, 2]}), pa.table({"k": [1]})
    for runs, place in [([unsorted, one], 0), ([one, unsorted], 1), ([one.slice(1), unsorted, one.slice(1)], 1)]:
        with pytest.raises(corank.InvalidArgument, match="not sorted") as caught:
            merge_order(corankd_client, runs, order_of("k", False, "last"), {})
        assert caught.value.field == f"tables[{place}]"


def test_orders_and_types_that_make_no_sense_are_refused() -> None:
    for keys, descending, nulls, error in [
        ([], False, "last", ValueError),
        (["a", "a"], False, "last", ValueError),
        ([1], False, "last", TypeError),
        (["a"], [True, False], "last", ValueError),
        ("a", False, "at_end", ValueError),
    ]:
        with pytest.raises(error):
            order_of(keys, descending, nulls)  # type: ignore[arg-type]
    for type_ in (pa.list_(pa.int8()), pa.struct([("a", pa.int8())])):
        with pytest.raises(TypeError, match="column 'k' is"):
            check_type("k", type_)
    check_type("k", pa.dictionary(pa.int8(), pa.string()))
    check_type("k", pa.null())


def test_dictionaries_sort_by_their_values(corankd_client: corank.Client) -> None:
    table = pa.table({"k": pa.array(["b", "a", None, "b", "c"]).dictionary_encode()})
    assert sort_order(corankd_client, table, order_of("k", True, "last"), {}).tolist() == [4, 0, 3, 1, 2]
