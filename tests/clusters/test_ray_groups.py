"""corank.ray.group_by on a real cluster, beside pyarrow's and pandas' own groups of the same rows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import corank
import corank.ray
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import ray
import ray.data
from cluster_rows import blocks, rows_of, same
from corank import _partitioning
from corank.testing import LocalServer
from ray.cluster_utils import Cluster

ASKED: list[tuple[str, str]] = [
    *(("wide", function) for function in ("count", "sum", "mean", "min", "max", "first", "last")),
    *(("small", function) for function in ("sum", "mean", "min")),
    *(("value", function) for function in ("count", "sum", "mean", "first", "last")),
    *(("name", function) for function in ("min", "max", "first", "last")),
    *(("time", function) for function in ("min", "last")),
]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with LocalServer(os.environ["CORANKD"]) as server:
        yield server.address


def tables_of(seed: int, count: int = 5, rows: int = 400) -> list[Any]:
    """Tables with keys and values of several types, with nulls."""
    rng = np.random.default_rng(seed)
    out = []
    for table in blocks(count, rows, seed):
        is_null = rng.random(rows) < 0.2
        wide = rng.integers(-(2**62), 2**62, rows) // 300
        for name, array in (
            ("key", pa.array([f"k{each}" for each in rng.integers(0, 40, rows)], mask=rng.random(rows) < 0.1)),
            ("wide", pa.array(wide, mask=is_null)),
            ("small", pa.array(rng.integers(0, 200, rows).astype(np.uint8), mask=is_null)),
            ("value", pa.array(rng.normal(size=rows), mask=is_null)),
            ("kind", pa.array(["a", "b", "c"]).take(pa.array(rng.integers(0, 3, rows))).dictionary_encode()),
        ):
            table = table.append_column(name, array)
        out.append(table)
    return out


def grouped(tables: list[Any], keys: list[str], descending: bool = False, nulls: str = "last") -> Any:
    """pyarrow's own groups, in the order of their keys."""
    whole = pa.concat_tables(tables).unify_dictionaries()
    for name in keys:
        if pa.types.is_floating(whole[name].type):  # pyarrow groups -0.0 and NaNs by their bits
            floats = np.asarray(whole[name]) + 0.0
            floats[np.isnan(floats)] = np.nan
            whole = whole.set_column(whole.column_names.index(name), name, pa.array(floats))
    found = whole.group_by(keys, use_threads=False).aggregate([([], "count_all"), *ASKED])
    ordering = [(name, "descending" if descending else "ascending") for name in keys]
    place = "at_start" if nulls == "first" else "at_end"
    plain = pa.table(  # pyarrow does not sort dictionaries
        {
            name: found[name].cast(pa.string()) if pa.types.is_dictionary(found[name].type) else found[name]
            for name in keys
        }
    )
    found = found.take(pc.sort_indices(plain, sort_keys=ordering, null_placement=place))
    return found.rename_columns([*keys, "count", *(f"{column}_{function}" for column, function in ASKED)])


def alike(found: Any, wanted: Any) -> None:
    """Fails unless all columns are the same; sums of floats may be rounded in another order."""
    assert found.column_names == wanted.column_names
    for name in wanted.column_names:
        ours, theirs = found[name].combine_chunks(), wanted[name].combine_chunks()
        assert ours.type == theirs.type, name
        if pa.types.is_floating(ours.type):
            assert ours.is_null().equals(theirs.is_null()), name
            first, second = (each.to_numpy(zero_copy_only=False) for each in (ours, theirs))
            is_added = name in ("value_sum", "value_mean", "wide_mean", "small_mean")
            np.testing.assert_allclose(first, second, 1e-9 if is_added else 0, err_msg=name)
        else:
            assert ours.to_pylist() == theirs.to_pylist(), name


@pytest.mark.parametrize(
    ("keys", "descending", "nulls", "partitions"),
    [
        (["key"], False, "last", None),
        (["key"], True, "first", 3),
        (["number"], False, "first", 7),
        (["number"], True, "last", 1),
        (["float"], False, "last", 2),
        (["kind", "key"], False, "last", 4),
        (["key", "number", "float"], True, "last", 6),
        (["row"], False, "last", 5),
    ],
    ids=str,
)
def test_groups_are_those_of_pyarrow(
    cluster: Cluster, address: str, keys: list[str], descending: bool, nulls: Any, partitions: int | None
) -> None:
    tables = tables_of(len(keys) + 10 * (partitions or 0))
    groups = corank.ray.group_by(
        ray.data.from_arrow(tables), keys, descending, nulls, partitions=partitions, servers=address
    )
    found = groups.agg("count", *ASKED)
    assert found.num_blocks() <= (partitions or 5)
    alike(rows_of(found), grouped(tables, keys, descending, nulls))


def test_groups_without_null_keys_are_those_of_pandas(cluster: Cluster, address: str) -> None:
    tables = tables_of(1)
    ds = ray.data.from_arrow(tables)
    groups = corank.ray.group_by(ds, ["key", "number"], drop_nulls=True, servers=address)
    found = rows_of(groups.agg(rows="count", total=("small", "sum"), mean=("value", "mean"), last=("time", "last")))
    frame = pa.concat_tables(tables).to_pandas()
    wanted = frame.groupby(["key", "number"], as_index=False).agg(
        rows=("row", "size"),
        total=("small", lambda values: values.sum(min_count=1)),
        mean=("value", "mean"),
        last=("time", "last"),
    )
    pd.testing.assert_frame_equal(found.to_pandas(), wanted, check_dtype=False)


