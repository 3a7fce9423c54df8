"""The tasks of a distributed group_by: blocks become partial results, which are cut by their keys and combined."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from corank import _partitioning as partitioning
from corank._arrow_rows import take_rows
from corank._partials import Aggregates
from corank._partitioning import SAMPLES, Boundaries
from corank._ray_servers import Servers
from corank._ray_tasks import Keys, Sample, StageTime, Watch, own, sampled, weights_of
from corank._table_order import equal_ranges, sort_groups
from corank._table_sorts import calls_of


def group_boundaries(
    samples: Sequence[Sample], keys: Keys, partitions: int, is_most: bool, servers: Servers
) -> tuple[Boundaries, StageTime]:
    """The keys at which the partitions begin, each once.

    Args:
        samples: samples of all blocks.
        keys: the keys.
        partitions: how many partitions there are.
        is_most: make fewer where the samples have few keys.
        servers: the servers.
    """
    watch = Watch("plan")
    found = sampled(samples, keys)
    weights = weights_of(samples, [each.block_rows for each in samples])
    order, starts = watch.call(servers, lambda client, options: sort_groups(client, found.keys, keys.order, options))
    heads = np.zeros(order.size, np.bool_)
    heads[starts] = True
    # A block has one partial result for all its rows of a key.
    blocks = found.blocks[order]
    is_kept = heads | np.concatenate([[True], blocks[1:] != blocks[:-1]])[: order.size]
    group_of = np.empty(order.size, np.int64)
    group_of[order] = np.cumsum(heads) - 1
    if is_most:
        partitions = min(partitions, -(-starts.size // SAMPLES))
    chosen = partitioning.boundary_places(order[is_kept], weights, partitions)
    groups = np.unique(group_of[chosen])
    places = order[starts[groups[groups > 0]]]
    limits = Boundaries(take_rows(found.keys, places), found.blocks[places].astype(np.int64), found.rows[places])
    return limits, watch.done(found.keys.num_rows, found.keys.nbytes)


def _starts(watch: Watch, table: Any, limits: Any, aggregates: Aggregates, servers: Servers) -> np.ndarray:
    """Where these keys begin in partial results."""
    order = aggregates.order
    keys, needles = table.select(list(order.keys)), limits.rename_columns(list(order.keys))
    found = watch.call(servers, lambda client, options: equal_ranges(client, keys, needles, order, options))
    return np.asarray(found[0])


def group_block(
    block: Any,
    schema: Any,
    limits: Boundaries,
    groups: Sequence[range],
    aggregates: Aggregates,
    servers: Servers,
) -> Iterator[Any]:
    """The partial results of a block: a table for each group of partitions."""
    watch = Watch("map")
    rows, nbytes = block.num_rows, block.nbytes
    table = block.cast(schema) if rows else schema.empty_table()
    found = watch.call(servers, lambda client, options: aggregates.partial(calls_of(client, options), table))
    starts = _starts(watch, found, limits.keys, aggregates, servers)
    ends = partitioning.ends_of(starts, found.num_rows, groups[-1].stop)
    for group in groups:
        yield own(found.slice(ends[group.start], ends[group.stop] - ends[group.start]))
    yield watch.done(rows, nbytes)


def combine_group(
    group: range, limits: Boundaries, aggregates: Aggregates, servers: Servers, is_last: bool, *pieces: Any
) -> Iterator[Any]:
    """Combines what the blocks of a round have for a group of partitions: a table for each partition."""
    watch = Watch("merge")
    found = watch.call(servers, lambda client, options: aggregates.combined(calls_of(client, options), pieces))
    inner = limits.keys.slice(group.start, len(group) - 1)
    ends = partitioning.ends_of(_starts(watch, found, inner, aggregates, servers), found.num_rows, len(group))
    for begin, end in zip(ends, ends[1:]):
        part = own(found.slice(begin, end - begin))
        yield aggregates.result(part) if is_last else part
    yield watch.done(sum(each.num_rows for each in pieces), sum(each.nbytes for each in pieces))


def combine_runs(aggregates: Aggregates, servers: Servers, is_last: bool, *runs: Any) -> tuple[Any, StageTime]:
    """Combines partial results of one partition; the last ones become results."""
    watch = Watch("reduce")
    found = watch.call(servers, lambda client, options: aggregates.combined(calls_of(client, options), runs))
    done = watch.done(sum(each.num_rows for each in runs), sum(each.nbytes for each in runs))
    return aggregates.result(found) if is_last else found, done
