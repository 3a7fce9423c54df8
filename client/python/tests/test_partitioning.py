"""Boundaries, cuts and the plan of rounds of a distributed sort, beside plain Python that sorts tuples."""

from __future__ import annotations

import bisect
import math
import random

import numpy as np
import pytest

from corank import _partitioning as partitioning
from corank._partitioning import MOST_RUNS, Boundaries

Row = tuple[int, int, int]  # key, block, row


def blocks_of(chooser: random.Random) -> list[list[int]]:
    """Blocks of keys with many ties, some of them empty."""
    keys = chooser.choice([1, 3, 50, 10_000])
    return [
        [chooser.randrange(keys) for _ in range(chooser.choice([0, 1, 7, 60]))] for _ in range(chooser.randint(1, 9))
    ]


def boundary_rows(chooser: random.Random, rows: list[Row], partitions: int) -> list[Row]:
    return sorted(chooser.choices(rows, k=partitions - 1)) if rows else []


@pytest.mark.parametrize("seed", range(60))
def test_cut_pieces_of_all_blocks_are_the_sorted_rows_between_boundaries(seed: int) -> None:
    chooser = random.Random(seed)
    blocks = blocks_of(chooser)
    partitions = chooser.randint(1, 8)
    rows = sorted((key, block, at) for block, keys in enumerate(blocks) for at, key in enumerate(keys))
    limits = boundary_rows(chooser, rows, partitions)
    boundaries = Boundaries(None, np.array([b for _, b, _ in limits], int), np.array([r for _, _, r in limits], int))

    pieces: list[list[Row]] = [[] for _ in range(partitions)]
    for number, keys in enumerate(blocks):
        order = sorted(range(len(keys)), key=lambda at: (keys[at], at))
        ordered = [keys[at] for at in order]
        lower = np.array([bisect.bisect_left(ordered, key) for key, _, _ in limits], int)
        upper = np.array([bisect.bisect_right(ordered, key) for key, _, _ in limits], int)
        cuts = partitioning.cuts(number, np.array(order, int), lower, upper, boundaries)
        ends = partitioning.ends_of(cuts, len(keys), partitions)
        assert len(ends) == partitions + 1
        for at, (begin, end) in enumerate(zip(ends, ends[1:])):
            pieces[at] += [(ordered[each], number, order[each]) for each in range(begin, end)]

    found = [row for piece in pieces for row in sorted(piece)]
    assert found == rows
    if rows:
        places = [0, *(rows.index(limit) for limit in limits), len(rows)]
        assert [len(piece) for piece in pieces] == [end - begin for begin, end in zip(places, places[1:])]


@pytest.mark.parametrize("seed", range(30))
def test_boundaries_split_the_weight_evenly(seed: int) -> None:
    chooser = np.random.default_rng(seed)
    count, partitions = int(chooser.integers(1, 300)), int(chooser.integers(1, 12))
    order = chooser.permutation(count)
    weights = chooser.integers(1, 20, count).astype(float)
    places = partitioning.boundary_places(order, weights, partitions)
    assert len(places) == partitions - 1
    rank = {int(sample): at for at, sample in enumerate(order)}
    ranks = [rank[int(place)] for place in places]
    assert ranks == sorted(ranks)
    total = weights.sum()
    for at, place in enumerate(ranks, start=1):
        before = sum(weights[order[each]] for each in range(place))
        assert abs(before - total * at / partitions) <= weights.max()


def test_no_samples_give_no_boundaries_and_one_partition_takes_all() -> None:
    assert partitioning.boundary_places(np.zeros(0, int), np.zeros(0), 4).tolist() == []
    assert partitioning.ends_of([], 7, 4) == [0, 7, 7, 7, 7]
    assert partitioning.ends_of([2, 5], 7, 3) == [0, 2, 5, 7]


