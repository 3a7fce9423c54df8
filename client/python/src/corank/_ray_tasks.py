"""The tasks of a distributed sort. Each gives the same answer however often Ray runs it.

The last result of a task is its StageTime, so the driver learns of a failure without fetching rows.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import ray

from corank import _partitioning as partitioning
from corank._key_digits import Order, check_type
from corank._partitioning import Boundaries
from corank._ray_servers import Servers
from corank._table_order import equal_ranges, merge_order, sort_order

_SEARCH_STEP = 512
"""Rows between two that the first Search of a block looks at."""


class StageTime(NamedTuple):
    """What one task took."""

    stage: str
    """"sample", "plan", "map", "merge" or "reduce"."""
    node: str
    """The id of its node."""
    rows: int
    nbytes: int
    """Bytes of its inputs."""
    seconds: float
    """From its first line to its last one, without the fetch of its inputs."""
    server_seconds: float
    """The part of them that it spent in calls of the server and in making their keys."""


class Sample(NamedTuple):
    """Some rows of a block."""

    keys: Any
    rows: np.ndarray
    block_rows: int
    nbytes: int
    schema: Any


class _Watch:
    """Times a task."""

    def __init__(self, stage: str) -> None:
        self._stage, self._start, self._server_seconds = stage, time.perf_counter(), 0.0

    def call(self, servers: Servers, work: Any) -> Any:
        start = time.perf_counter()
        try:
            return servers.call(work)
        finally:
            self._server_seconds += time.perf_counter() - start

    def done(self, rows: int, nbytes: int) -> StageTime:
        node = ray.get_runtime_context().get_node_id()
        return StageTime(self._stage, node, rows, nbytes, time.perf_counter() - self._start, self._server_seconds)


def sample(block: Any, number: int, samples: int, order: Order) -> tuple[Sample, StageTime]:
    """Looks at a block.

    Raises:
        ValueError: a block with rows lacks a key column.
        TypeError: a key column has no order.
    """
    watch = _Watch("sample")
    missing = [name for name in order.keys if name not in block.column_names]
    if missing and block.num_rows:
        raise ValueError(f"key: no column {missing[0]!r}; the columns are {', '.join(map(repr, block.column_names))}")
    if missing:
        return Sample(None, np.zeros(0, np.int64), 0, 0, None), watch.done(0, 0)
    for name in order.keys:
        check_type(name, block.schema.field(name).type)
    rows = partitioning.sample_rows(number, block.num_rows, samples)
    keys = block.select(list(order.keys)).take(rows)
    found = Sample(keys, rows, block.num_rows, block.nbytes, block.schema)
    return found, watch.done(block.num_rows, block.nbytes)


def boundaries(
    samples: Sequence[Sample], schema: Any, partitions: int, order: Order, servers: Servers
) -> tuple[Boundaries, StageTime]:
    """The rows at which the partitions begin."""
    watch = _Watch("plan")
    key_schema = pa.schema([schema.field(name) for name in order.keys])
    tables = [key_schema.empty_table() if each.keys is None else each.keys.cast(key_schema) for each in samples]
    keys = pa.concat_tables(tables)
    blocks = np.repeat(np.arange(len(samples)), [len(each.rows) for each in samples])
    rows = np.concatenate([each.rows for each in samples])
    weights = np.concatenate([np.full(len(each.rows), each.block_rows / max(len(each.rows), 1)) for each in samples])
    positions = watch.call(servers, lambda client, options: sort_order(client, keys, order, options))
    chosen = partitioning.boundary_places(positions, weights, partitions)
    found = Boundaries(keys.take(chosen), blocks[chosen].astype(np.int64), rows[chosen])
    return found, watch.done(keys.num_rows, keys.nbytes)


def cut_block(
    block: Any,
    number: int,
    schema: Any,
    limits: Boundaries,
    groups: Sequence[range],
    order: Order,
    is_sorted: bool,
    servers: Servers,
) -> Iterator[Any]:
    """Sorts a block and cuts it: for each group of partitions a pair of its rows and of where partitions end there."""
    watch = _Watch("map")
    rows, nbytes = block.num_rows, block.nbytes
    table = block.cast(schema) if rows else schema.empty_table()
    keys = table.select(list(order.keys))
    if is_sorted:
        positions = np.arange(rows)
    else:
        positions = watch.call(servers, lambda client, options: sort_order(client, keys, order, options))
        keys = keys.take(positions)
    step = 1 if is_sorted else _SEARCH_STEP  # Search checks the order of rows that somebody else sorted
    lower, upper = watch.call(
        servers, lambda client, options: equal_ranges(client, keys, limits.keys, order, options, step)
    )
    ends = partitioning.ends_of(partitioning.cuts(number, positions, lower, upper, limits), rows, groups[-1].stop)
    for group in groups:
        inside = ends[group.start : group.stop + 1]
        piece = (
            table.slice(inside[0], inside[-1] - inside[0])
            if is_sorted
            else table.take(positions[inside[0] : inside[-1]])
        )
        yield _own(piece) if is_sorted else piece, [end - inside[0] for end in inside]
    yield watch.done(rows, nbytes)


def _own(table: Any) -> Any:
    """A slice of a table with memory of its own, so that Ray stores no more than the slice."""
    return table.take(np.arange(table.num_rows))


def merge_group(count: int, order: Order, servers: Servers, *pieces: tuple[Any, list[int]]) -> Iterator[Any]:
    """Merges what the blocks of a round have for a group of `count` partitions: a table for each partition."""
    watch = _Watch("merge")
    tables = [table for table, _ in pieces]
    whole, positions = _merged(watch, tables, order, servers)
    ends = np.sum([ends for _, ends in pieces], axis=0)
    for begin, end in zip(ends[:count], ends[1:]):
        yield whole.take(positions[begin:end])
    yield watch.done(whole.num_rows, whole.nbytes)


def merge_runs(order: Order, servers: Servers, *runs: Any) -> tuple[Any, StageTime]:
    """Merges runs of one partition."""
    watch = _Watch("reduce")
    whole, positions = _merged(watch, runs, order, servers)
    return whole.take(positions), watch.done(whole.num_rows, whole.nbytes)


def _merged(watch: _Watch, tables: Sequence[Any], order: Order, servers: Servers) -> tuple[Any, np.ndarray]:
    positions = watch.call(servers, lambda client, options: merge_order(client, tables, order, options))
    return pa.concat_tables(tables).combine_chunks(), positions
