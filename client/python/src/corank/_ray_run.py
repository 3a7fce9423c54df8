"""The driver of a distributed operation: it starts tasks, waits for them and notes what they took."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Callable

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from corank import _ray_tasks as tasks
from corank._errors import Aborted, DeadlineExceeded, ResourceExhausted, Unavailable
from corank._key_columns import Order
from corank._partitioning import MERGE_BYTES, SAMPLES, Plan, merge_levels, plan_of
from corank._ray_servers import LATE, Servers
from corank._ray_tasks import StageTime

_RETRIES = 5
_ROUNDS_IN_FLIGHT = 2
_FLIGHT = 0.6
"""The tasks that run or wait take and make at most this part of the cluster's object stores.

Ray also fetches the arguments of tasks that wait for a core. If these fill a store, Ray finds nothing to spill, and
every result waits 2 s until Ray stores it outside.
"""
_SHARES = 4
"""A merge takes at most this part of the object store that is there for each core of its node."""
_REACH = 3
"""Tasks gather rows from blocks of at most this part of the object store, which also takes the rows that they make."""
RESOURCE = "corank"
"""If nodes of the cluster have this custom resource, each task that calls a server takes 1 of it."""

Call = tuple[Any, Sequence[Any]]
"""A task and its arguments."""


def reach_bytes(nodes: Sequence[Any]) -> float:
    """The most bytes of blocks from which tasks gather rows.

    The tasks of a single node read its blocks in place. On more nodes, Ray would copy whole blocks between them.
    """
    return nodes[0]["Resources"].get("object_store_memory", math.inf) / _REACH if len(nodes) == 1 else 0


class Run:
    """One operation on the cluster."""

    def __init__(self, servers: Servers) -> None:
        self.servers = servers
        self._pending: dict[Any, float] = {}
        """The ends of the tasks that run or wait, and the bytes that each takes and makes."""
        self.times: list[StageTime] = []
        total = ray.cluster_resources()
        alive = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) > 0]
        self._cores = max(1, int(total.get("CPU", 1)))
        self._nodes = sorted(node["NodeID"] for node in alive)
        # The inputs and results of the tasks that run at the same time must fit into the object store of their node.
        stores = [
            node["Resources"].get("object_store_memory", math.inf) / max(1, node["Resources"]["CPU"]) for node in alive
        ]
        self.merge_bytes = int(min([MERGE_BYTES, *(store / _SHARES for store in stores)]))
        self._reach_bytes = reach_bytes(alive)
        self._flight_bytes = _FLIGHT * sum(node["Resources"].get("object_store_memory", math.inf) for node in alive)
        self._resources = {RESOURCE: 1} if total.get(RESOURCE, 0) >= 1 else None

    def start(
        self,
        task: Any,
        arguments: Sequence[Any],
        results: int,
        calls: bool = True,
        at: int | None = None,
        nbytes: float = 0,
    ) -> Any:
        """Starts a task of so many results and its StageTime, when there is room for what it takes and makes."""
        while self._pending and sum(self._pending.values()) + nbytes > self._flight_bytes:
            self._wait_for_one()
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
        self._pending[made[-1]] = nbytes
        return made

    def wait(self, refs: Sequence[Any]) -> None:
        """Waits until tasks have ended; raises what one of them raised as soon as it did."""
        while not self._pending.keys().isdisjoint(refs):
            self._wait_for_one()

    def _wait_for_one(self) -> None:
        limit = self.servers.options().get("deadline")
        ready, _ = ray.wait(list(self._pending), num_returns=1, timeout=limit, fetch_local=False)
        if not ready:
            raise DeadlineExceeded(LATE)
        for ref in ready:
            del self._pending[ref]
            self.times.append(self.get(ref))

    def get(self, refs: Any) -> Any:
        """What Ray holds for one reference, or for each of a list. It may first have to run a lost task again.

        Raises:
            DeadlineExceeded: that took too long.
        """
        try:
            return ray.get(refs, timeout=self.servers.options().get("deadline"))
        except ray.exceptions.GetTimeoutError:
            raise DeadlineExceeded(LATE) from None

    def cancel(self) -> None:
        """Has Ray forget the tasks that have not ended.

        Ray 2.60 aborts the whole process if it cancels a task whose results have just arrived, so those are left out.
        """
        pending = list(self._pending)
        self._pending.clear()
        if pending:
            _, running = ray.wait(pending, num_returns=len(pending), timeout=0, fetch_local=False)
            for ref in running:
                ray.cancel(ref)

    def result(self, task: Any, arguments: Sequence[Any]) -> Any:
        """The only result of a task, which has ended."""
        made, ended = self.start(task, arguments, 1)
        self.wait([ended])
        return made

    def samples(self, refs: Sequence[Any], partitions: int, order: Order) -> list[tasks.Sample]:
        """A sample of each block, enough for so many partitions."""
        if not refs:
            return []
        wanted = -(-SAMPLES * partitions // len(refs))
        share = self._flight_bytes / (2 * self._cores)  # nobody knows the size of a block yet
        started = [
            self.start(tasks.sample, [ref, number, wanted, order], 1, calls=False, nbytes=share)
            for number, ref in enumerate(refs)
        ]
        self.wait([ended for _, ended in started])
        return list(self.get([found for found, _ in started]))

    def reaches(self, nbytes: float) -> bool:
        """Whether tasks may gather rows from blocks of so many bytes in all."""
        return nbytes <= self._reach_bytes

    def plan(self, blocks: int, partitions: int, nbytes: float, gathers: bool) -> Plan:
        """The rounds of so many blocks of so many bytes in all."""
        return plan_of(blocks, partitions, self._cores, nbytes / blocks, self.merge_bytes, gathers, self._flight_bytes)

    def rounds(
        self,
        refs: Sequence[Any],
        plan: Plan,
        sizes: Sequence[float],
        cut: Callable[[Any, int], Call],
        merge: Callable[[range, Sequence[Any], Sequence[Any]], Call],
    ) -> list[list[Any]]:
        """Cuts blocks and merges their pieces, round by round.

        Args:
            refs: the blocks.
            plan: the rounds, and the groups of partitions.
            sizes: the bytes of the blocks.
            cut: the task that cuts a block, of this number, into a piece for each group.
            merge: the task that merges pieces of a group, in the order of their blocks, into a run for each of its
                partitions. It is told which blocks these are.

        Returns:
            The runs of each partition, one from each round.
        """
        runs: list[list[Any]] = [[] for _ in range(plan.groups[-1].stop)]
        merging: list[list[Any]] = []
        moved = 0 if plan.gathers else 2  # blocks from which tasks gather rows, and what these tasks make, fit anyway
        for blocks in plan.rounds:
            if len(merging) >= _ROUNDS_IN_FLIGHT:
                self.wait(merging.pop(0))
            pieces = [
                self.start(*cut(refs[number], number), len(plan.groups), nbytes=moved * sizes[number])
                for number in blocks
            ]
            ended = [made.pop() for made in pieces]
            nbytes = moved * sum(sizes[number] for number in blocks) / len(runs)
            for at, group in enumerate(plan.groups):
                # Ray frees a piece after its merge only if nothing here refers to it.
                made = self.start(
                    *merge(group, [each.pop(0) for each in pieces], [refs[number] for number in blocks]),
                    len(group),
                    at=at,
                    nbytes=nbytes * len(group),
                )
                for partition, run in zip(group, made):
                    runs[partition].append(run)
                ended.append(made[-1])
            merging.append(ended)
        for ends in merging:
            self.wait(ends)
        return runs

    def reduced(
        self,
        runs: list[list[Any]],
        nbytes: float,
        merge: Callable[[Sequence[Any], bool], Call],
        leaves_last: bool = False,
    ) -> list[list[Any]]:
        """Merges the runs of each partition, level by level.

        Args:
            runs: the runs of each partition, as many for each.
            nbytes: the bytes of all of them.
            merge: the task that merges runs into one, and is told whether this is the last level.
            leaves_last: leave out the last level, so that up to MOST_RUNS runs of each partition are left.
        """
        levels = merge_levels(len(runs[0]))
        moved = 2 * nbytes / len(runs)
        for number, level in enumerate(levels[:-1] if leaves_last else levels):
            ended, out = [], []
            for of_partition in runs:
                merged = []
                for part in level:
                    if len(part) == 1:
                        merged.append(of_partition[part.start])
                        continue
                    call = merge(of_partition[part.start : part.stop], number + 1 == len(levels))
                    made, end = self.start(*call, 1, nbytes=moved / len(level))
                    merged.append(made)
                    ended.append(end)
                out.append(merged)
            runs = out
            self.wait(ended)
        return runs
