"""Vectors of arrays that the server keeps, and of chains."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import oracle
from large_vectors import digest, hashed
from operator_vectors import Vector, feature, random_keys, values_like
from oracle import KEYS, Array, int64


def steps(name: str, needs: list[str], *given: Vector, **rest: Any) -> Vector:
    """A vector of several commands."""
    return {"name": name, "needs": list(dict.fromkeys(needs)), **rest, "steps": list(given)}


def handle(name: str, array: Array) -> Vector:
    """A kept array as an input or a result."""
    record = {"record_bytes": array.record_bytes} if array.record_bytes else {}
    return {"kept": name, "type": array.type, "count": len(array.items), **record}


def store(name: str, array: Array, **rest: Any) -> Vector:
    """Stores an array."""
    sharded = {"sharded": True} if rest.get("sharded") else {}
    return {"command": "store", "name": name, "array": array.json(), **rest, "ok": {**handle(name, array), **sharded}}


def fetch(name: str, array: Array) -> Vector:
    """Fetches an array."""
    found = {**array.json(), "count": len(array.items)}
    return {"command": "fetch", "name": name, "ok": {"array": found}}


def delete(name: str) -> Vector:
    """Deletes an array."""
    return {"command": "delete", "name": name, "ok": {}}


def call(operator: str, arguments: Vector, **rest: Any) -> Vector:
    """Calls an operator."""
    given = {name: value.json() if isinstance(value, Array) else value for name, value in arguments.items()}
    return {"command": "call", "operator": operator, "arguments": given, **rest}


def not_found(command: Vector) -> Vector:
    """The command, when there is no array of that name; a client may find out by listing the arrays."""
    missing = {"error": {"code": "NOT_FOUND", "reason": "ARRAY_NOT_FOUND|"}}
    return {**{name: value for name, value in command.items() if name != "ok"}, **missing}


def kept() -> Iterator[Vector]:
    """Store, fetch, list, delete, and kept arrays as inputs."""
    arrays = [random_keys(type_, 40 + at, 50) for at, type_ in enumerate(KEYS)]
    arrays += [values_like(60 + width, 20, width) for width in (1, 3, 12, 256)]
    for array in arrays:
        name = f"conformance.{array.type}{array.record_bytes or ''}"
        yield steps(
            f"kept/store/{name}",
            ["kept", feature(array)],
            store(name, array),
            fetch(name, array),
            delete(name),
            not_found(fetch(name, array)),
        )
    keys = random_keys("float32", 70, 40)
    ordered = oracle.take(keys, oracle.argsort(keys))
    yield steps(
        "kept/input",
        ["kept", "sort", "floats"],
        store("input", keys, expires_s=600),
        call("sort", {"keys": handle("input", keys)}, results={"keys": ordered.json()}),
        fetch("input", keys),
        delete("input"),
    )
    haystack, needles = oracle.numbers("int32", [1, 4, 4, 9]), oracle.numbers("int32", [4, 0, 10])
    yield steps(
        "kept/search",
        ["kept", "search", "integers"],
        store("haystack", haystack),
        call(
            "search",
            {"haystack": handle("haystack", haystack), "needles": needles},
            results={"positions": oracle.numbers("uint32", [1, 0, 4]).json()},
        ),
        delete("haystack"),
    )
    left, right = oracle.numbers("uint16", [1, 5, 5]), oracle.numbers("uint16", [2, 5])
    yield steps(
        "kept/merge",
        ["kept", "merge", "integers"],
        store("left", left),
        call(
            "merge",
            {"keys": [handle("left", left), right.json()]},
            results={"keys": oracle.numbers("uint16", [1, 2, 5, 5, 5]).json()},
        ),
        delete("left"),
    )
    counts = int64([2, 0, 1])
    values = values_like(80, 3, 9)
    yield steps(
        "kept/counts",
        ["kept", "kept_counts", "expand", "records"],
        store("counts", counts),
        store("values", values),
        call(
            "expand",
            {"values": handle("values", values), "counts": handle("counts", counts)},
            results={"values": oracle.expand(values, [2, 0, 1]).json()},
        ),
        delete("counts"),
        delete("values"),
    )
    keys, held = oracle.numbers("int8", [5, 1, 4, 2, 3]), int64([0, 4, 4, 5])
    first = oracle.numbers("int8", [1, 2, 3])
    needs = ["kept", "kept_counts", "kept_results", "sort", "segments", "limit", "integers"]
    yield steps(
        "kept/segments_limit",
        needs,
        store("ends", held),
        call(
            "sort",
            {"keys": keys, "segment_offsets": handle("ends", held), "limit": 2},
            results={"keys": first.json()},
        ),
        call(
            "sort",
            {"keys": keys, "segment_offsets": handle("ends", held), "limit": 2},
            keep={"keys": "first"},
            results={"keys": handle("first", first)},
        ),
        fetch("first", first),
        delete("ends"),
        delete("first"),
    )
    yield from _names()


def _names() -> Iterator[Vector]:
    first, second, empty = oracle.numbers("int8", [3]), oracle.numbers("uint64", [1, 2]), Array("float64", [])
    yield steps(
        "kept/replace",
        ["kept", "integers"],
        store("replaced", first),
        store("replaced", second),
        fetch("replaced", second),
        delete("replaced"),
    )
    yield steps("kept/empty", ["kept", "floats"], store("empty", empty), fetch("empty", empty), delete("empty"))
    yield steps(
        "kept/list",
        ["kept", "integers"],
        {"command": "list", "ok": {"arrays": [], "used_bytes": 0}},
        store("b", second),
        store("a", first),
        {"command": "list", "ok": {"arrays": [handle("a", first), handle("b", second)], "quota_bytes": 64 << 20}},
        delete("b"),
        {"command": "list", "ok": {"arrays": [handle("a", first)]}},
        delete("a"),
        server="listed",
    )
    yield steps("kept/none", ["kept"], not_found(fetch("nothing", first)), not_found(delete("nothing")))
    told, elements = hashed("uint64", 21, 700_000)
    yield steps(
        "kept/large",
        ["kept", "integers"],
        {
            "command": "store",
            "name": "large",
            "array": told,
            "ok": {"kept": "large", "type": "uint64", "count": 700_000},
        },
        {"command": "fetch", "name": "large", "digest": True, "ok": {"array": digest(elements, told)}},
        delete("large"),
    )


def kept_results() -> Iterator[Vector]:
    """Results that the server keeps."""
    keys, values = random_keys("int32", 90, 30), values_like(91, 30, 6)
    taken = oracle.argsort(keys, True)
    ordered, moved = oracle.take(keys, taken), oracle.take(values, taken)
    for place in ("inline", "stream"):
        needs = ["kept", "kept_results", "integers", *(["streams"] if place == "stream" else [])]
        yield steps(
            f"kept_results/{place}",
            [*needs, "sort_values", "records"],
            call(
                "sort",
                {"keys": keys, "values": values, "order": "descending"},
                keep={"keys": "k", "values": "v"},
                options={"place": place},
                results={"keys": handle("k", ordered), "values": handle("v", moved)},
            ),
            fetch("k", ordered),
            fetch("v", moved),
            delete("k"),
            delete("v"),
        )
    indices = oracle.numbers("uint32", oracle.argsort(keys))
    yield steps(
        "kept_results/indices",
        ["kept", "kept_results", "argsort", "integers"],
        call(
            "sort",
            {"keys": keys, "output": "indices"},
            keep={"indices": "i"},
            results={"indices": handle("i", indices)},
        ),
        fetch("i", indices),
        delete("i"),
    )
    yield steps(
        "kept_results/over_input",
        ["kept", "kept_results", "sort", "integers"],
        store("k", keys),
        call(
            "sort",
            {"keys": handle("k", keys), "order": "descending"},
            keep={"keys": "k"},
            results={"keys": handle("k", ordered)},
        ),
        fetch("k", ordered),
        delete("k"),
    )
    gathered = oracle.move(values, [3, 0], [0, 2], [2, 1], [b""] * 3)
    yield steps(
        "kept_results/gather",
        ["kept", "kept_results", "gather", "records"],
        call(
            "gather",
            {"source": values, "source_offsets": int64([3, 0]), "counts": int64([2, 1])},
            keep={"result": "g"},
            results={"result": handle("g", gathered)},
        ),
        fetch("g", gathered),
        delete("g"),
    )


def sharded() -> Iterator[Vector]:
    """Kept arrays that the server divides among its GPUs. With one GPU they have one part and the same rules."""
    keys, more, values = random_keys("int32", 92, 30), random_keys("int32", 93, 11), values_like(94, 30, 6)
    taken = oracle.argsort(keys)
    indices, ordered, moved = oracle.numbers("uint32", taken), oracle.take(keys, taken), oracle.take(values, taken)
    also = oracle.take(more, oracle.argsort(more))
    merged = oracle.joined([ordered, also])
    merged = oracle.take(merged, oracle.argsort(merged))
    found = {"i": indices, "k": keys, "m": merged, "o": ordered, "v": moved}
    needs = ["kept", "kept_results", "sharded", "integers"]
    yield steps(
        "sharded/sort_and_merge",
        [*needs, "sort_values", "argsort", "merge", "records"],
        store("k", keys, sharded=True),
        call(
            "sort",
            {"keys": handle("k", keys), "values": values},
            keep={"keys": "o", "values": "v"},
            sharded=True,
            results={"keys": handle("o", ordered), "values": handle("v", moved)},
        ),
        call(
            "sort",
            {"keys": handle("k", keys), "output": "indices"},
            keep={"indices": "i"},
            sharded=True,
            results={"indices": handle("i", indices)},
        ),
        call(
            "merge",
            {"keys": [handle("o", ordered), also.json()]},
            keep={"keys": "m"},
            sharded=True,
            results={"keys": handle("m", merged)},
        ),
        {
            "command": "list",
            "ok": {"arrays": [{**handle(name, array), "sharded": True} for name, array in found.items()]},
        },
        *(fetch(name, array) for name, array in found.items()),
        call("sort", {"keys": handle("k", keys), "limit": 5}, results={"keys": ordered.like(ordered.items[:5]).json()}),
        *(delete(name) for name in found),
        server="listed",
    )
    yield steps(
        "sharded/replaced",
        needs,
        store("k", keys, sharded=True),
        store("k", more),
        {"command": "list", "ok": {"arrays": [{**handle("k", more), "sharded": False}]}},
        fetch("k", more),
        delete("k"),
        server="listed",
    )
    needles = more.like(more.items[:3])
    positions = oracle.numbers("uint32", oracle.search(also, needles, False, False))
    yield steps(
        "sharded/whole",
        [*needs, "search"],
        store("o", also, sharded=True),
        call("search", {"haystack": handle("o", also), "needles": needles}, results={"positions": positions.json()}),
        call("sort", {"keys": handle("o", also)}, keep={"keys": "w"}, results={"keys": handle("w", also)}),
        fetch("w", also),
        delete("o"),
        delete("w"),
    )
    yield steps(
        "sharded/one_gpu",
        [*needs, "search"],
        store("o", also, sharded=True),
        call(
            "search",
            {"haystack": handle("o", also), "needles": needles},
            keep={"positions": "p"},
            sharded=True,
            results={"positions": handle("p", positions)},
        ),
        {
            "command": "list",
            "ok": {"arrays": [{**handle(name, of), "sharded": True} for name, of in (("o", also), ("p", positions))]},
        },
        fetch("p", positions),
        delete("o"),
        delete("p"),
        server="listed",
    )


def result(of: int, name: str, array: Array) -> Vector:
    """The result of an earlier operation of a chain."""
    found = handle("", array)
    del found["kept"]
    return {"result": name, "of": of, **found}


def operation(operator: str, arguments: Vector, **rest: Any) -> Vector:
    """An operation of a chain."""
    found = call(operator, arguments, **rest)
    del found["command"]
    return found


def chains() -> Iterator[Vector]:
    """Several operators in one call."""
    keys = random_keys("float64", 95, 33)
    ordered = oracle.take(keys, oracle.argsort(keys))
    top = ordered.like(ordered.items[:4])
    yield steps(
        "chain/sort_gather",
        ["chains", "sort", "gather", "floats"],
        {
            "command": "chain",
            "operations": [
                operation("sort", {"keys": keys}),
                operation(
                    "gather",
                    {"source": result(0, "keys", ordered), "source_offsets": int64([0]), "counts": int64([4])},
                ),
            ],
            "results": [{}, {"result": top.json()}],
        },
    )
    more = oracle.take(random_keys("float64", 96, 9), oracle.argsort(random_keys("float64", 96, 9)))
    merged = oracle.joined([ordered, more])
    merged = oracle.take(merged, oracle.argsort(merged))
    found = oracle.search(merged, top, False, False)
    yield steps(
        "chain/three",
        ["chains", "sort", "merge", "search", "argsort", "kept", "kept_results", "floats"],
        store("more", more),
        {
            "command": "chain",
            "operations": [
                operation("sort", {"keys": keys}),
                operation(
                    "merge", {"keys": [result(0, "keys", ordered), handle("more", more)]}, keep={"keys": "merged"}
                ),
                operation("sort", {"keys": keys, "output": "indices"}),
            ],
            "results": [
                {},
                {"keys": handle("merged", merged)},
                {"indices": oracle.numbers("uint32", oracle.argsort(keys)).json()},
            ],
        },
        call(
            "search",
            {"haystack": handle("merged", merged), "needles": top},
            results={"positions": oracle.numbers("uint32", found).json()},
        ),
        delete("more"),
        delete("merged"),
    )
    values = values_like(97, 33, 8)
    moved = oracle.take(values, oracle.argsort(keys))
    yield steps(
        "chain/values",
        ["chains", "sort_values", "expand", "load_balance", "records", "floats"],
        {
            "command": "chain",
            "operations": [
                operation("sort", {"keys": keys, "values": values}),
                operation("expand", {"values": result(0, "values", moved), "counts": int64([1, 2, 0] * 11)}),
                operation("load_balance", {"counts": int64([2, 1])}),
            ],
            "results": [
                {"keys": ordered.json()},
                {"values": oracle.expand(moved, [1, 2, 0] * 11).json()},
                {
                    "objects": oracle.numbers("uint32", [0, 0, 1]).json(),
                    "ranks": oracle.numbers("uint32", [0, 1, 0]).json(),
                },
            ],
        },
    )
    one = operation("sort", {"keys": oracle.numbers("int32", [2, 1])})
    answer = {"keys": oracle.numbers("int32", [1, 2]).json()}
    needs = ["chains", "sort", "integers"]
    yield steps("chain/one", needs, {"command": "chain", "operations": [one], "results": [answer]})
    yield steps("chain/sixteen", needs, {"command": "chain", "operations": [one] * 16, "results": [answer] * 16})
    yield steps(
        "chain/seventeen",
        needs,
        {"command": "chain", "operations": [one] * 17, "error": {"code": "INVALID_ARGUMENT"}},
    )