@pytest.mark.parametrize("rows", [0, 1, 2, 9, 10, 11, 1000])
def test_samples_rise_and_each_comes_from_its_own_piece(rows: int) -> None:
    found = partitioning.sample_rows(3, rows, 10)
    assert len(found) == min(rows, 10)
    for at, row in enumerate(found):
        assert at * rows // len(found) <= row < (at + 1) * rows // len(found)
    assert found.tolist() == partitioning.sample_rows(3, rows, 10).tolist()
    if rows == 1000:
        assert found.tolist() != partitioning.sample_rows(4, rows, 10).tolist()


@pytest.mark.parametrize("blocks", [1, 2, 31, 32, 33, 64, 65, 1000, 2049])
@pytest.mark.parametrize("partitions", [1, 3, 40])
@pytest.mark.parametrize("block_bytes", [1, 100 << 20])
def test_plans_hold_every_block_and_partition_once_within_the_limits(
    blocks: int, partitions: int, block_bytes: int
) -> None:
    limit = 64 << 20
    plan = partitioning.plan_of(blocks, partitions, 4, block_bytes, limit)
    assert [block for each in plan.rounds for block in each] == list(range(blocks))
    assert [partition for each in plan.groups for partition in each] == list(range(partitions))
    assert all(1 <= len(each) <= MOST_RUNS for each in plan.rounds)
    assert all(len(each) >= 1 for each in plan.groups)
    assert len(plan.groups) >= min(partitions, 4)
    blocks_merged, partitions_merged = max(map(len, plan.rounds)), max(map(len, plan.groups))
    merged = blocks_merged * block_bytes * partitions_merged / partitions
    assert merged <= 2 * limit or (blocks_merged, partitions_merged) == (1, 1)
    if block_bytes == 1:
        assert len(plan.rounds) == -(-blocks // MOST_RUNS)


@pytest.mark.parametrize(("gathers", "rounds"), [(False, 25), (True, 4)])
def test_rounds_that_gather_rows_have_as_many_blocks_as_a_merge_takes(gathers: bool, rounds: int) -> None:
    plan = partitioning.plan_of(100, 4, 4, 1 << 20, 1 << 20, gathers)
    assert (plan.gathers, len(plan.rounds), len(plan.groups)) == (gathers, rounds, 4)


@pytest.mark.parametrize(
    ("blocks", "fitting", "rounds"),
    [(32, 1, 1), (33, 32, 2), (64, 8, 8), (64, 0, 32), (1000, 8, 32), (1025, 8, 33)],
)
def test_several_rounds_are_so_small_that_their_rows_fit_if_one_more_merge_takes_all_runs(
    blocks: int, fitting: int, rounds: int
) -> None:
    plan = partitioning.plan_of(blocks, 32, 4, 100, 1000, round_bytes=100 * fitting + 99)
    assert len(plan.rounds) == rounds
    assert len(partitioning.plan_of(blocks, 32, 4, 100, 1000, True, 100 * fitting).rounds) == -(-blocks // MOST_RUNS)


@pytest.mark.parametrize("block_bytes", [0, 100, 1000.5])
def test_rounds_without_a_bound_are_those_of_a_bound_that_is_never_reached(block_bytes: float) -> None:
    found = partitioning.plan_of(64, 32, 4, block_bytes, 1000, round_bytes=math.inf)
    assert found == partitioning.plan_of(64, 32, 4, block_bytes, 1000, round_bytes=1e18)


@pytest.mark.parametrize("runs", [1, 2, 32, 33, 1024, 1025, 40_000])
def test_levels_merge_consecutive_runs_until_one_is_left(runs: int) -> None:
    held = [[at] for at in range(runs)]
    for level in partitioning.merge_levels(runs):
        assert all(1 <= len(part) <= MOST_RUNS for part in level)
        assert [each for part in level for each in part] == list(range(len(held)))
        held = [[row for each in part for row in held[each]] for part in level]
    assert held == [list(range(runs))]
    assert len(partitioning.merge_levels(runs)) == int(np.ceil(np.log(runs) / np.log(MOST_RUNS) - 1e-9))
