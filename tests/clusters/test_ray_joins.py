"""corank.ray.join on a real cluster, beside joins of the same rows by a dictionary and by pandas."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import corank
import corank.ray
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import ray
import ray.data
from cluster_rows import blocks, joined, rows_of, same
from corank import _partitioning
from corank.testing import LocalServer
from ray.cluster_utils import Cluster

HOWS = ["inner", "left", "right", "full", "semi", "anti"]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with LocalServer(os.environ["CORANKD"]) as server:
        yield server.address


def join(left: list[Any], right: list[Any], *arguments: Any, **options: Any) -> ray.data.Dataset:
    return corank.ray.join(ray.data.from_arrow(left), ray.data.from_arrow(right), *arguments, **options)


def sides(seed: int) -> tuple[list[Any], list[Any]]:
    """Tables of both sides, with keys that lack a match, null keys and keys that many rows share."""
    return blocks(4, 300, seed), blocks(3, 150, seed + 100)


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize(
    ("on", "nulls_equal", "partitions"),
    [
        (["number"], False, None),
        (["number"], True, 7),
        (["name"], False, 1),
        (["float", "number"], False, 5),
        (["name", "number"], True, 3),
    ],
    ids=str,
)
def test_joins_are_those_of_a_dictionary(
    cluster: Cluster, address: str, on: list[str], nulls_equal: bool, partitions: int | None, how: Any
) -> None:
    left, right = sides(7 * len(on) + (partitions or 0))
    found = join(left, right, on, how, nulls_equal=nulls_equal, partitions=partitions, servers=address)
    assert found.num_blocks() == (partitions or 4)
    rows, wanted = rows_of(found), joined(left, right, on, how, nulls_equal)
    assert rows.schema.equals(wanted.schema)
    assert same(rows, wanted)


@pytest.mark.parametrize("how", ["inner", "left", "right", "outer"])
def test_joins_are_those_of_pandas(cluster: Cluster, address: str, how: Any) -> None:
    left, right = sides(3)
    names = {"number": "a", "name": "b"}
    right = [table.rename_columns([names.get(name, name) for name in table.column_names]) for table in right]
    found = join(
        left,
        right,
        left_on=["number", "name"],
        right_on=["a", "b"],
        how="full" if how == "outer" else how,
        suffix="_2",
        nulls_equal=True,
        servers=address,
    )
    frames = [pa.concat_tables(tables).to_pandas(types_mapper=pd.ArrowDtype) for tables in (left, right)]
    frames[1] = frames[1].rename(columns={"a": "number", "b": "name"})
    wanted = frames[0].merge(frames[1], on=["number", "name"], how=how, suffixes=("", "_2"))
    rows = ["block", "row", "block_2", "row_2"]
    ours = rows_of(found).to_pandas(types_mapper=pd.ArrowDtype)
    ours, wanted = (each.sort_values(rows, ignore_index=True) for each in (ours, wanted))
    pd.testing.assert_frame_equal(ours, wanted)


@pytest.mark.parametrize("how", HOWS)
def test_many_rounds_and_levels_give_the_same_join(
    cluster: Cluster, address: str, monkeypatch: pytest.MonkeyPatch, how: Any
) -> None:
    monkeypatch.setattr(_partitioning, "MOST_RUNS", 2)
    left, right = blocks(7, 60), blocks(5, 40, 1)
    times: list[list[corank.ray.StageTime]] = []
    found = join(left, right, "number", how, partitions=4, servers=address, on_stats=times.append)
    assert same(rows_of(found), joined(left, right, ["number"], how))
    (stages,) = times
    assert {each.stage for each in stages} == {"sample", "plan", "map", "merge", "reduce", "join"}


@pytest.mark.parametrize("how", HOWS)
def test_a_key_of_most_rows_is_split(cluster: Cluster, address: str, how: Any) -> None:
    rng = np.random.default_rng(5)
    left, right = (
        [
            pa.table(
                {
                    "key": pa.array(
                        np.where(rng.random(rows) < 0.9, 5, rng.integers(0, 10, rows)), mask=rng.random(rows) < 0.3
                    ),
                    name: rng.integers(0, 10**9, rows),
                }
            )
            for _ in range(3)
        ]
        for rows, name in ((400, "left"), (30, "right"))
    )
    found = join(left, right, "key", how, partitions=6, servers=address)
    assert same(rows_of(found), joined(left, right, ["key"], how))
    if how == "inner":
        sizes = [table.num_rows for table in ray.get(found.to_arrow_refs())]
        assert max(sizes) < 0.5 * sum(sizes)


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("empty", ["left", "right", "both"])
def test_sides_without_rows_are_ordinary_input(cluster: Cluster, address: str, how: Any, empty: str) -> None:
    left, right = blocks(2, 50), blocks(2, 50, 1)
    left = [table.slice(0, 0) for table in left] if empty != "right" else left
    right = [table.slice(0, 0) for table in right] if empty != "left" else right
    found = join(left, right, "name", how, servers=address)
    rows, wanted = rows_of(found), joined(left, right, ["name"], how)
    assert rows.schema.equals(wanted.schema)
    assert same(rows, wanted)


def test_keys_of_several_types_compare_by_value(cluster: Cluster, address: str) -> None:
    left = [pa.table({"key": pa.array([3, 1, None, 2], pa.int32()), "left": [0, 1, 2, 3]})]
    right = [pa.table({"key": pa.array([2, 5], pa.int64()), "right": [7, 8]}), pa.table({"key": [1], "right": [9]})]
    found = rows_of(join(left, right, "key", "full", partitions=4, servers=address))
    assert found.to_pydict() == {
        "key": [1, 2, 3, 5, None],
        "left": [1, 3, 0, None, 2],
        "right": [9, 7, None, 8, None],
    }
    assert found.schema.field("key").type == pa.int64()
    assert rows_of(join(left, right, "key", servers=address)).schema.field("key").type == pa.int32()
    words = [table.set_column(0, "key", table["key"].cast(pa.string()).dictionary_encode()) for table in left]
    plain = [table.set_column(0, "key", table["key"].cast(pa.string())) for table in right]
    found = rows_of(join(words, plain, "key", servers=address))
    assert found.select(["left", "right"]).to_pydict() == {"left": [1, 3], "right": [9, 7]}


def test_a_result_that_is_too_large_says_how_many_partitions_to_take(cluster: Cluster, address: str) -> None:
    tables = [pa.table({"key": np.zeros(8_000, np.int8), "row": np.arange(8_000)}) for _ in range(2)]
    ds = ray.data.from_arrow(tables)
    with pytest.raises(corank.InvalidArgument, match="pass partitions="):
        corank.ray.join(ds, ds, "key", servers=address)


def test_wrong_arguments_of_joins_say_what_to_change(cluster: Cluster, address: str) -> None:
    ds = ray.data.from_arrow(pa.table({"key": [1], "name": ["a"], "list": [[1]]}))
    other = ray.data.from_arrow(pa.table({"key": [1], "word": ["a"], "name_right": [1], "name": [2]}))
    cases: list[tuple[type[Exception], str, dict[str, Any]]] = [
        (corank.InvalidArgument, "how: 'outer' is none of", {"on": "key", "how": "outer"}),
        (corank.InvalidArgument, "on: missing", {}),
        (corank.InvalidArgument, "either on=", {"on": "key", "left_on": "key"}),
        (ValueError, "no column 'word'", {"on": "word"}),
        (ValueError, "no column 'wort'", {"left_on": "name", "right_on": "wort"}),
        (corank.InvalidArgument, "right_on: 2 columns", {"left_on": "name", "right_on": ["key", "word"]}),
        (TypeError, "types that do not compare", {"left_on": "key", "right_on": "word"}),
        (TypeError, "column 'list' is list", {"on": None, "left_on": "list", "right_on": "key"}),
        (corank.InvalidArgument, "a column 'name_right'", {"on": "key"}),
        (ValueError, "partitions: 0", {"on": "key", "partitions": 0}),
    ]
    for error, text, arguments in cases:
        with pytest.raises(error, match=text):
            corank.ray.join(ds, other, servers=address, **arguments)
