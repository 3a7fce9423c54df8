"""Data sets, their right answers, and faults that hit the first task of a phase once."""

from __future__ import annotations

import os
import pathlib
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import ray
import ray.data
from ray.cluster_utils import Cluster

STORE_BYTES = 80 << 20
"""Ray takes no smaller store than 75 MiB."""
NODE: dict[str, Any] = {"num_cpus": 1, "object_store_memory": STORE_BYTES}

Order = dict[str, bool]
"""Key columns, and whether each is descending."""


def blocks(count: int, rows: int, seed: int = 0) -> list[Any]:
    """Tables with ties, nulls, NaN and strings, and columns that name each row."""
    rng = np.random.default_rng(seed)
    out = []
    for block in range(count):
        floats = pa.array(rng.choice([np.nan, 0.0, -0.0, 1.5, -7.0], rows))
        out.append(
            pa.table(
                {
                    "number": pc.if_else(
                        pa.array(rng.random(rows) < 0.05), None, pa.array(rng.integers(-50, 50, rows))
                    ),
                    "float": floats,
                    "name": pa.array([f"name-{each}" for each in rng.integers(0, 300, rows)]),
                    "time": pa.array(rng.integers(0, 10**12, rows)).view(pa.timestamp("us")),
                    "block": pa.array(np.full(rows, block)),
                    "row": pa.array(np.arange(rows)),
                }
            )
        )
    return out


def expected(tables: list[Any], order: Order, nulls: str = "last") -> Any:
    """The rows in pyarrow's stable order."""
    whole = pa.concat_tables(tables)
    keys = [(name, "descending" if down else "ascending") for name, down in order.items()]
    place = "at_start" if nulls == "first" else "at_end"
    return whole.take(pc.sort_indices(whole, sort_keys=keys, null_placement=place))


def rows_of(ds: ray.data.Dataset) -> Any:
    return pa.concat_tables(ray.get(ds.to_arrow_refs()))


def same(found: Any, wanted: Any) -> bool:
    """Whether all rows are the same, NaN included."""
    if found.num_rows != wanted.num_rows or found.column_names != wanted.column_names:
        return False
    for name in wanted.column_names:
        ours, theirs = found[name].combine_chunks(), wanted[name].combine_chunks()
        if pa.types.is_floating(theirs.type):
            ours, theirs = (each.view(pa.int64()) for each in (ours, theirs))
        if not ours.equals(theirs):
            return False
    return True


def hit(task: Any, fault: Callable[[], None], marker: pathlib.Path, after: bool) -> Any:
    """The task, whose first run suffers the fault: before its work, or after its first result."""

    def faulty(*arguments: Any) -> Iterator[Any]:
        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
            strikes = True
        except FileExistsError:
            strikes = False
        if strikes and not after:
            fault()
        for result in task(*arguments):
            yield result
            if strikes:
                strikes = False
                if after:
                    fault()

    faulty.__name__ = task.__name__
    return faulty


def kill_worker() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def kill_server(servers: Any) -> Callable[[], None]:
    """Kills the corankd of the task's node."""

    def fault() -> None:
        server = servers.of_node(ray.get_runtime_context().get_node_id())
        os.kill(ray.get(server.pid.remote()), signal.SIGKILL)

    return fault


def ask_for_end_of_node(request: pathlib.Path) -> Callable[[], None]:
    """Asks the driver to kill the task's node, and waits for it."""

    def fault() -> None:
        made = request.with_suffix(".new")
        made.write_text(ray.get_runtime_context().get_node_id())
        made.rename(request)
        while True:
            time.sleep(1)

    return fault


def run_while_killing(cluster: Cluster, request: pathlib.Path, work: Callable[[], None]) -> bool:
    """Runs `work`, kills the node that a task names in a file, and starts another; whether it did.

    Nodes start in the main thread only, so the work runs in another.
    """
    killed = False
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(work)
        while not running.done():
            time.sleep(0.05)
            if not killed and request.exists():
                name = request.read_text()
                (node,) = [each for each in cluster.list_all_nodes() if each.node_id == name]
                cluster.remove_node(node, allow_graceful=False)
                cluster.add_node(**NODE)
                killed = True
        running.result()
    return killed
