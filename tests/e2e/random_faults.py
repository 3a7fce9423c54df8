"""The mistakes that a caller can make with an operator, and the error that the server must give for each."""

from __future__ import annotations

import numpy as np
import oracles
from corank.v1.group_pb2 import GROUP_INPUT_SORTED
from random_operators import Draw, Elements, Fault, Input, Operation, integers

INVALID = "INVALID_ARGUMENT"


def _replace(operation: Operation, name: str, elements: Elements) -> None:
    for at, each in enumerate(operation.inputs):
        if each.field == name:
            operation.inputs[at] = Input(name, elements)


def _unsorted(draw: Draw, operation: Operation, name: str) -> Fault | None:
    """Swaps two keys of a sorted array. A table has none: its rows lie in columns."""
    elements = next((each.elements for each in operation.inputs if each.field == name), None)
    if elements is None:
        return None
    keys = oracles.comparable(elements.data, elements.key_type)
    if not len(keys) or keys[0] == keys[-1] or (keys[0] != keys[0] and keys[-1] != keys[-1]):
        return None
    swapped = elements.data.copy()
    swapped[0], swapped[-1] = elements.data[-1], elements.data[0]
    if operation.kind in ("merge", "search"):
        operation.request.assume_sorted = False
    _replace(operation, name, Elements(elements.type, swapped))
    return Fault(INVALID, name)


def _overlap(operation: Operation, fields: dict[str, Elements]) -> Fault | None:
    """Sends two intervals to the same place."""
    filled = np.flatnonzero(fields["counts"].data)
    if len(filled) < 2:
        return None
    first, second = filled[0], filled[-1]
    goals, counts = fields["destination_offsets"].data.copy(), fields["counts"].data
    if counts[first] >= counts[second]:
        goals[second] = goals[first]
    else:
        goals[first] = goals[second]
    operation.request.allow_overlap = False
    _replace(operation, "destination_offsets", integers(goals))
    return Fault(INVALID, "destination_offsets[")


def _bad_number(draw: Draw, operation: Operation, fields: dict[str, Elements]) -> Fault | None:
    """Makes a count, an offset or a bound impossible."""
    possible = [name for name in ("counts", "source_offsets", "segment_offsets") if name in fields]
    possible = [name for name in possible if len(fields[name].data)]
    if not possible:
        return None
    name = draw.one(possible)
    numbers = fields[name].data.copy()
    at = int(draw.rng.integers(len(numbers)))
    numbers[at] = -1 if name == "counts" else numbers[-1] + 2**40
    _replace(operation, name, integers(numbers))
    # Of segments, the one behind is found to be smaller.
    return Fault(INVALID, f"{name}[" if name == "segment_offsets" else f"{name}[{at}]")


def _longer(operation: Operation, name: str, values: Elements) -> Fault | None:
    """Sends one value more than there are keys."""
    _replace(operation, name, Elements(values.type, np.concatenate([values.data, values.data[:1]])))
    return Fault(INVALID, f"{name}.count") if len(values.data) else None


def _bad_group(draw: Draw, operation: Operation, fields: dict[str, Elements]) -> Fault | None:
    """An output that does not exist or is there twice, values too many, or keys in no order."""
    way = int(draw.rng.integers(0, 3))
    outputs = operation.request.outputs
    if way == 0 or (way == 1 and not len(outputs)):
        outputs.append(77)
        return Fault(INVALID, f"outputs[{len(outputs) - 1}]")
    if way == 1:
        outputs.append(outputs[0])
        return Fault(INVALID, f"outputs[{len(outputs) - 1}]")
    if operation.request.input == GROUP_INPUT_SORTED:
        return _unsorted(draw, operation, "keys")
    return _longer(operation, "values", fields["values"]) if "values" in fields else None


