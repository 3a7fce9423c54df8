"""Faults that hit the first task of a phase once."""

from __future__ import annotations

import os
import pathlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import pytest
import ray
from cluster_nodes import start_node
from cluster_rows import NODE
from corank import _partitioning
from corank._ray_run import Run
from ray.cluster_utils import Cluster


class Faults:
    """Operations whose first run of a task suffers a fault.

    Args:
        monkeypatch: undoes it.
        name: the name of the task.
        folder: an empty folder.
        after: strike after the first result of the task rather than before its work.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str, folder: pathlib.Path, after: bool) -> None:
        self._marker = folder / "struck"
        start = Run.start
        self.fault: Any = None
        """Makes the fault, given the servers of the operation."""

        def struck(run: Any, task: Any, *arguments: Any, **options: Any) -> Any:
            if task.__name__ == name:
                task = hit(task, self.fault(run.servers), self._marker, after)
            return start(run, task, *arguments, **options)

        monkeypatch.setattr(Run, "start", struck)
        monkeypatch.setattr(_partitioning, "MOST_RUNS", 2)  # so that there are reduces

    def check(self, operation: Callable[[], None]) -> None:
        """Runs an operation, which checks its result."""
        operation()
        assert self._marker.exists()


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
    running: Future[None] = Future()

    def run() -> None:
        try:
            work()
            running.set_result(None)
        except BaseException as error:
            running.set_exception(error)

    # A test that fails meanwhile does not wait for it.
    threading.Thread(target=run, daemon=True).start()
    killed = False
    while not running.done():
        time.sleep(0.05)
        if not killed and request.exists():
            name = request.read_text()
            (node,) = [each for each in cluster.list_all_nodes() if each.node_id == name]
            cluster.remove_node(node, allow_graceful=False)
            start_node(cluster, **NODE)
            killed = True
    running.result()
    return killed
