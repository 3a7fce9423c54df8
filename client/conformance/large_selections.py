"""Vectors of selections and ranks of larger arrays, which both sides generate."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from large_vectors import Elements, argsort, call, codes, digest, hashed, ramp
from operator_vectors import Vector


def every() -> Iterator[Vector]:
    """Arrays that travel in a message, in streams and in parts."""
    told, elements = hashed("int32", 61, 60_000)
    wide, records = hashed("record", 62, 60_000, 12)
    for place in ("inline", "stream"):
        needs = ["integers", "records", *(["streams"] if place == "stream" else [])]
        options: Vector = {"place": place}
        for name, by, selected in _predicates(60_000, elements):
            base: Vector = {"elements": told, **by}
            both = {"elements": digest(elements[selected], told), "values": digest(records[selected], wide)}
            all_needs = ["select", *needs]
            yield call(f"{place}/select/{name}", "select", all_needs, {**base, "values": wide}, both, options)
            given = {**base, "negate": True, "output": "indices"}
            others = {"indices": digest(np.flatnonzero(~selected))}
            yield call(f"{place}/argselect/{name}", "select", all_needs, given, others, options)
            order = np.concatenate([np.flatnonzero(selected), np.flatnonzero(~selected)])
            found = {
                "elements": digest(elements[order], told),
                "count": digest(np.array([selected.sum()]), {"type": "int64"}),
            }
            yield call(f"{place}/partition/{name}", "partition", all_needs, base, found, options)
        positions, numbers = ramp("int64", 59_999, -7, 5000)
        kept = np.delete(records, numbers.astype(np.int64), axis=0)
        given = {"elements": wide, "positions": positions}
        yield call(f"{place}/remove", "remove", ["select", *needs], given, {"elements": digest(kept, wide)}, options)
        more, inserted = hashed("record", 63, 5000, 12)
        longer = np.insert(records, numbers.astype(np.int64), inserted, axis=0)
        given = {"elements": wide, "positions": positions, "inserted": more}
        yield call(f"{place}/insert", "insert", ["insert", *needs], given, {"result": digest(longer, wide)}, options)
        for method in ("average", "min", "max", "dense", "ordinal"):
            short, keys = hashed("float16", 64, 60_000)
            given = {"keys": short, "method": method, "order": "descending"}
            rank_needs = ["rank", "float16", *needs[2:]]
            ranks = {"ranks": _ranks("float16", keys, method)}
            yield call(f"{place}/rank/{method}", "rank", rank_needs, given, ranks, options)
    told, elements = hashed("uint32", 65, 1 << 20)
    _, by, selected = next(_predicates(1 << 20, elements))
    yield call(
        "parts/select",
        "select",
        ["select", "parts", "streams", "integers"],
        {"elements": told, **by},
        {"elements": digest(elements[selected], told)},
        {"place": "stream", "connections": 3},
        server="faults",
        faults=[],
        calls={"Execute": 3},
        connections=3,
    )


def _predicates(count: int, elements: Elements) -> Iterator[tuple[str, Vector, Elements]]:
    """What selects, and whether each element is selected."""
    told, flags = ramp("uint8", 0, 64, count)
    yield "flags", {"flags": told}, flags != 0
    told, packed = hashed("uint8", 66, (count + 7) // 8)
    yield "bitmap", {"bitmap": told}, np.unpackbits(packed, count=count, bitorder="little") == 1
    told, positions = ramp("int64", 1, 3, count // 4)
    yield "positions", {"positions": told}, np.isin(np.arange(count), positions)
    told, bound = ramp("int32", -5, 0, 1)
    yield (
        "threshold",
        {"threshold": told, "comparison": "greater_or_equal"},
        elements.astype("<i4") >= bound.astype("<i4"),
    )


def _ranks(type_: str, bits: Elements, method: str) -> Vector:
    """The ranks of floats in descending order."""
    order = argsort(type_, bits, descending=True)
    found = codes(type_, bits)[order]
    heads = np.flatnonzero(np.append(True, found[1:] != found[:-1]))
    sizes = np.diff(heads, append=len(bits))
    of_group = {
        "average": heads + (sizes + 1) / 2,
        "min": heads + 1,
        "max": heads + sizes,
        "dense": np.arange(1, len(heads) + 1),
    }
    ordered = np.arange(1, len(bits) + 1) if method == "ordinal" else np.repeat(of_group[method], sizes)
    ranks = np.empty(len(bits), ordered.dtype)
    ranks[order] = ordered
    return digest(ranks.astype("<f8"), {"type": "float64"}) if method == "average" else digest(ranks)
