"""Builds calls from a seed: operators, and a place for each array and each result."""

from __future__ import annotations

import re
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import random_intervals
import random_joins
import random_operators
import random_select
import random_sets
from corank.v1 import array_pb2 as a
from random_faults import INVALID, spoil
from random_operators import Draw, Elements, Fault, Input, Operation, Result
from random_wire import RefusedError, Region, Wire, header

OPERATORS = (
    random_operators.sort,
    random_operators.sort,
    random_operators.sort_columns,
    random_operators.search_columns,
    random_intervals.merge,
    random_intervals.merge,
    random_intervals.search,
    random_intervals.expand,
    random_intervals.gather,
    random_intervals.move,
    random_intervals.scatter,
    random_intervals.load_balance,
    random_sets.group,
    random_sets.combine_sets,
    random_joins.join,
    random_select.select,
    random_select.select,
    random_select.insert,
    random_select.rank,
)
LARGE = (random_operators.plain_sort, random_operators.plain_sort, random_intervals.merge, random_operators.sort)
"""Operators whose arrays all lie in one kind of place and may exceed the device memory of a stream."""
STAYING = ("region", "kept", "temporary")
"""Kinds of places in which later operators find a result."""
UNARY = ("region", "kept", "inline", "inline", "unset")
STREAMED = (*STAYING, "inline", "inline", "unset", "stream", "stream")
_ARENA_BYTES = 12 << 20
_MOST_OPERATIONS = 6
_TRIES = 400
_NAMES = 12


class WrongAnswerError(Exception):
    """The server broke the contract."""


class Spot(NamedTuple):
    """The place of an array that outlives a call, or of a temporary for later operators of the same call."""

    kind: str
    name: str
    region: Region | None = None
    begin: int = 0


class Write(NamedTuple):
    """Bytes that the test or the server puts into shared memory.

    Attributes:
        region: the region.
        begin: the offset of the first byte.
        elements: the array.
        room: the bytes reserved for a result of the server, which may zero those that it does not fill.
    """

    region: Region
    begin: int
    elements: Elements
    room: int | None = None


@dataclass
class Plan:
    """A call under construction, and its expected outcome."""

    pool: list[tuple[Elements, Spot]]
    kept: dict[str, Elements]
    unary: bool
    parts: int
    operations: list[Operation] = field(default_factory=list)
    places: list[list[tuple[Result, a.Array]]] = field(default_factory=list)
    inputs: dict[int, tuple[Elements, bool]] = field(default_factory=dict)
    """By stream_id: the array, and whether the call announces its length."""
    outputs: dict[int, Elements] = field(default_factory=dict)
    writes: list[Write] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    """The names of kept arrays that the call reads or writes."""
    everywhere: str = ""
    """The kind of place of all arrays, if they share one."""
    device_bytes: int = 0
    """An upper bound of its share of the device memory that one stream may take."""
    short: int | None = None
    """The stream that sends less than it announced."""
    fault: Fault | None = None


def message_at(message: Any, path: str) -> Any:
    """The message at a path such as "key_columns[1].data", whose repeated fields grow as needed."""
    for name, index in re.findall(r"(\w+)(?:\[(\d+)\])?", path):
        message = getattr(message, name)
        if index:
            while len(message) <= int(index):
                message.add()
            message = message[int(index)]
    return message


