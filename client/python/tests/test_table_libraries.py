"""Every operator on tables of every library, also beside the oldest versions that matrix.py installs."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

import corank
import corank.aio

pa = pytest.importorskip("pyarrow")
pc = pytest.importorskip("pyarrow.compute")

from table_cases import RUNS, TYPES, column, plain  # noqa: E402


def every_operator(client: corank.Client, table: Any, key: str, number: str) -> Any:
    """Calls all of them; the table in order."""
    ordered = client.sort_by(table, key)
    assert len(client.top_k(table, 2, [key, number])) == min(2, len(table))
    assert len(client.merge_by([ordered, ordered], key)) == 2 * len(table)
    found = client.group_by(table, key, drop_nulls=False).agg((number, "sum"), low=(key, "min"), first=(key, "first"))
    joined = client.join_by(table, found, key, how="left", nulls_equal=True)
    assert len(joined) == len(table)
    assert joined[f"{number}_sum"].null_count == 0 if isinstance(table, pa.Table) else len(joined.columns) > 3
    assert len(client.join_by(table, table, key, how="anti", nulls_equal=True)) == 0
    return ordered


@pytest.mark.parametrize("type_", [*TYPES, *RUNS], ids=str)
def test_arrow(any_client: corank.Client, type_: Any) -> None:
    rng = np.random.default_rng(1)
    table = pa.table({"k": column(rng, type_, 200, True), "v": np.arange(200)})
    every_operator(any_client, table, "k", "v")
    rows = pc.sort_indices(pa.table({"k": plain(table["k"])}), sort_keys=[("k", "descending")])
    assert any_client.argsort_by(table, "k", descending=True).tolist() == rows.to_pylist()


@pytest.mark.parametrize("key", ["number", "text", "category", "time"])
def test_pandas(any_client: corank.Client, key: str) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "number": [3, None, 1.0],
            "text": ["b", None, "é"],
            "category": pandas.Categorical(["x", "y", "x"], categories=["y", "x"]),
            "time": pandas.to_datetime(["2024-05-01", None, "2023-01-01"]),
            "v": [1, 2, 3],
        }
    )
    found = every_operator(any_client, frame, key, "v")
    pandas.testing.assert_frame_equal(found, frame.sort_values(key, kind="stable"))


@pytest.mark.parametrize("key", ["number", "text", "category", "time"])
def test_polars(any_client: corank.Client, key: str) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(
        {
            "number": [3, None, 1],
            "text": ["b", None, "é"],
            "category": polars.Series(["x", "y", "x"], dtype=polars.Enum(["y", "x"])),
            "time": polars.Series([5, None, 3], dtype=polars.Datetime("us")),
            "v": [1, 2, 3],
        }
    )
    assert every_operator(any_client, frame, key, "v").equals(frame.sort(key, maintain_order=True))


def test_calls_without_blocking_return_tables(any_client: corank.Client) -> None:
    table = pa.table({"k": [2, None, 1]})
    assert any_client.submit("sort_by", table, "k").result()["k"].to_pylist() == [1, 2, None]

    async def calls() -> None:
        async with corank.aio.connect(any_client.address) as client:
            ordered, rows = await asyncio.gather(client.sort_by(table, "k"), client.argsort_by(table, "k", limit=2))
            assert ordered["k"].to_pylist() == [1, 2, None]
            assert rows.tolist() == [2, 0]
            assert (await client.top_k(table, 1, "k"))["k"].to_pylist() == [2]
            assert (await client.merge_by([ordered, ordered], "k")).num_rows == 6
            assert (await client.join_by(table, ordered, "k", how="anti"))["k"].to_pylist() == [None]
            groups = client.group_by(table, "k", drop_nulls=True)
            assert (await groups.agg(n="count"))["n"].to_pylist() == [1, 1]
            assert (await groups.firsts())["k"].to_pylist() == [1, 2]
            with pytest.raises(TypeError, match="did you mean 'descending'"):
                await client.sort_by(table, "k", reverse=True)

    asyncio.run(calls())
