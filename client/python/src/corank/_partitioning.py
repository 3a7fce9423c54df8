"""Where partitions of a distributed sort begin, and which tasks merge what. Pure: no Ray, no Dask.

A boundary is a row: its key, and its block and its row there, which break ties. So a key that many rows share may lie
in several partitions, and partitions stay alike in size whatever the keys are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MOST_RUNS = 32
"""Runs that one task merges, and blocks of a round."""
MERGE_BYTES = 256 << 20
"""About how much one task merges at most."""
SAMPLES = 256
"""Samples of each partition."""


class Boundaries(NamedTuple):
    """The first row of each partition but the first."""

    keys: Any
    """Their keys: a table."""
    blocks: NDArray[np.int64]
    rows: NDArray[np.int64]
    """The number of each in its unsorted block."""


class Plan(NamedTuple):
    """The tasks of a sort."""

    rounds: tuple[range, ...]
    """The blocks of each round, at most MOST_RUNS."""
    groups: tuple[range, ...]
    """The partitions that one task of a round merges."""
    gathers: bool = False
    """Whether these tasks read the blocks. Otherwise they get rows that the blocks' own tasks took."""


def _pieces(count: int, parts: int) -> tuple[range, ...]:
    """0 to count in this many ranges of lengths that differ by one at most."""
    cuts = [count * at // parts for at in range(parts + 1)]
    return tuple(range(begin, end) for begin, end in zip(cuts, cuts[1:]))


def plan_of(
    blocks: int,
    partitions: int,
    cores: int,
    block_bytes: float,
    merge_bytes: float = MERGE_BYTES,
    gathers: bool = False,
    round_bytes: float = math.inf,
) -> Plan:
    """Plans the tasks for `blocks` blocks; a task of a round merges at most `merge_bytes`.

    One block may be more than that, cut into as many pieces as there are partitions. If one round cannot take all
    blocks, rounds have about `round_bytes`, so that Ray need not spill their pieces, or as many more as it takes to
    leave MOST_RUNS runs. Where tasks gather rows from the blocks, each row moves once, and a round has more blocks,
    because what its tasks merge is there only while they run.
    """
    most = MOST_RUNS if gathers else int(min(MOST_RUNS, max(1, merge_bytes * partitions // max(block_bytes, 1))))
    if blocks > most and not gathers:
        most = int(min(most, max(round_bytes / max(block_bytes, 1), -(-blocks // MOST_RUNS), 1)))
    rounds = _pieces(blocks, -(-blocks // most))
    merged = max(map(len, rounds)) * block_bytes
    groups = min(partitions, max(cores, int(-(-merged // merge_bytes))))
    return Plan(rounds, _pieces(partitions, groups), gathers)


def merge_levels(runs: int) -> list[tuple[range, ...]]:
    """Which consecutive runs the tasks of each level merge, until one is left; no level for one run."""
    levels = []
    while runs > 1:
        level = _pieces(runs, -(-runs // MOST_RUNS))
        levels.append(level)
        runs = len(level)
    return levels


def sample_rows(block: int, rows: int, samples: int) -> NDArray[np.int64]:
    """The rows of a block to sample, rising: one at random of each of so many pieces. The same at every call."""
    samples = min(rows, samples)
    cuts = np.arange(samples + 1) * rows // max(samples, 1)
    jitter = np.random.default_rng(block).random(samples)
    return cuts[:-1] + (jitter * np.diff(cuts)).astype(np.int64)


def boundary_places(order: NDArray[Any], weights: NDArray[Any], partitions: int) -> NDArray[np.int64]:
    """Which samples are boundaries.

    Args:
        order: the numbers of the samples that may be boundaries, in the order of their keys.
        weights: how many rows each sample stands for.
        partitions: how many partitions there are.

    Returns:
        The numbers of partitions - 1 samples, in order; none without samples.
    """
    if len(order) == 0:
        return np.zeros(0, np.int64)
    before = np.cumsum(weights[order]) - weights[order]
    targets = float(np.sum(weights[order])) * np.arange(1, partitions) / partitions
    return np.asarray(order)[np.minimum(np.searchsorted(before, targets), len(order) - 1)].astype(np.int64)


def cuts(
    block: int, order: NDArray[Any], lower: NDArray[Any], upper: NDArray[Any], boundaries: Boundaries
) -> NDArray[np.int64]:
    """Where the partitions begin in a sorted block.

    Args:
        block: its number.
        order: the number in the unsorted block of each row of the sorted one; equal rows keep their order.
        lower: of each boundary, the first row that is equal to it or comes after it.
        upper: of each boundary, the first row that comes after it.
        boundaries: the boundaries.

    Returns:
        One place for each boundary, never falling.
    """
    out = np.where(boundaries.blocks < block, lower, upper)
    for at in np.flatnonzero(boundaries.blocks == block):
        out[at] = lower[at] + np.searchsorted(order[lower[at] : upper[at]], boundaries.rows[at])
    return out


def ends_of(cut: Sequence[int] | NDArray[Any], rows: int, partitions: int) -> list[int]:
    """The partitions + 1 places at which the partitions of a block begin and the last one ends."""
    found = [0, *(int(each) for each in cut)]
    return [*found, *[rows] * (partitions + 1 - len(found))]
