"""Vectors of larger arrays, which both sides generate: they compare digests, and most travel as streams.

NumPy does the work here, with this module's own code for the order of floats.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import oracle
from numpy.typing import NDArray
from operator_vectors import Vector
from oracle import INTEGERS, KEYS

Elements = NDArray[Any]
_FEATURE = {**dict.fromkeys(INTEGERS, "integers"), "float16": "float16", "bfloat16": "bfloat16"}
_EXPONENT = {"float16": 0x7C00, "bfloat16": 0x7F80, "float32": 0x7F800000, "float64": 0x7FF0000000000000}


def feature(type_: str) -> str:
    """The feature that a type needs."""
    return "records" if type_ == "record" else _FEATURE.get(type_, "floats")


def hashed(type_: str, seed: int, count: int, record_bytes: int = 0) -> tuple[Vector, Elements]:
    """An array of the generator "hash": as a command has it, and its elements as unsigned numbers or bytes."""
    width = record_bytes or oracle.WIDTHS[type_]
    words = np.arange(seed, seed + (count * width + 3) // 4, dtype=np.uint64).astype(np.uint32)
    words ^= words >> np.uint32(16)
    words *= np.uint32(0x85EBCA6B)
    words ^= words >> np.uint32(13)
    words *= np.uint32(0xC2B2AE35)
    words ^= words >> np.uint32(16)
    data = words.view(np.uint8)[: count * width]
    told: Vector = {"type": type_, "generator": "hash", "seed": seed, "count": count}
    if record_bytes:
        return {**told, "record_bytes": record_bytes}, data.reshape(count, width)
    return told, data.view(f"<u{width}")


def ramp(type_: str, start: int, step: int, count: int) -> tuple[Vector, Elements]:
    """An array of the generator "ramp"."""
    elements = (start + step * np.arange(count, dtype=np.int64)).astype(f"<u{oracle.WIDTHS[type_]}")
    return {"type": type_, "generator": "ramp", "start": start, "step": step, "count": count}, elements


def codes(type_: str, bits: Elements) -> Elements:
    """Unsigned numbers that order as keys of the type do, ascending; equal keys have equal ones."""
    sign = bits.dtype.type(1 << (8 * bits.dtype.itemsize - 1))
    if type_ in INTEGERS:
        return bits ^ sign if type_.startswith("int") else bits
    magnitude = bits & ~sign
    rising = np.where(bits & sign != 0, sign - magnitude, sign + magnitude)  # both zeros are `sign`
    return np.where(magnitude > bits.dtype.type(_EXPONENT[type_]), np.iinfo(bits.dtype).max, rising).astype(bits.dtype)


def argsort(type_: str, bits: Elements, descending: bool = False) -> Elements:
    """The stable permutation."""
    found = codes(type_, bits)
    return np.argsort(~found if descending else found, kind="stable")


def digest(elements: Elements, told: Vector | None = None) -> Vector:
    """What an answer has of elements; positions without the array that they are like."""
    if told is None:
        elements = elements.astype("<i8")
    kind: Vector = {} if told is None else {name: told[name] for name in ("type", "record_bytes") if name in told}
    return {**kind, "count": len(elements), "sha256": hashlib.sha256(elements.tobytes()).hexdigest()}


def call(
    name: str, operator: str, needs: list[str], arguments: Vector, results: Vector, options: Vector, **rest: Any
) -> Vector:
    """A vector of one call on generated arrays."""
    return {
        "name": name,
        "needs": needs,
        "command": "call",
        "operator": operator,
        "digest": True,
        "arguments": arguments,
        "options": options,
        **rest,
        "results": results,
    }


def larger() -> Iterator[Vector]:
    """Every operator, in a message and as a stream."""
    for place in ("inline", "stream"):
        needs = ["streams"] if place == "stream" else []
        options = {"place": place}
        for at, type_ in enumerate(KEYS):
            descending = at % 2 == 1
            told, keys = hashed(type_, at, 70_001)
            order = argsort(type_, keys, descending)
            base = {"keys": told, "order": "descending" if descending else "ascending"}
            kind = feature(type_)
            yield call(
                f"{place}/sort/{type_}",
                "sort",
                ["sort", kind, *needs],
                base,
                {"keys": digest(keys[order], told)},
                options,
            )
            yield call(
                f"{place}/argsort/{type_}",
                "sort",
                ["argsort", kind, *needs],
                {**base, "output": "indices"},
                {"indices": digest(order)},
                options,
            )
        yield from _with_values(place, needs, options)
        yield from _intervals(place, needs, options)
        yield _grouped(
            f"{place}/group",
            ["group", "integers", *needs],
            (hashed("uint16", 5, 60_000), hashed("int32", 6, 60_000)),
            ("keys", "counts", "firsts", "sums", "minima", "maxima"),
            options,
        )


def _with_values(place: str, needs: list[str], options: Vector) -> Iterator[Vector]:
    told, keys = hashed("uint16", 5, 60_000)
    for width in (1, 7, 16, 256):
        values, rows = hashed("record", 9, 60_000 if width < 99 else 9_000, width)
        given, those = (told, keys) if width < 99 else hashed("uint16", 5, 9_000)
        order = argsort("uint16", those)
        yield call(
            f"{place}/sort_values/record{width}",
            "sort",
            ["sort_values", "records", "integers", *needs],
            {"keys": given, "values": values},
            {"keys": digest(those[order], given), "values": digest(rows[order], values)},
            options,
        )
    order = argsort("uint16", keys)[:1000]
    yield call(
        f"{place}/limit",
        "sort",
        ["sort_indices", "limit", "integers", *needs],
        {"keys": told, "limit": 1000, "output": "keys_and_indices"},
        {"keys": digest(keys[order], told), "indices": digest(order)},
        options,
    )
    order = argsort("uint16", keys)[20_000:][:1000]
    yield call(
        f"{place}/offset",
        "sort",
        ["sort_indices", "limit", "offset", "integers", *needs],
        {"keys": told, "offset": 20_000, "limit": 1000, "output": "keys_and_indices"},
        {"keys": digest(keys[order], told), "indices": digest(order)},
        options,
    )
    offsets, ends = ramp("int64", 0, 600, 101)
    order = np.concatenate([at + argsort("uint16", keys[at : at + 600]) for at in ends.astype(np.int64)[:-1]])
    yield call(
        f"{place}/segments",
        "sort",
        ["sort", "segments", "integers", *needs],
        {"keys": told, "segment_offsets": offsets},
        {"keys": digest(keys[order], told)},
        options,
    )
    first = order.reshape(-1, 600)[:, :77].ravel()
    yield call(
        f"{place}/segments_limit",
        "sort",
        ["sort", "segments", "limit", "integers", *needs],
        {"keys": told, "segment_offsets": offsets, "limit": 77},
        {"keys": digest(keys[first], told)},
        options,
    )
    inputs = [ramp("int32", -5000 + 7 * at, 3 + at, 20_000 + at) for at in range(4)]
    together = np.concatenate([each for _, each in inputs])
    order = argsort("int32", together)
    moved = [hashed("record", 40 + at, len(each), 5) for at, (_, each) in enumerate(inputs)]
    rows = np.concatenate([each for _, each in moved])
    yield call(
        f"{place}/merge",
        "merge",
        ["merge", "integers", *needs],
        {"keys": [each for each, _ in inputs]},
        {"keys": digest(together[order], inputs[0][0])},
        options,
    )
    yield call(
        f"{place}/merge_values",
        "merge",
        ["merge_values", "records", "integers", *needs],
        {"keys": [each for each, _ in inputs], "values": [each for each, _ in moved]},
        {"keys": digest(together[order], inputs[0][0]), "values": digest(rows[order], moved[0][0])},
        options,
    )


def _intervals(place: str, needs: list[str], options: Vector) -> Iterator[Vector]:
    haystack, keys = ramp("uint32", 10, 60_000, 70_000)
    needles, sought = hashed("uint32", 77, 50_000)
    yield call(
        f"{place}/search",
        "search",
        ["search", "integers", *needs],
        {"haystack": haystack, "needles": needles, "bound": "upper"},
        {"positions": digest(np.searchsorted(keys, sought, side="right"))},
        options,
    )
    values, rows = hashed("record", 3, 30_000, 6)
    counts, _ = ramp("int64", 4, 0, 30_000)
    yield call(
        f"{place}/expand",
        "expand",
        ["expand", "records", *needs],
        {"values": values, "counts": counts},
        {"values": digest(np.repeat(rows, 4, axis=0), values)},
        options,
    )
    objects = np.repeat(np.arange(30_000), 4)
    yield call(
        f"{place}/load_balance",
        "load_balance",
        ["load_balance", *needs],
        {"counts": counts},
        {"objects": digest(objects), "ranks": digest(np.tile(np.arange(4), 30_000))},
        options,
    )
    source, elements = hashed("float32", 8, 120_000)
    offsets, _ = ramp("int64", 119_996, -4, 30_000)
    backwards = elements.reshape(-1, 4)[::-1].reshape(-1)
    result = {"result": digest(backwards, source)}
    yield call(
        f"{place}/gather",
        "gather",
        ["gather", "floats", *needs],
        {"source": source, "source_offsets": offsets, "counts": counts},
        result,
        options,
    )
    scatter = {"source": source, "destination_offsets": offsets, "counts": counts, "destination_count": 120_000}
    yield call(f"{place}/scatter", "scatter", ["scatter", "floats", *needs], scatter, result, options)
    forwards, _ = ramp("int64", 0, 4, 30_000)
    into, before = hashed("float32", 13, 120_007)
    moved = before.copy()
    moved[:120_000] = backwards
    yield call(
        f"{place}/move",
        "move",
        ["move", "floats", *needs],
        {
            "source": source,
            "source_offsets": forwards,
            "destination_offsets": offsets,
            "counts": counts,
            "destination": into,
        },
        {"result": digest(moved, source)},
        options,
    )


def _grouped(
    name: str,
    needs: list[str],
    arrays: tuple[tuple[Vector, Elements], tuple[Vector, Elements]],
    outputs: tuple[str, ...],
    options: Vector,
    **rest: Any,
) -> Vector:
    """Group of unsigned keys and INT32 values."""
    (told, keys), (told_values, bits) = arrays
    order = argsort(told["type"], keys)
    ordered, values = keys[order], bits.view("<i4")[order]
    heads = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    long = {"type": "int64"}
    found = {
        "keys": digest(ordered[heads], told),
        "counts": digest(np.diff(np.append(heads, len(keys))), long),
        "firsts": digest(order[heads]),
        "sums": digest(np.add.reduceat(values.astype("<i8"), heads), long),
        "minima": digest(np.minimum.reduceat(values, heads), told_values),
        "maxima": digest(np.maximum.reduceat(values, heads), told_values),
    }
    arguments = {"keys": told, "values": told_values, "outputs": list(outputs)}
    return call(name, "group", needs, arguments, {each: found[each] for each in outputs}, options, **rest)


def groups() -> Iterator[Vector]:
    """Results that are much shorter than the room that the server plans for them."""
    few = (hashed("uint8", 3, 1 << 20), hashed("int32", 4, 1 << 20))
    needs = ["group", "streams", "integers"]
    yield _grouped("stream/group_of_few", needs, few, ("sums", "keys", "firsts"), {"place": "stream", "connections": 1})
    yield _grouped(
        "parts/group",
        ["parts", *needs],
        few,
        ("keys", "counts", "minima"),
        {"place": "stream", "connections": 3},
        server="faults",
        faults=[],
        calls={"Execute": 3},
        connections=3,
    )
    # The request fits into a message of this server. So do the results, but one group for each key would not.
    fitting = (hashed("uint8", 5, 10_000), hashed("int32", 6, 10_000))
    yield _grouped("stream/group_chosen", needs, fitting, ("keys", "sums"), {}, server="limited")


def sets() -> Iterator[Vector]:
    """Sorted sides that travel in a message, in streams and in parts, and sides with ties that a chain sorts first."""
    (told, left), (told_right, right) = ramp("uint32", 7, 3, 70_000), ramp("uint32", 0, 2, 90_000)
    (values, rows), (right_values, right_rows) = hashed("record", 1, 70_000, 5), hashed("record", 2, 90_000, 5)
    base = {"left": told, "right": told_right}
    for place in ("inline", "stream"):
        needs = ["combine_sets", "integers", *(["streams"] if place == "stream" else [])]
        for operation in SET_OPERATIONS:
            found = _combined(left, right, operation)
            with_values: Vector = {"left_values": values}
            if operation in ("union", "symmetric_difference"):
                with_values["right_values"] = right_values
            yield call(
                f"{place}/sets/{operation}",
                "combine_sets",
                [*needs, "records"],
                {**base, "operation": operation, **with_values},
                {
                    "keys": digest(np.concatenate([left, right])[found], told),
                    "values": digest(np.concatenate([rows, right_rows])[found], values),
                },
                {"place": place},
            )
    found = _combined(left, right, "union")
    yield call(
        "stream/sets/count",
        "combine_sets",
        ["combine_sets", "integers", "streams"],
        {**base, "operation": "union", "count_only": True},
        {"count": digest(np.array([len(found)]), {"type": "int64"})},
        {"place": "stream"},
    )
    (told, left), (told_right, right) = ramp("int32", 1, 5, 1 << 20), ramp("int32", 6, 10, 1 << 19)
    yield call(
        "parts/sets",
        "combine_sets",
        ["combine_sets", "parts", "streams", "integers"],
        {"operation": "symmetric_difference", "left": told, "right": told_right},
        {"keys": digest(np.concatenate([left, right])[_combined(left, right, "symmetric_difference")], told)},
        {"place": "stream", "connections": 3},
        server="faults",
        faults=[],
        calls={"Execute": 3},
        connections=3,
    )


SET_OPERATIONS = ("union", "intersection", "difference", "symmetric_difference")


def _combined(left: Elements, right: Elements, operation: str) -> Elements:
    """The elements of a set operation on sorted integers, as positions in both sides joined."""

    def is_alone(side: Elements, other: Elements) -> Elements:
        nth = np.arange(len(side)) - np.searchsorted(side, side)
        partners = np.searchsorted(other, side, side="right") - np.searchsorted(other, side)
        alone: Elements = nth >= partners
        return alone

    alone, alone_right = is_alone(left, right), is_alone(right, left)
    of_left = {"union": np.full(len(left), True), "intersection": ~alone}.get(operation, alone)
    of_right = alone_right if operation in ("union", "symmetric_difference") else np.full(len(right), False)
    found = np.flatnonzero(np.concatenate([of_left, of_right]))
    ordered: Elements = found[np.argsort(np.concatenate([left, right])[found], kind="stable")]
    return ordered


def many_chunks() -> Iterator[Vector]:
    """Arrays of many chunks, over several connections, and so large that the client chooses."""
    told, keys = hashed("uint32", 1, 3 << 20)
    ordered = {"keys": digest(np.sort(keys), told)}
    faults = {"server": "faults", "faults": []}
    base = {"keys": told}
    yield call(
        "parts/sort",
        "sort",
        ["parts", "streams", "sort", "integers"],
        base,
        ordered,
        {"place": "stream", "connections": 3},
        **faults,
        calls={"Execute": 3},
        connections=3,
    )
    order = argsort("uint32", keys)
    yield call(
        "parts/sort_indices",
        "sort",
        ["parts", "streams", "sort_indices", "integers"],
        {**base, "output": "keys_and_indices"},
        {**ordered, "indices": digest(order)},
        {"place": "stream", "connections": 2},
    )
    yield call(
        "stream/many_chunks",
        "sort",
        ["streams", "sort", "integers"],
        base,
        ordered,
        {"place": "stream", "connections": 1},
        **faults,
        calls={"Execute": 1, "Sort": 0},
    )
    yield call(
        "inline/chosen",
        "sort",
        ["sort", "integers"],
        base,
        ordered,
        {},
        **faults,
        calls={"Execute": 0, "Sort": 1},
    )
    told, keys = hashed("uint32", 1, 20 << 20)
    yield call(
        "stream/chosen",
        "sort",
        ["streams", "sort", "integers"],
        {"keys": told},
        {"keys": digest(np.sort(keys), told)},
        {},
        **faults,
        full=True,
        calls={"Sort": 0},
    )
    told, keys = hashed("float64", 2, 5 << 20)
    order = argsort("float64", keys)
    yield call(
        "stream/large",
        "sort",
        ["streams", "sort_indices", "floats"],
        {"keys": told, "output": "keys_and_indices"},
        {"keys": digest(keys[order], told), "indices": digest(order)},
        {"place": "stream"},
        full=True,
    )


def progress() -> Iterator[Vector]:
    """Progress counts the bytes of arrays."""
    told, keys = hashed("uint32", 1, 1 << 20)
    vector = call(
        "progress/stream",
        "sort",
        ["progress", "streams", "sort", "integers"],
        {"keys": told},
        {"keys": digest(np.sort(keys), told)},
        {"place": "stream", "progress": True},
    )
    yield {**vector, "ok": {"progress": {"sent": 4 << 20, "received": 4 << 20}}}


def shared_memory() -> Iterator[Vector]:
    """Shared memory with a server of this host."""
    told, keys = hashed("uint32", 1, 1 << 20)
    yield call(
        "shared_memory/sort",
        "sort",
        ["shared_memory", "sort", "integers"],
        {"keys": told},
        {"keys": digest(np.sort(keys), told)},
        {"place": "shared_memory"},
    )
