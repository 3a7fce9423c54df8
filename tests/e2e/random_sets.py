"""Continues random_operators: Group and CombineSets, whose number of results only the answer tells."""

from __future__ import annotations

from typing import Any

import numpy as np
import oracles
from corank.v1 import array_pb2 as a
from corank.v1 import group_pb2 as g
from corank.v1 import sets_pb2 as s
from corank.v1.operators_pb2 import SORT_ORDER_UNSPECIFIED
from random_intervals import is_sorted, some_sorted, sorted_keys
from random_operators import INT64, RECORD, Array, Draw, Elements, Operation, draw_order, indices, integers

_INPUTS = {
    "unsorted": (g.GROUP_INPUT_UNSPECIFIED, g.GROUP_INPUT_UNSORTED),
    "sorted": (g.GROUP_INPUT_SORTED,),
    "runs": (g.GROUP_INPUT_RUNS,),
}
_OF_VALUES = ("sums", "minima", "maxima", "value_counts")
_MOST_REDUCED = 3000
"""Keys whose values are reduced: the oracle adds them up one by one."""
_SUM_TYPES = {"i": INT64, "u": int(a.ELEMENT_TYPE_UINT64), "f": int(a.ELEMENT_TYPE_FLOAT64)}
_OPERATIONS = {
    "union": s.SET_OPERATION_UNION,
    "intersection": s.SET_OPERATION_INTERSECTION,
    "difference": s.SET_OPERATION_DIFFERENCE,
    "symmetric_difference": s.SET_OPERATION_SYMMETRIC_DIFFERENCE,
}


def _sums(values: Elements, ordered: Array, starts: Array, counts: Array, valid: Array) -> Elements | None:
    """The sums of groups; None if 64 bits cannot hold one of them."""
    try:
        found = oracles.sums(ordered, values.key_type, starts, counts, valid)
    except OverflowError:
        return None
    return Elements(_SUM_TYPES[found.dtype.kind], found)


def _reducible(draw: Draw, count: int) -> tuple[Elements, Any]:
    """Numbers, one for each key."""
    found = draw.taken(lambda each: each.type != RECORD and len(each.data) == count)
    return found or (draw.keys(draw.one(draw.types), count), None)


def group(draw: Draw) -> Operation:
    """Group of keys in any order, of sorted keys, or of runs, with any choice of results."""
    arrangement = str(draw.one(("unsorted", "unsorted", "sorted", "runs")))
    number, descending = (SORT_ORDER_UNSPECIFIED, False) if arrangement == "runs" else draw_order(draw)
    keys, held = some_sorted(draw, descending) if arrangement == "sorted" else draw.some_keys()
    count = len(keys.data)
    request = g.GroupRequest(order=number, input=draw.one(_INPUTS[arrangement]))
    operation = Operation("group", request)
    operation.add("keys", keys, held)
    order, starts, counts = oracles.groups(keys.data, keys.key_type, arrangement, descending)
    found = {
        "keys": Elements(keys.type, keys.data[order[starts]]),
        "counts": integers(counts),
        "firsts": indices(order[starts]),
    }
    with_values = count <= _MOST_REDUCED and draw.chance(0.5)
    if with_values:
        values, where = _reducible(draw, count)
        ordered = values.data[order]
        with_nulls = draw.chance(0.5)
        valid = draw.rng.random(count) < (draw.rng.random() if with_nulls else 1)
        for name, greatest in (("minima", False), ("maxima", True)):
            extremes = oracles.extremes(ordered, values.key_type, starts, counts, greatest, valid[order])
            found[name] = Elements(values.type, extremes)
        present = [valid[order][at : at + each].sum() for at, each in zip(starts, counts, strict=True)]
        found["value_counts"] = integers(np.array(present, np.int64))
        sums = _sums(values, ordered, starts, counts, valid[order])
        if sums is not None:
            found["sums"] = sums
        operation.add("values", values, where)
        if with_nulls:
            bitmap = np.packbits(valid, bitorder="little")
            operation.add("values_validity", Elements(int(a.ELEMENT_TYPE_UINT8), bitmap))
    chosen = [name for name in found if draw.chance(0.5)] or list(found)
    if with_values and not set(chosen) & set(_OF_VALUES):
        chosen.append("minima")
    names = [chosen[at] for at in draw.rng.permutation(len(chosen))]
    if sorted(names) == ["counts", "keys"] and draw.chance(0.5):
        names = ["keys", "counts"]  # the default
    else:
        outputs: list[Any] = [g.GroupOutput.Value(f"GROUP_OUTPUT_{name.upper()}") for name in names]
        request.outputs.extend(outputs)
    for name in names:
        operation.answer(name, f"{name}_destination", found[name], count)
    options: dict[str, Any] = {"results": names, "arrangement": arrangement, "descending": descending}

    def python(client: Any, arrays: list[Any], **more: Any) -> Any:
        of_values = dict(zip(("values", "values_validity"), arrays[1:], strict=False))
        made = client.group(arrays[0], index_dtype=None, **of_values, **options, **more)
        return tuple(getattr(made, name) for name in names)

    operation.python = python
    return operation


