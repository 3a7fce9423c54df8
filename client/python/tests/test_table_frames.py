"""`frame.corank` of pandas and polars."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import corank

pytest.importorskip("pyarrow")
pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")

import corank.frames  # noqa: E402
from corank._table_libraries import library_of  # noqa: E402

DATA = {"k": [2, 1, None, 1], "v": [1, 2, 3, 4]}


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_have_the_operators(any_client: corank.Client, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    frame: Any = (pandas if library == "pandas" else polars).DataFrame(DATA)
    rows = frame.corank.on(any_client)

    def values(found: Any) -> list[int]:
        return list(found["v"])

    nulls_first = library == "polars"
    ordered = rows.sort("k")
    assert type(ordered) is type(frame)
    assert values(ordered) == ([3, 2, 4, 1] if nulls_first else [2, 4, 1, 3])
    assert rows.argsort("k", nulls="last").tolist() == [1, 3, 0, 2]
    assert values(rows.top_k(2, ["k", "v"], descending=[True, False])) == [1, 2]
    assert len(ordered.corank.on(any_client).merge([ordered, ordered], "k")) == 12
    assert len(ordered.corank.on(any_client).merge(ordered, "k")) == 8
    assert values(rows.join(frame.head(1), "k", how="semi")) == [1]
    assert list(rows.group("k", drop_nulls=True).agg(n="count")["n"]) == [2, 1]
    with pytest.raises(TypeError, match=r"^client: is of type str; pass a client, such as corank.connect\(address\)$"):
        frame.corank.on("127.0.0.1:50051")
    monkeypatch.setattr(corank, "sort_by", any_client.sort_by)  # the client that the module's functions share
    assert values(frame.corank.sort("v", descending=True)) == [4, 3, 2, 1]


def test_corank_itself_imports_no_library_of_tables() -> None:
    code = "import sys, corank; print([n for n in ('pandas', 'polars', 'pyarrow') if n in sys.modules])"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("chunks", [3, 20])
@pytest.mark.parametrize(("count", "joins"), [(0, False), (2, False), (1000, True)])
def test_only_many_rows_are_taken_from_joined_chunks(
    chunks: int, count: int, joins: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = polars.concat(
        [polars.DataFrame({"s": [f"{i}-{k}" for i in range(99)]}) for k in range(chunks)], rechunk=False
    )
    texts, joined, rechunk = frame["s"].to_list(), [], polars.DataFrame.rechunk

    def noted(frame: Any) -> Any:
        joined.append(frame)
        return rechunk(frame)

    monkeypatch.setattr(polars.DataFrame, "rechunk", noted)
    rows = np.random.default_rng(1).integers(-1, len(frame), count)
    found = library_of("frame", frame)[0].pick(frame, "s", rows)
    assert bool(joined) == joins
    assert found.to_list() == [None if row < 0 else texts[row] for row in rows]
