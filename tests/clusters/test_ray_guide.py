"""The Python blocks of docs/guides/ray.md run as printed."""

from __future__ import annotations

import os
import pathlib
import re
from typing import Any

import corank.dask
import corank.ray
import corank.testing
import dask.array
import dask.dataframe
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import ray.data
from ray.cluster_utils import Cluster

GUIDE = pathlib.Path(__file__).resolve().parents[2] / "docs/guides/ray.md"
BLOCKS = re.findall(r"^```python[^\n]*\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_blocks_run_as_printed(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    cities = ["Oslo", "Voss", "Bergen"]
    sales = pa.table(
        {
            "city": rng.choice(cities, 300),
            "country": rng.choice(["no", "se"], 300),
            "day": rng.integers(0, 9, 300),
            "time": rng.permutation(300),
            "amount": rng.integers(0, 100, 300),
        }
    )
    given = ray.data.from_arrow([sales.slice(0, 200), sales.slice(200)])
    names: dict[str, Any] = {
        "ds": given,
        "sales": given,
        "cities": ray.data.from_arrow(pa.table({"city": [*cities, "Hamar"], "county": ["a", "b", "c", "d"]})),
        "df": dask.dataframe.from_pandas(sales.to_pandas(), npartitions=2),
        "array": dask.array.from_array(sales["amount"].to_numpy(), chunks=100),
    }
    assert BLOCKS
    results = []
    with corank.testing.LocalServer(os.environ["CORANKD"]) as server:
        for block in BLOCKS:
            if "corank.dask" in block:
                monkeypatch.setenv("CORANK_SERVER", server.address)
            exec(compile(block, str(GUIDE), "exec"), names)
            results.append(dict(names))
        np.testing.assert_array_equal(names["ordered"].compute(), np.sort(sales["amount"].to_numpy()))
    first, sort, group, join = results[:4]
    assert first["totals"].sum("rows") == 300
    assert [row["time"] for row in first["ordered"].take_all()] == list(range(300))
    assert first["placed"].count() == 300
    keys = sort["ordered"].to_pandas()[["country", "time"]]
    pd.testing.assert_frame_equal(
        keys, keys.sort_values(["country", "time"], ascending=[True, False], ignore_index=True)
    )
    assert group["totals"].columns() == ["city", "day", "amount_sum", "rows", "best", "latest"]
    assert join["placed"].count() == 301
