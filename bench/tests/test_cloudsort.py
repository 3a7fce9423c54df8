"""The prediction of a large sort."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "clusters"))

from cloudsort import Node, Work, simulate


@pytest.mark.parametrize(
    ("node", "work", "bound"),
    [
        # One resource is slow; it is busy nearly all of the time, and alone decides.
        (Node(cores=1, network_gb_s=1e6, read_gb_s=1e6, write_gb_s=1e6), Work(2, 3, 5), 1000 * 10),
        (Node(network_gb_s=1e6, read_gb_s=4, write_gb_s=2), Work(1e-6, 1e-6, 1e-6), 1000 / 2 + 1000 / 4),
        # It loads and receives by the same way in; what it sends out last comes after all of this.
        (Node(network_gb_s=2, read_gb_s=1e6, write_gb_s=1e6), Work(1e-6, 1e-6, 1e-6), 1000 / 2 * 1.9 + 1000 / 2),
    ],
)
def test_the_slowest_resource_decides(node: Node, work: Work, bound: float) -> None:
    seconds, busy = simulate(10_000, 10, node, work)
    assert bound <= seconds <= 1.1 * bound
    assert max(busy.values()) <= seconds


def test_twice_the_nodes_take_half_of_the_time() -> None:
    one, two = (simulate(100_000, nodes, Node(), Work(5, 3, 3))[0] for nodes in (40, 80))
    assert one / two == pytest.approx(2, rel=0.1)
