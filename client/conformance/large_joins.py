"""Vectors of joins of larger arrays, which both sides generate."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from large_vectors import Elements, call, digest, hashed, ramp
from operator_vectors import Vector


def every() -> Iterator[Vector]:
    """Sides that travel in a message, in streams and in parts, and joins that the client calls a second time."""
    told, left = hashed("uint16", 31, 70_000)
    told_right, right = ramp("uint16", 5, 3, 20_000)
    base = {"left": told, "right": told_right}
    for place in ("inline", "stream"):
        needs = ["join", "integers", *(["streams"] if place == "stream" else [])]
        for kind in ("inner", "left", "right", "full", "semi", "anti"):
            yield _joined(f"{place}/join/{kind}", needs, base, (left, right), kind, {"place": place})
        # Each of 600 keys has 600 partners: more rows than both sides together.
        ours, theirs = ramp("int64", 7, 0, 600), ramp("int64", 7, 0, 600)
        many = {"left": ours[0], "right": theirs[0], "right_sorted": True}
        yield _joined(f"{place}/join/called_again", needs, many, (ours[1], theirs[1]), "inner", {"place": place})
    count = len(_rows(left, right, "full")[0])
    yield call(
        "stream/join/count",
        "join",
        ["join", "integers", "streams"],
        {**base, "kind": "full", "count_only": True},
        {"count": digest(np.array([count]), {"type": "int64"})},
        {"place": "stream"},
    )
    (told, left), (told_right, right) = hashed("int32", 33, 1 << 20), hashed("int32", (33 + (1 << 19)), 1 << 18)
    yield _joined(
        "parts/join",
        ["join", "parts", "streams", "integers"],
        {"left": told, "right": told_right},
        (left, right),
        "right",
        {"place": "stream", "connections": 3},
    )


def _joined(
    name: str, needs: list[str], base: Vector, sides: tuple[Elements, Elements], kind: str, options: Vector
) -> Vector:
    rows, others = _rows(*sides, kind)
    found = {"left_rows": digest(rows.astype("<i4"), {"type": "int32"})}
    if kind not in ("semi", "anti"):
        found["right_rows"] = digest(others.astype("<i4"), {"type": "int32"})
    parts = (
        {}
        if "connections" not in options
        else {
            "server": "faults",
            "faults": [],
            "calls": {"Execute": options["connections"]},
            "connections": options["connections"],
        }
    )
    return call(name, "join", needs, {**base, "kind": kind}, found, options, **parts)


def _rows(left: Elements, right: Elements, kind: str) -> tuple[Elements, Elements]:
    """The rows of a join of integers; of a left one, where the left alone counts, -1 on the other side."""
    order = np.argsort(right, kind="stable")
    first = np.searchsorted(right[order], left)
    partners = np.searchsorted(right[order], left, side="right") - first
    if kind in ("semi", "anti"):
        found = np.flatnonzero(partners > 0 if kind == "semi" else partners == 0)
        return found, np.full(len(found), -1)
    lengths = np.maximum(partners, 1) if kind in ("left", "full") else partners
    rows = np.repeat(np.arange(len(left)), lengths)
    nth = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    others = np.full(len(rows), -1)
    has = partners[rows] > 0
    others[has] = order[first[rows[has]] + nth[has]]
    if kind in ("right", "full"):
        alone = np.flatnonzero(~np.isin(right, left))
        rows, others = np.concatenate([rows, np.full(len(alone), -1)]), np.concatenate([others, alone])
    return rows, others
