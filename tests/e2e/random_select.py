"""Continues random_operators: Select, insertions and Rank. Only the answer tells how many elements Select finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import oracles
from corank.v1 import array_pb2 as a
from corank.v1 import operators_pb2 as o
from corank.v1 import rank_pb2 as r
from corank.v1 import select_pb2 as s
from random_intervals import some_sorted
from random_operators import Array, Draw, Elements, Operation, draw_order, indices, integers

_COMPARISONS = {
    "<": s.COMPARISON_LESS,
    "==": s.COMPARISON_EQUAL,
    "<=": s.COMPARISON_LESS_OR_EQUAL,
    ">": s.COMPARISON_GREATER,
    "!=": s.COMPARISON_NOT_EQUAL,
    ">=": s.COMPARISON_GREATER_OR_EQUAL,
}
_RESULTS = (
    *[("elements",)] * 3,
    *[("elements", "count")] * 2,
    ("indices",),
    ("indices", "count"),
    ("elements", "indices", "count"),
)
_METHODS = {
    "average": (r.RANK_METHOD_UNSPECIFIED, r.RANK_METHOD_AVERAGE),
    "min": (r.RANK_METHOD_MIN,),
    "max": (r.RANK_METHOD_MAX,),
    "dense": (r.RANK_METHOD_DENSE,),
    "ordinal": (r.RANK_METHOD_ORDINAL,),
}


def _bytes(values: Array) -> Elements:
    return Elements(int(a.ELEMENT_TYPE_UINT8), values.astype(np.uint8))


def _predicate(draw: Draw, by: str, operation: Operation, elements: Elements) -> tuple[Array, dict[str, Any]]:
    """Adds what decides; returns the elements that it selects, as a mask, and options of the Python client."""
    count = len(elements.data)
    if by == "threshold":
        threshold = draw.keys(elements.key_type, 1)
        if count and draw.chance(0.7):
            threshold.data[0] = draw.rng.choice(elements.data)
        name = str(draw.one(tuple(_COMPARISONS)))
        operation.request.comparison = _COMPARISONS[name]
        operation.add("threshold", threshold)
        mask = oracles.compares(elements.data, threshold.data, elements.key_type, s.Comparison.Name(_COMPARISONS[name]))
        return mask, {"comparison": name, "threshold": threshold.data[0]}
    mask = draw.rng.random(count) < draw.one((0, 0.01, 0.5, 0.99, 1))
    if by == "flags":
        operation.add("flags", _bytes(np.where(mask, draw.rng.integers(1, 256, count), 0)))
    elif by == "bitmap":
        unread = draw.rng.random(-count % 8) < 0.5  # bits of the last byte
        operation.add("bitmap", _bytes(np.packbits(np.concatenate([mask, unread]), bitorder="little")))
    else:
        positions = draw.rng.permutation(np.flatnonzero(mask))
        if len(positions):
            positions = np.concatenate([positions, draw.rng.choice(positions, int(draw.one((0, 0, 5))))])
        operation.add("positions", integers(positions))
    return mask, {}


def select(draw: Draw) -> Operation:
    """Select by flags, bits, positions or a threshold, with any choice of results, some of them parted."""
    by = str(draw.one(("flags", "bitmap", "positions", "positions", "threshold")))
    elements, held = draw.some_keys() if by == "threshold" else draw.some_records()
    count, partition, negate = len(elements.data), draw.chance(0.3), draw.chance(0.4)
    request = s.SelectRequest(partition=partition, negate=negate)
    operation = Operation("select", request)
    operation.add("elements", elements, held)
    mask, options = _predicate(draw, by, operation, elements)
    mask = ~mask if negate else mask
    found = np.flatnonzero(mask)
    order = np.concatenate([found, np.flatnonzero(~mask)]) if partition else found
    names = list(draw.one(_RESULTS))
    if names != ["elements"] or draw.chance(0.5):  # which is the default
        outputs: list[Any] = [s.SelectOutput.Value(f"SELECT_OUTPUT_{name.upper()}") for name in names]
        request.outputs.extend(outputs[at] for at in draw.rng.permutation(len(outputs)))
    with_values = draw.chance(0.4)
    if "elements" in names:
        operation.answer("elements", "elements_destination", Elements(elements.type, elements.data[order]), count)
    if with_values:
        values, where = draw.some_records(count)
        operation.add("values", values, where)
        operation.answer("values", "values_destination", Elements(values.type, values.data[order]), count)
    if "indices" in names:
        operation.answer("indices", "indices_destination", indices(order), count)
    if "count" in names:
        operation.answer("count", "count_destination", integers([len(found)]))
    operation.python = _python(by, names, with_values, partition, {**options, "negate": negate})
    return operation


def _python(by: str, names: list[str], with_values: bool, partition: bool, options: dict[str, Any]) -> Any:
    """The call of the Python client; None if it has none for these results."""
    if partition:
        method = "partition" if names == ["elements", "count"] else None
    elif names == ["indices"] and not with_values:
        method, options = "argselect", {**options, "index_dtype": None}
    else:
        method = "select" if names == ["elements"] else None
    if method is None:
        return None
    if method == "select" and by == "positions" and options["negate"]:
        method, options = "remove", {}

    def python(client: Any, arrays: list[Any], **more: Any) -> Any:
        given = {} if by == "threshold" else {by: arrays[1]}
        if with_values:
            given["values"] = arrays[2]
        made = getattr(client, method)(arrays[0], **given, **options, **more)
        if not partition:
            return made
        return tuple(np.array([each], np.int64) if isinstance(each, int) else each for each in made)

    return python


def insert(draw: Draw) -> Operation:
    """An insertion, which is a GatherIntervals."""
    elements = draw.records(draw.count(8))
    count = len(elements.data)
    most = max(1, min(count, 3000, draw.most_bytes // elements.width))
    inserted = int(draw.rng.integers(0, most + 1))
    new = np.frombuffer(draw.rng.bytes(inserted * elements.width), elements.data.dtype)
    positions = draw.rng.integers(0, count + 1, inserted)
    order = np.argsort(positions, kind="stable")
    begins = np.zeros(2 * inserted + 1, np.int64)
    counts = np.ones_like(begins)
    cuts = np.concatenate([[0], positions[order], [count]])
    begins[0::2], counts[0::2] = cuts[:-1], np.diff(cuts)
    begins[1::2] = count + order
    operation = Operation("gather_intervals", o.GatherIntervalsRequest())
    operation.add("source", Elements(elements.type, np.concatenate([elements.data, new])))
    operation.add("source_offsets", integers(begins))
    operation.add("counts", integers(counts))
    operation.answer("result", "destination", Elements(elements.type, np.insert(elements.data, positions, new)))
    # The client makes the intervals itself, of arrays in this process.
    operation.python = lambda client, _, **more: client.insert(elements.data, positions, new, **more)
    return operation


def rank(draw: Draw) -> Operation:
    """Rank by any method, in both orders, of keys in any order or sorted, whole or by segments."""
    number, descending = draw_order(draw)
    is_sorted = draw.chance(0.4)
    keys, held = some_sorted(draw, descending) if is_sorted else draw.some_keys()
    method = str(draw.one(tuple(_METHODS)))
    operation = Operation("rank", r.RankRequest(method=draw.one(_METHODS[method]), order=number, keys_sorted=is_sorted))
    operation.add("keys", keys, held)
    offsets = np.array([0, len(keys.data)])
    has_segments = draw.chance(0.3)
    if has_segments:
        offsets = draw.cuts(len(keys.data), int(draw.one((1, 2, 3, 100))))
        operation.add("segment_offsets", integers(offsets))
    ranks = oracles.segmented_rank(keys.data, offsets.tolist(), keys.key_type, method, descending)
    answer = Elements(int(a.ELEMENT_TYPE_FLOAT64), ranks) if method == "average" else indices(ranks)
    operation.answer("ranks", "ranks_destination", answer)
    options: dict[str, Any] = {"descending": descending, "keys_sorted": is_sorted}
    if method != "average":
        options["index_dtype"] = None

    def python(client: Any, arrays: list[Any], **more: Any) -> Any:
        segments = {"segments": arrays[1]} if has_segments else {}
        return client.rank(arrays[0], method, **segments, **options, **more)

    operation.python = python
    return operation