class Planner:
    """Draws calls, and puts their inputs in place.

    Args:
        wire: the server.
        seed: of all that is drawn.
        max_device_bytes: the server's.
        counts: how many calls of each kind were made, for all cases together.
    """

    def __init__(self, wire: Wire, seed: int, max_device_bytes: int, counts: Counter[str]) -> None:
        self._wire = wire
        self._rng = np.random.default_rng(seed)
        self._draw = Draw(self._rng, [], 0)
        self._most, self._counts, self._prefix = max_device_bytes, counts, f"random-{seed}-"
        self._names = [f"{self._prefix}{at}" for at in range(_NAMES)]
        self._kept: dict[str, Elements] = {}
        self._pool: list[tuple[Elements, Spot]] = []
        self._regions: list[Region] = []

    def _again(self, action: Any) -> Any:
        """Repeats an action that a busy server refuses for now."""
        for _ in range(_TRIES):
            try:
                return action()
            except RefusedError as error:
                if not error.again:
                    raise
                self._counts["tried again"] += 1
            time.sleep(0.02)
        raise WrongAnswerError(f"refused {_TRIES} times, each time to be tried again")

    def plan(self) -> Plan:
        """Draws the next call and puts its inputs in place."""
        draw = self._draw
        wanted = int(draw.one((1, 1, 1, 2, 3, 4, 5, 6)))
        plan = Plan(list(self._pool), dict(self._kept), wanted == 1 and draw.chance(0.5), 1)
        if not plan.unary and draw.chance(0.3):
            plan.parts = int(draw.one((2, 3, 4)))
        fails = int(self._rng.integers(wanted)) if draw.chance(0.15) else -1
        # Alone, sorts and merges may be larger than the memory of the device.
        draw.most_bytes = 6 << 20 if wanted == 1 else max(64 << 10, self._most // 16)
        draw.is_large = wanted == 1 and draw.chance(0.25)
        if draw.is_large:
            plan.everywhere = "region" if plan.unary else "stream"
        for number in range(wanted):
            draw.pool = [] if draw.is_large else plan.pool
            operation = draw.one(LARGE if draw.is_large else OPERATORS)(draw)
            if number == fails:
                spoil(draw, operation)
            plan.names |= {each.held.name for each in operation.inputs if each.held and each.held.kind == "kept"}
            if not plan.unary and not plan.everywhere:
                held = {each.held.name for each in operation.inputs if each.held}
                for at, each in enumerate(operation.inputs):
                    operation.inputs[at] = self._through(plan, each, wanted - number, held)
            self._append(plan, operation)
            if number == fails and operation.fault is None:
                self._misplace(plan)
        return plan

    def _through(self, plan: Plan, given: Input, left: int, taken: set[str]) -> Input:
        """Places an input; sometimes an earlier operator of the call produces it. `taken`: names in use."""
        full = len(plan.operations) + left >= _MOST_OPERATIONS or len(taken) > _NAMES // 2
        if full or given.held is not None or not self._draw.chance(0.12):
            return given
        # The server reads counts and offsets that are not its own when the plan comes.
        places = ("kept", "temporary") if given.field.endswith(("counts", "offsets")) else STAYING
        self._append(plan, random_intervals.carrier(self._draw, given.elements), places, taken)
        spot = plan.pool[-1][1]
        taken.add(spot.name)
        return Input(given.field, given.elements, spot)

    def _append(
        self, plan: Plan, operation: Operation, places: tuple[str, ...] = (), taken: set[str] | None = None
    ) -> None:
        plan.operations.append(operation)
        if operation.fault is not None:
            plan.fault = operation.fault
            prefix_at = len(plan.operations) - 1
            operation.fault = Fault(operation.fault.code, f"plan.operations[{prefix_at}].{operation.fault.field}")
        fresh = [self._place_input(plan, operation, each) for each in operation.inputs]
        ranges = [each for each in fresh if each is not None]
        plan.places.append([])
        written = set(taken or ())
        if plan.everywhere:
            places = (plan.everywhere,)
        places = places or (UNARY if plan.unary else STREAMED)
        for result in operation.results:
            self._place_result(plan, operation, result, ranges, written, self._draw.one(places))

    def _place_input(self, plan: Plan, operation: Operation, given: Input) -> tuple[Region, int, int] | None:
        """Writes an array's place into the request; returns its range if one was made for it."""
        draw, elements, held = self._draw, given.elements, given.held
        array = message_at(operation.request, given.field)
        array.CopyFrom(header(elements))
        if not len(elements.data) and draw.chance(0.2):
            if draw.chance(0.5):
                array.count = 0
            return None
        kind = held.kind if held else draw.one(("inline", "inline", "stream", "stream", "region", "region", "kept"))
        kind = plan.everywhere or kind
        if kind == "stream" and plan.unary:
            kind = "inline"
        if kind == "kept" and not held:
            held = self._store(plan, elements)
            kind = "kept" if held else "inline"
        if kind == "region" or draw.chance(0.5):
            array.count = len(elements.data)
        # The server takes an array of unknown length for empty when the plan comes, and refuses intervals in it.
        measured = any(each.field.endswith("offsets") for each in operation.inputs)
        if kind == "inline":
            array.inline_data = elements.data.tobytes()
        elif kind == "stream":
            self._stream_in(plan, array, elements, not measured)
        elif kind == "region":
            region, begin = (held.region, held.begin) if held else self._range(elements.data.nbytes, elements.width)
            array.shared_memory.region, array.shared_memory.offset_bytes = region.name, begin
            if not held:
                plan.writes.append(Write(region, begin, elements))
                return region, begin, elements.data.nbytes
        else:
            array.stored.name, array.stored.temporary = held.name, kind == "temporary"
        return None

    def _stream_in(self, plan: Plan, array: Any, elements: Elements, may_be_unknown: bool) -> None:
        known = plan.parts > 1 or not may_be_unknown or self._draw.chance(0.7)
        if known:
            array.count = len(elements.data)
        else:
            array.ClearField("count")
        array.stream.stream_id = self._stream_id(plan.inputs)
        plan.inputs[array.stream.stream_id] = elements, known
        plan.device_bytes += elements.data.nbytes if known else (1 << 20) + 4 * elements.data.nbytes

    def _stream_id(self, taken: Any) -> int:
        while True:
            number = int(self._draw.one((0, 1, 2, int(self._rng.integers(0, 1024)), 1023)))
            if number not in taken:
                return number

    def _store(self, plan: Plan, elements: Elements) -> Spot | None:
        """Stores an array on the server before the call."""
        free = [name for name in self._names if name not in plan.names]
        if not free:
            return None
        name = self._draw.one(free)
        self._again(lambda: self._wire.store(name, elements))
        spot = Spot("kept", name)
        for pool, kept in ((self._pool, self._kept), (plan.pool, plan.kept)):
            pool[:] = [each for each in pool if each[1] != spot]
            pool.append((elements, spot))
            kept[name] = elements
        plan.names.add(name)
        return spot

    def _range(self, size: int, width: int) -> tuple[Region, int]:
        """An unused range of shared memory, sometimes in a new object."""
        step = min(width & -width, 16)
        gap = int(self._rng.integers(0, 300)) * step
        arena = self._regions[0] if self._regions else None
        is_full = arena is None or arena.used + gap + size + 64 > _ARENA_BYTES
        if arena is None or is_full or self._draw.chance(0.1):
            whole = gap + size + 64 if self._regions else max(_ARENA_BYTES, gap + size + 64)
            skipped = int(self._draw.one((0, 0, 4096)))
            arena = self._again(lambda: Region(self._wire, whole, skipped))
            self._regions.append(arena)
        begin = (arena.used + gap + step - 1) // step * step
        arena.used = begin + size
        return arena, begin

    def _place_result(
        self,
        plan: Plan,
        operation: Operation,
        result: Result,
        ranges: list[tuple[Region, int, int]],
        written: set[str],
        kind: str,
    ) -> None:
        """Chooses the place of a result. `ranges`: inputs it may overwrite; `written`: names it may not take."""
        draw, elements, spot = self._draw, result.elements, None
        destination = message_at(operation.request, result.destination)
        should = header(elements)
        should.count = len(elements.data)
        if kind == "inline":
            destination.inline_response.SetInParent()
        elif kind == "stream":
            destination.stream.stream_id = should.stream.stream_id = self._stream_id(plan.outputs)
            plan.outputs[destination.stream.stream_id] = elements
        elif kind == "region":
            region, begin = self._result_range(plan, operation, result, ranges)
            destination.shared_memory.region, destination.shared_memory.offset_bytes = region.name, begin
            should.shared_memory.CopyFrom(destination.shared_memory)
            plan.writes.append(Write(region, begin, elements, self._room(operation, result)))
            spot = Spot("region", region.name, region, begin)
        elif kind != "unset":
            spot = Spot(kind, draw.one([name for name in self._names if name not in written]))
            written.add(spot.name)
            destination.stored.name, destination.stored.temporary = spot.name, kind == "temporary"
            should.stored.CopyFrom(destination.stored)
            plan.pool = [each for each in plan.pool if each[1] != spot]
            if kind == "kept":
                plan.names.add(spot.name)
                plan.kept[spot.name] = elements
        if kind in ("stream", "temporary"):
            plan.device_bytes += self._room(operation, result)
        if spot is not None:
            plan.pool.append((elements, spot))
        plan.places[-1].append((result, should))

    @staticmethod
    def _room(operation: Operation, result: Result) -> int:
        """The size that a result's place needs. For the first of some strings: at most the size of all of them; where
        only the answer tells the number of results: that of the longest one.
        """
        like = [each.elements.data.nbytes for each in operation.inputs if each.field == result.field]
        request = operation.request
        is_limited = operation.kind == "sort" and (request.HasField("limit") or request.HasField("offset"))
        strings = any(each.destination == f"{result.field[:-4]}offsets_destination" for each in operation.results)
        return max([result.elements.data.nbytes, result.room, *(like if is_limited and strings else [])])

    def _result_range(
        self, plan: Plan, operation: Operation, result: Result, ranges: list[tuple[Region, int, int]]
    ) -> tuple[Region, int]:
        """The place of a result in shared memory, which may be that of an input that nothing else needs."""
        width = result.elements.width
        size, step = self._room(operation, result), min(width & -width, 16)
        if ranges and self._draw.chance(0.5):
            region, begin, extent = self._draw.one(ranges)
            begin = -(-begin // step) * step
            if self._draw.chance(0.3):
                begin += int(self._rng.integers(0, extent + 1)) // step * step
            if self._may_write(plan, region, begin, size, ranges):
                region.used = max(region.used, begin + size)
                return region, begin
        return self._range(size, width)

    @staticmethod
    def _may_write(plan: Plan, region: Region, begin: int, size: int, ranges: list[tuple[Region, int, int]]) -> bool:
        """Whether nothing but these ranges lies there."""
        others = [(spot.region, spot.begin, elements.data.nbytes) for elements, spot in plan.pool]
        for write in plan.writes:
            extent = write.region, write.begin, write.elements.data.nbytes
            if write.room is not None:
                others.append((write.region, write.begin, write.room))
            elif extent not in ranges:
                others.append(extent)
        is_free = all(each[0] is not region or each[1] >= begin + size or each[1] + each[2] <= begin for each in others)
        return is_free and begin + size + 64 <= len(region.should)

    def _misplace(self, plan: Plan) -> None:
        """Names a place that does not exist, in the last operator."""
        draw, operation = self._draw, plan.operations[-1]
        if not operation.inputs:
            return
        at = f"plan.operations[{len(plan.operations) - 1}]."
        given = draw.one(operation.inputs)
        array = message_at(operation.request, given.field)
        place = array.WhichOneof("place")
        if place == "stored":
            # The server may name values that are too few for the keys beside them.
            has_values = any("values" in each.field for each in operation.inputs)
            if draw.chance(0.5) and given.elements.data.nbytes and not has_values:
                array.count = len(given.elements.data) + 1
                operation.fault = Fault(INVALID, f"{at}{given.field}")
            else:
                array.stored.name = f"{self._prefix}nowhere"
                operation.fault = Fault("NOT_FOUND", f"{at}{given.field}.stored.name")
        elif place == "shared_memory":
            array.shared_memory.offset_bytes = 1 << 40
            operation.fault = Fault(INVALID, f"{at}{given.field}.shared_memory.offset_bytes")
        elif place == "stream" and array.HasField("count") and array.count > 0:
            plan.short = array.stream.stream_id
            operation.fault = Fault(INVALID, f"{at}{given.field}")
        elif operation.results:
            destination = message_at(operation.request, operation.results[0].destination)
            destination.stored.name = "not a name"
            operation.fault = Fault(INVALID, f"{at}{operation.results[0].destination}.stored.name")
        plan.fault = operation.fault
