"""Sorts collections of Dask by corank servers.

    import corank.dask

    df.sort_values("time", sort_function=corank.dask.sort_function)
    ordered = corank.dask.sort(array)

Dask moves the rows between its workers; each worker has a server sort, or merge, what it got. The server is the one in
CORANK_SERVER of the worker, else 127.0.0.1:50051. Needs Dask 2025.1 or newer.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import dask
import dask.array
import numpy as np
import pyarrow as pa

from corank import _partitioning as partitioning
from corank._client import Client
from corank._errors import InvalidArgument
from corank._key_columns import check_type, order_of
from corank._table_order import sort_order

__all__ = ["sort", "sort_function"]


@functools.cache
def _client(address: str | None) -> Client:
    """This process's client of a server."""
    return Client(address, progress=False)


def sort_function(
    frame: Any,
    by: str | Sequence[str],
    ascending: bool | Sequence[bool] = True,
    na_position: str = "last",
    server: str | None = None,
    **others: Any,
) -> Any:
    """Sorts one partition of a data frame: the `sort_function` of Dask's `DataFrame.sort_values`.

    Stable, with NaN and nulls at `na_position`, as `sort_values(kind="stable")` of pandas. Name another server by
    `sort_function_kwargs={"server": "HOST:PORT"}`.

    Args:
        frame: a pandas data frame.
        by: the column or columns to compare.
        ascending: least first, in all columns or, as a sequence, in each.
        na_position: "last" or "first".
        server: the address of the server; None: CORANK_SERVER, else 127.0.0.1:50051.
        **others: ignore_index, as pandas has it.

    Returns:
        The sorted frame.

    Examples:
        >>> df.sort_values("time", sort_function=corank.dask.sort_function)  # doctest: +SKIP
    """
    ignore_index = bool(others.pop("ignore_index", False))
    if others:
        raise TypeError(f"sort_function() takes no option {min(others)!r}")
    is_one = isinstance(ascending, (bool, np.bool_))
    order = order_of(by, not ascending if is_one else [not each for each in ascending], na_position)  # type: ignore[union-attr]
    table = pa.table({name: pa.array(frame[name], from_pandas=True) for name in order.keys})
    for name in order.keys:
        check_type(name, table.schema.field(name).type)
    made = frame.iloc[sort_order(_client(server), table, order, {})]
    return made.reset_index(drop=True) if ignore_index else made


def sort(array: dask.array.Array, descending: bool = False, server: str | None = None) -> dask.array.Array:
    """Sorts an array: each chunk is sorted, cut at boundaries that samples give, and merged. Lazy.

    Args:
        array: an array of one dimension of a type that `corank.sort` takes.
        descending: greatest first; NaN then comes first, as in `corank.sort`.
        server: the address of the server; None: CORANK_SERVER of the worker, else 127.0.0.1:50051.

    Returns:
        An array with as many chunks, whose sizes are unknown until they are computed.

    Raises:
        InvalidArgument: the array has more dimensions than one.
    """
    if array.ndim != 1:
        raise InvalidArgument(f"array: must have 1 dimension, has {array.ndim}; pass array.ravel()", field="array")
    blocks = list(array.to_delayed().ravel())
    wanted = partitioning.SAMPLES
    ordered = [dask.delayed(_sorted_chunk)(block, descending, server) for block in blocks]
    samples = [dask.delayed(_samples)(block, number, wanted) for number, block in enumerate(ordered)]
    limits = dask.delayed(_boundaries)(samples, len(blocks), descending, server)
    cut = [dask.delayed(_cut, nout=len(blocks))(block, limits, len(blocks), descending, server) for block in ordered]
    merged = [dask.delayed(_merged)([pieces[at] for pieces in cut], descending, server) for at in range(len(blocks))]
    made = [dask.array.from_delayed(each, (np.nan,), array.dtype) for each in merged]
    return dask.array.concatenate(made, allow_unknown_chunksizes=True) if made else array


def _sorted_chunk(chunk: Any, descending: bool, server: str | None) -> Any:
    return _client(server).sort(chunk, descending=descending)


def _samples(chunk: Any, number: int, wanted: int) -> tuple[Any, float]:
    """Some keys, and how many rows each stands for."""
    rows = partitioning.sample_rows(number, chunk.size, wanted)
    return chunk[rows], chunk.size / max(rows.size, 1)


def _boundaries(samples: Sequence[tuple[Any, float]], partitions: int, descending: bool, server: str | None) -> Any:
    keys = np.concatenate([found for found, _ in samples])
    weights = np.concatenate([np.full(found.size, weight) for found, weight in samples])
    order = _client(server).argsort(keys, descending=descending)
    return keys[partitioning.boundary_places(order, weights, partitions)]


def _cut(chunk: Any, limits: Any, partitions: int, descending: bool, server: str | None) -> list[Any]:
    places = _client(server).search(chunk, limits, descending=descending) if limits.size else []
    ends = partitioning.ends_of(places, chunk.size, partitions)
    return [chunk[begin:end] for begin, end in zip(ends, ends[1:])]


def _merged(pieces: Sequence[Any], descending: bool, server: str | None) -> Any:
    """Pieces by merges of at most MOST_RUNS."""
    for level in partitioning.merge_levels(len(pieces)):
        pieces = [
            pieces[part.start]
            if len(part) == 1
            else _client(server).merge([pieces[at] for at in part], descending=descending)
            for part in level
        ]
    return pieces[0]
