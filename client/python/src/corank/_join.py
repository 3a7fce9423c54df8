"""Relational joins of two arrays of keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

import numpy as np
from numpy.typing import DTypeLike

from corank._elements import Input, flag, whole
from corank._errors import CorankError
from corank._options import CallOptions, choice
from corank._ordered import of_one_dtype, of_one_order
from corank._sets import number
from corank._task import A, Operators, Output, Task, one, pair
from corank.v1 import join_pb2 as join

if TYPE_CHECKING:
    from typing_extensions import Unpack

PairJoin = Literal["inner", "left", "right", "full"]
LeftJoin = Literal["semi", "anti"]
JoinKind = Literal[PairJoin, LeftJoin]
_KINDS = {
    "inner": join.JOIN_KIND_INNER,
    "left": join.JOIN_KIND_LEFT,
    "right": join.JOIN_KIND_RIGHT,
    "full": join.JOIN_KIND_FULL,
    "semi": join.JOIN_KIND_SEMI,
    "anti": join.JOIN_KIND_ANTI,
}
_OF_LEFT_ONLY = ("semi", "anti")
_NARROW = 2**31  # rows of a side from which on row numbers have 64 bits


def _room(how: str, left: int | None, right: int | None, max_rows: int | None) -> int | None:
    """The rows for which the server makes room, of sides with at most so many keys; None: not known."""
    if left is None or right is None:
        return left if left is not None and how in _OF_LEFT_ONLY else max_rows
    alone = {"left": left, "right": right, "full": left + right}.get(how, 0)
    most = left if how in _OF_LEFT_ONLY else max(left * right, alone)
    return min(most, left + right if max_rows is None else max_rows)


def _task(
    left: Input,
    right: Input,
    how: str,
    right_sorted: bool,
    dtype: DTypeLike | None,
    max_rows: int | None,
    count_only: bool,
) -> Task:
    found = of_one_order([("left", left, dtype), ("right", right, dtype)])
    is_sorted = flag("right_sorted", right_sorted)
    request = join.JoinRequest(kind=choice("how", how, _KINDS), right_sorted=is_sorted, count_only=count_only)
    of_one_dtype(("left", "right"), [each.dtype for each in found])
    parts = [each.part for each in found]
    if count_only:
        outputs = [Output("count", request, "count_destination", np.dtype("<i8"), 1)]
        return Task("Join", "join", request, parts, outputs, join.JoinResponse, lambda results: number(results[0]))
    if max_rows is not None:
        request.max_rows = max_rows
    room = _room(how, parts[0].most, parts[1].most, max_rows)
    row_dtype = np.dtype("<i4" if max(part.most or 0 for part in parts) < _NARROW else "<i8")
    names = ("left_rows",) if how in _OF_LEFT_ONLY else ("left_rows", "right_rows")
    outputs = [Output(name, request, f"{name}_destination", row_dtype, None, most=room) for name in names]
    task = Task("Join", "join", request, parts, outputs, join.JoinResponse, one if len(names) == 1 else pair)
    if max_rows is not None:
        return task

    def with_room(error: CorankError) -> Task | None:
        if error.reason != "TOO_MANY_ROWS" or error.rows is None:
            return None
        return _task(left, right, how, right_sorted, dtype, error.rows, False)

    return task._replace(again=with_room)


class JoinOperators(Operators[A]):
    """Joins of keys. Only the answer tells how many rows the result has."""

    def join(
        self,
        left: Input,
        right: Input,
        how: JoinKind = "inner",
        *,
        right_sorted: bool = False,
        max_rows: int | None = None,
        dtype: DTypeLike | None = None,
        **options: Unpack[CallOptions],
    ) -> A | tuple[A, A]:
        """Finds the rows of two arrays that have equal keys, as a join of two tables does.

        All NaNs are one key, and -0.0 equals 0.0. The result has the rows of the left in their order, each with its
        partners in their order on the right, and then, for "right" and "full", the rows of the right without a partner.

        Args:
            left: shape (m,), in any order.
            right: shape (n,), in any order, of the dtype of `left`. The server sorts this side alone.
            how: "inner": each pair of rows with equal keys; "left", "right", "full": also the rows of that side, or of
                both, without a partner; "semi": the rows of the left with a partner, once each; "anti": those without.
            right_sorted: the right ascends, which saves the server a sort; it checks that.
            max_rows: the most rows that the result may have; more are InvalidArgument with reason "TOO_MANY_ROWS", and
                the error's `rows` is their number. None: any number. The server then makes room for m + n rows; if
                there are more, the client calls a second time, unless out= is given; a chain fails instead.
            dtype: read the keys' bits as this type of the same width, such as "bfloat16" for uint16 arrays.
            **options: see CallOptions. Arrays of out= have as many elements as the result has rows; give that number
                as max_rows too, such as that of `count_join`.

        Returns:
            The pair (row numbers of the left, row numbers of the right), with -1 where a row has no partner; for "semi"
            and "anti" the row numbers of the left alone. int32, or int64 if a side has 2**31 keys or more.

        Examples:
            >>> client.join([5, 1, 5], [7, 5], "left")
            (array([0, 1, 2], dtype=int32), array([ 1, -1,  1], dtype=int32))
            >>> client.join([5, 1, 5], [7, 5], "anti")
            array([1], dtype=int32)
        """
        rows = None if max_rows is None else whole("max_rows", max_rows)
        task = _task(left, right, how, right_sorted, dtype, rows, False)
        if options.get("out") is not None:
            task = task._replace(again=None)
        if how in _OF_LEFT_ONLY:
            return self._array(task, options)
        return self._pair(task, options)

    def count_join(
        self,
        left: Input,
        right: Input,
        how: JoinKind = "inner",
        *,
        right_sorted: bool = False,
        dtype: DTypeLike | None = None,
        **options: Unpack[CallOptions],
    ) -> int:
        """Counts the rows that `join` would return, and returns none of them.

        Args:
            left: as for `join`.
            right: as for `join`.
            how: as for `join`.
            right_sorted: as for `join`.
            dtype: as for `join`.
            **options: see CallOptions. With keep=, the number stays on the server, as one int64.

        Returns:
            The number of rows.

        Examples:
            >>> client.count_join([5, 1, 5], [7, 5], "full")
            4
        """
        return cast(int, self._perform(_task(left, right, how, right_sorted, dtype, None, True), options))
