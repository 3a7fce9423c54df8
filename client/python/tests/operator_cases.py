"""Every operator once, with answers made by NumPy: what tests of places run in each place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import oracles
from numpy.typing import NDArray

import corank

Array = NDArray[Any]


class Case(NamedTuple):
    """An operator's call and its answer.

    Attributes:
        name: of the case.
        call: call(client, put, **options) calls the operator with put(array) for each large input.
        expected: its results.
    """

    name: str
    call: Callable[..., Any]
    expected: tuple[Array, ...]


def same(got: Any, expected: tuple[Array, ...]) -> None:
    """Checks that results are equal bit for bit, and of equal types."""
    found = got if isinstance(got, tuple) else (got,)
    assert len(found) == len(expected)
    for at, (array, wanted) in enumerate(zip(found, expected)):
        assert array.dtype == wanted.dtype, at
        assert array.shape == wanted.shape, at
        assert array.tobytes() == wanted.tobytes(), at


def cases(count: int, seed: int = 1) -> list[Case]:
    """The operators on arrays of `count` elements."""
    rng = np.random.default_rng(seed)
    keys = oracles.random_keys(rng, "float32", count)
    order = oracles.argsort(keys, "float32")
    backward = oracles.argsort(keys, "float32", True)
    values = rng.integers(0, 256, (count, 12), dtype=np.uint8).view("V12").ravel()
    numbers = rng.integers(-(2**62), 2**62, count)
    cut = count // 3
    halves = [np.sort(numbers[:cut]), np.sort(numbers[cut:])]
    rows = [np.arange(cut), np.arange(cut, count)]
    merged = np.argsort(np.concatenate(halves), kind="stable")
    needles = rng.integers(-(2**62), 2**62, count)
    haystack = np.sort(numbers)

    # Intervals of 0 to 9 elements; disjoint goals in a random order.
    counts = rng.integers(0, 10, count // 5)
    total = int(counts.sum())
    source = rng.integers(0, 2**16, total + 50).astype(np.uint16)
    begins = rng.integers(0, total + 51 - counts)
    shuffled = rng.permutation(len(counts))
    goals = np.zeros(len(counts), np.int64)
    goals[shuffled] = np.cumsum(counts[shuffled]) - counts[shuffled]
    starts = np.cumsum(counts) - counts
    into = rng.integers(0, 2**16, total + 7).astype(np.uint16)
    lists = [each.tolist() for each in (begins, goals, counts, starts)]
    b, g, c, s = lists
    segments = np.array([0, cut, cut, count])
    segmented = oracles.segmented_argsort(keys, segments.tolist(), "float32")

    def sort(client: corank.Client, put: Any, **options: Any) -> Any:
        return client.sort(put(keys), **options)

    def sort_values(client: corank.Client, put: Any, **options: Any) -> Any:
        return client.sort(put(keys), values=put(values), descending=True, **options)

    def argsort(client: corank.Client, put: Any, **options: Any) -> Any:
        return client.argsort(put(keys), **options)

    def both(client: corank.Client, put: Any, **options: Any) -> Any:
        return client.sort_with_indices(put(keys), index_dtype=None, **options)

    def few(client: corank.Client, put: Any, **options: Any) -> Any:
        return client.sort(put(keys), limit=cut, **options)

    def each(client: corank.Client, put: Any, **options: Any) -> Any:
        return client.sort(put(keys), segments=segments, **options)

    def merge(client: corank.Client, put: Any, **options: Any) -> Any:
        return client.merge([put(half) for half in halves], **options)

    def merge_values(client: corank.Client, put: Any, **options: Any) -> Any:
        return client.merge([put(half) for half in halves], values=[put(row) for row in rows], **options)

    def expand(client: corank.Client, put: Any, **options: Any) -> Any:
        return client.expand(put(numbers[: len(counts)]), counts, **options)

    def gather(client: corank.Client, put: Any, **options: Any) -> Any:
        return client.gather(put(source), put(begins), counts, **options)

    def move(client: corank.Client, put: Any, **options: Any) -> Any:
        return client.move(put(source), put(begins), put(goals), put(counts), destination=put(into), **options)

    def scatter(client: corank.Client, put: Any, **options: Any) -> Any:
        return client.scatter(put(source[:total]), put(goals), put(counts), destination=total + 7, **options)

    def load_balance(client: corank.Client, put: Any, **options: Any) -> Any:
        return tuple(client.load_balance(counts, **options))

    def search(client: corank.Client, put: Any, **options: Any) -> Any:
        return client.search(put(haystack), put(needles), side="right", **options)

    few_keys = (numbers % 50).astype(np.int16)
    weights = rng.standard_normal(count).astype(np.float32)
    rows_of_groups, starts_of_groups, sizes_of_groups = oracles.groups(few_keys, "int16", descending=True)
    group_results = (
        few_keys[rows_of_groups][starts_of_groups],
        sizes_of_groups,
        rows_of_groups[starts_of_groups].astype(np.intp),
        oracles.sums(weights[rows_of_groups], "float32", starts_of_groups, sizes_of_groups),
        oracles.extremes(weights[rows_of_groups], "float32", starts_of_groups, sizes_of_groups, True),
    )

    def group(client: corank.Client, put: Any, **options: Any) -> Any:
        names: Any = ["keys", "counts", "firsts", "sums", "maxima"]
        found = client.group(put(few_keys), values=put(weights), results=names, descending=True, **options)
        assert found.minima is None
        return tuple(getattr(found, name) for name in names)

    def unique(client: corank.Client, put: Any, **options: Any) -> Any:
        return client.unique(put(numbers), **options)

    sides = np.sort(few_keys[: count // 2]), np.sort(few_keys[count // 3 :])
    side_values = np.arange(sides[0].size, dtype=np.float32), -np.arange(sides[1].size, dtype=np.float32)
    united = oracles.combine(*sides, "int16", "union")
    shared = oracles.combine(*sides, "int16", "intersection")

    def union(client: corank.Client, put: Any, **options: Any) -> Any:
        moved: Any = {"left_values": put(side_values[0]), "right_values": put(side_values[1])}
        return client.combine_sets(put(sides[0]), put(sides[1]), "union", **moved, **options)

    def intersection(client: corank.Client, put: Any, **options: Any) -> Any:
        return client.combine_sets(put(sides[0]), put(sides[1]), "intersection", **options)

    met = oracles.join(numbers[: count // 2], numbers[count // 3 :], "uint16", "full")

    def full_join(client: corank.Client, put: Any, **options: Any) -> Any:
        return client.join(
            put(numbers[: count // 2]), put(numbers[count // 3 :]), "full", max_rows=met[0].size, **options
        )

    mask = numbers % 3 == 0
    gone = np.flatnonzero(numbers % 5 == 0)[::-1]

    def select(client: corank.Client, put: Any, **options: Any) -> Any:
        return client.select(put(numbers), put(mask.view(np.uint8)), **options)

    def select_below(client: corank.Client, put: Any, **options: Any) -> Any:
        return client.select(put(few_keys), comparison="<", threshold=7, values=put(weights), **options)

    def remove(client: corank.Client, put: Any, **options: Any) -> Any:
        return client.remove(put(numbers), put(gone), **options)

    def rank(client: corank.Client, put: Any, **options: Any) -> Any:
        return client.rank(put(few_keys), **options)

    small = few_keys < 7
    joined, joined_rows = np.concatenate(halves), np.concatenate(rows)
    objects, ranks = oracles.load_balance(counts)
    return [
        Case("sort", sort, (keys[order],)),
        Case("sort values", sort_values, (keys[backward], values[backward])),
        Case("argsort", argsort, (order.astype(np.intp),)),
        Case("keys and indices", both, (keys[order], order.astype(np.uint32))),
        Case("limit", few, (keys[order][:cut],)),
        Case("segments", each, (keys[segmented],)),
        Case("merge", merge, (joined[merged],)),
        Case("merge values", merge_values, (joined[merged], joined_rows[merged])),
        Case("expand", expand, (np.repeat(numbers[: len(counts)], counts),)),
        Case("gather", gather, (oracles.move(source, b, s, c, np.zeros(total, np.uint16)),)),
        Case("move", move, (oracles.move(source, b, g, c, into),)),
        Case("scatter", scatter, (oracles.move(source[:total], s, g, c, np.zeros(total + 7, np.uint16)),)),
        Case("load_balance", load_balance, (objects.astype(np.intp), ranks.astype(np.intp))),
        Case("search", search, (np.searchsorted(haystack, needles, side="right"),)),
        Case("group", group, group_results),
        Case("unique", unique, (np.unique(numbers),)),
        Case("full join", full_join, met),
        Case("select", select, (numbers[mask],)),
        Case("select below", select_below, (few_keys[small], weights[small])),
        Case("remove", remove, (np.delete(numbers, gone),)),
        Case("rank", rank, (oracles.rank(few_keys, "int16", "average"),)),
        Case("union", union, (np.concatenate(sides)[united], np.concatenate(side_values)[united])),
        Case("intersection", intersection, (np.concatenate(sides)[shared],)),
    ]


NAMES = [case.name for case in cases(10)]
