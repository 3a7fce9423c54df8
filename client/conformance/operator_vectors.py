"""The vectors of the operators: every operator, type and order on small arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import oracle
from oracle import FLOATS, INTEGERS, KEYS, Array, Column, int64

Vector = dict[str, Any]
ORDERS = ("ascending", "descending")
SORT_ALGORITHMS = ("auto", "mergesort", "radix", "odd_even_mergesort")
MERGE_ALGORITHMS = ("auto", "basic", "tiled", "circular_buffer", "merge_path")
_FEATURE = {
    **dict.fromkeys(INTEGERS, "integers"),
    **dict.fromkeys(("float32", "float64"), "floats"),
    "float16": "float16",
    "bfloat16": "bfloat16",
    "record": "records",
}
# The bits of infinity; the sign is the highest bit, and a NaN has more bits than infinity.
_INFINITY = {"float16": 0x7C00, "bfloat16": 0x7F80, "float32": 0x7F800000, "float64": 0x7FF0000000000000}


def call(name: str, operator: str, needs: list[str], arguments: Vector, results: Vector, **rest: Any) -> Vector:
    """A vector of one call, without the arguments and results that are None."""
    return {
        "name": name,
        "needs": list(dict.fromkeys(needs)),
        "command": "call",
        "operator": operator,
        "arguments": {key: _json(value) for key, value in arguments.items() if value is not None},
        **rest,
        "results": {key: _json(value) for key, value in results.items() if value is not None},
    }


def _json(value: Any) -> Any:
    if isinstance(value, Array):
        return value.json()
    if isinstance(value, list) and value and isinstance(value[0], Array):
        return [array.json() for array in value]
    return value


def feature(array: Array) -> str:
    """The feature that an array's type needs."""
    return _FEATURE[array.type]


def random_keys(type_: str, seed: int, count: int) -> Array:
    """Keys with ties, extremes and, for floats, both zeros, infinities, subnormals and NaNs of several payloads."""
    width = oracle.WIDTHS[type_]
    keys = []
    for at in range(count):
        bits = oracle.mix(seed * 1000 + 2 * at) << 32 | oracle.mix(seed * 1000 + 2 * at + 1)
        kind, special = bits >> 60, bits >> 56 & 15
        if kind < 5:
            bits = bits % 5
        elif kind < 10:
            bits = _specials(type_)[special % len(_specials(type_))]
        keys.append((bits % (1 << 8 * width)).to_bytes(width, "little"))
    return Array(type_, keys)


def _specials(type_: str) -> list[int]:
    width = 8 * oracle.WIDTHS[type_]
    sign = 1 << (width - 1)
    if type_ in INTEGERS:
        return [0, 1, sign - 1, sign, sign + 1, 2 * sign - 1]
    infinity = _INFINITY[type_]
    quiet = infinity | infinity & ~(infinity << 1)
    nans = [infinity | 1, infinity | 3, infinity | sign | 5, quiet, quiet | sign, 2 * sign - 1]
    return [0, sign, infinity, infinity | sign, 1, sign | 1, *nans]


def few_keys(type_: str, seed: int, count: int) -> Array:
    """Keys of three values: nearly all are ties."""
    values = random_keys(type_, seed, 3).items
    return Array(type_, [values[oracle.mix(seed + at) % 3] for at in range(count)])


def values_like(seed: int, count: int, width: int) -> Array:
    """Records that differ from each other where their width allows it."""
    return oracle.records(width, [_bytes(seed + at, width) for at in range(count)])


