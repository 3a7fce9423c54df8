"""Sorts and merges data sets of Ray by corank servers.

    import corank.ray

    ordered = corank.ray.sort(ds, key="time")

Ray carries the rows between tasks, keeps them in its object store and spills them; the servers compare keys. Needs
ray[data] 2.60 or newer.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Sequence
from typing import Any, Callable, Literal

import pyarrow as pa
import ray
import ray.data
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from corank import _ray_tasks as tasks
from corank._errors import Aborted, DeadlineExceeded, ResourceExhausted, Unavailable
from corank._key_digits import Order, order_of
from corank._partitioning import MERGE_BYTES, SAMPLES, Plan, merge_levels, plan_of
from corank._ray_servers import Servers, servers_of
from corank._ray_tasks import StageTime

__all__ = ["StageTime", "merge", "sort"]

_RETRIES = 5
_ROUNDS_IN_FLIGHT = 2
_SHARES = 4
"""A merge takes at most this part of the object store that is there for each core of its node."""
RESOURCE = "corank"
"""If nodes of the cluster have this custom resource, each task that calls a server takes 1 of it."""


def sort(
    ds: ray.data.Dataset,
    key: str | Sequence[str],
    descending: bool | Sequence[bool] = False,
    nulls: Literal["first", "last"] = "last",
    partitions: int | None = None,
    servers: str | Sequence[str] = "local",
    deadline: float | None = None,
    on_stats: Callable[[list[StageTime]], object] | None = None,
) -> ray.data.Dataset:
    """Sorts the rows of a data set by one or more columns. Stable in both directions.

    The order is that of pyarrow's sort: NaN comes next to the nulls, and -0.0 equals +0.0. The call returns when all
    rows are sorted. Partitions are alike in size even where many rows share a key.

    Args:
        ds: the data set.
        key: the column or columns to compare, the most significant first: numbers, bools, dates, times, strings or
            binaries.
        descending: greatest first, in all columns or, as a sequence, in each.
        nulls: "last" or "first": where rows go whose key is null, in both directions.
        partitions: the number of blocks of the result; None: as many as `ds` has.
        servers: "local": the server in CORANK_SERVER of each node, or else a corankd that an actor starts there, from
            CORANKD or PATH, until the sort has ended. Or the address of a server, or several, which take turns.
        deadline: seconds until the sort raises DeadlineExceeded, more than 0; None: no limit.
        on_stats: a function that is called once with what each task took.

    Returns:
        A materialized data set.

    Raises:
        ValueError: a key is no column, or an option does not fit the others.
        TypeError: a column has no order.
        CorankError: a server failed, and went on to fail when Ray tried again.
    """
    order = order_of(key, descending, nulls)
    found = servers_of(servers, _name(), deadline)
    return _sorted(ds.to_arrow_refs(), order, partitions, found, False, on_stats) or ds.materialize()


def merge(
    datasets: Sequence[ray.data.Dataset],
    key: str | Sequence[str],
    descending: bool | Sequence[bool] = False,
    nulls: Literal["first", "last"] = "last",
    partitions: int | None = None,
    servers: str | Sequence[str] = "local",
    deadline: float | None = None,
    on_stats: Callable[[list[StageTime]], object] | None = None,
) -> ray.data.Dataset:
    """Merges data sets that are sorted, without sorting them again. Rows of an earlier one come first among equals.

    Args:
        datasets: one data set or more. Each block of each must be sorted in the order that the other arguments name.
        key: as for `sort`.
        descending: as for `sort`.
        nulls: as for `sort`.
        partitions: the number of blocks of the result; None: as many as all of `datasets` have.
        servers: as for `sort`.
        deadline: as for `sort`.
        on_stats: as for `sort`.

    Returns:
        A materialized data set.

    Raises:
        InvalidArgument: a block is not sorted.
    """
    order = order_of(key, descending, nulls)
    given = list(datasets)
    if not given:
        raise ValueError("datasets: needs one or more to merge")
    found = servers_of(servers, _name(), deadline)
    refs = [ref for ds in given for ref in ds.to_arrow_refs()]
    return _sorted(refs, order, partitions, found, True, on_stats) or given[0].materialize()


def _name() -> str:
    return f"corank-server-{uuid.uuid4().hex[:12]}"


def _sorted(
    refs: list[Any],
    order: Order,
    partitions: int | None,
    servers: Servers,
    is_sorted: bool,
    on_stats: Callable[[list[StageTime]], object] | None,
) -> ray.data.Dataset | None:
    """The blocks in order; None: there are no rows."""
    if partitions is not None and (isinstance(partitions, bool) or int(partitions) < 1):
        raise ValueError(f"partitions: {partitions!r}; pass 1 or more, or None")
    run = _Run(order, servers, is_sorted)
    handles = servers.start()
    try:
        blocks = run.sort(refs, len(refs) if partitions is None else int(partitions))
        if blocks is None:
            return None
        made = ray.data.from_arrow_refs(blocks)
        if on_stats is not None:
            on_stats(run.times)
        return made
    except ray.exceptions.RayTaskError as error:
        run.cancel()
        raise error.cause if isinstance(error.cause, Exception) else error from error
    except BaseException:
        run.cancel()
        raise
    finally:
        for handle in handles:
            ray.kill(handle)


class _Run:
    """One sort on the cluster."""

    def __init__(self, order: Order, servers: Servers, is_sorted: bool) -> None:
        self._order, self._servers, self._is_sorted = order, servers, is_sorted
        self._pending: set[Any] = set()
        self.times: list[StageTime] = []
        total = ray.cluster_resources()
        alive = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) > 0]
        self._cores = max(1, int(total.get("CPU", 1)))
        self._nodes = sorted(node["NodeID"] for node in alive)
        # The inputs and results of the tasks that run at the same time must fit into the object store of their node.
        stores = [
            node["Resources"].get("object_store_memory", math.inf) / max(1, node["Resources"]["CPU"]) for node in alive
        ]
        self._merge_bytes = min([MERGE_BYTES, *(store / _SHARES for store in stores)])
        self._resources = {RESOURCE: 1} if total.get(RESOURCE, 0) >= 1 else None

    def _start(
        self, task: Any, arguments: Sequence[Any], results: int, calls: bool = True, at: int | None = None
    ) -> Any:
        """Starts a task of so many results and its StageTime."""
        options: dict[str, Any] = {
            "num_returns": results + 1,
            "max_retries": _RETRIES,
            "retry_exceptions": [Unavailable, Aborted, ResourceExhausted, ray.exceptions.RayActorError],
        }
        if calls and self._resources:
            options["resources"] = self._resources
        if at is not None and len(self._nodes) > 1:
            node = self._nodes[at % len(self._nodes)]
            options["scheduling_strategy"] = NodeAffinitySchedulingStrategy(node, soft=True)
        made = ray.remote(task).options(**options).remote(*arguments)
        self._pending.add(made[-1])
        return made

    def _wait(self, refs: Sequence[Any]) -> None:
        """Waits until tasks have ended; raises what one of them raised as soon as it did."""
        left = self._pending.intersection(refs)
        while left:
            limit = self._servers.options().get("deadline")
            ready, _ = ray.wait(list(self._pending), num_returns=1, timeout=limit, fetch_local=False)
            if not ready:
                raise DeadlineExceeded(
                    "deadline: the sort took longer; raise deadline=, or give the cluster more workers"
                )
            for ref in ready:
                self.times.append(ray.get(ref))
                self._pending.discard(ref)
                left.discard(ref)

    def cancel(self) -> None:
        """Has Ray forget the tasks that have not ended."""
        for ref in self._pending:
            ray.cancel(ref)
        self._pending.clear()

    def sort(self, refs: list[Any], partitions: int) -> list[Any] | None:
        samples = self._samples(refs, partitions)
        schemas = [each.schema for each in samples if each.schema is not None]
        if not schemas:
            return None
        schema = pa.unify_schemas(schemas, promote_options="permissive")
        total, nbytes = sum(each.block_rows for each in samples), sum(each.nbytes for each in samples)
        if total == 0:
            return None
        limits, ended = self._start(tasks.boundaries, [samples, schema, partitions, self._order, self._servers], 1)
        self._wait([ended])
        plan = plan_of(len(refs), partitions, self._cores, nbytes / len(refs), self._merge_bytes)
        return self._rows(refs, schema, limits, plan)

    def _samples(self, refs: list[Any], partitions: int) -> list[tasks.Sample]:
        if not refs:
            return []
        wanted = -(-SAMPLES * partitions // len(refs))
        started = [
            self._start(tasks.sample, [ref, number, wanted, self._order], 1, calls=False)
            for number, ref in enumerate(refs)
        ]
        self._wait([ended for _, ended in started])
        return list(ray.get([found for found, _ in started]))

    def _rows(self, refs: list[Any], schema: Any, limits: Any, plan: Plan) -> list[Any]:
        """Maps and merges in rounds, then reduces."""
        runs: list[list[Any]] = [[] for _ in range(plan.groups[-1].stop)]
        merging: list[list[Any]] = []
        for blocks in plan.rounds:
            if len(merging) >= _ROUNDS_IN_FLIGHT:
                self._wait(merging.pop(0))
            merging.append(self._round(refs, blocks, schema, limits, plan, runs))
        for ends in merging:
            self._wait(ends)
        return self._reduced(runs)

    def _round(
        self, refs: list[Any], blocks: range, schema: Any, limits: Any, plan: Plan, runs: list[list[Any]]
    ) -> list[Any]:
        """Starts the tasks of a round; what ends with its merges."""
        pieces = []
        for number in blocks:
            arguments = [refs[number], number, schema, limits, plan.groups, self._order, self._is_sorted, self._servers]
            pieces.append(self._start(tasks.cut_block, arguments, len(plan.groups)))
        ended = [made[-1] for made in pieces]
        for at, group in enumerate(plan.groups):
            arguments = [len(group), self._order, self._servers, *(made[at] for made in pieces)]
            made = self._start(tasks.merge_group, arguments, len(group), at=at)
            for partition, run in zip(group, made):
                runs[partition].append(run)
            ended.append(made[-1])
        return ended

    def _reduced(self, runs: list[list[Any]]) -> list[Any]:
        """Merges the runs of each partition, one from each round."""
        for level in merge_levels(len(runs[0])):
            ended = []
            for at, of_partition in enumerate(runs):
                merged = []
                for part in level:
                    if len(part) == 1:
                        merged.append(of_partition[part.start])
                        continue
                    arguments = [self._order, self._servers, *of_partition[part.start : part.stop]]
                    made, end = self._start(tasks.merge_runs, arguments, 1)
                    merged.append(made)
                    ended.append(end)
                runs[at] = merged
            self._wait(ended)
        return [each for (each,) in runs]