def _combined(left: Elements, right: Elements, operation: str, descending: bool) -> Array:
    """The elements of a set operation, as positions in both sides joined."""
    both = np.concatenate([left.data, right.data])
    ranks = np.unique(oracles.comparable(both, left.key_type), return_inverse=True)[1].reshape(-1)
    ranks = -ranks if descending else ranks
    sides = ranks[: len(left.data)], ranks[len(left.data) :]

    def is_alone(side: Array, other: Array) -> Array:
        nth = np.arange(len(side)) - np.searchsorted(side, side)
        partners = np.searchsorted(other, side, side="right") - np.searchsorted(other, side)
        alone: Array = nth >= partners
        return alone

    alone = is_alone(*sides)
    of_left = {"union": np.full(len(left.data), True), "intersection": ~alone}.get(operation, alone)
    has_right = operation in ("union", "symmetric_difference")
    of_right = is_alone(*sides[::-1]) if has_right else np.full(len(right.data), False)
    found = np.flatnonzero(np.concatenate([of_left, of_right]))
    made: Array = found[np.argsort(ranks[found], kind="stable")]
    return made


def _other_side(draw: Draw, left: Elements, descending: bool) -> tuple[Elements, Any]:
    """A side with many partners on the left."""
    found = draw.taken(lambda each: each.type == left.type)
    if found is not None:
        return found if is_sorted(found[0], descending) else (sorted_keys(found[0], descending), None)
    right = draw.keys(left.key_type, draw.count(left.width))
    if len(left.data) and len(right.data):
        some = draw.rng.random(len(right.data)) < draw.rng.random()
        right.data[some] = draw.rng.choice(left.data, int(some.sum()))
    return sorted_keys(right, descending), None


def combine_sets(draw: Draw) -> Operation:
    """CombineSets: keys, keys with values, or their number alone."""
    number, descending = draw_order(draw)
    left, held = some_sorted(draw, descending)
    right, where = _other_side(draw, left, descending)
    name = str(draw.one(tuple(_OPERATIONS)))
    request = s.CombineSetsRequest(operation=_OPERATIONS[name], order=number)
    operation = Operation("combine_sets", request)
    operation.add("left", left, held)
    operation.add("right", right, where)
    found = _combined(left, right, name, descending)
    most = {
        "intersection": min(len(left.data), len(right.data)),
        "difference": len(left.data),
    }.get(name, len(left.data) + len(right.data))
    options: dict[str, Any] = {"descending": descending}
    names: list[str] = []
    if draw.chance(0.25):
        request.count_only = True
        operation.answer("count", "count_destination", integers([len(found)]))

        def counted(client: Any, arrays: list[Any], **more: Any) -> Any:
            made = client.count_sets(*arrays, name, **options, **more)
            return np.array([made], np.int64) if isinstance(made, int) else made

        operation.python = counted
        return operation
    joined = np.concatenate([left.data, right.data])
    operation.answer("keys", "keys_destination", Elements(left.type, joined[found]), most)
    if draw.chance(0.4):
        has_right = name in ("union", "symmetric_difference")
        values = draw.records(len(joined) if has_right else len(left.data))
        names = ["left_values", "right_values"][: 1 + has_right]
        for field, rows in zip(names, (slice(None, len(left.data)), slice(len(left.data), None)), strict=False):
            operation.add(field, Elements(values.type, values.data[rows]))
        operation.answer("values", "values_destination", Elements(values.type, values.data[found]), most)

    def python(client: Any, arrays: list[Any], **more: Any) -> Any:
        return client.combine_sets(*arrays[:2], name, **dict(zip(names, arrays[2:], strict=True)), **options, **more)

    operation.python = python
    return operation
