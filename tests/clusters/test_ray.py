"""corank.ray on a real cluster, beside pyarrow's stable sort of the same rows."""

from __future__ import annotations

import math
import os
import time
import weakref
from typing import Any

import corank
import corank.ray
import numpy as np
import pyarrow as pa
import pytest
import ray
import ray.data
from cluster_nodes import start_node
from cluster_rows import (
    NODE,
    STORE_BYTES,
    Order,
    blocks,
    expected,
    rows_of,
    same,
)
from corank import _partitioning, _ray_run
from corank._ray_run import RESOURCE, Run
from corank._ray_servers import servers_of
from corank._ray_tasks import StageTime, Watch
from corank.testing import LocalServer
from ray.cluster_utils import Cluster


@pytest.fixture(params=["moves", "gathers"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How rows get to the tasks that merge them. Both ways work on any number of nodes."""
    reach = math.inf if request.param == "gathers" else 0
    monkeypatch.setattr(_ray_run, "reach_bytes", lambda nodes: reach)
    return str(request.param)


@pytest.mark.parametrize(
    ("order", "nulls", "partitions"),
    [
        ({"number": False}, "last", None),
        ({"number": True}, "first", 3),
        ({"float": True, "number": False}, "last", 7),
        ({"number": False, "name": True}, "last", 4),
        ({"name": False, "time": True, "float": False}, "first", 1),
    ],
    ids=str,
)
def test_sort_gives_the_rows_of_a_stable_sort(
    cluster: Cluster, way: str, order: Order, nulls: Any, partitions: int | None
) -> None:
    tables = blocks(5, 4_000)
    ds = ray.data.from_arrow(tables)
    ordered = corank.ray.sort(ds, list(order), list(order.values()), nulls, partitions)
    assert ordered.num_blocks() == (partitions or 5)
    assert same(rows_of(ordered), expected(tables, order, nulls))


def test_blocks_are_alike_in_size_even_if_all_keys_are_equal(cluster: Cluster, way: str) -> None:
    tables = [pa.table({"key": np.zeros(5_000, np.int8), "row": np.arange(5_000) + 5_000 * at}) for at in range(4)]
    ordered = corank.ray.sort(ray.data.from_arrow(tables), "key", partitions=8)
    assert same(rows_of(ordered), pa.concat_tables(tables))
    sizes = [table.num_rows for table in ray.get(ordered.to_arrow_refs())]
    assert max(sizes) < 1.5 * 20_000 / 8


def test_many_rounds_give_the_same_rows(cluster: Cluster, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_partitioning, "MOST_RUNS", 2)
    tables = blocks(7, 500)
    times: list[list[corank.ray.StageTime]] = []
    ordered = corank.ray.sort(ray.data.from_arrow(tables), ["number", "name"], on_stats=times.append)
    assert same(rows_of(ordered), expected(tables, {"number": False, "name": False}))
    (stages,) = times
    assert {each.stage for each in stages} == {"sample", "plan", "map", "merge", "reduce"}
    assert sum(each.rows for each in stages if each.stage == "map") == 3_500


def test_merge_takes_equal_rows_of_earlier_data_sets_first(cluster: Cluster, way: str) -> None:
    halves = [blocks(3, 2_000, seed) for seed in (1, 2)]
    order = {"number": True, "name": False}
    sorted_halves = [expected(tables, order) for tables in halves]
    given = [ray.data.from_arrow([half.slice(0, 2_500), half.slice(2_500)]) for half in sorted_halves]
    merged = corank.ray.merge(given, ["number", "name"], [True, False])
    assert same(rows_of(merged), expected(sorted_halves, order))


def test_merge_refuses_blocks_that_are_not_sorted(cluster: Cluster, way: str) -> None:
    tables = [pa.table({"key": [3, 1, 2]}), pa.table({"key": [1, 2, 3]})]
    with pytest.raises(corank.InvalidArgument, match="not sorted"):
        corank.ray.merge([ray.data.from_arrow(tables)], "key")


def test_empty_data_sets_and_blocks_are_ordinary_input(cluster: Cluster, way: str) -> None:
    empty = pa.table({"key": pa.array([], pa.int64())})
    assert corank.ray.sort(ray.data.from_arrow(empty), "key").count() == 0
    ordered = corank.ray.sort(ray.data.from_arrow([empty, pa.table({"key": [2, 1]}), empty]), "key")
    assert [row["key"] for row in ordered.take_all()] == [1, 2]


def test_a_data_set_of_four_times_the_stores_sorts_by_spilling(cluster: Cluster) -> None:
    rows = 4 * 2 * STORE_BYTES // 24
    ds = ray.data.range(rows, override_num_blocks=48).map_batches(with_keys, batch_format="pyarrow")
    ordered = corank.ray.sort(ds, "key", partitions=32)
    last, found = -1, 0
    for ref in ordered.to_arrow_refs():
        table = ray.get(ref)
        keys, ids = (table[name].to_numpy() for name in ("key", "id"))
        assert last <= int(keys[0])
        ties = keys[1:] == keys[:-1]
        assert ((keys[1:] > keys[:-1]) | (ties & (ids[1:] > ids[:-1]))).all()
        assert (keys == keys_of(ids)).all()
        last, found = int(keys[-1]), found + len(keys)
    assert found == rows
    assert ordered.sum("id") == rows * (rows - 1) // 2


def keys_of(ids: np.ndarray) -> np.ndarray:
    return (ids * 7_919) % 1_000_003


def with_keys(batch: Any) -> Any:
    ids = batch["id"].to_numpy()
    return batch.append_column("key", pa.array((ids * 7_919) % 1_000_003)).append_column("other", pa.array(ids))


def test_servers_at_an_address_are_used(cluster: Cluster) -> None:
    tables = blocks(2, 1_000)
    with LocalServer(os.environ["CORANKD"]) as server:
        ordered = corank.ray.sort(ray.data.from_arrow(tables), "number", servers=server.address)
        assert same(rows_of(ordered), expected(tables, {"number": False}))
        with server.connect() as client:
            assert client.info().version
        address = server.address
    with pytest.raises(corank.Unavailable):
        corank.ray.sort(ray.data.from_arrow(tables), "number", servers=address, deadline=60)


def test_tasks_that_call_a_server_run_where_the_resource_is(cluster: Cluster) -> None:
    node = start_node(cluster, **NODE, resources={RESOURCE: 1})
    try:
        tables = blocks(5, 500)
        times: list[list[corank.ray.StageTime]] = []
        ordered = corank.ray.sort(ray.data.from_arrow(tables), "number", on_stats=times.append)
        assert same(rows_of(ordered), expected(tables, {"number": False}))
        assert {each.node for each in times[0] if each.stage != "sample"} == {node.node_id}
    finally:
        cluster.remove_node(node, allow_graceful=False)
        while RESOURCE in ray.cluster_resources():  # later tests must not ask for it
            time.sleep(0.1)


def test_a_deadline_ends_the_sort(cluster: Cluster) -> None:
    with pytest.raises(corank.DeadlineExceeded, match="raise deadline="):
        corank.ray.sort(ray.data.from_arrow(blocks(4, 1_000)), "number", deadline=1e-3)


def test_a_deadline_ends_the_wait_for_a_result(cluster: Cluster) -> None:
    def sleep() -> None:
        while True:
            time.sleep(0.1)

    run = Run(servers_of("local", "", 0.5))
    made, ended = run.start(sleep, [], 1)
    with pytest.raises(corank.DeadlineExceeded, match="raise deadline="):
        run.get(made)
    run.cancel()
    with pytest.raises((ray.exceptions.TaskCancelledError, ray.exceptions.RayTaskError)):
        ray.get(ended)


def test_a_task_starts_when_those_before_it_leave_room(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing() -> tuple[None, StageTime]:
        return None, Watch("map").done(0, 0)

    monkeypatch.setattr(_ray_run, "_FLIGHT", 0.5)
    run = Run(servers_of("local", "", 60))
    room = 2 * STORE_BYTES * 0.5
    ends = [run.start(nothing, [], 1, nbytes=nbytes)[-1] for nbytes in (room / 2, room / 2)]
    assert run.times == []
    ends.append(run.start(nothing, [], 1, nbytes=room * 2)[-1])
    assert len(ray.wait(ends, num_returns=2, timeout=0, fetch_local=False)[0]) >= 2
    assert len(run.times) == 2
    run.wait(ends)
    assert len(run.times) == 3


def test_a_piece_is_free_when_its_merge_has_started(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    class Ref:
        pass

    pieces: list[Any] = []
    merged = 0

    def start(run: Run, task: str, arguments: list[Any], results: int, **options: Any) -> list[Ref]:
        nonlocal merged
        assert [ref() for ref in pieces[:merged]] == [None] * merged
        made = [Ref() for _ in range(results + 1)]
        if task == "map":
            pieces.append(weakref.ref(made[0]))
        else:
            merged = 2
        return made

    monkeypatch.setattr(Run, "start", start)
    plan = _partitioning.Plan((range(2),), (range(1), range(1, 2)))
    runs = Run(servers_of("local", "", 60)).rounds(
        ["a", "b"], plan, [1, 1], lambda ref, number: ("map", []), lambda group, held, blocks: ("merge", held)
    )
    assert (merged, len(pieces), [len(each) for each in runs]) == (2, 2, [1, 1])


def test_a_failed_task_is_not_cancelled(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    cancelled: list[Any] = []
    cancel = ray.cancel

    def noted(ref: Any) -> None:
        cancelled.append(ray.wait([ref], timeout=0, fetch_local=False)[0])
        cancel(ref)

    monkeypatch.setattr(ray, "cancel", noted)
    with pytest.raises(ValueError, match="no column 'keys'"):
        corank.ray.sort(ray.data.from_arrow(pa.table({"key": [1]})), "keys")
    assert cancelled == []


def test_wrong_arguments_say_what_to_change(cluster: Cluster) -> None:
    ds = ray.data.from_arrow(pa.table({"key": [1], "list": [[1]]}))
    cases: list[tuple[type[Exception], str, dict[str, Any]]] = [
        (ValueError, "no column 'keys'; the columns are 'key', 'list'", {"key": "keys"}),
        (TypeError, "column 'list' is list", {"key": "list"}),
        (ValueError, "partitions: 0; pass 1 or more", {"key": "key", "partitions": 0}),
        (ValueError, "deadline: -1", {"key": "key", "deadline": -1}),
        (ValueError, "servers: the list is empty", {"key": "key", "servers": []}),
        (corank.InvalidArgument, "port", {"key": "key", "servers": "host"}),
    ]
    for error, text, arguments in cases:
        with pytest.raises(error, match=text):
            corank.ray.sort(ds, **arguments)