def _bytes(seed: int, width: int) -> bytes:
    words = b"".join(oracle.mix(seed * 64 + at).to_bytes(4, "little") for at in range((width + 3) // 4))
    return words[:width]


def sorts() -> Iterator[Vector]:
    """Sort and argsort of every type in both orders."""
    for at, type_ in enumerate(KEYS):
        for order in ORDERS:
            descending = order == "descending"
            keys = random_keys(type_, 10 + at, 41)
            taken = oracle.argsort(keys, descending)
            kind, base = _FEATURE[type_], {"keys": keys, "order": order}
            ordered, indices = oracle.take(keys, taken), oracle.numbers("uint32", taken)
            name = f"{{}}/{type_}/{order}"
            yield call(name.format("sort"), "sort", ["sort", kind], base, {"keys": ordered})
            yield call(
                name.format("argsort"),
                "sort",
                ["argsort", kind],
                {**base, "output": "indices"},
                {"indices": indices},
            )
            yield call(
                name.format("sort_indices"),
                "sort",
                ["sort_indices", kind],
                {**base, "output": "keys_and_indices"},
                {"keys": ordered, "indices": indices},
            )
            width = (1, 3, 4, 8, 12, 16, 31, 256)[at % 8]
            count = 41 if width < 64 else 9
            keys = few_keys(type_, 50 + at, count)
            values = values_like(at, count, width)
            taken = oracle.argsort(keys, descending)
            yield call(
                name.format(f"sort_values/record{width}"),
                "sort",
                ["sort_values", "records", kind],
                {"keys": keys, "values": values, "order": order},
                {"keys": oracle.take(keys, taken), "values": oracle.take(values, taken)},
            )
            yield from _partial_sorts(name, type_, order, at)
    yield from _edge_sorts()


def _partial_sorts(name: str, type_: str, order: str, at: int) -> Iterator[Vector]:
    descending, kind = order == "descending", _FEATURE[type_]
    keys = random_keys(type_, 90 + at, 30)
    taken = oracle.argsort(keys, descending)[:7]
    yield call(
        name.format("limit"),
        "sort",
        ["sort_indices", "limit", kind],
        {"keys": keys, "order": order, "limit": 7, "output": "keys_and_indices"},
        {"keys": oracle.take(keys, taken), "indices": oracle.numbers("uint32", taken)},
    )
    taken = oracle.argsort(keys, descending)[11:14]
    yield call(
        name.format("offset"),
        "sort",
        ["sort_indices", "limit", "offset", kind],
        {"keys": keys, "order": order, "limit": 3, "offset": 11, "output": "keys_and_indices"},
        {"keys": oracle.take(keys, taken), "indices": oracle.numbers("uint32", taken)},
    )
    offsets = [0, 0, 4, 5, 17, 17, 30]
    taken = oracle.segmented(keys, offsets, descending)
    yield call(
        name.format("segments"),
        "sort",
        ["sort_indices", "segments", kind],
        {"keys": keys, "order": order, "segment_offsets": int64(offsets), "output": "keys_and_indices"},
        {"keys": oracle.take(keys, taken), "indices": oracle.numbers("uint32", taken)},
    )
    values = random_keys(KEYS[(at + 5) % len(KEYS)], at, 30)
    # In one direction, the first of each segment.
    limit = 3 if descending == (at % 2 == 0) else None
    taken = oracle.segmented(keys, offsets, descending, limit)
    given: Vector = {"keys": keys, "order": order, "segment_offsets": int64(offsets), "values": values}
    needs = ["sort_values", "segments", kind, feature(values)]
    if limit is not None:
        given["limit"] = limit
        needs.append("limit")
    results = {"keys": oracle.take(keys, taken), "values": oracle.take(values, taken)}
    yield call(name.format(f"sort_values/{values.type}"), "sort", needs, given, results)


def _edge_sorts() -> Iterator[Vector]:
    for type_ in ("uint8", "int64", "float32"):
        empty, kind = Array(type_, []), _FEATURE[type_]
        yield call(f"sort/empty/{type_}", "sort", ["sort", kind], {"keys": empty}, {"keys": empty})
        yield call(
            f"argsort/empty/{type_}",
            "sort",
            ["argsort", kind],
            {"keys": empty, "output": "indices"},
            {"indices": oracle.numbers("uint32", [])},
        )
    keys = random_keys("int32", 3, 20)
    one = oracle.take(keys, [0])
    yield call("sort/one", "sort", ["sort", "integers"], {"keys": one}, {"keys": one})
    for limit in (0, 1, 20, 21, 1 << 40):
        taken = oracle.argsort(keys)[:limit]
        yield call(
            f"limit/{limit}",
            "sort",
            ["sort", "limit", "integers"],
            {"keys": keys, "limit": limit},
            {"keys": oracle.take(keys, taken)},
        )
    for offset in (0, 1, 19, 20, 21, 1 << 40):
        taken = oracle.argsort(keys)[offset:]
        yield call(
            f"offset/{offset}",
            "sort",
            ["sort_values", "offset", "integers"],
            {"keys": keys, "values": keys, "offset": offset},
            {"keys": oracle.take(keys, taken), "values": oracle.take(keys, taken)},
        )
    for name, offsets in {"none": [0], "all_empty": [0, 0, 0], "one": [0, 20]}.items():
        given = keys if offsets[-1] else keys.like([])
        taken = oracle.segmented(given, offsets, False)
        yield call(
            f"segments/{name}",
            "sort",
            ["sort", "segments", "integers"],
            {"keys": given, "segment_offsets": int64(offsets)},
            {"keys": oracle.take(given, taken)},
        )
        if name == "none":
            continue
        yield call(
            f"segments/{name}/limit",
            "sort",
            ["sort", "segments", "limit", "integers"],
            {"keys": given, "segment_offsets": int64(offsets), "limit": 3},
            {"keys": oracle.take(given, taken[:3])},
        )
    many = random_keys("uint16", 4, 700)
    offsets = [0, *(min(700, 3 * at) for at in range(1, 234)), 700]
    yield call(
        "segments/many",
        "sort",
        ["sort", "segments", "integers"],
        {"keys": many, "segment_offsets": int64(offsets)},
        {"keys": oracle.take(many, oracle.segmented(many, offsets, False))},
    )
    floats = random_keys("float64", 5, 300)
    for algorithm in SORT_ALGORITHMS:
        yield call(
            f"sort/algorithm/{algorithm}",
            "sort",
            ["sort", "floats"],
            {"keys": floats, "algorithm": algorithm},
            {"keys": oracle.take(floats, oracle.argsort(floats))},
        )
    ordered = oracle.take(floats, oracle.argsort(floats))
    for name, given in {"sorted": ordered, "reversed": ordered.like(ordered.items[::-1])}.items():
        taken = oracle.argsort(given)
        yield call(
            f"sort/{name}",
            "sort",
            ["sort_indices", "floats"],
            {"keys": given, "output": "keys_and_indices"},
            {"keys": oracle.take(given, taken), "indices": oracle.numbers("uint32", taken)},
        )
    for type_ in FLOATS:
        nans = Array(type_, [item for item in random_keys(type_, 6, 90).items if oracle.rank(type_, item, False)[0]])
        yield call(f"sort/only_nans/{type_}", "sort", ["sort", _FEATURE[type_]], {"keys": nans}, {"keys": nans})


def merges() -> Iterator[Vector]:
    """Merge of every type in both orders."""
    for at, type_ in enumerate(KEYS):
        for order in ORDERS:
            descending, kind = order == "descending", _FEATURE[type_]
            inputs = []
            for part, count in enumerate((13, 0, 1, 9)):
                keys = random_keys(type_, 200 + at * 7 + part, count)
                inputs.append(oracle.take(keys, oracle.argsort(keys, descending)))
            all_keys = oracle.joined(inputs)
            taken = oracle.argsort(all_keys, descending)
            yield call(
                f"merge/{type_}/{order}",
                "merge",
                ["merge", kind],
                {"keys": inputs, "order": order},
                {"keys": oracle.take(all_keys, taken)},
            )
            width = (4, 1, 12, 7)[at % 4]
            values = [values_like(300 + part, len(keys.items), width) for part, keys in enumerate(inputs)]
            yield call(
                f"merge_values/{type_}/{order}",
                "merge",
                ["merge_values", "records", kind],
                {"keys": inputs, "values": values, "order": order},
                {"keys": oracle.take(all_keys, taken), "values": oracle.take(oracle.joined(values), taken)},
            )
    inputs = [oracle.numbers("uint32", sorted(oracle.mix(at * 50 + n) % 97 for n in range(at % 5))) for at in range(40)]
    inputs[7] = inputs[7].like([])
    all_keys = oracle.joined(inputs)
    for algorithm in MERGE_ALGORITHMS:
        yield call(
            f"merge/algorithm/{algorithm}",
            "merge",
            ["merge", "integers"],
            {"keys": inputs, "algorithm": algorithm},
            {"keys": oracle.take(all_keys, oracle.argsort(all_keys))},
        )
    yield call(
        "merge/assume_sorted",
        "merge",
        ["merge", "integers"],
        {"keys": inputs, "assume_sorted": True},
        {"keys": oracle.take(all_keys, oracle.argsort(all_keys))},
    )
    empty = Array("float32", [])
    yield call("merge/empties", "merge", ["merge", "floats"], {"keys": [empty, empty]}, {"keys": empty})


def searches() -> Iterator[Vector]:
    """Search of every type, order and bound."""
    for at, type_ in enumerate(KEYS):
        for order in ORDERS:
            for bound in ("lower", "upper"):
                descending = order == "descending"
                keys = random_keys(type_, 400 + at, 25)
                haystack = oracle.take(keys, oracle.argsort(keys, descending))
                needles = Array(type_, random_keys(type_, 450 + at, 12).items + haystack.items[::9])
                found = oracle.search(haystack, needles, bound == "upper", descending)
                yield call(
                    f"search/{type_}/{order}/{bound}",
                    "search",
                    ["search", _FEATURE[type_]],
                    {"haystack": haystack, "needles": needles, "order": order, "bound": bound},
                    {"positions": oracle.numbers("uint32", found)},
                )
    empty, needles = Array("int16", []), oracle.numbers("int16", [3, -1])
    nothing = oracle.numbers("uint32", [])
    for name, haystack, sought, found in (
        ("empty_haystack", empty, needles, [0, 0]),
        ("no_needles", needles.like(needles.items[::-1]), empty, []),
        ("both_empty", empty, empty, []),
    ):
        yield call(
            f"search/{name}",
            "search",
            ["search", "integers"],
            {"haystack": haystack, "needles": sought},
            {"positions": oracle.numbers("uint32", found) if found else nothing},
        )
    yield call(
        "search/assume_sorted",
        "search",
        ["search", "integers"],
        {"haystack": oracle.numbers("int16", [1, 2, 2, 5]), "needles": needles, "assume_sorted": True},
        {"positions": oracle.numbers("uint32", [3, 0])},
    )


def columns() -> Iterator[Vector]:
    """Sort by several columns."""
    cities = [b"Oslo", b"Bergen", b"", b"Oslo", b"Os", b"\xff\x00", b"Bergen", b"Oslo\x00", b"\xff", b"Os"]
    for at, type_ in enumerate(KEYS):
        for order in ORDERS:
            numbers = Column(few_keys(type_, 500 + at, 18), order == "descending")
            fixed = Column(oracle.records(3, [_bytes(oracle.mix(at * 40 + n) % 4, 3) for n in range(18)]), at % 2 == 0)
            yield from _sorted_columns(f"columns/{type_}/{order}", ["columns", "records"], [numbers, fixed])
    for descending in (False, True):
        names = oracle.strings(cities, descending)
        years = Column(few_keys("int32", 7, len(cities)), not descending)
        yield from _sorted_columns(f"strings/{'descending' if descending else 'ascending'}", ["strings"], [names])
        yield from _sorted_columns(f"strings/{descending}/numbers", ["strings", "columns"], [names, years])
        yield from _sorted_columns(f"strings/{descending}/second", ["strings", "columns"], [years, names])
    long = oracle.strings([b"same prefix of many bytes " + bytes([65 + n * 7 % 5]) * (n % 4) for n in range(40)])
    yield from _sorted_columns("strings/long", ["strings"], [long])
    yield from _sorted_columns(
        "strings/no_rows", ["strings", "columns"], [oracle.strings([]), Column(Array("int8", []))]
    )
    # In few columns do rows differ, so that the last one counts too.
    most = [Column(few_keys("uint8", 600 + n, 6 if n % 10 == 1 else 1), n % 3 == 0) for n in range(32)]
    most = [replace(each, array=oracle.take(each.array, [at % each.rows for at in range(6)])) for each in most]
    yield from _sorted_columns("columns/most", ["columns"], most)
    words = replace(oracle.strings([b"a", b"", b"null", b"ab", b"a", b"", b"b", b"a"]), valid=some(3, 8), nulls="first")
    second = Column(few_keys("uint8", 14, 8))
    yield _merged_runs("strings", ["strings", "nulls", "ranks"], [words, second], [0, 3, 3, 8], "ranks")
    yield _merged_runs("numbers", ["floats"], [Column(few_keys("float32", 13, 8), True), second], [0, 5, 8], "indices")
    for limit in (None, 2):
        yield _segments("strings", ["strings", "nulls"], [words, second], [0, 3, 3, 8], "columns", limit)
        rows = [Column(few_keys("float32", 13, 8), True), second]
        yield _segments("numbers", ["floats"], rows, [0, 5, 8], "indices", limit)


def _segments(
    name: str, needs: list[str], rows: list[Column], ends: list[int], output: str, limit: int | None
) -> Vector:
    """A sort of each segment of rows, or of its first ones."""
    places = oracle.argsort_columns(rows)
    order = [row for begin, end in pairwise(ends) for row in sorted(range(begin, end), key=places.index)[:limit]]
    arguments: Vector = {"columns": [column.json(True) for column in rows], "segment_offsets": int64(ends)}
    needs = ["segments", "columns", "integers", *needs]
    if limit is not None:
        arguments["limit"] = limit
        name, needs = f"{name}/limit", ["limit", *needs]
    if output == "columns":
        results: Vector = {"columns": [column.taken(order).json(False) for column in rows]}
    else:
        arguments["output"] = output
        results = {output: oracle.numbers("uint32", order)}
    return call(f"columns/segments/{name}", "sort_columns", needs, arguments, results)


def _merged_runs(name: str, needs: list[str], rows: list[Column], ends: list[int], output: str) -> Vector:
    """A sort of rows that come in runs: the given rows, after a sort of each run."""
    places = oracle.argsort_columns(rows)
    order = [row for begin, end in pairwise(ends) for row in sorted(range(begin, end), key=places.index)]
    given = [replace(column.taken(order), nulls=column.nulls) for column in rows]
    found = oracle.argsort_columns(given) if output == "indices" else oracle.rank_columns(given)
    arguments = {"columns": [column.json(True) for column in given], "output": output, "run_offsets": int64(ends)}
    needs = ["runs", "columns", "integers", *needs]
    return call(f"columns/runs/{name}", "sort_columns", needs, arguments, {output: oracle.numbers("uint32", found)})


def nulls() -> Iterator[Vector]:
    """Sort by columns with nulls: every type in every order with nulls and NaNs at either end, and strings."""
    places = [(first, nans) for first in ("last", "first") for nans in ("greatest", "beside_nulls", "as_nulls")]
    for at, type_ in enumerate(KEYS):
        for order in ORDERS:
            for end, nans in places if type_ in oracle.FLOATS else places[::3]:
                keys = random_keys(type_, 700 + at, 10)
                column = Column(keys, order == "descending", valid=some(at, 10), nulls=end, nans=nans)
                second = Column(few_keys("int16", 800 + at, 10), valid=some(at + 50, 10))
                yield from _sorted_columns(f"nulls/{type_}/{order}/{end}/{nans}", ["nulls"], [column, second])
    words = [b"b", b"", b"null", b"", b"\0", b"", b"a", b"b", b"ab"]
    for order in ORDERS:
        for end in ("last", "first"):
            names = replace(oracle.strings(words, order == "descending"), valid=some(3, len(words)), nulls=end)
            years = Column(few_keys("int32", 9, len(words)), valid=some(4, len(words)))
            yield from _sorted_columns(f"nulls/strings/{order}/{end}", ["nulls", "strings"], [names, years])
    for rows in (0, 1, 8, 9, 64):
        numbers = few_keys("uint16", 10, rows)
        for name, valid in (("all", [False] * rows), ("none", [True] * rows)):
            yield from _sorted_columns(f"nulls/rows/{rows}/{name}", ["nulls"], [Column(numbers, valid=valid)])
    fixed = Column(oracle.records(2, [_bytes(oracle.mix(n) % 4, 2) for n in range(17)]), valid=some(5, 17))
    yield from _sorted_columns("nulls/records/numbers", ["nulls", "records"], [fixed, Column(few_keys("int8", 11, 17))])
    keys = random_keys("float32", 12, 30)
    for nans in ("beside_nulls", "as_nulls"):
        column = Column(keys, True, nans=nans)
        yield from _sorted_columns(f"nulls/without/{nans}", ["nulls"], [column])


def some(seed: int, count: int) -> list[bool]:
    """Which rows are not null."""
    return [oracle.mix(seed * 1000 + at) % 3 > 0 for at in range(count)]


def _sorted_columns(name: str, needs: list[str], given: list[Column]) -> Iterator[Vector]:
    needs = [*needs, *(feature(column.array) for column in given if column.strings is None)]
    taken = oracle.argsort_columns(given)
    arguments: Vector = {"columns": [column.json(True) for column in given]}
    indices = oracle.numbers("uint32", taken)
    ordered = [column.taken(taken).json(False) for column in given]
    yield call(f"{name}/keys", "sort_columns", needs, arguments, {"columns": ordered})
    yield call(f"{name}/indices", "sort_columns", needs, {**arguments, "output": "indices"}, {"indices": indices})
    ranks = oracle.numbers("uint32", oracle.rank_columns(given))
    yield call(f"{name}/ranks", "sort_columns", ["ranks", *needs], {**arguments, "output": "ranks"}, {"ranks": ranks})
    if not name.endswith(("float32/ascending", "numbers", "most")):
        return
    yield call(
        f"{name}/both",
        "sort_columns",
        ["columns_both", "limit", *needs],
        {**arguments, "output": "keys_and_indices", "limit": 5},
        {
            "columns": [column.taken(taken[:5]).json(False) for column in given],
            "indices": oracle.numbers("uint32", taken[:5]),
        },
    )
    yield call(
        f"{name}/offset",
        "sort_columns",
        ["columns_both", "limit", "offset", *needs],
        {**arguments, "output": "keys_and_indices", "limit": 3, "offset": 2},
        {
            "columns": [column.taken(taken[2:5]).json(False) for column in given],
            "indices": oracle.numbers("uint32", taken[2:5]),
        },
    )
    values = values_like(9, given[0].rows, 5)
    yield call(
        f"{name}/values",
        "sort_columns",
        [*needs, "records"],
        {**arguments, "values": values},
        {"columns": ordered, "values": oracle.take(values, taken)},
    )
