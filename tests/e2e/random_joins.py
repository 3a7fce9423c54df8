"""Continues random_operators: Join, whose number of rows only the answer tells."""

from __future__ import annotations

from typing import Any

import numpy as np
import oracles
from corank.v1 import array_pb2 as a
from corank.v1 import join_pb2 as j
from random_intervals import sorted_keys
from random_operators import Array, Draw, Elements, Operation, integers

KINDS = {
    "inner": j.JOIN_KIND_INNER,
    "left": j.JOIN_KIND_LEFT,
    "right": j.JOIN_KIND_RIGHT,
    "full": j.JOIN_KIND_FULL,
    "semi": j.JOIN_KIND_SEMI,
    "anti": j.JOIN_KIND_ANTI,
}
_OF_LEFT_ONLY = ("semi", "anti")
_MOST_ROWS = 300_000


def _partners(left: Elements, right: Elements) -> tuple[Array, Array, Array, Array]:
    """For each row of the left, where its partners begin in an order of the right, and how many there are; that order;
    and whether each row of the right has none.
    """
    both = np.concatenate([left.data, right.data])
    ranks = np.unique(oracles.comparable(both, left.key_type), return_inverse=True)[1].reshape(-1)
    ours, theirs = ranks[: len(left.data)], ranks[len(left.data) :]
    order = np.argsort(theirs, kind="stable")
    first = np.searchsorted(theirs[order], ours)
    return first, np.searchsorted(theirs[order], ours, side="right") - first, order, ~np.isin(theirs, ours)


def _rows(kind: str, first: Array, partners: Array, order: Array, alone: Array) -> tuple[Array, Array]:
    """The row numbers of both sides; of the right, -1 for a join of the left alone."""
    if kind in _OF_LEFT_ONLY:
        rows = np.flatnonzero((partners > 0) == (kind == "semi"))
        return rows, np.full(len(rows), -1)
    lengths = np.maximum(partners, 1) if kind in ("left", "full") else partners
    rows = np.repeat(np.arange(len(partners)), lengths)
    nth = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    others = np.full(len(rows), -1)
    has = partners[rows] > 0
    others[has] = order[first[rows[has]] + nth[has]]
    if kind in ("right", "full"):
        unmatched = np.flatnonzero(alone)
        rows = np.concatenate([rows, np.full(len(unmatched), -1)])
        others = np.concatenate([others, unmatched])
    return rows, others


def _right_side(draw: Draw, left: Elements) -> tuple[Elements, Any]:
    """Unsorted keys, many of which are also among those of the left side."""
    found = draw.taken(lambda each: each.type == left.type)
    if found is not None:
        return found
    right = draw.keys(left.key_type, draw.count(left.width))
    if len(left.data) and len(right.data):
        some = draw.rng.random(len(right.data)) < draw.rng.random()
        right.data[some] = draw.rng.choice(left.data, int(some.sum()))
    return right, None


def row_numbers(rows: Array) -> Elements:
    """Row numbers in the type in which the server returns them."""
    return Elements(int(a.ELEMENT_TYPE_INT32), rows.astype(np.int32))


def join(draw: Draw) -> Operation:
    """Join of any kind: the rows, or their number alone."""
    left, held = draw.some_keys()
    right, where = _right_side(draw, left)
    kind, is_sorted = str(draw.one(tuple(KINDS))), draw.chance(0.3)
    if is_sorted:
        right, where = sorted_keys(right, False), None
    first, partners, order, alone = _partners(left, right)
    if partners.sum() > _MOST_ROWS and draw.chance(0.8):
        left, right = (Elements(side.type, side.data[:400]) for side in (left, right))
        held = where = None
        first, partners, order, alone = _partners(left, right)
    request = j.JoinRequest(kind=KINDS[kind], right_sorted=is_sorted)
    operation = Operation("join", request)
    operation.add("left", left, held)
    operation.add("right", right, where)
    matched = int((partners > 0).sum())
    count = {
        "semi": matched,
        "anti": len(partners) - matched,
        "left": int(np.maximum(partners, 1).sum()),
        "right": int(partners.sum() + alone.sum()),
        "full": int(np.maximum(partners, 1).sum() + alone.sum()),
    }.get(kind, int(partners.sum()))
    options: dict[str, Any] = {"right_sorted": is_sorted}
    if count > min(_MOST_ROWS, draw.most_bytes // 4) or draw.chance(0.25):
        request.count_only = True
        operation.answer("count", "count_destination", integers([count]))

        def counted(client: Any, arrays: list[Any], **more: Any) -> Any:
            made = client.count_join(*arrays, kind, **options, **more)
            return np.array([made], np.int64) if isinstance(made, int) else made

        operation.python = counted
        return operation
    both, pairs = len(left.data) + len(right.data), len(left.data) * len(right.data)
    alone_at_most = {"left": len(left.data), "right": len(right.data), "full": both}.get(kind, 0)
    possible = len(left.data) if kind in _OF_LEFT_ONLY else max(pairs, alone_at_most)
    if count > both or draw.chance(0.4):
        request.max_rows = count + int(draw.one((0, 0, 1, 1000)))
    most = min(request.max_rows if request.HasField("max_rows") else both, possible)
    rows, others = _rows(kind, first, partners, order, alone)
    operation.answer("left_rows", "left_rows_destination", row_numbers(rows), most)
    if kind not in _OF_LEFT_ONLY:
        operation.answer("right_rows", "right_rows_destination", row_numbers(others), most)
    if request.HasField("max_rows"):
        options["max_rows"] = request.max_rows

    def python(client: Any, arrays: list[Any], **more: Any) -> Any:
        exact = {"max_rows": count} if "out" in more else {}  # arrays of out= are the room
        return client.join(*arrays, kind, **{**options, **exact}, **more)

    operation.python = python
    return operation
