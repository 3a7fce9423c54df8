"""Draws calls from a seed, makes them, and checks every answer and every side effect."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np
import random_operators
from corank.v1 import array_pb2 as a
from corank.v1 import corank_service_pb2 as service
from random_faults import INVALID, spoil
from random_operators import Elements, Result
from random_plans import OPERATORS, Plan, Planner, WrongAnswerError, message_at
from random_wire import MAX_CHUNK_BYTES, Answer, Chunk, RefusedError, Wire, header

CONNECTIONS = 4
CALLS = 8
"""Of a case."""


def arrays_of(message: Any, path: str = "") -> dict[str, a.Array]:
    """All arrays of a response by path."""
    found: dict[str, a.Array] = {}
    for descriptor, value in message.ListFields():
        if descriptor.message_type is None:
            continue
        repeated = isinstance(value, list) or hasattr(value, "add")
        for at, each in enumerate(value if repeated else [value]):
            name = f"{path}{descriptor.name}" + (f"[{at}]" if repeated else "")
            if descriptor.message_type is a.Array.DESCRIPTOR:
                found[name] = each
            else:
                found.update(arrays_of(each, f"{name}."))
    return found


def check(condition: bool, what: str) -> None:
    """Raises an error unless the condition holds."""
    if not condition:
        raise WrongAnswerError(what)


def same_bytes(got: bytes, elements: Elements, what: str) -> None:
    """Raises an error unless the bytes are those of the array."""
    wanted = elements.data.tobytes()
    if got == wanted:
        return
    first = next((at for at, (x, y) in enumerate(zip(got, wanted, strict=False)) if x != y), min(len(got), len(wanted)))
    at = first // elements.width
    raise WrongAnswerError(
        f"{what}: {len(got)} bytes, {len(wanted)} expected; of {len(elements.data)} elements of {elements.width} bytes "
        f"element {at} is the first that is wrong: {got[at * elements.width :][: elements.width]!r}, "
        f"not {wanted[at * elements.width :][: elements.width]!r}"
    )


class Case(Planner):
    """A sequence of calls that share arrays.

    Args:
        address: of the server.
        seed: of all that is drawn.
        max_device_bytes: the server's.
        counts: how many calls of each kind were made, for all cases together.
    """

    def __init__(self, address: str, seed: int, max_device_bytes: int, counts: Counter[str]) -> None:
        super().__init__(Wire(address, CONNECTIONS), seed, max_device_bytes, counts)
        self.story: list[str] = []
        """A readable description of each call."""

    def run(self) -> None:
        """Makes the calls; afterwards the server holds nothing of them."""
        try:
            for _ in range(CALLS):
                if self._draw.chance(0.15):
                    self._together()
                else:
                    self._call()
            self._check_kept(set(self._kept))
            self._check_regions()
        finally:
            for region in self._regions:
                self._wire.unregister(region.name)
            for name in self._wire.names(self._prefix):
                self._wire.delete(name)
            self._wire.close()

    def _chunks(self, plan: Plan) -> list[list[Chunk]]:
        """The messages of each part."""
        parts: list[list[Chunk]] = []
        cuts = {each: self._draw.cuts(len(array.data), plan.parts) for each, (array, _) in plan.inputs.items()}
        for part in range(plan.parts):
            queues: list[list[Chunk]] = []
            for stream_id, (elements, known) in plan.inputs.items():
                begin, end = cuts[stream_id][part : part + 2].tolist()
                if stream_id == plan.short:
                    end = min(end, len(elements.data) - 1)
                size = self._draw.one(
                    (100, 64 << 10, 1 << 20, MAX_CHUNK_BYTES) if end - begin < 300 else (64 << 10, 1 << 20)
                )
                step = max(1, int(size) // elements.width)
                queue = [
                    Chunk(stream_id, first, elements.data[first : min(end, first + step)].tobytes())
                    for first in range(begin, end, step)
                ]
                if not known:
                    queue.append(Chunk(stream_id, end, b""))
                queues.append(queue[::-1])
            chunks: list[Chunk] = []
            while queues := [queue for queue in queues if queue]:
                queue = self._draw.one(queues)
                for _ in range(min(len(queue), int(self._rng.integers(1, 4)))):
                    chunks.append(queue.pop())
            parts.append(chunks)
        return parts

    def _perform(self, plan: Plan, chunks: list[list[Chunk]]) -> tuple[list[Any], list[Answer]]:
        """The responses of the operators, and the streamed chunks of each part."""
        for write in plan.writes:
            if write.room is None:
                write.region.write(write.begin, write.elements.data)
        if plan.unary:
            return [self._wire.one(plan.operations[0].kind, plan.operations[0].request)], []
        operations = [service.Operation(**{each.kind: each.request}) for each in plan.operations]
        outcomes = self._wire.execute(operations, chunks)
        refused = [each for each in outcomes if isinstance(each, RefusedError)]
        if refused:
            check(len(refused) == len(outcomes), f"some parts were answered, and one was refused: {refused[0]}")
            raise next((each for each in refused if each.field or each.again), refused[0])
        answers = [each for each in outcomes if isinstance(each, Answer)]
        for each in answers:
            check(each.results == answers[0].results, "parts got different results")
        check(len(answers[0].results) == len(operations), f"{len(answers[0].results)} results")
        kinds = [each.WhichOneof("result") for each in answers[0].results]
        check(kinds == [each.kind for each in plan.operations], f"results of {kinds}")
        return [getattr(each, kind) for each, kind in zip(answers[0].results, kinds, strict=True)], answers

    def _call(self) -> None:
        plan = self.plan()
        chunks = self._chunks(plan)
        what = "unary" if plan.unary else f"{plan.parts} parts"
        self.story.append(f"{what}, fault {plan.fault}: {self._told(plan)}")
        try:
            responses, answers = self._again(lambda: self._perform(plan, chunks))
        except RefusedError as error:
            self._refused(plan, error)
            return
        check(plan.fault is None, f"no error, but {plan.fault}")
        self._counts["calls"] += 1
        self._counts["operators"] += len(plan.operations)
        streams = self._streams(plan, answers)
        for number, (response, places) in enumerate(zip(responses, plan.places, strict=True)):
            self._check_response(f"operation {number}", response, places, streams)
        for region, begin, elements, room in plan.writes:
            end = begin + elements.data.nbytes
            region.should[begin:end] = elements.data.view(np.uint8)
            rest = slice(end, begin + (room or 0))
            region.should[rest][region.bytes[rest] == 0] = 0
        touched = {name for name in plan.kept if plan.kept[name] is not self._kept.get(name)}
        self._kept, self._pool = plan.kept, [each for each in plan.pool if each[1].kind != "temporary"]
        self._check_regions()
        self._check_kept(touched if self._draw.chance(0.5) else set())

    def _together(self) -> None:
        """Makes small calls at the same time, most of them alike, so that the server may batch them."""
        draw = self._draw
        draw.pool, draw.most_bytes, draw.is_large = [], 4 << 10, False
        operations = random_operators.alike(draw, int(self._rng.integers(3, 12)))
        operations += [draw.one(OPERATORS)(draw) for _ in range(int(draw.one((0, 0, 3))))]
        if draw.chance(0.2):
            spoil(draw, operations[0])
        for operation in operations:
            for each in operation.inputs:
                array = message_at(operation.request, each.field)
                array.CopyFrom(header(each.elements))
                array.inline_data = each.elements.data.tobytes()
        self.story.append(f"together, fault {operations[0].fault}: " + "; ".join(str(each.kind) for each in operations))
        answers = self._again(lambda: self._wire.together([(each.kind, each.request) for each in operations]))
        for operation, answer in zip(operations, answers, strict=True):
            fault = operation.fault
            if isinstance(answer, RefusedError):
                is_right = fault is not None and (answer.code, answer.field[: len(fault.field)]) == fault
                check(is_right, f"{answer} ({answer.field}), but expected {fault}")
                continue
            check(fault is None, f"no error, but {fault}")
            places = []
            for result in operation.results:
                should = header(result.elements)
                should.count = len(result.elements.data)
                places.append((result, should))
            self._check_response(operation.kind, answer, places, {})
        self._counts["calls"] += len(operations)
        self._counts["operators"] += len(operations)

    @staticmethod
    def _told(plan: Plan) -> str:
        """A readable description of a call."""
        told = []
        for operation in plan.operations:
            arrays = [
                f"{each.field} {len(each.elements.data)}x{each.elements.width} "
                f"{message_at(operation.request, each.field).WhichOneof('place')}"
                for each in operation.inputs
            ]
            results = [
                f"{each.field} {len(each.elements.data)}x{each.elements.width} "
                f"{message_at(operation.request, each.destination).WhichOneof('place')}"
                for each in operation.results
            ]
            told.append(f"{operation.kind}({', '.join(arrays)}) -> {', '.join(results)}")
        return "; ".join(told)

    # Checks of a call.

    def _refused(self, plan: Plan, error: RefusedError) -> None:
        """Checks that a failed call had to fail and changed nothing."""
        # With workspace. A join sorts row numbers of 4 bytes, whatever bytes its keys have.
        one = max(
            (32 if operation.kind == "join" else 8)
            * (
                sum(each.elements.data.nbytes for each in operation.inputs)
                + sum(max(each.elements.data.nbytes, each.room) for each in operation.results)
            )
            for operation in plan.operations
        )
        is_large = plan.device_bytes > self._most * 3 // 4 or (one > self._most and not plan.unary)
        too_large = "keeps for one request|one request may (have|take)|device memory"
        if error.code == INVALID and is_large and re.search(too_large, str(error)):
            self._counts["too large"] += 1
        else:
            check(plan.fault is not None, f"{error} ({error.field})")
            assert plan.fault is not None
            wanted = next(each.fault for each in plan.operations if each.fault is not None)
            field = wanted.field.split(".", 2)[2] if plan.unary else wanted.field
            fits = error.code == wanted.code and error.field.startswith(field)
            check(fits, f"{error} ({error.field}), but expected {wanted.code} ({field})")
            self._counts["refused"] += 1
        for region, begin, _, room in plan.writes:
            if room is not None:  # may be written in part
                region.should[begin : begin + room] = region.bytes[begin : begin + room]
        self._check_regions()
        self._check_kept(plan.names & set(self._kept))

    def _streams(self, plan: Plan, answers: list[Answer]) -> dict[int, bytes]:
        """The streamed results, joined from their chunks."""
        pieces: dict[int, list[tuple[int, bytes]]] = {each: [] for each in plan.outputs}
        for answer in answers:
            next_element: Counter[int] = Counter()
            for chunk in answer.chunks:
                check(chunk.stream_id in pieces, f"a chunk of stream {chunk.stream_id}")
                check(chunk.first >= next_element[chunk.stream_id], "chunks of a part in no order")
                check(0 < len(chunk.data) <= MAX_CHUNK_BYTES, f"a chunk of {len(chunk.data)} bytes")
                width = plan.outputs[chunk.stream_id].width
                next_element[chunk.stream_id] = chunk.first + len(chunk.data) // width
                pieces[chunk.stream_id].append((chunk.first, chunk.data))
        joined: dict[int, bytes] = {}
        for stream_id, found in pieces.items():
            at = 0
            for first, data in sorted(found, key=lambda each: each[0]):
                check(first == at, f"stream {stream_id}: element {at} did not come once, but {first} is next")
                at += len(data) // plan.outputs[stream_id].width
            joined[stream_id] = b"".join(data for _, data in sorted(found, key=lambda each: each[0]))
        return joined

    @staticmethod
    def _check_response(
        what: str, response: Any, places: list[tuple[Result, a.Array]], streams: dict[int, bytes]
    ) -> None:
        found = arrays_of(response)
        check(set(found) == {each.field for each, _ in places}, f"{what}: answers {sorted(found)}")
        for result, should in places:
            name, got = f"{what}: {result.field}", found[result.field]
            data, place = got.inline_data, should.WhichOneof("place")
            head = a.Array()
            head.CopyFrom(got)
            head.ClearField("inline_data")
            if place is None or len(result.elements.data):
                check(head == should, f"{name}: {head}, but should be {should}")
            if place is None:
                same_bytes(data, result.elements, name)
            elif place == "stream":
                same_bytes(streams[should.stream.stream_id], result.elements, name)

    def _check_regions(self) -> None:
        for region in self._regions:
            end = min(len(region.should), region.used + 4096)
            wrong = np.flatnonzero(region.bytes[:end] != region.should[:end])
            check(not len(wrong), f"shared memory: {len(wrong)} bytes are wrong, the first at {wrong[:1]}")

    def _check_kept(self, fetched: set[str]) -> None:
        names = self._wire.names(self._prefix)
        check(names == set(self._kept), f"kept are {sorted(names)}, and should be {sorted(self._kept)}")
        for name in fetched:
            elements = self._kept[name]
            stored, data = self._again(lambda name=name: self._wire.fetch(name))
            head = header(elements)
            should = (head.type, head.record_bytes, len(elements.data))
            check((stored.type, stored.record_bytes, stored.count) == should, f"{name} is {stored}")
            same_bytes(data, elements, f"kept as {name}")
