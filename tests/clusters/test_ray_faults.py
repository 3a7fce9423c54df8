"""corank.ray while workers, nodes and servers are killed in each phase: the answer is right."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import corank.ray
import pyarrow as pa
import pytest
import ray.data
from cluster_faults import Faults, ask_for_end_of_node, kill_server, kill_worker, run_while_killing
from cluster_rows import blocks, expected, joined, rows_of, same
from corank._ray_servers import Servers
from ray.cluster_utils import Cluster

PHASES = {
    "sort": {
        "sample": "sample",
        "plan": "boundaries",
        "map": "cut_block",
        "merge": "merge_group",
        "reduce": "merge_runs",
    },
    "group_by": {
        "plan": "group_boundaries",
        "map": "group_block",
        "merge": "combine_group",
        "reduce": "combine_runs",
    },
    "join": {
        "plan": "join_boundaries",
        "map": "cut_block",
        "merge": "merge_group",
        "reduce": "merge_runs",
        "join": "join_partition",
    },
}
"""The task of each phase. All operations begin with the same samples."""
CASES = [(operation, phase) for operation, phases in PHASES.items() for phase in phases]


def sort() -> None:
    tables = blocks(5, 2_000)
    ordered = corank.ray.sort(ray.data.from_arrow(tables), ["number", "name"], deadline=300)
    assert same(rows_of(ordered), expected(tables, {"number": False, "name": False}))


def group_by() -> None:
    tables = blocks(5, 2_000)
    found = rows_of(corank.ray.group_by(ray.data.from_arrow(tables), "name", deadline=300).agg("count", ("row", "sum")))
    wanted = pa.concat_tables(tables).group_by("name").aggregate([([], "count_all"), ("row", "sum")]).sort_by("name")
    assert same(found, wanted.rename_columns(["name", "count", "row_sum"]))


def join() -> None:
    left, right = blocks(5, 400), blocks(5, 100, seed=1)
    found = corank.ray.join(ray.data.from_arrow(left), ray.data.from_arrow(right), "name", "full", deadline=300)
    assert same(rows_of(found), joined(left, right, ["name"], "full"))


OPERATIONS: dict[str, Callable[[], None]] = {"sort": sort, "group_by": group_by, "join": join}


@pytest.mark.parametrize("after", [False, True], ids=["at the start", "after a result"])
@pytest.mark.parametrize(("operation", "phase"), CASES)
def test_a_killed_worker_changes_nothing(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path, operation: str, phase: str, after: bool
) -> None:
    faults = Faults(monkeypatch, PHASES[operation][phase], tmp_path, after)
    faults.fault = lambda servers: kill_worker
    faults.check(OPERATIONS[operation])


@pytest.mark.parametrize(("operation", "phase"), [case for case in CASES if case[1] != "sample"])
def test_a_killed_server_starts_again(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path, operation: str, phase: str
) -> None:
    def fault(servers: Servers) -> Any:
        return kill_server(servers)

    faults = Faults(monkeypatch, PHASES[operation][phase], tmp_path, after=False)
    faults.fault = fault
    faults.check(OPERATIONS[operation])


@pytest.mark.parametrize(("operation", "phase"), CASES)
def test_a_killed_node_changes_nothing(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path, operation: str, phase: str
) -> None:
    request = tmp_path / "node"
    faults = Faults(monkeypatch, PHASES[operation][phase], tmp_path, after=phase not in ("sample", "plan"))
    faults.fault = lambda servers: ask_for_end_of_node(request)
    assert run_while_killing(cluster, request, lambda: faults.check(OPERATIONS[operation]))
