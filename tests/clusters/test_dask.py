"""corank.dask beside pandas and NumPy."""

from __future__ import annotations

import os
from collections.abc import Iterator

import corank
import corank.dask
import dask
import dask.array
import dask.dataframe
import numpy as np
import pandas as pd
import pytest
from cluster_rows import blocks
from corank.testing import LocalServer


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with LocalServer(os.environ["CORANKD"]) as server:
        yield server.address


@pytest.mark.parametrize("ascending", [True, False])
@pytest.mark.parametrize("na_position", ["first", "last"])
@pytest.mark.parametrize("by", ["number", "float", "time", "name"])
def test_one_partition_sorts_as_in_pandas(address: str, by: str, ascending: bool, na_position: str) -> None:
    frame = blocks(1, 1_000)[0].to_pandas()
    found = corank.dask.sort_function(frame, by, ascending, na_position, server=address)
    pd.testing.assert_frame_equal(
        found, frame.sort_values(by, ascending=ascending, na_position=na_position, kind="stable")
    )


def test_several_keys_have_their_own_directions(address: str) -> None:
    frame = blocks(1, 1_000)[0].to_pandas()
    found = corank.dask.sort_function(frame, ["name", "number"], [True, False], server=address, ignore_index=True)
    # pandas sorts several keys stably with the directions of each.
    wanted = frame.sort_values(["name", "number"], ascending=[True, False], kind="stable", ignore_index=True)
    pd.testing.assert_frame_equal(found, wanted)
    with pytest.raises(TypeError, match="takes no option 'kind'"):
        corank.dask.sort_function(frame, "name", server=address, kind="stable")


@pytest.mark.parametrize("ascending", [True, False])
def test_data_frames_sort_by_the_function(address: str, ascending: bool) -> None:
    frame = pd.concat([table.to_pandas() for table in blocks(4, 500)], ignore_index=True)
    given = dask.dataframe.from_pandas(frame, npartitions=4)
    options = {"sort_function": corank.dask.sort_function, "sort_function_kwargs": {"server": address}}
    with dask.config.set(scheduler="threads"):
        found = given.sort_values("number", ascending=ascending, **options).compute()
    assert sorted(found.index) == sorted(frame.index)
    wanted = frame["number"].sort_values(ascending=ascending, na_position="last")
    np.testing.assert_array_equal(found["number"].to_numpy(), wanted.to_numpy())


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("kind", ["int32", "float64", "datetime64[s]", "constant"])
@pytest.mark.parametrize("chunks", [(1_000,), (10, 0, 990), (25,) * 40])
def test_arrays_sort_as_in_numpy(address: str, kind: str, chunks: tuple[int, ...], descending: bool) -> None:
    rng = np.random.default_rng(3)
    keys = rng.integers(-500, 500, 1_000)
    if kind == "float64":
        keys = np.where(keys < -450, np.nan, keys)
    keys = np.zeros(1_000, np.int8) if kind == "constant" else keys.astype(kind)
    given = dask.array.from_array(keys, chunks=(chunks,))
    with dask.config.set(scheduler="threads"):
        found = corank.dask.sort(given, descending, address).compute()
    wanted = np.sort(keys)
    np.testing.assert_array_equal(found, wanted[::-1] if descending else wanted)
    assert found.dtype == keys.dtype


def test_arrays_of_more_dimensions_are_refused() -> None:
    with pytest.raises(corank.InvalidArgument, match="pass array"):
        corank.dask.sort(dask.array.zeros((2, 2)))
