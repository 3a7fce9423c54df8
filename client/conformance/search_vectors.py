"""The vectors of Search by columns."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace

import oracle
from operator_vectors import Vector, call, feature, few_keys, random_keys, some
from oracle import KEYS, Array, Column

_PLACES = [(nulls, nans) for nulls in ("last", "first") for nans in ("greatest", "beside_nulls", "as_nulls")]


def searches() -> Iterator[Vector]:
    """Search by columns of every type, in every order of nulls and NaNs, and of strings."""
    for at, type_ in enumerate(KEYS):
        nulls, nans = _PLACES[at % len(_PLACES)]
        first = Column(random_keys(type_, 900 + at, 20), at % 2 == 0, valid=some(at + 70, 20), nulls=nulls, nans=nans)
        second = Column(few_keys("uint8", 920 + at, 20), at % 3 == 0)
        yield _search(type_, ["nulls", "integers", feature(first.array)], [first, second], 11, at % 4 < 2)
    for nulls, nans in _PLACES:
        for descending in (False, True):
            floats = Column(random_keys("float32", 940, 20), descending, nulls=nulls, nans=nans)
            yield _search(f"nans/{nulls}/{nans}/{descending}", ["floats"], [floats], 12, descending)
    words = [b"Oslo", b"Bergen", b"", b"Oslo", b"Os", b"\xff\x00", b"Bergen", b"Oslo\x00", b"\xff", b"Os", b"", b"B"]
    for nulls in ("last", "first"):
        for descending in (False, True):
            names = replace(oracle.strings(words, descending), nulls=nulls)
            years = Column(few_keys("int32", 7, len(words)), not descending)
            needs = ["strings", "integers"]
            yield _search(f"strings/{nulls}/{descending}", needs, [names, years], 7, not descending)
            names = replace(names, valid=some(75, len(words)))
            yield _search(f"null_strings/{nulls}/{descending}", [*needs, "nulls"], [years, names], 7, descending)
    fixed = Column(oracle.records(3, [word[:3].ljust(3, b"x") for word in words]), True)
    yield _search("records", ["records"], [fixed], 6, True)
    nullable = Column(few_keys("int16", 8, 12), valid=some(76, 12), nulls="first")
    yield _search("null_haystack", ["nulls", "integers"], [nullable], 8, False, "needles")
    yield _search("null_needles", ["nulls", "integers"], [nullable], 4, False, "haystack")
    for rows in (0, 12):
        yield _search(f"rows/{rows}", ["nulls", "integers"], [nullable], rows, True)
    most = [Column(few_keys("uint8", 600 + n, 8 if n % 10 == 1 else 1), n % 3 == 0) for n in range(32)]
    most = [replace(each, array=oracle.take(each.array, [at % each.rows for at in range(8)])) for each in most]
    yield _search("most", ["integers"], most, 5, False)
    unsorted = [Column(oracle.numbers("int8", [1, 2])), Column(oracle.numbers("int8", [4, 3]))]
    vector = _search("assume_sorted", ["integers"], unsorted, 2, False)
    vector["arguments"]["assume_sorted"] = True
    yield vector


def _search(
    name: str, needs: list[str], table: Sequence[Column], rows: int, upper: bool, without_nulls: str = ""
) -> Vector:
    """A search of the first rows of a table, in order, for the others. `without_nulls`: the side without a validity."""
    places = oracle.rank_columns(table)
    haystack = sorted(range(rows), key=lambda row: places[row])
    needles = range(rows, table[0].rows)
    arguments: Vector = {"bound": "upper" if upper else "lower"}
    for side, chosen in (("haystack", haystack), ("needles", needles)):
        taken = [replace(column.taken(list(chosen)), nulls=column.nulls, nans=column.nans) for column in table]
        if side == without_nulls:
            taken = [replace(column, valid=None) for column in taken]
        field = "haystack_columns" if side == "haystack" else "needle_columns"
        arguments[field] = [column.json(side == "haystack") for column in taken]
    if without_nulls:
        shown = {"haystack": haystack, "needles": needles}[without_nulls]
        valid = [[True if row in shown else bit for row, bit in enumerate(column.valid or [])] for column in table]
        places = oracle.rank_columns([replace(column, valid=bits) for column, bits in zip(table, valid, strict=True)])
        assert haystack == sorted(haystack, key=lambda row: places[row]), name
    bisect = bisect_right if upper else bisect_left
    found = [bisect([places[row] for row in haystack], places[row]) for row in needles]
    results = {"positions": oracle.numbers("uint32", found) if found else Array("uint32", [])}
    return call(f"search_columns/{name}", "search_columns", ["search_columns", *needs], arguments, results)
