"""The worked examples of the literature, with the results in print; tests/support/published_examples.h names them."""

from __future__ import annotations

from collections.abc import Iterator

import oracle
from operator_vectors import Vector, call
from oracle import int64


def _numbers(text: str) -> list[int]:
    return list(map(int, text.split()))


_A = _numbers("1 7 8 9 10")
_B = _numbers("7 10 10 12")
_MERGED = _numbers("1 7 7 8 9 10 10 10 12")
_EXPAND_COUNTS = _numbers("2 5 7 16 0 1 0 0 14 10 3 14 2 1 11 2 1 0 5 6")
_EXPAND_VALUES = _numbers("1 1 2 3 5 8 13 21 34 55 89 144 233 377 610 987 1597 2584 4181 6765")
_EXPANDED = _numbers(
    "1 1 1 1 1 1 1 2 2 2 2 2 2 2 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 8 34 34 34 34 34 34 34 34 34 34 34 34 34 34 55 "
    "55 55 55 55 55 55 55 55 55 89 89 89 144 144 144 144 144 144 144 144 144 144 144 144 144 144 233 233 377 610 "
    "610 610 610 610 610 610 610 610 610 610 987 987 1597 4181 4181 4181 4181 4181 6765 6765 6765 6765 6765 6765"
)
_MOVE_COUNTS = _numbers("3 9 1 9 8 5 10 2 5 2 8 6 5 2 4 0 8 2 5 6")
_SOURCES = _numbers("75 86 17 2 67 24 37 11 95 35 52 18 47 0 13 75 78 60 62 29")
_DESTINATIONS = _numbers("10 80 99 27 41 71 15 0 36 13 89 49 66 97 76 76 2 25 61 55")
_MOVED = _numbers(
    "11 12 78 79 80 81 82 83 84 85 75 76 77 35 36 37 38 39 40 41 42 43 44 45 46 60 61 2 3 4 5 6 7 8 9 10 95 96 97 "
    "98 99 67 68 69 70 71 72 73 74 18 19 20 21 22 23 29 30 31 32 33 34 62 63 64 65 66 47 48 49 50 51 24 25 26 27 "
    "28 13 14 15 16 86 87 88 89 90 91 92 93 94 52 53 54 55 56 57 58 59 0 1 17"
)
_FIFTY = _numbers("0 3 5 2 1 3 1 5 4 5 2 5 4 0 2 3 1 4 0 5 4 3 2 4 2 4 3 3 0 3 1 4 4 4 4 2 0 3 0 5 0 0 0 0 2 2 3 0 4 4")
_FIFTY_OBJECTS = _numbers(
    "1 1 1 2 2 2 2 2 3 3 4 5 5 5 6 7 7 7 7 7 8 8 8 8 9 9 9 9 9 10 10 11 11 11 11 11 12 12 12 12 14 14 15 15 15 16 "
    "17 17 17 17 19 19 19 19 19 20 20 20 20 21 21 21 22 22 23 23 23 23 24 24 25 25 25 25 26 26 26 27 27 27 29 29 "
    "29 30 31 31 31 31 32 32 32 32 33 33 33 33 34 34 34 34 35 35 37 37 37 39 39 39 39 39 44 44 45 45 46 46 46 48 "
    "48 48 48 49 49 49 49"
)
_FORTY = _numbers("1 2 4 0 4 4 3 3 2 4 0 0 1 2 1 1 0 2 2 1 1 4 2 3 2 2 1 1 3 0 2 1 1 3 4 2 2 4 0 4")
_FORTY_STARTS = _numbers(
    "0 1 3 7 7 11 15 18 21 23 27 27 27 28 30 31 32 32 34 36 37 38 42 44 47 49 51 52 53 56 56 58 59 60 63 67 69 71 75 75"
)


def _load_balance(name: str, counts: list[int], objects: list[int], ranks: list[int]) -> Vector:
    return call(
        f"load_balance/published/{name}",
        "load_balance",
        ["load_balance"],
        {"counts": int64(counts)},
        {"objects": oracle.numbers("uint32", objects), "ranks": oracle.numbers("uint32", ranks)},
    )


def intervals() -> Iterator[Vector]:
    """Expand, Move and LoadBalance."""
    yield call(
        "expand/published",
        "expand",
        ["expand", "integers"],
        {"values": oracle.numbers("int16", _EXPAND_VALUES), "counts": int64(_EXPAND_COUNTS)},
        {"values": oracle.numbers("int16", _EXPANDED)},
    )
    yield call(
        "move/published",
        "move",
        ["move", "integers"],
        {
            "source": oracle.numbers("int8", range(100)),
            "source_offsets": int64(_SOURCES),
            "counts": int64(_MOVE_COUNTS),
            "destination_offsets": int64(_DESTINATIONS),
            "destination_count": 100,
        },
        {"result": oracle.numbers("int8", _MOVED)},
    )
    starts = [_FIFTY_OBJECTS.index(each) for each in _FIFTY_OBJECTS]
    yield _load_balance("fifty_objects", _FIFTY, _FIFTY_OBJECTS, [item - start for item, start in enumerate(starts)])
    forty = [(at, rank) for at, count in enumerate(_FORTY) for rank in range(count)]
    if (len(forty), forty[10]) != (79, (4, 3)) or any(
        _FORTY_STARTS[at] + rank != item for item, (at, rank) in enumerate(forty)
    ):
        raise ValueError("the example of 40 objects has 79 items, and item 10 has object 4 and rank 3")
    yield _load_balance("forty_objects", _FORTY, [at for at, _ in forty], [rank for _, rank in forty])


def merges() -> Iterator[Vector]:
    """The walk through a merge by co-ranks."""
    yield call(
        "merge/published",
        "merge",
        ["merge", "integers"],
        {"keys": [oracle.numbers("int8", each) for each in (_A, _B)]},
        {"keys": oracle.numbers("int8", _MERGED)},
    )
