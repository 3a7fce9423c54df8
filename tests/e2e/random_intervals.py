"""Continues random_operators: Merge, Search, and the operators that move intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import oracles
from corank.v1 import operators_pb2 as o
from random_operators import RECORD, Array, Draw, Elements, Operation, draw_order, indices, integers


def sorted_keys(elements: Elements, descending: bool) -> Elements:
    """The keys in order."""
    return Elements(elements.type, elements.data[oracles.argsort(elements.data, elements.key_type, descending)])


def is_sorted(elements: Elements, descending: bool) -> bool:
    """Whether these are keys in order."""
    if elements.type == RECORD:
        return False
    keys = oracles.comparable(elements.data, elements.key_type)
    last, first = (keys[:-1], keys[1:]) if descending else (keys[1:], keys[:-1])
    return bool(((first <= last) | (last != last)).all())


def some_sorted(draw: Draw, descending: bool) -> tuple[Elements, Any]:
    """Sorted keys of any type."""
    found = draw.taken(lambda each: is_sorted(each, descending))
    if found is not None:
        return found
    key_type = draw.one(draw.types)
    return sorted_keys(draw.keys(key_type, draw.count(oracles.storage(key_type).itemsize)), descending), None


def merge(draw: Draw) -> Operation:
    """Merge of 2 to 40 arrays, some of them empty."""
    order, descending = draw_order(draw)
    request = o.MergeRequest(order=order, assume_sorted=draw.chance(0.2))
    request.algorithm = int(draw.rng.integers(0, 6))  # type: ignore[assignment]
    operation = Operation("merge", request)
    parts = [some_sorted(draw, descending)]
    ways, key_type = int(draw.one((2, 2, 3, 5, 8, 33, 40))), parts[0][0].key_type
    held = draw.fitting(lambda each: each.type == parts[0][0].type and is_sorted(each, descending))
    held = [each for each in held if each[0].data.nbytes <= draw.most_bytes // ways]
    for length in np.diff(draw.cuts(draw.count(parts[0][0].width), ways - 1)).tolist():
        part = sorted_keys(draw.keys(key_type, length), descending), None
        parts.insert(int(draw.rng.integers(0, len(parts) + 1)), draw.one(held) if held and draw.chance(0.3) else part)
    for at, (keys, where) in enumerate(parts):
        operation.add(f"keys[{at}]", keys, where)
    joined = np.concatenate([keys.data for keys, _ in parts])
    places = oracles.argsort(joined, key_type, descending)
    operation.answer("keys", "keys_destination", Elements(parts[0][0].type, joined[places]))
    with_values = draw.chance(0.4)
    if with_values:
        values = draw.records(len(joined))
        begin = 0
        for at, (keys, _) in enumerate(parts):
            operation.add(f"values[{at}]", Elements(values.type, values.data[begin : begin + len(keys.data)]))
            begin += len(keys.data)
        operation.answer("values", "values_destination", Elements(values.type, values.data[places]))
    options = {
        "descending": descending,
        "algorithm": ("auto", "auto", "basic", "tiled", "circular-buffer", "merge-path")[request.algorithm],
        "assume_sorted": request.assume_sorted,
    }

    def python(client: Any, arrays: list[Any], **more: Any) -> Any:
        if with_values:
            return client.merge(arrays[:ways], values=arrays[ways:], **options, **more)
        return client.merge(arrays, **options, **more)

    operation.python = python
    return operation


def search(draw: Draw) -> Operation:
    """Search, on both sides and in both orders."""
    order, descending = draw_order(draw)
    haystack, held = some_sorted(draw, descending)
    found = draw.taken(lambda each: each.type == haystack.type)
    needles, where = found or (draw.keys(haystack.key_type, draw.count(haystack.width)), None)
    if len(haystack.data) and len(needles.data) and found is None:
        some = draw.rng.random(len(needles.data)) < 0.5
        needles.data[some] = draw.rng.choice(haystack.data, int(some.sum()))
    request = o.SearchRequest(order=order, assume_sorted=draw.chance(0.2))
    request.bound = int(draw.rng.integers(0, 3))  # type: ignore[assignment]
    side = "right" if request.bound == o.SEARCH_BOUND_UPPER else "left"
    operation = Operation("search", request)
    operation.add("haystack", haystack, held)
    operation.add("needles", needles, where)
    positions = oracles.search(haystack.data, needles.data, haystack.key_type, side, descending)
    operation.answer("positions", "destination", indices(positions))
    options = {"side": side, "descending": descending, "assume_sorted": request.assume_sorted}
    if haystack.key_type == "bfloat16":
        options["dtype"] = "bfloat16"
    operation.python = lambda client, arrays, **more: client.search(*arrays, index_dtype=None, **options, **more)
    return operation


def _positions(begins: Array, counts: Array) -> Array:
    """The elements of the intervals, interval by interval."""
    starts = np.cumsum(counts) - counts
    return np.repeat(begins - starts, counts) + np.arange(int(counts.sum()))


def _disjoint(draw: Draw, counts: Array) -> tuple[Array, int]:
    """Destination offsets without overlap, in any order, and the length of the destination including gaps."""
    order = draw.rng.permutation(len(counts))
    gaps = draw.rng.integers(0, 3, len(counts)) if draw.chance(0.7) else np.zeros(len(counts), np.int64)
    ends = np.cumsum((counts + gaps)[order])
    begins = np.zeros(len(counts), np.int64)
    begins[order] = ends - counts[order]
    return begins, (int(ends[-1]) if len(ends) else 0) + int(draw.rng.integers(0, 5))


def expand(draw: Draw) -> Operation:
    """ExpandIntervals."""
    found = draw.taken(lambda each: len(each.data) <= 20_000)
    if found is None:
        found = draw.records(min(20_000, draw.count(8))), None
    values, held = found
    count = len(values.data)
    total = min(draw.count(values.width), draw.most_bytes // values.width) if count else 0
    counts = np.diff(draw.cuts(total, count)) if count else np.zeros(0, np.int64)
    operation = Operation("expand_intervals", o.ExpandIntervalsRequest())
    operation.add("values", values, held)
    operation.add("counts", integers(counts))
    operation.answer("values", "destination", Elements(values.type, np.repeat(values.data, counts)))
    operation.python = lambda client, arrays, **more: client.expand(*arrays, **more)
    return operation


def _source(draw: Draw) -> tuple[Elements, Any, Array, Array]:
    """An array, and the offsets and lengths of intervals in it, which may overlap."""
    source, held = draw.some_records()
    counts = draw.lengths(len(source.data))
    begins = draw.rng.integers(0, len(source.data) - counts + 1) if len(counts) else np.zeros(0, np.int64)
    return source, held, begins, counts


def gather(draw: Draw) -> Operation:
    """GatherIntervals."""
    source, held, begins, counts = _source(draw)
    operation = Operation("gather_intervals", o.GatherIntervalsRequest())
    operation.add("source", source, held)
    operation.add("source_offsets", integers(begins))
    operation.add("counts", integers(counts))
    operation.answer("result", "destination", Elements(source.type, source.data[_positions(begins, counts)]))
    operation.python = lambda client, arrays, **more: client.gather(*arrays, **more)
    return operation


def _initial(draw: Draw, operation: Operation, source: Elements, size: int) -> Array:
    """The elements of the destination before the call, to be overwritten."""
    if draw.chance(0.5):
        operation.request.destination_count = size
        return np.zeros(size * source.width, np.uint8).view(source.data.dtype)
    drawn = np.frombuffer(draw.rng.bytes(size * source.width), source.data.dtype)
    operation.add("destination", Elements(source.type, drawn))
    return drawn.copy()


def move(draw: Draw) -> Operation:
    """MoveIntervals to places that do not overlap."""
    source, held, begins, counts = _source(draw)
    goals, size = _disjoint(draw, counts)
    operation = Operation("move_intervals", o.MoveIntervalsRequest(allow_overlap=draw.chance(0.3)))
    operation.add("source", source, held)
    operation.add("source_offsets", integers(begins))
    operation.add("destination_offsets", integers(goals))
    operation.add("counts", integers(counts))
    into = _initial(draw, operation, source, size)
    into[_positions(goals, counts)] = source.data[_positions(begins, counts)]
    operation.answer("result", "result_destination", Elements(source.type, into))
    allow = operation.request.allow_overlap

    def python(client: Any, arrays: list[Any], **more: Any) -> Any:
        destination = arrays[4] if len(arrays) > 4 else size
        return client.move(*arrays[:4], destination=destination, allow_overlap=allow, **more)

    operation.python = python
    return operation


def scatter(draw: Draw) -> Operation:
    """ScatterIntervals."""
    source, held = draw.some_records()
    counts = draw.lengths(len(source.data)) if len(source.data) else np.zeros(2, np.int64)
    if counts.sum() != len(source.data):
        counts = np.array([len(source.data)])
    goals, size = _disjoint(draw, counts)
    operation = Operation("scatter_intervals", o.ScatterIntervalsRequest(allow_overlap=draw.chance(0.3)))
    operation.add("source", source, held)
    operation.add("destination_offsets", integers(goals))
    operation.add("counts", integers(counts))
    into = _initial(draw, operation, source, size)
    into[_positions(goals, counts)] = source.data
    operation.answer("result", "result_destination", Elements(source.type, into))
    allow = operation.request.allow_overlap

    def python(client: Any, arrays: list[Any], **more: Any) -> Any:
        destination = arrays[3] if len(arrays) > 3 else size
        return client.scatter(*arrays[:3], destination=destination, allow_overlap=allow, **more)

    operation.python = python
    return operation


def load_balance(draw: Draw) -> Operation:
    """LoadBalance."""
    counts = draw.lengths(draw.count(4))
    operation = Operation("load_balance", o.LoadBalanceRequest())
    operation.add("counts", integers(counts))
    objects, ranks = oracles.load_balance(counts)
    operation.answer("objects", "objects_destination", indices(objects))
    operation.answer("ranks", "ranks_destination", indices(ranks))

    def python(client: Any, arrays: list[Any], **more: Any) -> Any:
        return tuple(client.load_balance(*arrays, index_dtype=None, **more))

    operation.python = python
    return operation


def carrier(draw: Draw, elements: Elements) -> Operation:
    """A GatherIntervals whose result is this array, so that an operator produces it."""
    cuts = draw.cuts(len(elements.data), 3)
    order = draw.rng.permutation(3)
    counts = np.diff(cuts)
    begins = np.zeros(3, np.int64)
    begins[order] = np.cumsum(counts[order]) - counts[order]
    pieces = [elements.data[cuts[at] : cuts[at + 1]] for at in order]
    operation = Operation("gather_intervals", o.GatherIntervalsRequest())
    operation.add("source", Elements(elements.type, np.concatenate(pieces)))
    operation.add("source_offsets", integers(begins))
    operation.add("counts", integers(counts))
    operation.answer("result", "destination", elements)
    operation.python = lambda client, arrays, **more: client.gather(*arrays, **more)
    return operation
