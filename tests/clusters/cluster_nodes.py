"""Nodes of Ray that also start on a busy machine, and waits for them that end with the log of a raylet."""

from __future__ import annotations

import inspect
import os
import pathlib
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from ray._private import services
from ray._raylet import (
    DASHBOARD_AGENT_LISTEN_PORT_NAME,
    METRICS_AGENT_PORT_NAME,
    METRICS_EXPORT_PORT_NAME,
    persist_port,
)
from ray.cluster_utils import Cluster

START_SECONDS = 300
_UNUSED = (DASHBOARD_AGENT_LISTEN_PORT_NAME, METRICS_AGENT_PORT_NAME, METRICS_EXPORT_PORT_NAME)
"""Ports of services that ray[data] does not have. Its agent writes so to files, for which a raylet waits only 15 s."""
_LOG_BYTES = 4_000


class NotStartedError(Exception):
    """The raylet of a node ended or took too long before the node was ready. The text has the end of its log."""


def set_environment() -> None:
    """Sets what the processes of Ray inherit, before the first of them starts."""
    # Workers import the modules of the tests too.
    paths = [str(pathlib.Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    # A raylet ends if its agents do not answer in this time, by default in 30 s.
    os.environ.setdefault("RAY_agent_register_timeout_ms", str(1_000 * START_SECONDS))
    # By default workers run with niceness 15, and starve beside a build.
    os.environ.setdefault("RAY_worker_niceness", "0")


def start_node(cluster: Cluster, **options: Any) -> Any:
    """Starts a node, the head if there is none, and starts it again if its raylet ends before it is ready.

    Raises:
        NotStartedError: it was not ready in time.
    """
    end = time.monotonic() + START_SECONDS
    while True:
        try:
            with _watched_raylet(end):
                return cluster.add_node(runtime_env_agent_port=_free_port(), **options)
        except NotStartedError:
            if time.monotonic() > end:
                raise


def replace_dead_nodes(cluster: Cluster, **options: Any) -> None:
    """Replaces the workers' nodes whose raylet has ended."""
    for node in list(cluster.worker_nodes):
        if not node.remaining_processes_alive():
            cluster.remove_node(node, allow_graceful=False)
            start_node(cluster, **options)


@contextmanager
def limit(seconds: float, cluster_logs: pathlib.Path) -> Iterator[None]:
    """Ends the block, in the main thread, after so many seconds.

    Raises:
        TimeoutError: the block took longer. The text has the ends of the raylets' logs in `cluster_logs`.
    """
    late = False

    def interrupt(*_: Any) -> None:
        nonlocal late
        late = True
        raise KeyboardInterrupt  # Ray's own waits end for no other exception

    handler = signal.signal(signal.SIGALRM, interrupt)
    start, (before, _) = time.monotonic(), signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except KeyboardInterrupt as error:
        if not late:
            raise
        logs = "\n".join(map(_end_of, sorted(cluster_logs.glob("raylet*"))))
        raise TimeoutError(f"not done after {seconds:g} s\n{logs}") from error
    finally:
        left = max(before - (time.monotonic() - start), 1e-3) if before else 0
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, left)


@contextmanager
def _watched_raylet(end: float) -> Iterator[None]:
    """Has Ray wait until `end` for the node that the block starts, rather than for 30 s, but only while it lives."""
    start, find = services.start_raylet, services.get_node
    signature = inspect.signature(start)
    raylets: list[Any] = []
    logs: list[pathlib.Path] = []

    def started(*arguments: Any, **options: Any) -> Any:
        given = signature.bind(*arguments, **options).arguments
        for name in _UNUSED:
            persist_port(given["session_dir"], given["node_id"], name, -1)
        raylets.append(start(*arguments, **options))
        logs.extend(pathlib.Path(given[f"raylet_{stream}_filepath"]) for stream in ("stdout", "stderr"))
        return raylets[-1]

    def found(*arguments: Any, **options: Any) -> Any:
        while True:
            try:
                return find(*arguments, **options)
            except RuntimeError:
                if raylets[-1].process.poll() is not None or time.monotonic() > end:
                    raise NotStartedError("\n".join(map(_end_of, logs))) from None
                time.sleep(0.1)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(services, "start_raylet", started)
        patch.setattr(services, "get_node", found)
        yield


def _free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("", 0))
        return int(bound.getsockname()[1])


def _end_of(log: pathlib.Path) -> str:
    """The last lines of a log that were written by its process, without its statistics."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    text = "\n".join(line for line in lines if line.startswith("[20"))
    return f"--- {log.name}\n{text[-_LOG_BYTES:]}"