def _bad_sets(draw: Draw, operation: Operation, fields: dict[str, Elements]) -> Fault | None:
    """An operation that does not exist, values too many, or a side in no order."""
    way, values = int(draw.rng.integers(0, 3)), [name for name in fields if name.endswith("values")]
    if way == 0:
        operation.request.operation = 77
        return Fault(INVALID, "operation")
    if way == 1 and values:
        name = draw.one(values)
        return _longer(operation, name, fields[name])
    return _unsorted(draw, operation, draw.one(("left", "right")))


def _bad_join(draw: Draw, operation: Operation) -> Fault | None:
    """A kind that does not exist, a right side in no order, or room for too few rows."""
    way, request = int(draw.rng.integers(0, 3)), operation.request
    if way == 0:
        request.kind = 77
        return Fault(INVALID, "kind")
    if way == 1 and request.right_sorted:
        return _unsorted(draw, operation, "right")
    if request.count_only:
        request.max_rows = 1
    else:
        request.max_rows = len(operation.results[0].elements.data) - 1  # -1 is no number of rows
    return Fault(INVALID, "max_rows")


def _bad_select(draw: Draw, operation: Operation, fields: dict[str, Elements]) -> Fault | None:
    """An output that does not exist, a comparison too much or too little, or elements, flags or positions amiss."""
    way, request, count = int(draw.rng.integers(0, 3)), operation.request, len(fields["elements"].data)
    if way == 0:
        request.outputs.append(77)
        return Fault(INVALID, f"outputs[{len(request.outputs) - 1}]")
    if way == 1:
        request.comparison = 0 if request.comparison else 1
        return Fault(INVALID, "comparison")
    if "positions" in fields:
        positions = fields["positions"].data
        _replace(operation, "positions", integers(np.append(positions, draw.one((-1, count, 2**40)))))
        return Fault(INVALID, f"positions[{len(positions)}]")
    name = draw.one([name for name in fields if name != "elements"])
    return _longer(operation, name, fields[name])


def _bad_rank(draw: Draw, operation: Operation, fields: dict[str, Elements]) -> Fault | None:
    """A method that does not exist, segments that do not fit, or keys in no order."""
    if "segment_offsets" in fields and draw.chance(0.5):
        return _bad_number(draw, operation, fields)
    if draw.chance(0.5) or not operation.request.keys_sorted or "segment_offsets" in fields:
        operation.request.method = 77
        return Fault(INVALID, "method")
    return _unsorted(draw, operation, "keys")


def spoil(draw: Draw, operation: Operation) -> bool:
    """Makes an operation wrong in one way and sets its `fault`; returns False if that way does not apply."""
    fields = {each.field: each.elements for each in operation.inputs}
    way = int(draw.rng.integers(0, 5))
    fault: Fault | None = None
    if way == 0 and operation.kind in ("sort", "merge"):
        operation.request.algorithm = 77
        fault = Fault(INVALID, "algorithm")
    elif way == 1 and operation.kind == "sort":
        operation.request.limit = -1
        fault = Fault(INVALID, "limit")
    elif way == 2 and "values" in fields and operation.kind == "sort":
        fault = _longer(operation, "values", fields["values"])
    elif operation.kind == "group":
        fault = _bad_group(draw, operation, fields)
    elif operation.kind == "combine_sets":
        fault = _bad_sets(draw, operation, fields)
    elif operation.kind == "join":
        fault = _bad_join(draw, operation)
    elif operation.kind == "select":
        fault = _bad_select(draw, operation, fields)
    elif operation.kind == "rank":
        fault = _bad_rank(draw, operation, fields)
    elif way == 2 and operation.kind == "merge":
        operation.inputs = operation.inputs[:1]
        fault = Fault(INVALID, "keys")
    elif way == 3 and operation.kind in ("move_intervals", "scatter_intervals"):
        fault = _overlap(operation, fields)
    elif operation.kind == "merge":
        fault = _unsorted(draw, operation, draw.one([name for name in fields if name.startswith("keys")]))
    elif operation.kind == "search":
        fault = _unsorted(draw, operation, "haystack")
    else:
        fault = _bad_number(draw, operation, fields)
    operation.fault = fault
    return fault is not None
