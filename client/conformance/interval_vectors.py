"""The vectors of expand, move, gather, scatter and load balance."""

from __future__ import annotations

from collections.abc import Iterator

import oracle
from operator_vectors import Vector, call, feature, random_keys, values_like
from oracle import KEYS, Array, int64

_RECORDS = (1, 2, 3, 5, 8, 12, 16, 17, 64, 255, 256)


def _arrays(seed: int, count: int) -> Iterator[tuple[str, Array]]:
    for at, type_ in enumerate(KEYS):
        yield type_, random_keys(type_, seed + at, count)
    for width in _RECORDS:
        yield f"record{width}", values_like(seed + width, count if width < 60 else 6, width)


def expands() -> Iterator[Vector]:
    """Expand of every type."""
    for name, values in _arrays(700, 14):
        counts = [(3, 0, 1, 7, 0, 2, 1)[at % 7] for at in range(len(values.items))]
        yield call(
            f"expand/{name}",
            "expand",
            ["expand", feature(values)],
            {"values": values, "counts": int64(counts)},
            {"values": oracle.expand(values, counts)},
        )
    values = random_keys("int32", 710, 4)
    for name, counts in {"zeros": [0, 0, 0, 0], "one": [0, 0, 1, 0], "uneven": [0, 300, 0, 1]}.items():
        yield call(
            f"expand/{name}",
            "expand",
            ["expand", "integers"],
            {"values": values, "counts": int64(counts)},
            {"values": oracle.expand(values, counts)},
        )
    empty = Array("float64", [])
    yield call(
        "expand/empty", "expand", ["expand", "floats"], {"values": empty, "counts": int64([])}, {"values": empty}
    )


def moves() -> Iterator[Vector]:
    """Move, gather and scatter of every type."""
    for name, source in _arrays(800, 14):
        size, kind = len(source.items), feature(source)
        zero = [bytes(source.width)] * (size + 3)
        begins, goals, counts = [0, size - 2, 1, size], [3, 0, size, 1], [2, 2, 3, 0]
        moved = oracle.move(source, begins, goals, counts, zero)
        offsets = {"source_offsets": int64(begins), "counts": int64(counts)}
        yield call(
            f"move/{name}",
            "move",
            ["move", kind],
            {"source": source, **offsets, "destination_offsets": int64(goals), "destination_count": size + 3},
            {"result": moved},
        )
        gathered = oracle.move(source, begins, oracle.starts(counts), counts, [b""] * sum(counts))
        yield call(f"gather/{name}", "gather", ["gather", kind], {"source": source, **offsets}, {"result": gathered})
        pieces = [size - 3, 0, 1, 2]
        goals = [5, 0, 2, 0]
        scattered = oracle.move(source, oracle.starts(pieces), goals, pieces, zero)
        yield call(
            f"scatter/{name}",
            "scatter",
            ["scatter", kind],
            {
                "source": source,
                "destination_offsets": int64(goals),
                "counts": int64(pieces),
                "destination_count": size + 3,
            },
            {"result": scattered},
        )
        into = source.like(source.items[::-1])
        yield call(
            f"move/into/{name}",
            "move",
            ["move", kind],
            {
                "source": source,
                "source_offsets": int64([1]),
                "destination_offsets": int64([2]),
                "counts": int64([3]),
                "destination": into,
            },
            {"result": oracle.move(source, [1], [2], [3], into.items)},
        )
    yield from _edges()


def _edges() -> Iterator[Vector]:
    source, none = random_keys("uint16", 900, 5), int64([])
    empty = source.like([])
    nothing = {"source_offsets": none, "counts": none}
    yield call(
        "move/no_intervals",
        "move",
        ["move", "integers"],
        {"source": source, **nothing, "destination_offsets": none, "destination_count": 4},
        {"result": oracle.numbers("uint16", [0] * 4)},
    )
    yield call(
        "move/into_nothing",
        "move",
        ["move", "integers"],
        {"source": empty, **nothing, "destination_offsets": none, "destination_count": 0},
        {"result": empty},
    )
    yield call(
        "gather/no_intervals", "gather", ["gather", "integers"], {"source": source, **nothing}, {"result": empty}
    )
    yield call(
        "gather/overlapping",
        "gather",
        ["gather", "integers"],
        {"source": source, "source_offsets": int64([0, 1, 0]), "counts": int64([4, 4, 5])},
        {"result": oracle.move(source, [0, 1, 0], [0, 4, 8], [4, 4, 5], [b""] * 13)},
    )
    scattered = oracle.move(source, [0, 2], [4, 1], [2, 3], source.items * 2)
    yield call(
        "scatter/into",
        "scatter",
        ["scatter", "integers"],
        {
            "source": source,
            "destination_offsets": int64([4, 1]),
            "counts": int64([2, 3]),
            "destination": source.like(source.items * 2),
        },
        {"result": scattered},
    )
    # Every interval brings the same bytes, so the order of the copies does not show.
    same = oracle.numbers("int64", [7] * 6)
    yield call(
        "move/allow_overlap",
        "move",
        ["move", "integers"],
        {
            "source": same,
            "source_offsets": int64([0, 2]),
            "destination_offsets": int64([1, 2]),
            "counts": int64([3, 4]),
            "destination_count": 8,
            "allow_overlap": True,
        },
        {"result": oracle.numbers("int64", [0, 7, 7, 7, 7, 7, 0, 0])},
    )
    yield call(
        "scatter/allow_overlap",
        "scatter",
        ["scatter", "integers"],
        {
            "source": same,
            "destination_offsets": int64([1, 2]),
            "counts": int64([3, 3]),
            "destination_count": 6,
            "allow_overlap": True,
        },
        {"result": oracle.numbers("int64", [0, 7, 7, 7, 7, 0])},
    )


def load_balances() -> Iterator[Vector]:
    """Load balance."""
    cases = {
        "mixed": [2, 0, 5, 1, 0, 0, 3],
        "none": [],
        "zeros": [0, 0, 0],
        "one": [4],
        "uneven": [1, 200, 1],
        "many": [oracle.mix(at) % 4 for at in range(100)],
    }
    for name, counts in cases.items():
        objects, ranks = oracle.load_balance(counts)
        yield call(
            f"load_balance/{name}",
            "load_balance",
            ["load_balance"],
            {"counts": int64(counts)},
            {"objects": oracle.numbers("uint32", objects), "ranks": oracle.numbers("uint32", ranks)},
        )
