"""Joins of tables: the server sorts the keys of both sides together, and equal keys lie side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from corank._errors import InvalidArgument
from corank._frames import Library, Rows, check_columns, key_table, library_of
from corank._key_digits import Order
from corank._table_order import sort_groups
from corank._table_sorts import names_of, of_one_schema, order_by
from corank._typed import ArrayOperators

HOWS = ("inner", "left", "right", "full", "semi", "anti")


class _Side(NamedTuple):
    """The rows of one side, in terms of the groups of equal keys."""

    group_of: Rows
    """The group of each row; -1: its key is null and equals none."""
    rows: Rows
    """The rows that are in groups, group after group."""
    counts: Rows
    """Rows of each group."""

    def matches(self, other: _Side, keep: bool) -> tuple[Rows, Rows]:
        """The pairs of rows of this side and the other, in the order of this side and then of the other.

        With `keep`, a row without a match is there once, beside -1.
        """
        counts = other.counts_of(self)
        repeats = np.maximum(counts, 1) if keep else counts
        mine = np.repeat(np.arange(counts.size), repeats)
        begins = (np.cumsum(other.counts) - other.counts)[self.group_of]
        within = np.arange(mine.size) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        places = np.repeat(begins, repeats) + within
        if not keep:
            return mine, other.rows[places]
        has_match = np.repeat(counts > 0, repeats)
        others = np.full(mine.size, -1)
        others[has_match] = other.rows[places[has_match]]
        return mine, others

    def counts_of(self, other: _Side) -> Rows:
        """How many rows of this side each row of the other matches."""
        if not self.counts.size:
            return np.zeros(other.group_of.size, np.intp)
        return np.where(other.group_of < 0, 0, self.counts[other.group_of])


def null_rows(keys: Any, order: Order) -> Any:
    """Which rows of a key table have a null key, or one that counts as null; None: none has."""
    found: Any = None
    for column in keys.columns:
        is_nan_null = order.nan == "null" and pa.types.is_floating(column.type)
        if column.null_count == 0 and not is_nan_null:
            continue
        is_null = np.asarray(column.is_null(nan_is_null=is_nan_null))
        found = is_null if found is None else found | is_null
    return found if found is not None and found.any() else None


def _sides(client: ArrayOperators, left: Any, right: Any, order: Order, nulls_equal: bool) -> tuple[_Side, _Side]:
    both = pa.concat_tables([left, right])
    rows, starts = sort_groups(client, both, order, {})
    group_of = np.empty(rows.size, np.intp)
    group_of[rows] = np.repeat(np.arange(starts.size), np.diff(starts, append=rows.size))
    is_null = None if nulls_equal else null_rows(both, order)
    if is_null is not None:
        group_of[is_null] = -1
        rows = rows[~is_null[rows]]
    is_left = rows < left.num_rows

    def side(of_rows: Rows, ordered: Rows) -> _Side:
        return _Side(of_rows, ordered, np.bincount(of_rows[of_rows >= 0], minlength=starts.size))

    return (
        side(group_of[: left.num_rows], rows[is_left]),
        side(group_of[left.num_rows :], rows[~is_left] - left.num_rows),
    )


def _pairs(left: _Side, right: _Side, how: str) -> tuple[Rows, Rows]:
    """The rows of both sides that the result is of; -1: no row."""
    if how == "right":
        of_right, of_left = right.matches(left, keep=True)
        return of_left, of_right
    of_left, of_right = left.matches(right, keep=how != "inner")
    if how == "full":
        alone = np.flatnonzero(left.counts_of(right) == 0)
        of_left = np.concatenate([of_left, np.full(alone.size, -1)])
        of_right = np.concatenate([of_right, alone])
    return of_left, of_right


def _count(left: _Side, right: _Side, how: str) -> int:
    """The rows that `_pairs` has."""
    counts = left.counts_of(right) if how == "right" else right.counts_of(left)
    alone = int((left.counts_of(right) == 0).sum()) if how == "full" else 0
    return int((counts if how == "inner" else np.maximum(counts, 1)).sum()) + alone


def _key_names(on: Any, left_on: Any, right_on: Any) -> tuple[list[Any], list[Any]]:
    if on is not None:
        if left_on is not None or right_on is not None:
            raise InvalidArgument("on: is for both sides; give either on=, or left_on= and right_on=", field="on")
        names = names_of("on", on)
        return names, names
    if left_on is None or right_on is None:
        raise InvalidArgument("on: missing; give on=, or left_on= and right_on=", field="on")
    left, right = names_of("left_on", left_on), names_of("right_on", right_on)
    if len(left) != len(right):
        raise InvalidArgument(f"right_on: {len(right)} columns for the {len(left)} of left_on", field="right_on")
    return left, right


def join_by(
    client: ArrayOperators,
    left: Any,
    right: Any,
    on: Any,
    left_on: Any,
    right_on: Any,
    how: str,
    suffix: str,
    nulls_equal: bool | None,
    most_rows: int | None = None,
) -> Any:
    """The joined table.

    Raises:
        InvalidArgument: it would have more than `most_rows` rows; this is known before it takes their memory.
    """
    if how not in HOWS:
        raise InvalidArgument(f"how: {how!r} is none of {', '.join(map(repr, HOWS))}", field="how")
    library, left = library_of("left", left)
    other, right = library_of("right", right)
    if other.name != library.name:
        raise TypeError(f"right: is a table of {other.name}, left is one of {library.name}")
    left_names, right_names = _key_names(on, left_on, right_on)
    check_columns("on" if on is not None else "left_on", left_names, library.columns(left))
    check_columns("on" if on is not None else "right_on", right_names, library.columns(right))
    keys = [
        key_table(library, table, names, by_value=True) for table, names in ((left, left_names), (right, right_names))
    ]
    keys = of_one_schema("right_on" if on is None else "on", keys, right_names)
    order = order_by(library, left_names, False, "last", None)
    equal = library.joins_nulls if nulls_equal is None else bool(nulls_equal)
    left_side, right_side = _sides(client, keys[0], keys[1], order, equal)
    if how in ("semi", "anti"):
        return library.take(left, np.flatnonzero((right_side.counts_of(left_side) > 0) == (how == "semi")))
    names = _renamed(library, left, right, right_names, suffix)
    rows = _count(left_side, right_side, how)
    if most_rows is not None and rows > most_rows:
        text = f"join_by: the result has {rows:,} rows, and there is room for {most_rows:,}; join fewer rows at a time"
        raise InvalidArgument(text)
    of_left, of_right = _pairs(left_side, right_side, how)
    return _built(library, left, right, dict(zip(left_names, right_names)), names, of_left, of_right)


def _renamed(library: Library, left: Any, right: Any, right_names: Sequence[Any], suffix: str) -> dict[Any, Any]:
    """The columns of the right side that the result has, and their names there."""
    taken = set(library.columns(left))
    out = {}
    for name in library.columns(right):
        if name in right_names:
            continue
        made = f"{name}{suffix}" if name in taken else name
        if made in taken:
            raise InvalidArgument(f"suffix: both sides have a column {made!r}; choose another suffix", field="suffix")
        taken.add(made)
        out[name] = made
    check_columns("right", list(out), library.columns(right))
    check_columns("left", library.columns(left), library.columns(left))
    return out


def _built(
    library: Library,
    left: Any,
    right: Any,
    keys: dict[Any, Any],
    names: dict[Any, Any],
    of_left: Rows,
    of_right: Rows,
) -> Any:
    # Keys come from the left side; rows that only the right side has are together.
    lacks_left = np.flatnonzero(of_left < 0)
    columns: dict[Any, Any] = {}
    for name in library.columns(left):
        if name not in keys or not lacks_left.size:
            columns[name] = library.pick(left, name, of_left)
        else:
            first = library.pick(left, name, of_left[of_left >= 0])
            whole = library.append(first, library.pick(right, keys[name], of_right[lacks_left]))
            places = np.empty(of_left.size, np.intp)
            places[of_left >= 0] = np.arange(of_left.size - lacks_left.size)
            places[lacks_left] = np.arange(of_left.size - lacks_left.size, of_left.size)
            columns[name] = library.again(whole, places)
    for name, made in names.items():
        columns[made] = library.pick(right, name, of_right)
    return library.build(columns)
