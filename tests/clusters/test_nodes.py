"""The tests' own nodes: they start again, and no wait for them is without end."""

from __future__ import annotations

import functools
import os
import pathlib
import time
from typing import Any

import pytest
import ray
from cluster_nodes import NotStartedError, limit, replace_dead_nodes, start_node
from cluster_rows import NODE
from ray._private import services
from ray._private.ray_constants import PROCESS_TYPE_RAYLET
from ray.cluster_utils import Cluster
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy


def test_a_node_whose_raylet_dies_early_starts_again(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    start = services.start_raylet
    started: list[Any] = []

    @functools.wraps(start)
    def doomed(*arguments: Any, **options: Any) -> Any:
        started.append(start(*arguments, **options))
        if len(started) == 1:
            started[0].process.kill()
        return started[-1]

    monkeypatch.setattr(services, "start_raylet", doomed)
    node = start_node(cluster, **NODE)
    assert len(started) == 2
    assert node.node_id in {each["NodeID"] for each in ray.nodes() if each["Alive"]}
    cluster.remove_node(node, allow_graceful=False)


def node_of_task() -> str:
    return str(ray.get_runtime_context().get_node_id())


def test_a_node_is_ready_before_its_agents_are(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    may_start = tmp_path / "may start"
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys, time\n"
        "while any(each.endswith(('/agent.py', '/agent/main.py')) for each in sys.orig_argv):\n"
        f"    if os.path.exists({str(may_start)!r}) or os.getppid() == 1:\n"
        "        break\n"
        "    time.sleep(0.1)\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]]))
    node = start_node(cluster, **NODE)
    may_start.touch()
    at_node = NodeAffinitySchedulingStrategy(node.node_id, soft=False)
    place = ray.remote(node_of_task).options(scheduling_strategy=at_node).remote()
    assert ray.get(place) == node.node_id
    cluster.remove_node(node, allow_graceful=False)


def test_a_dead_node_is_replaced(cluster: Cluster) -> None:
    dead, living = cluster.worker_nodes
    raylet = dead.all_processes[PROCESS_TYPE_RAYLET][0].process
    raylet.kill()
    raylet.wait()
    replace_dead_nodes(cluster, **NODE)
    assert len(cluster.worker_nodes) == 2
    assert living in cluster.worker_nodes
    assert dead not in cluster.worker_nodes


def test_a_wait_without_end_fails_with_the_log_of_the_raylet(cluster: Cluster, tmp_path: pathlib.Path) -> None:
    def sleep() -> None:
        while True:
            time.sleep(0.1)

    (tmp_path / "raylet.out").write_text("[2000-01-01] the reason\n[state-dump] figures\n")
    endless = ray.remote(sleep).options(num_cpus=0).remote()
    with limit(600, tmp_path), pytest.raises(TimeoutError) as failed, limit(0.5, tmp_path):
        ray.get(endless)
    assert str(failed.value).splitlines() == ["not done after 0.5 s", "--- raylet.out", "[2000-01-01] the reason"]
    ray.cancel(endless, force=True)


def test_a_node_that_never_starts_fails_with_its_log(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    start = services.start_raylet

    @functools.wraps(start)
    def doomed(*arguments: Any, **options: Any) -> Any:
        made = start(*arguments, **options)
        made.process.kill()
        return made

    monkeypatch.setattr(services, "start_raylet", doomed)
    monkeypatch.setattr("cluster_nodes.START_SECONDS", 0)
    with pytest.raises(NotStartedError, match=r"--- raylet.*\.err"):
        start_node(cluster, **NODE)
    assert len(cluster.worker_nodes) == 2
