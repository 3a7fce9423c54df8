"""The tasks of a distributed sort, and what other tasks share. Each gives the same answer however often Ray runs it.

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
from corank._arrow_rows import take_rows
from corank._key_columns import Order, check_type
from corank._partitioning import Boundaries
from corank._ray_servers import Servers
from corank._table_order import equal_ranges, merge_order, sort_order

_SEARCH_STEP = 512
"""Rows between two that the first Search of a block looks at."""


class StageTime(NamedTuple):
    """What one task took."""

    stage: str
    """"sample", "plan", "map", "merge", "reduce" or "join"."""
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


class Keys(NamedTuple):
    """The key columns of the blocks of a data set."""

    order: Order
    schema: Any
    """The types as which they compare."""

    def of(self, table: Any) -> Any:
        """The keys of a table."""
        return table.select(list(self.order.keys)).cast(self.schema)

    def named(self, table: Any) -> Any:
        """Keys that another data set may have named."""
        return table.rename_columns(list(self.order.keys)).cast(self.schema)


class Watch:
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
    watch = Watch("sample")
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


class Sampled(NamedTuple):
    """The samples of all blocks of a data set."""

    keys: Any
    blocks: np.ndarray
    """The block of each."""
    rows: np.ndarray
    """The row of each in its block."""


def sampled(samples: Sequence[Sample], keys: Keys) -> Sampled:
    """All samples, block after block."""
    empty = keys.schema.empty_table()
    return Sampled(
        pa.concat_tables([empty, *(keys.of(each.keys) for each in samples if each.keys is not None)]),
        np.repeat(np.arange(len(samples)), [len(each.rows) for each in samples]),
        np.concatenate([np.zeros(0, np.int64), *(each.rows for each in samples)]),
    )


def weights_of(samples: Sequence[Sample], totals: Sequence[float]) -> np.ndarray:
    """What each sample stands for: its part of the total of its block."""
    parts = [np.full(len(each.rows), total / max(len(each.rows), 1)) for each, total in zip(samples, totals)]
    return np.concatenate([np.zeros(0), *parts])


def boundaries(
    samples: Sequence[Sample], keys: Keys, partitions: int, servers: Servers
) -> tuple[Boundaries, StageTime]:
    """The rows at which the partitions begin."""
    watch = Watch("plan")
    found = sampled(samples, keys)
    weights = weights_of(samples, [each.block_rows for each in samples])
    positions = watch.call(servers, lambda client, options: sort_order(client, found.keys, keys.order, options))
    chosen = partitioning.boundary_places(positions, weights, partitions)
    limits = Boundaries(found.keys.take(chosen), found.blocks[chosen].astype(np.int64), found.rows[chosen])
    return limits, watch.done(found.keys.num_rows, found.keys.nbytes)


class Piece(NamedTuple):
    """What a block has for a group of partitions: sorted rows."""

    rows: Any
    """A table, or the numbers of the rows in the block."""
    begins: list[int]
    """Where each partition begins in them."""
    ends: list[int]
    """Where each ends. It reaches into the next one where both have the rows of a key."""


def cut_block(
    block: Any,
    number: int,
    schema: Any,
    limits: Boundaries,
    groups: Sequence[range],
    keys: Keys,
    is_sorted: bool,
    is_split: bool,
    takes: bool,
    servers: Servers,
) -> Iterator[Any]:
    """Sorts a block and cuts it into a piece for each group of partitions; `takes`: with the rows themselves.

    If `is_split`, boundaries may lie between rows of one key. Otherwise the partitions on both sides of such a boundary
    get all rows of its key.
    """
    watch = Watch("map")
    rows, nbytes = block.num_rows, block.nbytes
    table = block.cast(schema) if rows else schema.empty_table()
    of_rows, order = keys.of(table), keys.order
    if is_sorted:
        positions = np.arange(rows)
    else:
        positions = watch.call(servers, lambda client, options: sort_order(client, of_rows, order, options))
        of_rows = of_rows.take(positions)
    step = 1 if is_sorted else _SEARCH_STEP  # Search checks the order of rows that somebody else sorted
    needles = keys.named(limits.keys)
    lower, upper = watch.call(
        servers, lambda client, options: equal_ranges(client, of_rows, needles, order, options, step)
    )
    partitions = groups[-1].stop
    if is_split:
        places = partitioning.ends_of(partitioning.cuts(number, positions, lower, upper, limits), rows, partitions)
        begins, ends = places[:-1], places[1:]
    else:
        begins = partitioning.ends_of(lower, rows, partitions)[:-1]
        ends = partitioning.ends_of(np.where(limits.blocks < 0, lower, upper), rows, partitions)[1:]
    for group in groups:
        first, last = begins[group.start], ends[group.stop - 1]
        piece = positions[first:last]
        if takes:
            piece = own(table.slice(first, last - first)) if is_sorted else take_rows(table, piece)
        inside = slice(group.start, group.stop)
        yield Piece(piece, [each - first for each in begins[inside]], [each - first for each in ends[inside]])
    yield watch.done(rows, nbytes)


def own(table: Any) -> Any:
    """A slice of a table with memory of its own, so that Ray stores no more than the slice."""
    return take_rows(table, np.arange(table.num_rows))


def gather_group(keys: Keys, schema: Any, servers: Servers, *pieces_and_blocks: Any) -> Iterator[Any]:
    """Takes the rows of pieces that have only numbers from their blocks, which follow the pieces, and merges them."""
    watch = Watch("merge")
    count = len(pieces_and_blocks) // 2
    rows = [
        take_rows(block, piece.rows).cast(schema) if block.num_rows else schema.empty_table()
        for piece, block in zip(pieces_and_blocks[:count], pieces_and_blocks[count:])
    ]
    yield from _merged_group(watch, rows, pieces_and_blocks[:count], keys, servers)


def merge_group(keys: Keys, servers: Servers, *pieces: Piece) -> Iterator[Any]:
    """Merges what the blocks of a round have for a group of partitions: a table for each partition."""
    yield from _merged_group(Watch("merge"), [each.rows for each in pieces], pieces, keys, servers)


def _merged_group(
    watch: Watch, tables: Sequence[Any], pieces: Sequence[Piece], keys: Keys, servers: Servers
) -> Iterator[Any]:
    whole, positions = merged(watch, tables, keys, servers)
    begins, ends = (np.sum(places, axis=0) for places in zip(*((each.begins, each.ends) for each in pieces)))
    for begin, end in zip(begins, ends):
        yield take_rows(whole, positions[begin:end])
    yield watch.done(whole.num_rows, whole.nbytes)


def merge_runs(keys: Keys, servers: Servers, *runs: Any) -> tuple[Any, StageTime]:
    """Merges runs of one partition."""
    watch = Watch("reduce")
    whole, positions = merged(watch, runs, keys, servers)
    return take_rows(whole, positions), watch.done(whole.num_rows, whole.nbytes)


def merged(watch: Watch, tables: Sequence[Any], keys: Keys, servers: Servers) -> tuple[Any, np.ndarray]:
    """The rows of sorted tables one after the other, and their numbers in order."""
    of_rows = [keys.of(table) for table in tables]
    positions = watch.call(servers, lambda client, options: merge_order(client, of_rows, keys.order, options))
    return joined(tables), positions


def joined(tables: Sequence[Any]) -> Any:
    """The rows of tables one after the other, each column in one piece."""
    return pa.concat_tables(tables).combine_chunks()
