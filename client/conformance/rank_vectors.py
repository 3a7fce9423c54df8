"""The vectors of Rank: the rank of each key, by five methods for equal keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import oracle
from kept_vectors import call as step
from kept_vectors import delete, fetch, handle, operation, result, steps, store
from operator_vectors import ORDERS, Vector, call, feature, few_keys, random_keys
from oracle import FLOATS, KEYS, Array, int64

METHODS = ("average", "min", "max", "dense", "ordinal")


def ordered(keys: Array, order: str) -> Array:
    """The keys, sorted."""
    return oracle.take(keys, oracle.argsort(keys, order == "descending"))


def rank(name: str, keys: Array, method: str, order: str = "ascending", keys_sorted: bool = False) -> Vector:
    """A vector of one call."""
    arguments: Vector = {"keys": keys, "method": method}
    if order != "ascending":
        arguments["order"] = order
    if keys_sorted:
        arguments["keys_sorted"] = True
    found = oracle.ranks(keys, method, order == "descending")
    return call(f"rank/{name}", "rank", ["rank", feature(keys)], arguments, {"ranks": found})


def types() -> Iterator[Vector]:
    """Every type of keys and every method, in both orders, of keys in any order and of sorted ones."""
    for at, type_ in enumerate(KEYS):
        for turn, method in enumerate(METHODS):
            order, other = ORDERS[(at + turn) % 2], ORDERS[(at + turn + 1) % 2]
            keys = random_keys(type_, 6000 + at + turn, 21)
            yield rank(f"{type_}/{method}/{order}", keys, method, order)
            if (at + turn) % 3 == 0:
                keys = ordered(few_keys(type_, 6100 + at, 17), other)
                yield rank(f"{type_}/{method}/{other}/sorted", keys, method, other, keys_sorted=True)


def edges() -> Iterator[Vector]:
    """No keys, one key, equal keys and distinct ones."""
    for at, method in enumerate(METHODS):
        for turn, (name, numbers) in enumerate(
            (
                ("no_keys", []),
                ("one_key", [9]),
                ("equal", [5] * 12),
                ("distinct", [3, 1, 2, -7, 40]),
                ("pairs", [4, 4, 2, 2, 9, 9]),
            )
        ):
            for order in ORDERS if name == "pairs" else ORDERS[(at + turn) % 2 :][:1]:
                yield rank(f"{name}/{method}/{order}", oracle.numbers("int8", numbers), method, order)
        keys = oracle.numbers("uint16", [at * at % 23 for at in range(70)])
        yield rank(f"ties/{method}", keys, method)
    default = rank("default_method", oracle.numbers("int8", [2, 1, 2]), "average")
    del default["arguments"]["method"]
    yield default


def floats() -> Iterator[Vector]:
    """NaNs of all payloads are one key, and so are zeros of both signs."""
    for type_ in FLOATS:
        width = oracle.WIDTHS[type_]
        sign = 0x80 << 8 * (width - 1)
        nan = int.from_bytes(bytes([0xFF] * (width - 1) + [0x7F]), "little")
        bits = [nan - 2, sign, 1, 0, nan | sign, sign, nan - 1, sign | 1]
        keys = Array(type_, [each.to_bytes(width, "little") for each in bits])
        for turn, method in enumerate(METHODS):
            order = ORDERS[turn % 2]
            yield rank(f"zeros_and_nans/{type_}/{method}/{order}", keys, method, order)
            given = ordered(keys, order)
            yield rank(f"zeros_and_nans/{type_}/{method}/{order}/sorted", given, method, order, keys_sorted=True)


def of_segments(keys: Array, offsets: Sequence[int], method: str, descending: bool) -> Array:
    """The ranks of each segment by itself."""
    parts = [oracle.ranks(keys.like(keys.items[begin:end]), method, descending) for begin, end in pairwise(offsets)]
    return oracle.joined([oracle.ranks(keys.like([]), method, descending), *parts])


def segments() -> Iterator[Vector]:
    """Ranks by segments, of keys in any order and of segments that are sorted."""
    offsets = [0, 0, 4, 5, 17, 17, 30]
    for at, type_ in enumerate(KEYS):
        for turn, method in enumerate(METHODS):
            order = ORDERS[(at + turn) % 2]
            descending = order == "descending"
            keys = few_keys(type_, 6400 + at + turn, 30)
            arguments: Vector = {"keys": keys, "method": method, "order": order, "segment_offsets": int64(offsets)}
            if (at + turn) % 3 == 0:
                keys = oracle.take(keys, oracle.segmented(keys, offsets, descending))
                arguments.update(keys=keys, keys_sorted=True)
            yield call(
                f"rank/segments/{type_}/{method}",
                "rank",
                ["rank", "rank_segments", feature(keys)],
                arguments,
                {"ranks": of_segments(keys, offsets, method, descending)},
            )
    many = few_keys("uint16", 6450, 700)
    for name, given, ends in (
        ("none", many.like([]), [0]),
        ("all_empty", many.like([]), [0, 0, 0]),
        ("one", many, [0, 700]),
        ("each_key", many, list(range(701))),
        ("many", many, [0, *range(0, 700, 3), 700]),
    ):
        yield call(
            f"rank/segments/{name}",
            "rank",
            ["rank", "rank_segments", "integers"],
            {"keys": given, "method": "dense", "segment_offsets": int64(ends)},
            {"ranks": of_segments(given, ends, "dense", False)},
        )


def bad_segments() -> Iterator[Vector]:
    """Segments that do not fit the keys, and a segment that is not sorted."""
    keys, needs = oracle.numbers("int32", [3, 1, 2]), ["rank", "rank_segments", "integers"]
    for name, offsets, field in (
        ("empty", [], "segment_offsets"),
        ("start_late", [1, 3], "segment_offsets[0]"),
        ("fall", [0, 2, 1, 3], "segment_offsets[2]"),
        ("end_early", [0, 2], "segment_offsets[1]"),
        ("end_late", [0, 2, 4], "segment_offsets[2]"),
    ):
        error = {"code": "INVALID_ARGUMENT", "reason": "FIELD_INVALID|", "field": field}
        command = step("rank", {"keys": keys, "segment_offsets": int64(offsets)})
        yield steps(f"rank/segments/{name}", needs, {**command, "error": error})
    error = {"code": "INVALID_ARGUMENT", "reason": "KEYS_NOT_SORTED", "field": "keys"}
    command = step("rank", {"keys": keys, "keys_sorted": True, "segment_offsets": int64([0, 2, 3])})
    yield steps("rank/segments/unsorted", needs, {**command, "error": error})


def errors() -> Iterator[Vector]:
    """Keys that are not sorted, although the call says so."""
    keys, falling = oracle.numbers("int32", [3, 1, 2]), oracle.numbers("int32", [3, 2, 1])
    nan = Array("float32", [bytes.fromhex("0000c07f"), bytes(4)])
    error = {"code": "INVALID_ARGUMENT", "reason": "KEYS_NOT_SORTED", "field": "keys"}
    for method in METHODS:
        for name, given, order in (
            ("ascending", keys, {}),
            ("other_way", falling, {}),
            ("descending", keys, {"order": "descending"}),
            ("nan_first", nan, {}),
        ):
            arguments: Vector = {"keys": given, "method": method, "keys_sorted": True, **order}
            yield steps(
                f"rank/unsorted/{method}/{name}",
                ["rank", feature(given)],
                {**step("rank", arguments), "error": error},
            )


def kept() -> Iterator[Vector]:
    """Kept keys, and ranks that the server keeps."""
    keys = few_keys("float64", 6200, 30)
    for method in METHODS:
        found = oracle.ranks(keys, method, True)
        for place in ("inline", "stream"):
            yield steps(
                f"kept_results/rank/{method}/{place}",
                ["kept", "kept_results", "rank", "floats", *(["streams"] if place == "stream" else [])],
                store("r.keys", keys),
                step(
                    "rank",
                    {"keys": handle("r.keys", keys), "method": method, "order": "descending"},
                    keep={"ranks": "r.ranks"},
                    options={"place": place},
                    results={"ranks": handle("r.ranks", found)},
                ),
                fetch("r.ranks", found),
                delete("r.keys"),
                delete("r.ranks"),
            )


def chains() -> Iterator[Vector]:
    """Chains that rank earlier results, and go on with the ranks."""
    for at, method in enumerate(METHODS):
        keys = few_keys(("bfloat16", "uint64")[at % 2], 6300 + at, 24)
        sorted_keys = ordered(keys, "ascending")
        ranks = oracle.ranks(sorted_keys, method, False)
        down = oracle.argsort(ranks, True)
        operations: list[dict[str, Any]] = [
            operation("sort", {"keys": keys}),
            operation("rank", {"keys": result(0, "keys", sorted_keys), "method": method, "keys_sorted": True}),
            operation("sort", {"keys": result(1, "ranks", ranks), "order": "descending"}),
            operation("rank", {"keys": keys, "method": method, "order": "descending"}),
        ]
        yield steps(
            f"chain/rank/{method}",
            ["chains", "sort", "rank", feature(keys)],
            {
                "command": "chain",
                "operations": operations,
                "results": [
                    {},
                    {},
                    {"keys": oracle.take(ranks, down).json()},
                    {"ranks": oracle.ranks(keys, method, True).json()},
                ],
            },
        )


def every() -> Iterator[Vector]:
    """All of them."""
    yield from types()
    yield from edges()
    yield from floats()
    yield from segments()
    yield from bad_segments()
    yield from errors()
    yield from kept()
    yield from chains()
