"""The vectors of Join: the rows of two arrays, in any order, that have equal keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import oracle
from kept_vectors import call as step
from kept_vectors import delete, fetch, handle, operation, result, steps, store
from operator_vectors import Vector, call, feature, random_keys
from oracle import FLOATS, KEYS, Array

KINDS = ("inner", "left", "right", "full", "semi", "anti")
LEFT_ONLY = ("semi", "anti")


def ascending(keys: Array) -> Array:
    """The keys as a right side that needs no sort."""
    return oracle.take(keys, oracle.argsort(keys))


def results(left: Array, right: Array, kind: str) -> dict[str, Array]:
    """What Join returns."""
    rows = oracle.join(left, right, kind)
    found = {"left_rows": oracle.numbers("int32", [row for row, _ in rows])}
    if kind not in LEFT_ONLY:
        found["right_rows"] = oracle.numbers("int32", [row for _, row in rows])
    return found


def counted(left: Array, right: Array, kind: str) -> dict[str, Array]:
    """What a Join of the number alone returns."""
    return {"count": oracle.int64([len(oracle.join(left, right, kind))])}


def join(
    name: str,
    left: Array,
    right: Array,
    kind: str,
    right_sorted: bool = False,
    max_rows: int | None = None,
    count_only: bool = False,
) -> Vector:
    """A vector of one call."""
    arguments: Vector = {"kind": kind, "left": left, "right": right}
    if right_sorted:
        arguments["right_sorted"] = True
    if max_rows is not None:
        arguments["max_rows"] = max_rows
    found = results(left, right, kind)
    if count_only:
        arguments["count_only"] = True
        found = counted(left, right, kind)
    return call(f"join/{name}", "join", ["join", feature(left)], arguments, dict(found))


def types() -> Iterator[Vector]:
    """Every type of keys and every kind, with a right side in any order and with a sorted one."""
    for at, type_ in enumerate(KEYS):
        for turn, kind in enumerate(KINDS):
            left, right = random_keys(type_, 3000 + at + turn, 13), random_keys(type_, 3100 + at + turn, 11)
            yield join(f"{type_}/{kind}/unsorted", left, right, kind)
            yield join(f"{type_}/{kind}/sorted", left, ascending(right), kind, right_sorted=True)
            if (at + turn) % 2:
                # A side in descending order is one in any order.
                down = oracle.take(right, oracle.argsort(right, True))
                yield join(f"{type_}/{kind}/descending", left, down, kind)
            else:
                yield join(f"{type_}/{kind}/count", left, right, kind, count_only=True)


def edges() -> Iterator[Vector]:
    """Empty sides, equal and disjoint sides, one key only, and rooms that are just large enough."""
    none, few = oracle.numbers("int64", []), oracle.numbers("int64", [9, 2, -7, 2])
    more = oracle.numbers("int64", [9, 3, 2, 9, 9])
    low, high = oracle.numbers("int8", [*range(-1, -16, -1)]), oracle.numbers("int8", [*range(0, 24, 2)])
    fives, others = (oracle.numbers("uint8", [5] * count) for count in (11, 7))
    tied = oracle.numbers("uint8", [at * at % 17 for at in range(30)])
    for kind in KINDS:
        for name, left, right in (
            ("empty", none, none),
            ("left_empty", none, more),
            ("right_empty", few, none),
            ("small", few, more),
            ("equal", more, more),
            ("low_and_high", low, high),
            ("high_and_low", high, low),
            ("one_key", fives, others),  # more rows than both sides together: the client calls again
            ("one_key/single_left", oracle.numbers("uint8", [5]), fives),
            ("one_key/single_right", fives, oracle.numbers("uint8", [5])),
            ("tied", tied, fives),
            ("tied/twice", tied, oracle.take(tied, range(20))),
        ):
            yield join(f"{name}/{kind}", left, right, kind)
            if name not in ("equal", "low_and_high", "high_and_low", "one_key/single_left", "one_key/single_right"):
                yield join(f"{name}/{kind}/count", left, right, kind, count_only=True)
            if name in ("small", "right_empty", "one_key", "tied"):
                rows = len(oracle.join(left, right, kind))
                yield join(f"{name}/{kind}/exact_room", left, right, kind, max_rows=rows)
        yield join(f"ample_room/{kind}", few, more, kind, max_rows=1 << 40)
        yield join(f"sorted/{kind}/count", more, ascending(few), kind, right_sorted=True, count_only=True)


def floats() -> Iterator[Vector]:
    """NaNs of all payloads are one key, and so are zeros of both signs."""
    for type_ in FLOATS:
        width = oracle.WIDTHS[type_]
        sign = 0x80 << 8 * (width - 1)
        nan = int.from_bytes(bytes([0xFF] * (width - 1) + [0x7F]), "little")
        sides = [
            [nan - 2, sign, 1, 0, nan | sign, sign, nan - 1, sign | 1],
            [0, nan, sign | 1, sign, nan | sign, 0, 2],
        ]
        left, right = (Array(type_, [bits.to_bytes(width, "little") for bits in side]) for side in sides)
        for kind in KINDS:
            for way, (first, second) in (("", (left, right)), ("/swapped", (right, left))):
                is_sorted = way == "/swapped"
                other = ascending(second) if is_sorted else second
                yield join(f"zeros_and_nans/{type_}/{kind}{way}", first, other, kind, right_sorted=is_sorted)


def rooms() -> Iterator[Vector]:
    """Joins with more rows than max_rows: the error tells their number, with which a second call succeeds."""
    left, right = random_keys("int16", 3200, 18), random_keys("int16", 3201, 15)
    for kind in KINDS:
        rows = len(oracle.join(left, right, kind))
        arguments: dict[str, Any] = {"kind": kind, "left": left, "right": right}
        error = {"code": "INVALID_ARGUMENT", "reason": "TOO_MANY_ROWS", "field": "max_rows", "rows": rows}
        for name, room in (("none", 0), ("one_less", rows - 1)):
            for place in ("inline", "stream"):
                yield steps(
                    f"join/room/{kind}/{name}/{place}",
                    ["join", "integers", *(["streams"] if place == "stream" else [])],
                    step("join", {**arguments, "max_rows": room}, options={"place": place}, error=error),
                    step(
                        "join",
                        {**arguments, "max_rows": rows},
                        options={"place": place},
                        results={name: array.json() for name, array in results(left, right, kind).items()},
                    ),
                )
        # The number alone needs no room.
        yield join(f"room/{kind}/count", left, right, kind, count_only=True)


def refused(name: str, arguments: Vector, field: str | None, reason: str = "FIELD_INVALID|") -> Vector:
    """A call that fails, in the server or already in the client."""
    error = {"code": "INVALID_ARGUMENT", "reason": reason, **({} if field is None else {"field": field})}
    types_ = [feature(each) for each in arguments.values() if isinstance(each, Array)]
    return steps(f"join/{name}", ["join", *types_], {**step("join", arguments), "error": error})


def errors() -> Iterator[Vector]:
    """Requests that the server, or already the client, refuses."""
    keys, falling = oracle.numbers("int32", [3, 1, 2]), oracle.numbers("int32", [1, 3, 2])
    nan = Array("float32", [bytes.fromhex("0000c07f"), bytes(4)])
    for kind in KINDS:
        base: dict[str, Any] = {"kind": kind, "left": keys, "right": falling}
        for name, given in (
            ("keys", {}),
            ("count", {"count_only": True}),
            ("nan_first", {"left": nan, "right": nan}),
            ("no_left", {"left": keys.like([])}),
        ):
            arguments = {**base, "right_sorted": True, **given}
            yield refused(f"unsorted/{kind}/{name}", arguments, "right", "KEYS_NOT_SORTED")
        yield refused(f"other_type/{kind}", {**base, "right": oracle.numbers("uint32", [1, 2])}, None)


def kept() -> Iterator[Vector]:
    """Kept sides, and row numbers that the server keeps."""
    left, right = random_keys("float64", 3300, 40), random_keys("float64", 3301, 12)
    for kind in KINDS:
        arguments: Vector = {"kind": kind, "left": handle("j.left", left), "right": handle("j.right", right)}
        found, count = results(left, right, kind), counted(left, right, kind)["count"]
        names = {name: f"j.{name}" for name in found}
        for place in ("inline", "stream"):
            yield steps(
                f"kept_results/join/{kind}/{place}",
                ["kept", "kept_results", "join", "floats", *(["streams"] if place == "stream" else [])],
                store("j.left", left),
                store("j.right", right),
                step(
                    "join",
                    arguments,
                    keep=names,
                    options={"place": place},
                    results={name: handle(names[name], array) for name, array in found.items()},
                ),
                step(
                    "join",
                    {**arguments, "count_only": True},
                    keep={"count": "j.n"},
                    results={"count": handle("j.n", count)},
                ),
                *(fetch(names[name], array) for name, array in found.items()),
                fetch("j.n", count),
                *(delete(name) for name in ("j.left", "j.right", "j.n", *names.values())),
            )
    many = oracle.numbers("uint16", [7] * 20)
    found = results(many, many, "inner")
    names = {name: f"j.{name}" for name in found}
    yield steps(
        "kept_results/join/called_again",
        ["kept_results", "join", "integers"],
        step(
            "join",
            {"kind": "inner", "left": many, "right": many},
            keep=names,
            results={name: handle(names[name], array) for name, array in found.items()},
        ),
        *(fetch(names[name], array) for name, array in found.items()),
        *(delete(name) for name in names.values()),
    )


def chains() -> Iterator[Vector]:
    """Chains that join earlier results, and go on with the rows: only the answer tells their number."""
    first, second = random_keys("float32", 3400, 45), random_keys("float32", 3401, 35)
    ordered = ascending(first)
    distinct = oracle.take(second, [members[0] for members in oracle.groups(second, oracle.argsort(second))])
    for kind in KINDS:
        rows = results(ordered, distinct, kind)
        left_rows = rows["left_rows"]
        down = oracle.argsort(left_rows, True)
        last = oracle.join(left_rows, oracle.numbers("int32", [-1, 3, 40]), kind)
        operations = [
            operation("sort", {"keys": first}),
            operation("group", {"keys": second, "outputs": ["keys"]}),
            operation(
                "join",
                {
                    "kind": kind,
                    "left": result(0, "keys", ordered),
                    "right": result(1, "keys", distinct),
                    "right_sorted": True,
                },
            ),
            operation("sort", {"keys": result(2, "left_rows", left_rows), "order": "descending"}),
            operation(
                "join",
                {
                    "kind": kind,
                    "left": result(2, "left_rows", left_rows),
                    "right": oracle.numbers("int32", [-1, 3, 40]),
                    "count_only": True,
                },
            ),
        ]
        back = {name: array.json() for name, array in rows.items() if name != "left_rows"}
        yield steps(
            f"chain/join/{kind}",
            ["chains", "sort", "group", "join", "floats", "integers"],
            {
                "command": "chain",
                "operations": operations,
                "results": [
                    {},
                    {},
                    back,
                    {"keys": oracle.take(left_rows, down).json()},
                    {"count": oracle.int64([len(last)]).json()},
                ],
            },
        )
    yield from _chain_rooms()


def _chain_rooms() -> Iterator[Vector]:
    many = oracle.numbers("uint16", [7] * 12)
    arguments: Vector = {"kind": "inner", "left": many, "right": many}
    found = results(many, many, "inner")
    names = {name: f"j.{name}" for name in found}
    error = {"code": "INVALID_ARGUMENT", "reason": "TOO_MANY_ROWS", "rows": 144}
    yield steps(
        "chain/join/too_many_rows",
        ["chains", "join", "integers", "kept", "kept_results"],
        {"command": "chain", "operations": [operation("join", arguments)], "error": error},
        {
            "command": "chain",
            "operations": [
                operation("join", {**arguments, "max_rows": 144}, keep=names),
                operation("join", {**arguments, "kind": "semi"}),
            ],
            "results": [
                {name: handle(names[name], array) for name, array in found.items()},
                {"left_rows": results(many, many, "semi")["left_rows"].json()},
            ],
        },
        *(fetch(names[name], array) for name, array in found.items()),
        *(delete(name) for name in names.values()),
    )


def every() -> Iterator[Vector]:
    """All of them."""
    yield from types()
    yield from edges()
    yield from floats()
    yield from rooms()
    yield from errors()
    yield from kept()
    yield from chains()
