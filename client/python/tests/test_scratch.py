"""Shared memory that the client makes for its own calls."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, NoReturn

import grpc
import numpy as np
import pytest
from fake_memory import Failure
from fake_server import FakeServer

import corank
from corank import _connection as connection
from corank import _idle as idle

KEYS = np.random.default_rng(7).integers(0, 1 << 32, 100_000, dtype=np.uint32)


@pytest.fixture(autouse=True)
def _no_time_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps idle blocks for long, however slow the machine is."""
    monkeypatch.setattr(idle, "_SECONDS", 3600.0)


def test_scratch_is_used_again(fake: FakeServer, fake_client: corank.Client) -> None:
    for size in (100_000, 50_000, 100_000):
        np.testing.assert_array_equal(fake_client.sort(KEYS[:size], place="shared_memory"), np.sort(KEYS[:size]))
    first = set(fake.places.regions)
    assert len(first) == 1
    large = np.tile(KEYS, 60)
    for _ in range(2):
        np.testing.assert_array_equal(fake_client.sort(large, place="shared_memory"), np.sort(large))
        assert len(fake.places.regions) == 2
    fake_client.sort(KEYS, place="shared_memory")
    assert len(fake.places.regions) == 2
    assert first < set(fake.places.regions)


@pytest.mark.skipif(
    os.statvfs("/dev/shm").f_blocks * os.statvfs("/dev/shm").f_frsize < 256 << 20, reason="/dev/shm is too small"
)
def test_the_largest_few_scratch_regions_are_kept(fake: FakeServer, fake_client: corank.Client) -> None:
    def sort_in_scratch_of(mib: int) -> None:
        keys = np.arange(mib << 18, 0, -1, dtype=np.uint32)  # sorted where they are
        np.testing.assert_array_equal(fake_client.sort(keys, place="shared_memory"), keys[::-1])

    sizes = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12)
    for mib in sizes:
        sort_in_scratch_of(mib)
    kept = set(fake.places.regions)
    assert len(kept) == 8
    for mib in (*sizes[2:], 1):
        sort_in_scratch_of(mib)
    assert set(fake.places.regions) == kept


def test_scratch_that_nobody_takes_goes_after_a_while(
    fake: FakeServer, fake_client: corank.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idle, "_SECONDS", 60.0)
    now = 1000.0
    timers: list[tuple[float, Callable[[], object]]] = []

    def timer(seconds: float, function: Callable[..., object], arguments: list[Any]) -> SimpleNamespace:
        return SimpleNamespace(start=lambda: timers.append((seconds, lambda: function(*arguments))))

    monkeypatch.setattr(idle, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(idle, "threading", SimpleNamespace(Timer=timer))
    for _ in range(2):  # also those of later calls
        fake_client.sort(KEYS, place="shared_memory")
        for passed, left in ((30.0, 60.0), (29.0, 30.0)):
            seconds, ring = timers.pop()
            assert (seconds, timers) == (left, [])
            now += passed
            ring()  # too early
            assert len(fake.places.regions) == 1
        seconds, ring = timers.pop()
        now += seconds
        ring()
        assert not fake.places.regions
        assert not timers


def test_calls_at_the_same_time_use_what_others_gave_back(fake: FakeServer, fake_client: corank.Client) -> None:
    seen: set[str] = set()

    def work(_: int) -> None:
        for _ in range(10):
            np.testing.assert_array_equal(fake_client.sort(KEYS, place="shared_memory"), np.sort(KEYS))
            seen.update(fake.places.regions)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert len(seen) <= 4


def test_much_larger_scratch_is_left_to_those_who_need_it(fake: FakeServer, fake_client: corank.Client) -> None:
    fake_client.sort(np.tile(KEYS, 60), place="shared_memory")
    fake_client.sort(KEYS, place="shared_memory")
    assert len(fake.places.regions) == 2


def test_scratch_takes_a_quarter_of_shared_memory_at_most(
    fake: FakeServer, fake_client: corank.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_blocks=20, f_frsize=1 << 20))
    for mib in (2, 4, 6):
        fake_client.sort(np.zeros(mib << 18, np.uint32), place="shared_memory")
        fake_client._connection.regions.sweep()
        # 2 and 4 MiB do not fit into 5 together; 6 MiB do not alone, and drive nothing out.
        assert [len(region.data) >> 20 for region in fake.places.regions.values()] == [min(mib, 4)]


def test_server_without_room_for_regions_is_asked_once_in_its_time(
    fake: FakeServer, fake_client: corank.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0

    def full(*_: Any) -> NoReturn:
        nonlocal asked
        asked += 1
        raise Failure(grpc.StatusCode.RESOURCE_EXHAUSTED, "its most regions", 3600.0)

    monkeypatch.setattr(connection, "SHARED_BYTES", 100_000)
    monkeypatch.setattr(fake.places, "_add", full)
    stats: list[corank.Stats] = []
    for _ in range(3):
        np.testing.assert_array_equal(fake_client.sort(KEYS, on_stats=stats.append), np.sort(KEYS))
    assert [each.place for each in stats] == ["inline"] * 3
    assert asked == 1
    with pytest.raises(corank.CorankError):
        fake_client.sort(KEYS, place="shared_memory", deadline=0.3)
    assert asked == 2


def test_a_refused_call_gives_its_scratch_back(fake: FakeServer, fake_client: corank.Client) -> None:
    fake.fail_next(grpc.StatusCode.RESOURCE_EXHAUSTED, "full", retry_after=0.001)
    with pytest.raises(corank.ResourceExhausted):
        fake_client.sort(KEYS, place="shared_memory", retries=0)
    first = set(fake.places.regions)
    fake_client.sort(KEYS, place="shared_memory")
    assert set(fake.places.regions) == first


def test_views_take_shared_memory_only_where_they_are_large(fake_client: corank.Client) -> None:
    stats: list[corank.Stats] = []
    keys = np.zeros(1 << 20, np.uint32)
    fake_client.sort(keys, copy=False, on_stats=stats.append)
    fake_client.sort(keys, on_stats=stats.append)
    assert [each.place for each in stats] == ["inline", "shared_memory"]


def test_views_of_scratch_are_the_callers(fake: FakeServer, fake_client: corank.Client) -> None:
    first = fake_client.sort(KEYS, place="shared_memory", copy=False)
    second = fake_client.sort(KEYS[::-1], place="shared_memory", copy=False)
    np.testing.assert_array_equal(first, np.sort(KEYS))
    np.testing.assert_array_equal(second, np.sort(KEYS))
    assert len(fake.places.regions) == 2
