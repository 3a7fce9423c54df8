"""The vectors of Group: distinct keys, runs, and reductions of the values of each key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import oracle
from kept_vectors import call as step
from kept_vectors import delete, fetch, handle, operation, result, steps
from operator_vectors import ORDERS, Vector, call, feature, few_keys, random_keys
from oracle import FLOATS, INTEGERS, KEYS, Array

INPUTS = ("unsorted", "sorted", "runs")
OUTPUTS = ("keys", "counts", "firsts", "sums", "minima", "maxima")
_INT64 = (-(1 << 63), (1 << 63) - 1)
_UINT64 = (1 << 64) - 1


def results(
    keys: Array, values: Array | None, input_: str, order: str, outputs: Sequence[str] = OUTPUTS
) -> dict[str, Array]:
    """What Group returns."""
    every = range(len(keys.items))
    members = oracle.groups(keys, oracle.argsort(keys, order == "descending") if input_ == "unsorted" else every)
    firsts = [group[0] for group in members]
    found = {
        "keys": oracle.take(keys, firsts),
        "counts": oracle.int64([len(group) for group in members]),
        "firsts": oracle.numbers("uint32", firsts),
    }
    if values is not None:
        found["minima"] = oracle.extremes(values, members, False)
        found["maxima"] = oracle.extremes(values, members, True)
        if "sums" in outputs:
            found["sums"] = oracle.sums(values, members)
    return {name: found[name] for name in outputs}


def group(
    name: str,
    keys: Array,
    values: Array | None,
    outputs: Sequence[str],
    input_: str = "unsorted",
    order: str = "ascending",
) -> Vector:
    """A vector of one call."""
    needs = ["group", feature(keys), *([] if values is None else [feature(values)])]
    arguments: Vector = {"keys": keys, "values": values, "outputs": list(outputs)}
    if input_ != "unsorted":
        arguments["input"] = input_
    if order != "ascending":
        arguments["order"] = order
    return call(f"group/{name}", "group", needs, arguments, dict(results(keys, values, input_, order, outputs)))


def summable(type_: str, seed: int, count: int) -> Array:
    """Values whose sums have the same bits in every order: quarters with infinities, NaNs and both zeros, or integers
    of at most 48 bits.
    """
    if type_ in INTEGERS:
        drawn = random_keys(type_, seed, count)
        if oracle.WIDTHS[type_] < 8:
            return drawn
        return oracle.numbers(type_, [int(oracle.value_of(type_, item)) >> 16 for item in drawn.items])
    sign = 0x80 << 8 * (oracle.WIDTHS[type_] - 1)
    specials = [item for item in random_keys(type_, seed, 200).items if _is_special(type_, item)]
    items = []
    for at in range(count):
        bits = oracle.mix(seed * 77 + at)
        if bits >> 28 == 0:
            items.append(specials[bits % len(specials)])
        else:
            items.append(_quarters(type_, bits % 96, sign if bits & 1 << 20 else 0))
    return Array(type_, items)


def _is_special(type_: str, item: bytes) -> bool:
    value = oracle.value_of(type_, item)
    return value != value or value in (0, float("inf"), float("-inf"))


def _quarters(type_: str, number: int, sign: int) -> bytes:
    """The bits of number / 4, which has at most 7 bits, or of its negative."""
    fraction, exponent = {"float16": (10, 15), "bfloat16": (7, 127), "float32": (23, 127), "float64": (52, 1023)}[type_]
    bits = 0
    if number:
        top = number.bit_length() - 1
        bits = (exponent + top - 2) << fraction | (number - (1 << top)) << (fraction - top)
    return (bits | sign).to_bytes(oracle.WIDTHS[type_], "little")


def types() -> Iterator[Vector]:
    """Every type of keys, in every order and arrangement, and every reduction of every type of values."""
    for at, type_ in enumerate(KEYS):
        value_type = KEYS[(at * 5 + 3) % len(KEYS)]
        values = summable(value_type, 1000 + at, 27)
        for input_ in INPUTS:
            for order in ORDERS if input_ != "runs" else ORDERS[:1]:
                keys = random_keys(type_, 1100 + at, 27)
                if input_ == "sorted":
                    keys = oracle.take(keys, oracle.argsort(keys, order == "descending"))
                elif input_ == "runs":
                    keys = keys.like([keys.items[n // 3] for n in range(27)])
                yield group(f"{type_}/{input_}/{order}", keys, values, OUTPUTS, input_, order)
        values, keys = summable(type_, 1200 + at, 30), few_keys("int32", 1300 + at, 30)
        for output in OUTPUTS[3:]:
            yield group(f"{output}/{type_}", keys, values, [output, "keys"])


def edges() -> Iterator[Vector]:
    """No keys, one key, one group, as many groups as keys, and choices of results."""
    for type_ in ("int32", "float64"):
        empty, values = Array(type_, []), Array("uint16", [])
        for input_ in INPUTS:
            yield group(f"empty/{type_}/{input_}", empty, values, OUTPUTS, input_)
    one = oracle.numbers("uint8", [9])
    yield group("one_key", one, oracle.numbers("int8", [-3]), OUTPUTS)
    same, values = oracle.numbers("int16", [-5] * 90), oracle.numbers("uint32", [*range(90)])
    every = oracle.numbers("uint16", [(at * 53) % 90 for at in range(90)])
    ordered = oracle.take(every, oracle.argsort(every))
    for input_ in INPUTS:
        yield group(f"one_group/{input_}", same, values, OUTPUTS, input_)
        yield group(f"all_distinct/{input_}", ordered if input_ == "sorted" else every, values, OUTPUTS, input_)
    keys = oracle.numbers("int64", [7, 7, 5, 7, 5, 5])
    yield group("runs_of_one_key", keys, oracle.int64([1, 2, 4, 8, 16, 32]), OUTPUTS, "runs")
    default = group("default_outputs", keys, None, OUTPUTS[:2])
    del default["arguments"]["outputs"]
    yield default
    for outputs in (["keys"], ["counts"], ["firsts"], ["firsts", "keys", "counts"]):
        yield group(f"outputs/{'_'.join(outputs)}", keys, None, outputs)
    yield group("unique/descending", keys, None, ["keys"], order="descending")
    yield group("run_length_encode", keys, None, ["keys", "counts"], "runs")


def floats() -> Iterator[Vector]:
    """NaNs are one key and so are zeros, and a key has the bits of the first of its group."""
    for type_ in FLOATS:
        width = oracle.WIDTHS[type_]
        sign = 0x80 << 8 * (width - 1)
        one = int.from_bytes(_quarters(type_, 4, 0), "little")
        nan = int.from_bytes(bytes([0xFF] * (width - 1) + [0x7F]), "little")
        bits = [nan | sign, sign, nan - 1, 0, one, sign, one, nan, 0, nan | sign]
        keys = Array(type_, [each.to_bytes(width, "little") for each in bits])
        values = oracle.numbers("int32", [1 << at for at in range(len(bits))])
        for input_ in INPUTS:
            for order in ORDERS if input_ != "runs" else ORDERS[:1]:
                given = oracle.take(keys, oracle.argsort(keys, order == "descending")) if input_ == "sorted" else keys
                yield group(f"zeros_and_nans/{type_}/{input_}/{order}", given, values, OUTPUTS, input_, order)
        zeros = keys.like([keys.items[at] for at in (1, 3, 1, 1, 5)])
        yield group(
            f"values_of_zero/{type_}", oracle.numbers("int8", [1, 1, 2, 2, 3]), zeros, ["sums", "minima", "maxima"]
        )


def sums() -> Iterator[Vector]:
    """Sums at the bounds of 64 bits, and sums that pass them."""
    least, most = _INT64
    keys = oracle.numbers("uint8", [2, 1, 2, 1, 2])
    for name, type_, numbers in (
        ("signed", "int64", [most, least, -1, 0, 1]),
        ("cancelled", "int64", [most, least, most, 0, -most]),
        ("unsigned", "uint64", [_UINT64 - 5, 0, 2, _UINT64, 3]),
    ):
        yield group(f"sums/bound/{name}", keys, oracle.numbers(type_, numbers), ["sums", "keys"])
    for name, type_, numbers in (
        ("above", "int64", [most, 0, 1, 0, 0]),
        ("below", "int64", [0, least, 0, -1, 0]),
        ("unsigned", "uint64", [1, 0, _UINT64, 0, 0]),
    ):
        arguments: Vector = {"keys": keys, "values": oracle.numbers(type_, numbers), "outputs": ["keys", "sums"]}
        yield refused(f"sums/overflow/{name}", arguments, "values")
        yield group(f"sums/not_wanted/{name}", keys, oracle.numbers(type_, numbers), ["maxima"])


def refused(name: str, arguments: Vector, field: str, reason: str = "FIELD_INVALID|") -> Vector:
    """A call that fails, in the server or already in the client."""
    error = {"code": "INVALID_ARGUMENT", "reason": reason, "field": field}
    types = [feature(each) for each in arguments.values() if isinstance(each, Array)]
    return steps(f"group/{name}", ["group", *types], {**step("group", arguments), "error": error})


def nulls() -> Iterator[Vector]:
    """Values that are null, and groups that have no others. Groups of one value, so that sums have one order."""
    outputs = ["keys", "sums", "minima", "maxima", "value_counts"]
    for at, type_ in enumerate(("int16", "uint64", "bfloat16", "float64")):
        keys, values = oracle.numbers("uint8", [3, 1, 2, 1, 3, 1, 2, 1, 3]), summable(type_, 1600 + at, 9)
        rows = [at == 0, False, True, True, False, False, False, at > 1, at > 1]
        members = oracle.groups(keys, oracle.argsort(keys, False))
        valid = [[row for row in group if rows[row]] for group in members]
        found = {
            "keys": oracle.take(keys, [group[0] for group in members]),
            "sums": oracle.sums(values, valid),
            "minima": oracle.extremes(values, valid, False),
            "maxima": oracle.extremes(values, valid, True),
            "value_counts": oracle.int64([len(group) for group in valid]),
        }
        packed = oracle.numbers("uint8", [sum(rows[row] << row for row in range(8)), 0xFE + rows[8]])
        arguments: Vector = {"keys": keys, "values": values, "values_validity": packed, "outputs": outputs}
        needs = ["group", "nulls", "integers", feature(values)]
        yield call(f"group/nulls/{type_}", "group", needs, arguments, dict(found))
    wrong: Vector = {
        "keys": keys,
        "values": values,
        "values_validity": oracle.numbers("uint8", [1]),
        "outputs": ["sums"],
    }
    yield refused("nulls/bitmap_too_short", wrong, "values_validity")


def errors() -> Iterator[Vector]:
    """Requests that the server, or already the client, refuses."""
    keys, values = oracle.numbers("int32", [3, 1, 2]), oracle.numbers("uint8", [1, 2, 3])
    nan = Array("float32", [bytes.fromhex("0000c07f"), bytes(4)])
    unsorted = "KEYS_NOT_SORTED"
    yield refused("unsorted/ascending", {"keys": keys, "input": "sorted"}, "keys", unsorted)
    ordered: dict[str, Any] = {"keys": values, "input": "sorted", "order": "descending"}
    yield refused("unsorted/descending", ordered, "keys", unsorted)
    yield refused("unsorted/nan_first", {"keys": nan, "input": "sorted"}, "keys", unsorted)
    for name, count in (("few", 2), ("many", 4), ("none", 0)):
        given = oracle.numbers("int16", [*range(count)])
        yield refused(f"values/{name}", {"keys": keys, "values": given, "outputs": ["sums"]}, "values")
    for output in OUTPUTS[3:]:
        yield refused(f"values/missing/{output}", {"keys": keys, "outputs": ["keys", output]}, "values")
    yield refused("values/not_used", {"keys": keys, "values": values, "outputs": ["keys", "counts"]}, "values")


def kept() -> Iterator[Vector]:
    """Kept keys and values, and results that the server keeps: their length is the number of groups."""
    keys, values = few_keys("uint16", 1400, 50), summable("float32", 1401, 50)
    found = results(keys, values, "unsorted", "ascending")
    for place in ("inline", "stream"):
        yield steps(
            f"kept_results/group/{place}",
            ["kept", "kept_results", "group", "integers", "floats", *(["streams"] if place == "stream" else [])],
            {"command": "store", "name": "group.keys", "array": keys.json(), "ok": handle("group.keys", keys)},
            step(
                "group",
                {"keys": handle("group.keys", keys), "values": values, "outputs": list(OUTPUTS)},
                keep={name: f"g.{name}" for name in OUTPUTS},
                options={"place": place},
                results={name: handle(f"g.{name}", array) for name, array in found.items()},
            ),
            *(fetch(f"g.{name}", array) for name, array in found.items()),
            *(delete(f"g.{name}") for name in found),
            delete("group.keys"),
        )


def chains() -> Iterator[Vector]:
    """Chains with groups of the result of an earlier operator, and of arrays of the caller."""
    keys, values = few_keys("float32", 1500, 45), summable("int16", 1501, 45)
    ordered = oracle.take(keys, oracle.argsort(keys, True))
    counted = results(ordered, None, "sorted", "descending", OUTPUTS[:2])
    reduced = results(keys, values, "unsorted", "ascending")
    last: Vector = {"keys": keys, "values": values, "outputs": list(OUTPUTS)}
    yield steps(
        "chain/group",
        ["chains", "kept", "kept_results", "sort", "group", "floats", "integers"],
        {
            "command": "chain",
            "operations": [
                operation("sort", {"keys": keys, "order": "descending"}),
                operation("group", {"keys": result(0, "keys", ordered), "input": "sorted", "order": "descending"}),
                operation("group", last, keep={name: f"c.{name}" for name in OUTPUTS}),
                operation("group", last),
            ],
            "results": [
                {},
                {name: array.json() for name, array in counted.items()},
                {name: handle(f"c.{name}", array) for name, array in reduced.items()},
                {name: array.json() for name, array in reduced.items()},
            ],
        },
        *(fetch(f"c.{name}", array) for name, array in reduced.items()),
        *(delete(f"c.{name}") for name in reduced),
    )
    frequent = oracle.argsort(counted["counts"], True)[:2]
    distinct = counted["keys"]
    found = oracle.search(oracle.take(distinct, oracle.argsort(distinct)), keys, False, False)
    yield steps(
        "chain/after_group",
        ["chains", "sort_values", "limit", "search", "group", "floats", "integers"],
        {
            "command": "chain",
            "operations": [
                operation("group", {"keys": keys, "order": "descending"}),
                operation(
                    "sort",
                    {
                        "keys": result(0, "counts", counted["counts"]),
                        "values": result(0, "keys", distinct),
                        "order": "descending",
                        "limit": 2,
                    },
                ),
                operation("sort", {"keys": result(0, "keys", distinct)}),
                operation("search", {"haystack": result(2, "keys", distinct), "needles": keys}),
            ],
            "results": [
                {},
                {
                    "keys": oracle.take(counted["counts"], frequent).json(),
                    "values": oracle.take(distinct, frequent).json(),
                },
                {},
                {"positions": oracle.numbers("uint32", found).json()},
            ],
        },
    )


def every() -> Iterator[Vector]:
    """All of them."""
    yield from types()
    yield from edges()
    yield from floats()
    yield from sums()
    yield from nulls()
    yield from errors()
    yield from kept()
    yield from chains()