def test_many_rounds_and_levels_give_the_same_groups(
    cluster: Cluster, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_partitioning, "MOST_RUNS", 2)
    tables = tables_of(2, count=9, rows=100)
    times: list[list[corank.ray.StageTime]] = []
    groups = corank.ray.group_by(
        ray.data.from_arrow(tables), "row", partitions=3, servers=address, on_stats=times.append
    )
    alike(rows_of(groups.agg("count", *ASKED)), grouped(tables, ["row"]))
    (stages,) = times
    assert {each.stage for each in stages} == {"sample", "plan", "map", "merge", "reduce"}
    assert sum(each.rows for each in stages if each.stage == "map") == 900


def test_one_key_of_most_rows_leaves_the_partitions_alike(cluster: Cluster, address: str) -> None:
    rng = np.random.default_rng(4)
    tables = [pa.table({"key": np.where(rng.random(4_000) < 0.9, 7, rng.integers(0, 10**6, 4_000))}) for _ in range(4)]
    found = corank.ray.group_by(ray.data.from_arrow(tables), "key", partitions=4, servers=address).agg("count")
    sizes = [table.num_rows for table in ray.get(found.to_arrow_refs())]
    assert len(sizes) == 4
    assert max(sizes) < 1.5 * sum(sizes) / 4


def test_few_groups_make_one_block_unless_asked(cluster: Cluster, address: str) -> None:
    ds = ray.data.from_arrow(tables_of(3))
    found = corank.ray.group_by(ds, "kind", servers=address).agg("count")
    assert found.num_blocks() == 1
    assert corank.ray.group_by(ds, "kind", partitions=9, servers=address).agg("count").num_blocks() <= 3


def test_sums_are_exact_where_those_of_blocks_exceed_64_bits(cluster: Cluster, address: str) -> None:
    most = 2**63 - 1
    values = [[most, most, 5], [-most, -most], [-3, most]]
    tables = [pa.table({"key": ["a"] * len(each), "value": pa.array(each, pa.int64())}) for each in values]
    groups = corank.ray.group_by(ray.data.from_arrow(tables[:2]), "key", servers=address)
    assert groups.agg(("value", "sum")).take_all() == [{"key": "a", "value_sum": 5}]
    unsigned = pa.table({"key": ["a"] * 3, "value": pa.array([2**64 - 1, 0, 0], pa.uint64())})
    groups = corank.ray.group_by(ray.data.from_arrow(unsigned), "key", servers=address)
    assert groups.agg(("value", "sum")).take_all() == [{"key": "a", "value_sum": 2**64 - 1}]
    groups = corank.ray.group_by(ray.data.from_arrow([*tables, tables[2]]), "key", servers=address)
    with pytest.raises(corank.InvalidArgument, match="does not fit in 64 bits"):
        groups.agg(("value", "sum"))


def test_empty_data_sets_have_no_groups_but_all_columns(cluster: Cluster, address: str) -> None:
    empty = pa.table({"key": pa.array([], pa.string()), "value": pa.array([], pa.int32())})
    found = corank.ray.group_by(ray.data.from_arrow(empty), "key", servers=address).agg(("value", "mean"), "count")
    (table,) = ray.get(found.to_arrow_refs())
    assert table.schema == pa.schema([("key", pa.string()), ("value_mean", pa.float64()), ("count", pa.int64())])
    rows = pa.table({"key": ["b", "a"], "value": pa.array([1, None], pa.int32())})
    found = corank.ray.group_by(ray.data.from_arrow([empty, rows, empty]), "key", servers=address).agg(("value", "sum"))
    assert same(rows_of(found), pa.table({"key": ["a", "b"], "value_sum": [None, 1]}))


def test_wrong_arguments_of_groups_say_what_to_change(cluster: Cluster, address: str) -> None:
    ds = ray.data.from_arrow(pa.table({"key": [1], "name": ["a"], "list": [[1]]}))
    groups = corank.ray.group_by(ds, "key", servers=address)
    cases: list[tuple[type[Exception], str, Any]] = [
        (corank.InvalidArgument, "agg: no column 'nam'; did you mean 'name'", ("nam", "min")),
        (corank.InvalidArgument, "'median' is none of", ("name", "median")),
        (TypeError, "has no sum", ("name", "sum")),
        (TypeError, "has no max", ("list", "max")),
        (TypeError, "neither 'count' nor a pair", "sum"),
    ]
    for error, text, asked in cases:
        with pytest.raises(error, match=text):
            groups.agg(asked)
    with pytest.raises(corank.InvalidArgument, match="two columns would be 'key'"):
        groups.agg(key="count")
    with pytest.raises(corank.InvalidArgument, match="agg: is empty"):
        groups.agg()
    with pytest.raises(ValueError, match="no column 'keys'"):
        corank.ray.group_by(ds, "keys", servers=address).agg("count")
    with pytest.raises(ValueError, match="partitions: 0"):
        corank.ray.group_by(ds, "key", partitions=0)
