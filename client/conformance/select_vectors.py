"""The vectors of Select and its siblings: selection, partition, removal and insertion of elements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import oracle
from kept_vectors import call as step
from kept_vectors import delete, fetch, handle, operation, result, steps, store
from operator_vectors import Vector, call, feature, few_keys, random_keys, values_like
from oracle import COMPARISONS, FLOATS, KEYS, Array, int64

PREDICATES = ("flags", "bitmap", "positions")
WIDTHS = (1, 3, 4, 8, 12, 16, 31, 256)


def drawn(seed: int, count: int) -> list[bool]:
    """Whether each element is selected: about every third one."""
    return [oracle.mix(seed * 977 + at) % 3 == 0 for at in range(count)]


def predicate(name: str, selected: Sequence[bool], seed: int) -> Array:
    """An array that selects these elements: with flags of any value, bits behind the end, or positions in any order."""
    if name == "flags":
        return oracle.numbers("uint8", [(1 + oracle.mix(seed + at) % 255) * bit for at, bit in enumerate(selected)])
    if name == "bitmap":
        behind = [True] * (-len(selected) % 8)
        return oracle.bitmap([*selected, *behind])
    positions = oracle.parted(selected)[0]
    twice = [*positions, *positions[::2]]
    return int64(sorted(twice, key=lambda at: oracle.mix(seed + at)))


def results(
    elements: Array, values: Array | None, selected: Sequence[bool], operator: str, negate: bool, output: str
) -> dict[str, Array]:
    """What an operator returns."""
    chosen, others = oracle.parted([bit != negate for bit in selected])
    if output == "indices":
        return {"indices": oracle.numbers("uint32", chosen)}
    order = chosen + others if operator == "partition" else chosen
    found = {"elements": oracle.take(elements, order)}
    if values is not None:
        found["values"] = oracle.take(values, order)
    if operator == "partition":
        found["count"] = int64([len(chosen)])
    return found


def arguments(
    elements: Array, by: Vector, values: Array | None = None, negate: bool = False, output: str = "elements"
) -> Vector:
    """The arguments of an operator."""
    given: Vector = {"elements": elements, **by}
    if values is not None:
        given["values"] = values
    if negate:
        given["negate"] = True
    if output != "elements":
        given["output"] = output
    return given


def select(
    name: str,
    elements: Array,
    by: Vector,
    selected: Sequence[bool],
    operator: str = "select",
    values: Array | None = None,
    negate: bool = False,
    output: str = "elements",
) -> Vector:
    """A vector of one call."""
    needs = ["select", feature(elements), *([] if values is None else [feature(values)])]
    given = arguments(elements, by, values, negate, output)
    found = results(elements, values, selected, operator, negate, output)
    return call(f"select/{name}", operator, needs, given, dict(found))


def types() -> Iterator[Vector]:
    """Every type of elements: each comparison with one of them, and each predicate, in all forms in turn."""
    for at, type_ in enumerate(KEYS):
        elements = random_keys(type_, 4000 + at, 13)
        for turn, comparison in enumerate(COMPARISONS):
            # Comparisons of keys that occur more than once tell <= from <.
            threshold = few_keys(type_, 4000 + at, 1) if turn % 2 else elements.like(elements.items[turn : turn + 1])
            by = {"threshold": threshold, "comparison": comparison}
            selected = oracle.compared(elements, comparison, threshold.items[0])
            yield _form(f"{type_}/{comparison}", elements, by, selected, at + turn)
        for turn, name in enumerate(PREDICATES):
            elements = random_keys(type_, 4100 + at + turn, 13)
            selected = drawn(4200 + at + turn, 13)
            by = {name: predicate(name, selected, at)}
            yield _form(f"{type_}/{name}", elements, by, selected, at // 2 + turn)
    for at, width in enumerate(WIDTHS):
        count = 10 if width < 64 else 3
        elements = values_like(4300 + at, count, width)
        for turn, name in enumerate(PREDICATES):
            selected = drawn(4400 + at + turn, count)
            yield _form(f"record{width}/{name}", elements, {name: predicate(name, selected, at)}, selected, at + turn)


def _form(name: str, elements: Array, by: Vector, selected: Sequence[bool], turn: int) -> Vector:
    """One of the forms of a call: with the elements, with values, with positions, or as a partition."""
    negate = turn % 7 in (2, 5)
    form = ("elements", "values", "indices", "partition", "partition_values")[turn % 5]
    name = f"{name}/{form}{'/negate' if negate else ''}"
    values = values_like(turn, len(elements.items), (2, 4, 5, 8)[turn % 4]) if "values" in form else None
    operator = "partition" if "partition" in form else "select"
    output = "indices" if form == "indices" else "elements"
    return select(name, elements, by, selected, operator, values, negate, output)


def edges() -> Iterator[Vector]:
    """No elements, none and all of them selected, and bits that end within a byte and with one."""
    for count in (0, 1, 7, 8, 9, 64, 65):
        elements = oracle.numbers("int16", [at * at - 40 for at in range(count)])
        values = oracle.numbers("uint8", [*range(count)])
        for name, selected in (("none", [False] * count), ("all", [True] * count), ("some", drawn(count, count))):
            if name == "some" and count < 7:
                continue
            for turn, each in enumerate(PREDICATES):
                if count > 9 and each != "bitmap":
                    continue
                by = {each: predicate(each, selected, count)}
                operator = ("select", "partition")[(turn + count) % 2]
                yield select(f"{name}_of_{count}/{each}", elements, by, selected, operator, values)
                if name != "some" and count < 2:
                    yield select(f"{name}_of_{count}/{each}/indices", elements, by, selected, output="indices")
    nothing = oracle.numbers("float32", [])
    for comparison in COMPARISONS:
        given: Vector = {"threshold": Array("float32", [bytes(4)]), "comparison": comparison}
        yield select(f"nothing/{comparison}", nothing, given, [])


def floats() -> Iterator[Vector]:
    """NaNs of all payloads are equal and greater than every number, and zeros of both signs are equal."""
    for type_ in FLOATS:
        width = oracle.WIDTHS[type_]
        sign = 0x80 << 8 * (width - 1)
        nan = int.from_bytes(bytes([0xFF] * (width - 1) + [0x7F]), "little")
        bits = [nan - 2, sign, 1, 0, nan | sign, sign, nan - 1, sign | 1]
        elements = Array(type_, [each.to_bytes(width, "little") for each in bits])
        for name, bound in (("nan", nan | sign), ("zero", sign)):
            threshold = bound.to_bytes(width, "little")
            for comparison in COMPARISONS:
                by = {"threshold": Array(type_, [threshold]), "comparison": comparison}
                selected = oracle.compared(elements, comparison, threshold)
                yield select(f"{name}/{type_}/{comparison}", elements, by, selected)


def removals() -> Iterator[Vector]:
    """Elements at positions that may repeat, in any order, go."""
    for at, type_ in enumerate(KEYS):
        elements, selected = random_keys(type_, 4500 + at, 12), drawn(4600 + at, 12)
        values = values_like(at, 12, 6) if at % 2 else None
        yield _removal(type_, elements, predicate("positions", selected, at), values)
    keys = oracle.numbers("int64", [5, 6, 7])
    for name, positions in (("none", []), ("all", [2, 0, 1, 0]), ("last", [2]), ("first", [0, 0])):
        yield _removal(name, keys, int64(positions), keys)
    yield _removal("nothing", keys.like([]), int64([]), None)
    records = values_like(4700, 9, 20)
    yield _removal("records", records, int64([8, 0, 3]), records)


def _removal(name: str, elements: Array, positions: Array, values: Array | None) -> Vector:
    gone = {int.from_bytes(item, "little") for item in positions.items}
    selected = [at in gone for at in range(len(elements.items))]
    found = results(elements, values, selected, "remove", True, "elements")
    needs = ["select", feature(elements), *([] if values is None else [feature(values)])]
    given: Vector = {"elements": elements, "positions": positions, "values": values}
    return call(f"select/remove/{name}", "remove", needs, given, dict(found))


def insertions() -> Iterator[Vector]:
    """Elements go before others, at positions in any order; those for the same position keep their order."""
    for at, type_ in enumerate(KEYS):
        elements, inserted = random_keys(type_, 4800 + at, 11), random_keys(type_, 4900 + at, 8)
        yield _insertion(type_, elements, [oracle.mix(at * 31 + k) % 12 for k in range(8)], inserted)
    for at, width in enumerate(WIDTHS[1:]):
        count = 9 if width < 64 else 2
        elements, inserted = values_like(5000 + at, count, width), values_like(5100 + at, 3, width)
        yield _insertion(f"record{width}", elements, [count, oracle.mix(at) % count, 0], inserted)
    few, none = oracle.numbers("uint16", [1, 2, 3]), oracle.numbers("uint16", [])
    more = oracle.numbers("uint16", [10, 20, 30, 40])
    for name, elements, positions, inserted in (
        ("nothing", none, [], none),
        ("no_elements", none, [0, 0, 0, 0], more),
        ("none", few, [], none),
        ("at_the_end", few, [3, 3, 3, 3], more),
        ("at_the_start", few, [0, 0, 0, 0], more),
        ("between", few, [2, 1, 2, 1], more),
        ("everywhere", few, [3, 2, 1, 0], more),
    ):
        yield _insertion(name, elements, positions, inserted)
    base: Vector = {"elements": few, "positions": int64([0, 3, 4, 1]), "inserted": more}
    yield refused("insert", "insert", "behind", base, "positions[2]")
    for name, count in (("few", 3), ("many", 5), ("no", 0)):
        yield refused("insert", "insert", f"{name}_positions", {**base, "positions": int64([0] * count)}, "positions")


def _insertion(name: str, elements: Array, positions: Sequence[int], inserted: Array) -> Vector:
    found = oracle.insert(elements, positions, inserted)
    given: Vector = {"elements": elements, "positions": int64(positions), "inserted": inserted}
    return call(f"insert/{name}", "insert", ["insert", feature(elements)], given, {"result": found})


def refused(needed: str, operator: str, name: str, given: Vector, field: str) -> Vector:
    """A call that fails, in the server or already in the client."""
    error = {"code": "INVALID_ARGUMENT", "reason": "FIELD_INVALID|", "field": field}
    types_ = [feature(each) for each in given.values() if isinstance(each, Array)]
    return steps(f"{needed}/refused/{name}", [needed, *types_], {**step(operator, given), "error": error})


def errors() -> Iterator[Vector]:
    """Requests that the server, or already the client, refuses."""
    keys = oracle.numbers("int32", [3, 1, 2, 9, 9, 9, 9, 9, 9])
    for operator in ("select", "partition"):
        for name, count in (("few", 8), ("many", 10), ("no", 0)):
            by = {"flags": oracle.numbers("uint8", [1] * count)}
            yield refused("select", operator, f"{operator}/{name}_flags", arguments(keys, by), "flags")
        for name, count in (("few", 1), ("many", 3)):
            by = {"bitmap": oracle.numbers("uint8", [1] * count)}
            yield refused("select", operator, f"{operator}/{name}_bits", arguments(keys, by), "bitmap")
        by = {"positions": int64([0, 8, 9, 2, 10])}
        yield refused("select", operator, f"{operator}/behind", arguments(keys, by), "positions[2]")
        by = {"flags": oracle.numbers("uint8", [1] * 9)}
        for name, count in (("few", 8), ("many", 10)):
            values = oracle.numbers("int8", [0] * count)
            yield refused("select", operator, f"{operator}/{name}_values", arguments(keys, by, values), "values")
    given = {"elements": keys, "positions": int64([1, 1 << 40])}
    yield refused("select", "remove", "remove/far_behind", given, "positions[1]")


def kept() -> Iterator[Vector]:
    """Kept elements, values and what selects them, and results that the server keeps."""
    elements, values = random_keys("float32", 5200, 30), values_like(5201, 30, 7)
    selected = drawn(5202, 30)
    for at, name in enumerate(PREDICATES):
        which = predicate(name, selected, 9)
        stored = {"s.elements": elements, "s.values": values, "s.which": which}
        handles = {key: handle(key, array) for key, array in stored.items()}
        for place in ("inline", "stream"):
            operator = ("select", "partition")[(at + (place == "stream")) % 2]
            found = results(elements, values, selected, operator, False, "elements")
            indices = results(elements, None, selected, "select", True, "indices")["indices"]
            names = {key: f"s.new.{key}" for key in found}
            given: Vector = {"elements": handles["s.elements"], name: handles["s.which"]}
            yield steps(
                f"kept_results/select/{name}/{place}",
                [
                    *("kept", "kept_results", "select", "floats", "records"),
                    *(["streams"] if place == "stream" else []),
                ],
                *(store(key, array) for key, array in stored.items()),
                step(
                    operator,
                    {**given, "values": handles["s.values"]},
                    keep=names,
                    options={"place": place},
                    results={key: handle(names[key], array) for key, array in found.items()},
                ),
                step(
                    "select",
                    {**given, "output": "indices", "negate": True},
                    keep={"indices": "s.at"},
                    results={"indices": handle("s.at", indices)},
                ),
                *(fetch(names[key], array) for key, array in found.items()),
                fetch("s.at", indices),
                *(delete(key) for key in (*stored, *names.values(), "s.at")),
            )


def chains() -> Iterator[Vector]:
    """Chains that select among earlier results, and go on with them: only the answer tells their number."""
    for at, comparison in enumerate(COMPARISONS):
        keys = few_keys(("float64", "int16")[at % 2], 5300 + at, 24)
        ordered = oracle.take(keys, oracle.argsort(keys))
        threshold = keys.like(keys.items[:1])
        selected = oracle.compared(ordered, comparison, threshold.items[0])
        some = results(ordered, None, selected, "select", False, "elements")["elements"]
        members = oracle.groups(some, range(len(some.items)))
        counts = int64([len(each) for each in members])
        many = oracle.compared(counts, "greater", int64([4]).items[0])
        parted = results(ordered, None, selected, "partition", True, "elements")
        first = [position < 2 for position in range(len(ordered.items))]
        by: dict[str, Any] = {"threshold": threshold, "comparison": comparison}
        yield steps(
            f"chain/select/{comparison}",
            ["chains", "sort", "group", "select", feature(keys), "integers"],
            {
                "command": "chain",
                "operations": [
                    operation("sort", {"keys": keys}),
                    operation("select", {"elements": result(0, "keys", ordered), **by}),
                    operation("group", {"keys": result(1, "elements", some), "input": "sorted", "outputs": ["counts"]}),
                    operation(
                        "select",
                        {
                            "elements": result(2, "counts", counts),
                            "threshold": int64([4]),
                            "comparison": "greater",
                            "output": "indices",
                        },
                    ),
                    operation("partition", {"elements": result(0, "keys", ordered), **by, "negate": True}),
                    operation("remove", {"elements": result(0, "keys", ordered), "positions": int64([1, 0])}),
                ],
                "results": [
                    {},
                    {},
                    {},
                    results(counts, None, many, "select", False, "indices"),
                    parted,
                    results(ordered, None, first, "remove", True, "elements"),
                ],
            },
        )


def every() -> Iterator[Vector]:
    """All of them."""
    yield from types()
    yield from edges()
    yield from floats()
    yield from removals()
    yield from insertions()
    yield from errors()
    yield from kept()
    for vector in chains():
        for command in vector["steps"]:
            command["results"] = [{name: array.json() for name, array in found.items()} for found in command["results"]]
        yield vector
