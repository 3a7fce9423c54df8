"""The vectors of CombineSets: unions, intersections and differences of sorted arrays, as multisets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import oracle
from kept_vectors import call as step
from kept_vectors import delete, fetch, handle, operation, result, steps, store
from operator_vectors import ORDERS, Vector, call, feature, random_keys, values_like
from oracle import FLOATS, KEYS, Array

OPERATIONS = ("union", "intersection", "difference", "symmetric_difference")
FROM_LEFT = ("intersection", "difference")


def ordered(keys: Array, order: str) -> Array:
    """The keys as a side of a set operation."""
    return oracle.take(keys, oracle.argsort(keys, order == "descending"))


def results(left: Array, right: Array, operation_: str, order: str, *values: Array | None) -> dict[str, Array]:
    """What CombineSets returns."""
    found = oracle.combine(left, right, operation_, order == "descending")
    keys = oracle.take(oracle.joined([left, right]), found)
    moved = [each for each in values if each is not None]
    return {"keys": keys, **({"values": oracle.take(oracle.joined(moved), found)} if moved else {})}


def combine(
    name: str,
    left: Array,
    right: Array,
    operation_: str,
    order: str = "ascending",
    values: tuple[Array, Array | None] | None = None,
    count_only: bool = False,
) -> Vector:
    """A vector of one call: with the values of the left and the right, or of the number of keys alone."""
    arguments: Vector = {"operation": operation_, "left": left, "right": right}
    needs = ["combine_sets", feature(left)]
    if values is not None:
        needs.append(feature(values[0]))
        arguments |= dict(zip(("left_values", "right_values"), values, strict=True))
    if order != "ascending":
        arguments["order"] = order
    found = results(left, right, operation_, order, *values or ())
    if count_only:
        arguments["count_only"] = True
        found = {"count": oracle.int64([len(found["keys"].items)])}
    return call(f"sets/{name}", "combine_sets", needs, arguments, dict(found))


def pair(operation_: str, left: Array, right: Array) -> tuple[Array, Array | None]:
    """The values that an operation takes."""
    return left, None if operation_ in FROM_LEFT else right


def types() -> Iterator[Vector]:
    """Every type of keys, in both orders, and every operation: keys, keys with values, and their number."""
    for at, type_ in enumerate(KEYS):
        for turn, operation_ in enumerate(OPERATIONS):
            for order in ORDERS:
                left = ordered(random_keys(type_, 2000 + at, 15), order)
                right = ordered(random_keys(type_, 2100 + at + turn, 13), order)
                yield combine(f"{type_}/{operation_}/{order}", left, right, operation_, order)
            width = (1, 3, 4, 8, 12, 16, 31, 256)[(at + turn) % 8]
            count = 11 if width < 64 else 3
            order = ORDERS[(at + turn) % 2]
            left = ordered(random_keys(type_, 2200 + at, count), order)
            right = ordered(random_keys(type_, 2300 + at, count), order)
            values = values_like(2 * at, count, width), values_like(2 * at + 1, count, width)
            yield combine(
                f"{type_}/{operation_}/record{width}", left, right, operation_, order, pair(operation_, *values)
            )
            yield combine(f"{type_}/{operation_}/count", left, right, operation_, order, count_only=True)
        # Values of every type of numbers.
        values = random_keys(type_, 2400 + at, 10), random_keys(type_, 2500 + at, 12)
        left, right = oracle.numbers("int16", [*range(10)]), oracle.numbers("int16", [*range(5, 17)])
        yield combine(f"values/{type_}", left, right, "union", values=values)


def edges() -> Iterator[Vector]:
    """Empty sides, equal and disjoint sides, one key only, and keys of many occurrences."""
    few, more = oracle.numbers("int64", [-7, 2, 2, 9]), oracle.numbers("int64", [2, 3, 9, 9, 9])
    none = oracle.numbers("int64", [])
    low, high = oracle.numbers("int8", [*range(-20, 0)]), oracle.numbers("int8", [*range(0, 24, 2)])
    fives = [oracle.numbers("uint8", [5] * count) for count in (40, 25)]
    tied = oracle.numbers("uint8", sorted(at * at % 17 for at in range(60)))
    for operation_ in OPERATIONS:
        for name, left, right in (
            ("empty", none, none),
            ("left_empty", none, more),
            ("right_empty", few, none),
            ("small", few, more),
            ("equal", more, more),
            ("low_and_high", low, high),
            ("high_and_low", high, low),
            ("one_key/more_left", fives[0], fives[1]),
            ("one_key/more_right", fives[1], fives[0]),
            ("tied", tied, fives[1]),
        ):
            yield combine(f"{name}/{operation_}", left, right, operation_)
            if name not in ("equal", "low_and_high", "high_and_low", "one_key/more_right"):
                yield combine(f"{name}/{operation_}/count", left, right, operation_, count_only=True)
        values = [oracle.numbers("uint16", [*range(base, base + 40)]) for base in (0, 1000)]
        given = pair(operation_, values[0], oracle.take(values[1], range(25)))
        yield combine(f"one_key/values/{operation_}", fives[0], fives[1], operation_, values=given)
        nothing = oracle.numbers("uint32", [])
        given = pair(operation_, oracle.numbers("uint8", []), oracle.numbers("uint8", []))
        yield combine(f"empty/values/{operation_}", nothing, nothing, operation_, values=given)


def floats() -> Iterator[Vector]:
    """NaNs are one key and so are zeros. Every key has the bits, and the value, of the element that it is."""
    for type_ in FLOATS:
        width = oracle.WIDTHS[type_]
        sign = 0x80 << 8 * (width - 1)
        nan = int.from_bytes(bytes([0xFF] * (width - 1) + [0x7F]), "little")
        sides = [
            [sign, 0, sign, 1, nan - 1, nan | sign, nan, nan - 2],
            [sign | 1, 0, 0, sign, 0, nan, nan | sign],
        ]
        for order in ORDERS:
            left, right = (
                ordered(Array(type_, [bits.to_bytes(width, "little") for bits in side]), order) for side in sides
            )
            values = [oracle.numbers("int32", [base + at for at in range(8)]) for base in (0, 100)]
            for operation_ in OPERATIONS:
                for way, (first, second) in (("", (left, right)), ("/swapped", (right, left))):
                    of_first, of_second = (
                        oracle.take(each, range(len(side.items)))
                        for each, side in zip(values, (first, second), strict=True)
                    )
                    yield combine(
                        f"zeros_and_nans/{type_}/{operation_}/{order}{way}",
                        first,
                        second,
                        operation_,
                        order,
                        pair(operation_, of_first, of_second),
                    )


def refused(name: str, arguments: Vector, field: str | None, reason: str = "FIELD_INVALID|") -> Vector:
    """A call that fails, in the server or already in the client."""
    error = {"code": "INVALID_ARGUMENT", "reason": reason, **({} if field is None else {"field": field})}
    types_ = [feature(each) for each in arguments.values() if isinstance(each, Array)]
    return steps(f"sets/{name}", ["combine_sets", *types_], {**step("combine_sets", arguments), "error": error})


def errors() -> Iterator[Vector]:
    """Requests that the server, or already the client, refuses."""
    keys, falling = oracle.numbers("int32", [1, 2, 3]), oracle.numbers("int32", [1, 3, 2])
    nan = Array("float32", [bytes.fromhex("0000c07f"), bytes(4)])
    for operation_ in OPERATIONS:
        base: dict[str, Any] = {"operation": operation_, "left": keys, "right": keys}
        for side in ("left", "right"):
            for name, given in (
                ("keys", {side: falling}),
                ("count", {side: falling, "count_only": True}),
                ("nan_first", {"left": nan, "right": nan} | ({"left": nan.like([])} if side == "right" else {})),
            ):
                arguments = {**base, **given}
                yield refused(f"unsorted/{operation_}/{side}/{name}", arguments, side, "KEYS_NOT_SORTED")
        arguments = {**base, "order": "descending", "right": falling.like([])}
        yield refused(f"unsorted/{operation_}/other_way", arguments, "left", "KEYS_NOT_SORTED")
        values = oracle.numbers("uint8", [1, 2, 3])
        both = {"left_values": values, "right_values": values}
        if operation_ in FROM_LEFT:
            yield refused(f"values/{operation_}/both", {**base, **both}, "right_values")
            both = {"left_values": values}
        else:
            yield refused(f"values/{operation_}/left_alone", {**base, "left_values": values}, "right_values")
            other = {**both, "right_values": oracle.numbers("int8", [1, 2, 3])}
            yield refused(f"values/{operation_}/other_type", {**base, **other}, None)
        for side in both:
            for name, count in (("few", 2), ("many", 4), ("none", 0)):
                given = {**both, side: oracle.numbers("uint8", [*range(count)])}
                yield refused(f"values/{operation_}/{side}/{name}", {**base, **given}, side)
        yield refused(f"other_type/{operation_}", {**base, "right": oracle.numbers("uint32", [1, 2])}, None)


def kept() -> Iterator[Vector]:
    """Kept sides and values, and results that the server keeps: their length is that of the result."""
    left = ordered(random_keys("float64", 2600, 40), "descending")
    right = ordered(random_keys("float64", 2601, 30), "descending")
    values, right_values = values_like(2602, 40, 7), values_like(2603, 30, 7)
    for operation_ in OPERATIONS:
        stored = {"s.left": left, "s.right": right, "s.values": values}
        arguments: Vector = {
            "operation": operation_,
            "left": handle("s.left", left),
            "right": handle("s.right", right),
            "order": "descending",
        }
        counting = {**arguments, "count_only": True}
        arguments["left_values"] = handle("s.values", values)
        others = None if operation_ in FROM_LEFT else right_values
        if others is not None:
            arguments["right_values"] = others
        found = results(left, right, operation_, "descending", values, others)
        count = oracle.int64([len(found["keys"].items)])
        names = {"keys": "s.keys", "values": "s.moved"}
        for place in ("inline", "stream"):
            yield steps(
                f"kept_results/sets/{operation_}/{place}",
                [
                    *("kept", "kept_results", "combine_sets", "floats", "records"),
                    *(["streams"] if place == "stream" else []),
                ],
                *(store(name, array) for name, array in stored.items()),
                step(
                    "combine_sets",
                    arguments,
                    keep=names,
                    options={"place": place},
                    results={name: handle(names[name], array) for name, array in found.items()},
                ),
                step("combine_sets", counting, keep={"count": "s.n"}, results={"count": handle("s.n", count)}),
                step("combine_sets", counting, results={"count": count.json()}),
                *(fetch(names[name], array) for name, array in found.items()),
                fetch("s.n", count),
                *(delete(name) for name in (*stored, *names.values(), "s.n")),
            )


def chains() -> Iterator[Vector]:
    """Chains that combine sets of earlier results, and go on with them: only the answer tells their length."""
    first, second = random_keys("float32", 2700, 45), random_keys("float32", 2701, 35)
    left, right = ordered(first, "ascending"), ordered(second, "ascending")
    union = results(left, right, "union", "ascending")["keys"]
    rest = results(union, left, "difference", "ascending")["keys"]
    merged = ordered(oracle.joined([rest, left]), "ascending")
    counted = oracle.combine(union, rest, "symmetric_difference", False)
    yield steps(
        "chain/sets",
        ["chains", "kept", "kept_results", "sort", "merge", "combine_sets", "floats"],
        {
            "command": "chain",
            "operations": [
                operation("sort", {"keys": first}),
                operation("sort", {"keys": second}),
                operation(
                    "combine_sets",
                    {"operation": "union", "left": result(0, "keys", left), "right": result(1, "keys", right)},
                ),
                operation(
                    "combine_sets",
                    {"operation": "difference", "left": result(2, "keys", union), "right": result(0, "keys", left)},
                ),
                operation("merge", {"keys": [result(3, "keys", rest), left.json()]}),
                operation(
                    "combine_sets",
                    {
                        "operation": "symmetric_difference",
                        "left": result(2, "keys", union),
                        "right": result(3, "keys", rest),
                        "count_only": True,
                    },
                ),
                operation(
                    "combine_sets", {"operation": "union", "left": left, "right": right}, keep={"keys": "s.union"}
                ),
            ],
            "results": [
                {},
                {},
                {},
                {},
                {"keys": merged.json()},
                {"count": oracle.int64([len(counted)]).json()},
                {"keys": handle("s.union", union)},
            ],
        },
        fetch("s.union", union),
        delete("s.union"),
    )
    yield from _chains_with_values()


def _chains_with_values() -> Iterator[Vector]:
    left = oracle.numbers("uint8", [1, 1, 4, 6, 6, 6])
    right = oracle.numbers("uint8", [1, 5, 6, 6])
    values, right_values = oracle.numbers("int64", [*range(6)]), oracle.numbers("int64", [*range(10, 14)])
    for operation_ in OPERATIONS:
        others = None if operation_ in FROM_LEFT else right_values
        found = results(left, right, operation_, "ascending", values, others)
        keys, moved = found["keys"], found["values"]
        arguments: Vector = {"operation": operation_, "left": left, "right": right, "left_values": values}
        if others is not None:
            arguments["right_values"] = others
        back = oracle.argsort(moved, True)
        yield steps(
            f"chain/sets_with_values/{operation_}",
            ["chains", "sort_values", "combine_sets", "integers"],
            {
                "command": "chain",
                "operations": [
                    operation("combine_sets", arguments),
                    operation(
                        "sort",
                        {
                            "keys": result(0, "values", moved),
                            "values": result(0, "keys", keys),
                            "order": "descending",
                        },
                    ),
                ],
                "results": [
                    {},
                    {"keys": oracle.take(moved, back).json(), "values": oracle.take(keys, back).json()},
                ],
            },
        )


def every() -> Iterator[Vector]:
    """All of them."""
    yield from types()
    yield from edges()
    yield from floats()
    yield from errors()
    yield from kept()
    yield from chains()
