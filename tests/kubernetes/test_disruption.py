"""Who may end the servers' pods: the PodDisruptionBudget, and the drain of a node."""

from __future__ import annotations

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
        assert [release.evict(pod) for pod in release.servers()] == [""] * len(release.servers())


def test_drain_of_a_node_moves_its_servers_one_at_a_time(plane: ControlPlane) -> None:
    with namespace(plane, "drains") as where:
        release = Release(plane, where)
        release.helm("install", "--set=replicas=4")
        wait_healthy(release, 4, 4, 1)
        try:
            drained = plane.kubectl("drain", "gpu-1", "--ignore-daemonsets", "--timeout=60s")
            assert "Cannot evict pod" in drained.stderr
            wait_healthy(release, 4, 4, 1)
            assert {pod["spec"]["nodeName"] for pod in release.servers()} == {"gpu-2"}
        finally:
            plane.kubectl("uncordon", "gpu-1")
