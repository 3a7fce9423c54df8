"""Vectors of answers that are none."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from fault_vectors import ORDERED, SORT, SORTED, STREAM, faulty
from operator_vectors import Vector


def varint(value: int) -> bytes:
    """A number as protobuf writes it."""
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def message(fields: dict[int, int | bytes]) -> bytes:
    """A protobuf message of numbers and bytes."""
    out = b""
    for number, value in fields.items():
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            out += varint(number << 3 | 2) + varint(len(value)) + value
    return out


def answers() -> Iterator[Vector]:
    """Answers that are none: each is an error, and nothing hangs or returns."""
    # Array: type 1, count 2, record_bytes 3, inline_data 4. SortResponse: keys 1, values 2, indices 3.
    good: dict[int, int | bytes] = {1: 3, 2: 3, 4: ORDERED.data}
    unary = {
        "bytes": b"\xff\xff\xff",
        "cut": message({1: message(good)})[:-3],
        "empty": b"",
        "no_keys": message({4: 2}),
        "other_type": message({1: message({**good, 1: 7})}),
        "unknown_type": message({1: message({**good, 1: 99})}),
        "too_few": message({1: message({**good, 2: 2, 4: ORDERED.data[:8]})}),
        "too_many": message({1: message({**good, 2: 4, 4: ORDERED.data + ORDERED.data[:4]})}),
        "half_an_element": message({1: message({**good, 4: ORDERED.data[:10]})}),
        "other_count": message({1: message({**good, 2: 77})}),
        "negative_count": message({1: message({**good, 2: (1 << 64) - 3})}),
    }
    for name, data in unary.items():
        yield _answered(f"inline/{name}", [], "Sort", [[data]], SORT)
    yield _answered("inline/no_message", [], "Sort", [], SORT)
    # Some implementations of gRPC never read the second message, and so never see the end of the call.
    two = _answered("inline/two_messages", ["deadlines"], "Sort", [[message({1: message(good)})]] * 2, SORT)
    (step,) = two["steps"]
    step["error"] = {"code": f"{step['error']['code']}|DEADLINE_EXCEEDED"}
    yield {**two, "steps": [{**step, "options": {"deadline_s": 1}}]}
    # A later server may say more: fields that a client does not know are no fault.
    later = message({1: message({**good, 77: b"more"}), 99: b"more", 98: 5})
    fault = {"do": "answer", "method": "Sort", "messages": [[base64.b64encode(later).decode()]]}
    yield faulty("answer/inline/of_a_later_server", ["sort", "integers"], [fault], {**SORT, **SORTED})
    yield from _streamed_answers()


def _streamed_answers() -> Iterator[Vector]:
    count = 30_000
    # ExecuteResponse: chunk 1 (stream_id 1, first_element 2, data 3), result 2 (OperationResult: sort 1, merge 2).
    result = [message({2: message({1: message({1: message({1: 3, 2: count, 8: b""})})})})]
    other = [message({2: message({2: message({1: message({1: 3, 2: count, 8: b""})})})})]

    def chunk(first: int, elements: float, stream: int = 0) -> list[bytes | int]:
        """A chunk of zeros."""
        size = round(4 * elements)
        head = message({1: stream, 2: first}) + varint(3 << 3 | 2) + varint(size)
        return [varint(1 << 3 | 2) + varint(len(head) + size) + head, size]

    whole, half = chunk(0, count), count // 2
    streams: dict[str, list[Any]] = {
        "bytes": [[b"\xff\xff\xff"]],
        "nothing": [],
        "no_result": [whole],
        "no_chunk": [result],
        "gap": [chunk(0, half), chunk(half + 1, half - 1), result],
        "overlap": [chunk(0, half), chunk(half - 1, half + 1), result],
        "twice": [whole, whole, result],
        "too_far": [whole, chunk(count, 1), result],
        "far_away": [chunk(1 << 60, count), result],
        "negative": [chunk((1 << 64) - 1, 1), whole, result],
        "other_stream": [chunk(0, count, 77), result],
        "half_an_element": [chunk(0, half + 0.5), chunk(half, half - 0.5), result],
        "other_operator": [whole, other],
        "two_results": [whole, result, result],
        "cut": [chunk(0, half), result],
    }
    zeros = {"type": "int32", "generator": "ramp", "start": 0, "step": 0, "count": count}
    given = {**STREAM, "arguments": {"keys": zeros}}
    for name, messages in streams.items():
        yield _answered(f"stream/{name}", ["streams"], "Execute", messages, given)


def _answered(name: str, needs: list[str], method: str, messages: list[Any], given: Vector) -> Vector:
    encoded = [
        [piece if isinstance(piece, int) else base64.b64encode(piece).decode() for piece in pieces]
        for pieces in messages
    ]
    return faulty(
        f"answer/{name}",
        ["sort", "integers", *needs],
        [{"do": "answer", "method": method, "messages": encoded, "times": 9}],
        {
            **given,
            "error": {"code": "INTERNAL|UNKNOWN|UNIMPLEMENTED|DATA_LOSS|CANCELLED|OUT_OF_RANGE"},
            "calls": {method: 1},
            "most_s": 10,
        },
    )
