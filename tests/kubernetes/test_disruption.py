"""Who may end the servers' pods: the PodDisruptionBudget, and the drain of a node."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from control_plane import ControlPlane
from releases import Release, namespace, ready, values

NODES = ["cpu-1", "gpu-1", "gpu-2"]


@contextmanager
def no_new_pods(plane: ControlPlane) -> Iterator[None]:
    """Pods that replace others stay pending."""
    plane.kubectl("cordon", *NODES)
    try:
        yield
    finally:
        plane.kubectl("uncordon", *NODES)


def healthy(release: Release) -> tuple[int, int, int]:
    """What the budget counts: pods that are ready, that there should be, and that may go."""
    (budget,) = release.get("poddisruptionbudgets")
    status = budget["status"]
    return status["currentHealthy"], status["expectedPods"], status["disruptionsAllowed"]


def wait_healthy(release: Release, *wanted: int) -> None:
    release.plane.wait_until("the budget's count", wanted, lambda: healthy(release))


def test_second_eviction_is_refused_until_the_pod_is_replaced(plane: ControlPlane) -> None:
    with namespace(plane, "evictions") as where:
        release = Release(plane, where)
        release.helm("install")
        wait_healthy(release, 2, 2, 1)
        first, second = release.servers()
        with no_new_pods(plane):
            assert not release.evict(first)
            wait_healthy(release, 1, 2, 0)
            assert "Cannot evict pod as it would violate the pod's disruption budget" in release.evict(second)
            assert ready(second)
        wait_healthy(release, 2, 2, 1)
        assert not release.evict(second)


def test_larger_budget_admits_more_evictions(plane: ControlPlane) -> None:
    with namespace(plane, "budgets") as where:
        release = Release(plane, where)
        release.helm("install", "--set=replicas=4,podDisruptionBudget.maxUnavailable=50%")
        wait_healthy(release, 4, 4, 2)
        pods = release.servers()
        with no_new_pods(plane):
            assert [bool(release.evict(pod)) for pod in pods] == [False, False, True, True]


@pytest.mark.parametrize("example", ["small", "same-node-daemonset"])
def test_sets_without_a_budget_let_every_pod_go(plane: ControlPlane, example: str) -> None:
    with namespace(plane, f"unbound-{example}", "privileged") as where:
        release = Release(plane, where)
        release.helm("install", *values(example))
        assert release.get("poddisruptionbudgets") == []
        pods = release.servers()
        assert [release.evict(pod) for pod in pods] == [""] * len(pods)


@contextmanager
def drained(plane: ControlPlane, node: str, seconds: int) -> Iterator[subprocess.CompletedProcess[str]]:
    """Drains a node, and ends that afterwards."""
    try:
        yield plane.kubectl("drain", node, "--ignore-daemonsets", f"--timeout={seconds}s", check=False)
    finally:
        plane.kubectl("uncordon", node)


def test_drain_moves_servers_to_other_nodes(plane: ControlPlane) -> None:
    with namespace(plane, "drains") as where:
        release = Release(plane, where)
        release.helm("install", "--set=replicas=4")
        wait_healthy(release, 4, 4, 1)
        with drained(plane, "gpu-1", 60) as ended:
            assert ended.returncode == 0, ended.stderr
            wait_healthy(release, 4, 4, 1)
            assert {pod["spec"]["nodeName"] for pod in release.servers()} == {"gpu-2"}


def test_drain_stops_where_moved_servers_find_no_node(plane: ControlPlane) -> None:
    with namespace(plane, "drains") as where:
        release = Release(plane, where)
        release.helm("install", "--set=replicas=4,nodeSelector.kubernetes\\.io/hostname=gpu-1")
        wait_healthy(release, 4, 4, 1)
        with drained(plane, "gpu-1", 10) as ended:
            assert ended.returncode != 0
            assert "Cannot evict pod as it would violate the pod's disruption budget" in ended.stderr
            assert sum(ready(pod) for pod in release.servers()) == 3
        wait_healthy(release, 4, 4, 1)
