"""Shared memory that the client makes for its own calls."""

from __future__ import annotations

import threading

import numpy as np
from fake_server import FakeServer

import corank

KEYS = np.random.default_rng(7).integers(0, 1 << 32, 100_000, dtype=np.uint32)


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


def test_calls_at_the_same_time_use_what_others_gave_back(fake: FakeServer, fake_client: corank.Client) -> None:
    seen: set[str] = set()

    def work() -> None:
        for _ in range(10):
            np.testing.assert_array_equal(fake_client.sort(KEYS, place="shared_memory"), np.sort(KEYS))
            seen.update(fake.places.regions)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) <= 4


def test_views_of_scratch_are_the_callers(fake: FakeServer, fake_client: corank.Client) -> None:
    first = fake_client.sort(KEYS, place="shared_memory", copy=False)
    second = fake_client.sort(KEYS[::-1], place="shared_memory", copy=False)
    np.testing.assert_array_equal(first, np.sort(KEYS))
    np.testing.assert_array_equal(second, np.sort(KEYS))
    assert len(fake.places.regions) == 2
