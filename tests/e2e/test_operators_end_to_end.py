"""Every operator through Python and a real server, against NumPy, at sizes around tiles and beyond; many clients."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import corank
import numpy as np
import oracles
import pytest
from corank.testing import LocalServer
from oracles import KEY_TYPES, bits, random_keys

SIZES = (0, 1, 31, 1024, 4097, 100_003)


def dtype_argument(key_type: str) -> str | None:
    """bfloat16 is held in uint16 arrays."""
    return "bfloat16" if key_type == "bfloat16" else None


@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("key_type", KEY_TYPES)
def test_sort_argsort_merge_search(client: corank.Client, key_type: str, count: int) -> None:
    seed = count * 100 + KEY_TYPES.index(key_type)
    rng = np.random.default_rng(seed)
    keys, needles = random_keys(rng, key_type, count), random_keys(rng, key_type, 1000)
    values = rng.integers(0, 256, (count, 12), dtype=np.uint8).view("V12").ravel()
    dtype = dtype_argument(key_type)
    for descending in (False, True):
        order = oracles.argsort(keys, key_type, descending)
        ordered, moved = client.sort(keys, values=values, descending=descending, dtype=dtype)
        np.testing.assert_array_equal(bits(ordered), bits(keys[order]), err_msg=f"seed {seed}")
        assert moved.tobytes() == values[order].tobytes(), f"seed {seed}"
        indices = client.argsort(keys, descending=descending, dtype=dtype)
        np.testing.assert_array_equal(indices, order, err_msg=f"seed {seed}")

        cuts = np.sort(rng.integers(0, count + 1, 4))
        parts = [part[oracles.argsort(part, key_type, descending)] for part in np.split(keys, cuts)]
        joined = np.concatenate(parts)
        order = oracles.argsort(joined, key_type, descending)
        merged, moved = client.merge(parts, values=np.split(np.arange(count), cuts), descending=descending, dtype=dtype)
        np.testing.assert_array_equal(bits(merged), bits(joined[order]), err_msg=f"seed {seed}")
        np.testing.assert_array_equal(moved, order, err_msg=f"seed {seed}")

        sides: tuple[Literal["left", "right"], ...] = ("left", "right")
        for side in sides:
            found = client.search(ordered, needles, side=side, descending=descending, dtype=dtype)
            expected = oracles.search(ordered, needles, key_type, side, descending)
            np.testing.assert_array_equal(found, expected, err_msg=f"seed {seed}")


@pytest.mark.parametrize("width", [1, 2, 3, 4, 8, 20, 256])
@pytest.mark.parametrize("intervals", [0, 1, 100, 3000])
def test_interval_operators(client: corank.Client, intervals: int, width: int) -> None:
    seed = intervals * 1000 + width
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 40, intervals) * (rng.random(intervals) < 0.7)
    total = int(counts.sum())
    source = rng.integers(0, 256, ((total + 50) * width), dtype=np.uint8).view(f"V{width}")
    into = rng.integers(0, 256, ((total + intervals) * width), dtype=np.uint8).view(f"V{width}")
    begins = rng.integers(0, total + 51 - counts)
    # Disjoint goals in a random order, with a gap of one element before each.
    order = rng.permutation(intervals)
    goals = np.zeros(intervals, np.int64)
    goals[order] = np.cumsum(counts[order]) - counts[order] + np.arange(1, intervals + 1) - 1
    starts = np.cumsum(counts) - counts
    lists: list[Any] = [begins.tolist(), goals.tolist(), counts.tolist(), starts.tolist()]
    b, g, c, s = lists

    got = client.expand(source[:intervals], counts)
    assert got.tobytes() == np.repeat(source[:intervals], counts).tobytes(), f"seed {seed}"
    got = client.gather(source, begins, counts)
    assert got.tobytes() == oracles.move(source, b, s, c, np.zeros(total, source.dtype)).tobytes(), f"seed {seed}"
    got = client.move(source, begins, goals, counts, destination=into)
    assert got.tobytes() == oracles.move(source, b, g, c, into).tobytes(), f"seed {seed}"
    got = client.scatter(source[:total], goals, counts, destination=into.size)
    assert got.tobytes() == oracles.move(source, s, g, c, np.zeros_like(into)).tobytes(), f"seed {seed}"
    objects, ranks = oracles.load_balance(counts)
    balance = client.load_balance(counts)
    np.testing.assert_array_equal(balance.objects, objects)
    np.testing.assert_array_equal(balance.ranks, ranks)


@pytest.mark.parametrize("place", ["inline", "stream"])
@pytest.mark.parametrize("distinct", [1, 300, 1_000_000])
def test_groups_of_a_million_keys(client: corank.Client, distinct: int, place: Any) -> None:
    rng = np.random.default_rng(distinct)
    keys, values = rng.integers(0, distinct, 1_000_000), rng.integers(-(2**31), 2**31, 1_000_000).astype(np.int32)
    order = np.argsort(keys, kind="stable")
    wanted, firsts, counts = np.unique(keys, return_index=True, return_counts=True)
    starts = np.cumsum(counts) - counts
    names: Any = ["keys", "counts", "firsts", "sums", "minima", "maxima"]
    got = client.group(keys, values=values, results=names, place=place)
    sums = np.add.reduceat(values[order].astype(np.int64), starts)
    minima, maxima = np.minimum.reduceat(values[order], starts), np.maximum.reduceat(values[order], starts)
    for name, expected in zip(names, (wanted, counts, firsts, sums, minima, maxima), strict=True):
        np.testing.assert_array_equal(getattr(got, name), expected, err_msg=name)
    found = client.group(np.sort(keys), arrangement="sorted", place=place)
    np.testing.assert_array_equal(found.keys, wanted)
    np.testing.assert_array_equal(found.counts, counts)


@pytest.mark.parametrize("place", ["inline", "stream"])
def test_selections_and_ranks_of_a_million(client: corank.Client, place: Any) -> None:
    rng = np.random.default_rng(8)
    keys = rng.integers(-1000, 1000, 1_000_003, dtype=np.int32)
    mask = rng.random(keys.size) < 0.3
    np.testing.assert_array_equal(client.select(keys, mask, place=place), keys[mask])
    np.testing.assert_array_equal(client.select(keys, comparison="<", threshold=-7, place=place), keys[keys < -7])
    parted, count = client.partition(keys, bitmap=np.packbits(mask, bitorder="little"), place=place)
    np.testing.assert_array_equal(parted, np.concatenate([keys[mask], keys[~mask]]))
    assert count == mask.sum()
    gone = rng.permutation(keys.size)[:200_000]
    np.testing.assert_array_equal(client.remove(keys, gone, place=place), np.delete(keys, gone))
    where, more = rng.integers(0, keys.size + 1, 50_000), rng.integers(0, 9, 50_000, dtype=np.int32)
    np.testing.assert_array_equal(client.insert(keys, where, more, place=place), np.insert(keys, where, more))
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    np.testing.assert_array_equal(client.rank(keys, "dense", place=place), inverse + 1)
    np.testing.assert_array_equal(client.rank(keys, place=place), (np.cumsum(counts) - (counts - 1) / 2)[inverse])


@pytest.mark.parametrize("place", ["inline", "stream"])
@pytest.mark.parametrize("distinct", [100_000, 1 << 30])
def test_joins_of_half_a_million_rows(client: corank.Client, distinct: int, place: Any) -> None:
    rng = np.random.default_rng(distinct)
    left, right = (rng.integers(0, distinct, 500_000, dtype=np.int32) for _ in range(2))
    order = np.argsort(right, kind="stable")
    first, last = (np.searchsorted(right[order], left, side) for side in ("left", "right"))
    partners = last - first
    starts = np.cumsum(partners) - partners
    rows = np.repeat(np.arange(left.size), partners)
    others = order[first[rows] + np.arange(rows.size) - starts[rows]]
    got = client.join(left, right, place=place)
    np.testing.assert_array_equal(got[0], rows)
    np.testing.assert_array_equal(got[1], others)
    unmatched = np.flatnonzero(~np.isin(right, left))
    got = client.join(left, right, "right", place=place)
    np.testing.assert_array_equal(got[0], np.concatenate([rows, np.full(unmatched.size, -1)]))
    np.testing.assert_array_equal(got[1], np.concatenate([others, unmatched]))
    np.testing.assert_array_equal(client.join(left, right, "anti", place=place), np.flatnonzero(partners == 0))
    assert client.count_join(left, right, "full", place=place) == rows.size + unmatched.size + (partners == 0).sum()


@pytest.mark.parametrize("place", ["inline", "stream"])
@pytest.mark.parametrize("distinct", [1, 300, 1_000_000])
def test_sets_of_a_million_keys(client: corank.Client, distinct: int, place: Any) -> None:
    rng = np.random.default_rng(distinct)
    left, right = np.sort(rng.integers(0, distinct, 600_000)), np.sort(rng.integers(0, distinct, 500_000))
    counts = [np.bincount(side, minlength=distinct) for side in (left, right)]
    wanted = {
        "union": np.maximum(*counts),
        "intersection": np.minimum(*counts),
        "difference": np.maximum(counts[0] - counts[1], 0),
        "symmetric_difference": np.abs(counts[0] - counts[1]),
    }
    for operation, times in wanted.items():
        name: Any = operation
        got = client.combine_sets(left, right, name, place=place)
        np.testing.assert_array_equal(got, np.repeat(np.arange(distinct), times), err_msg=operation)
        assert client.count_sets(left, right, name, place=place) == times.sum()


def test_segments_of_all_lengths(client: corank.Client) -> None:
    rng = np.random.default_rng(5)
    lengths = np.concatenate([rng.integers(0, 5, 500), [0, 10_000, 1, 3000], rng.integers(0, 300, 50)])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    keys = random_keys(rng, "float32", int(offsets[-1]))
    for descending in (False, True):
        order = oracles.segmented_argsort(keys, offsets.tolist(), "float32", descending)
        np.testing.assert_array_equal(
            bits(client.sort(keys, segments=offsets, descending=descending)), bits(keys[order])
        )
        np.testing.assert_array_equal(client.argsort(keys, segments=offsets, descending=descending), order)
        first = oracles.first_of_each(order, offsets.tolist(), 100)
        found = client.argsort(keys, segments=offsets, limit=100, descending=descending)
        np.testing.assert_array_equal(found, first)


def test_every_algorithm_gives_the_same_bits(client: corank.Client) -> None:
    keys = random_keys(np.random.default_rng(6), "float64", 50_000)
    order = oracles.argsort(keys, "float64")
    sorts: tuple[Any, ...] = ("auto", "mergesort", "radix", "odd-even-mergesort")
    for algorithm in sorts:
        ordered, indices = client.sort_with_indices(keys, algorithm=algorithm)
        np.testing.assert_array_equal(bits(ordered), bits(keys[order]), err_msg=algorithm)
        np.testing.assert_array_equal(indices, order, err_msg=algorithm)
    halves = [np.sort(keys[:20_000]), np.sort(keys[20_000:])]
    joined = np.concatenate(halves)
    merges: tuple[Any, ...] = ("auto", "merge-path", "basic", "tiled", "circular-buffer")
    for method in merges:
        got = client.merge(halves, algorithm=method)
        np.testing.assert_array_equal(bits(got), bits(joined[oracles.argsort(joined, "float64")]), err_msg=method)


def test_merge_of_very_many_inputs(client: corank.Client) -> None:
    rng = np.random.default_rng(7)
    parts = [np.sort(rng.integers(0, 100, count).astype(np.int16)) for count in rng.integers(0, 60, 1024)]
    joined = np.concatenate(parts)
    np.testing.assert_array_equal(client.merge(parts), np.sort(joined, kind="stable"))


def test_sort_of_64_mib_inline(client: corank.Client) -> None:
    keys = np.random.default_rng(8).integers(0, 2**32, 2**24, dtype=np.uint32)
    np.testing.assert_array_equal(client.sort(keys), np.sort(keys))


def test_32_clients_at_the_same_time(server: LocalServer) -> None:
    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        with server.connect(retries=50) as client:
            for _ in range(8):
                keys = random_keys(rng, "float32", int(rng.integers(0, 5000)))
                order = oracles.argsort(keys, "float32")
                ordered = client.sort(keys)
                assert (bits(ordered) == bits(keys[order])).all(), seed
                assert (client.argsort(keys) == order).all(), seed
                assert (client.search(ordered, keys) == np.searchsorted(ordered, keys)).all(), seed
                counts = rng.integers(0, 9, 200)
                assert (client.expand(np.arange(200), counts) == np.repeat(np.arange(200), counts)).all(), seed

    with ThreadPoolExecutor(32) as pool:
        list(pool.map(work, range(32)))
