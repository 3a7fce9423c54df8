"""Joins of tables: the server joins the keys of both sides, and this process takes the rows."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corank._column_names import check_columns
from corank._elements import flag
from corank._errors import InvalidArgument
from corank._frames import Library, Rows, Wanted
from corank._key_columns import Order, direct_keys
from corank._key_tables import key_table, of_one_schema
from corank._packed_keys import packed_keys
from corank._table_libraries import library_of
from corank._table_order import row_codes
from corank._table_sorts import names_of, order_by
from corank._typed import ArrayOperators

OF_LEFT_ONLY = ("semi", "anti")
HOWS = ("inner", "left", "right", "full", *OF_LEFT_ONLY)
_ELSEWHERE = {
    "outer": "full",
    "left outer": "left",
    "right outer": "right",
    "full outer": "full",
    "left semi": "semi",
    "left anti": "anti",
}
"""What pandas and pyarrow call these joins."""


def null_rows(keys: Any, order: Order) -> Any:
    """Which rows of a key table have a null key, or one that counts as null; None: none has."""
    found: Any = None
    for column, nan in zip(keys.columns, order.nan):
        is_nan_null = nan == "null" and pa.types.is_floating(column.type)
        # A dictionary may have null among its values, which null_count leaves out.
        if column.null_count == 0 and not is_nan_null and not pa.types.is_dictionary(column.type):
            continue
        is_null = np.asarray(column.is_null(nan_is_null=is_nan_null))
        found = is_null if found is None else found | is_null
    return found if found is not None and found.any() else None


def _direct(keys: Sequence[Any], is_null: Sequence[Any]) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """The keys of both sides as arrays for the server's Join, if they are numbers that fit into 64 bits."""
    if keys[0].num_columns == 1 and all(each is None for each in is_null):
        left, right = (direct_keys(each.column(0), False, "last", "greatest") for each in keys)
        if left is not None and right is not None:
            return left, right
    return packed_keys(keys, is_null)


def _by_hash(
    client: ArrayOperators,
    library: Library,
    keys: Sequence[Any],
    is_null: Sequence[Any],
    how: Any,
    most_rows: int | None,
) -> tuple[Rows, Rows] | None:
    """Finds the rows that `joined_rows` returns by hashes of the keys, and checks them.

    Returns:
        None if rows with different keys have equal hashes, or if a semi or anti join has too many pairs.
    """
    seed = secrets.randbits(64)
    hashes = [library.hashes(each, seed) for each in keys]
    left, right = (
        side if nulls is None else np.where(nulls, np.uint64(at), side)
        for at, (side, nulls) in enumerate(zip(hashes, is_null))
    )
    if how not in OF_LEFT_ONLY:
        found = _pairs(client, left, right, how, most_rows)
        return found if _are_partners(library, keys, found) else None
    try:  # only partners tell whether the keys are equal
        found = _pairs(client, left, right, "inner", left.size + right.size)
    except InvalidArgument as error:
        if error.reason != "TOO_MANY_ROWS":
            raise
        return None
    if not _are_partners(library, keys, found):
        return None
    has_partner = np.zeros(left.size, np.bool_)
    has_partner[found[0]] = True
    return np.flatnonzero(has_partner == (how == "semi")), found[1][:0]


def _are_partners(library: Library, keys: Sequence[Any], found: tuple[Rows, Rows]) -> bool:
    """Whether the rows that a join found together have equal keys."""
    if any(rows.min(initial=0) < 0 for rows in found):
        are_two = (found[0] >= 0) & (found[1] >= 0)
        found = found[0][are_two], found[1][are_two]
    return library.are_equal(keys, found)


def _codes(
    client: ArrayOperators, left: Any, right: Any, order: Order, is_null: Sequence[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The keys of both sides as ranks for the server's Join; a null that equals none has a number of its own side."""
    codes = row_codes(client, pa.concat_tables([left, right]), order, {})
    if any(each is not None for each in is_null):
        none = int(codes.max()) + 1
        codes = codes.astype(np.promote_types(codes.dtype, np.min_scalar_type(none + 1)))
    sides = codes[: left.num_rows], codes[left.num_rows :]
    for at, (side, nulls) in enumerate(zip(sides, is_null)):
        if nulls is not None:
            side[nulls] = none + at
    return sides


def _pairs(
    client: ArrayOperators, left: NDArray[Any], right: NDArray[Any], how: Any, most_rows: int | None
) -> tuple[Rows, Rows]:
    """The rows as `joined_rows` returns them, of keys as arrays for the server."""
    if how == "right":
        of_right, of_left = _pairs(client, right, left, "left", most_rows)
        return of_left, of_right
    # The server makes room for max_rows, so the first call asks for few.
    room = None if most_rows is None else min(most_rows, left.size + right.size)
    try:
        found: Any = client.join(left, right, how, max_rows=room)
    except InvalidArgument as error:
        if error.reason != "TOO_MANY_ROWS" or error.rows is None or most_rows is None:
            raise
        if error.rows > most_rows:
            rows = f"join_by: the result has {error.rows:,} rows, and there is room for {most_rows:,}"
            refused = InvalidArgument(f"{rows}; join fewer rows at a time", request_id=error.request_id)
            refused.reason, refused.rows = error.reason, error.rows
            raise refused from None
        found = client.join(left, right, how, max_rows=error.rows)
    return found if how not in OF_LEFT_ONLY else (found, found[:0])


def key_names(on: Any, left_on: Any, right_on: Any) -> tuple[list[Any], list[Any]]:
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
        InvalidArgument: it would have more than `most_rows` rows; the server knows before it makes their numbers.
    """
    if how not in HOWS:
        same = _ELSEWHERE.get(how) if isinstance(how, str) else None
        advice = f"none of {', '.join(map(repr, HOWS))}" if same is None else f"called {same!r} here"
        raise InvalidArgument(f"how: {how!r} is {advice}", field="how")
    if not isinstance(suffix, str):
        raise TypeError(f"suffix: is of type {type(suffix).__name__}; pass one text, for columns of right only")
    library, left = library_of("left", left)
    other, right = library_of("right", right)
    if other.name != library.name:
        raise TypeError(f"right: is a table of {other.name}, left is one of {library.name}")
    left_names, right_names = key_names(on, left_on, right_on)
    keys = []
    for side, table, of_side in (("left", left, left_names), ("right", right, right_names)):
        argument = f"{side}_on" if on is None else "on"
        check_columns(argument, of_side, library.columns(table), library.levels(table), f" in {side}")
        keys.append(key_table(library, table, of_side, by_value=True))
    keys = of_one_schema("right_on" if on is None else "on", keys, right_names)
    equal = library.joins_nulls if nulls_equal is None else flag("nulls_equal", nulls_equal)
    names = {} if how in OF_LEFT_ONLY else renamed(library, left, right, right_names, suffix)
    of_left, of_right = joined_rows(client, library, keys, how, equal, most_rows)
    if how in OF_LEFT_ONLY:
        return library.take(left, of_left)
    return built(library, left, right, dict(zip(left_names, right_names)), names, of_left, of_right)


def joined_rows(
    client: ArrayOperators,
    library: Library,
    keys: Sequence[Any],
    how: str,
    nulls_equal: bool,
    most_rows: int | None,
) -> tuple[Rows, Rows]:
    """The rows of both sides that the result is of; -1: no row. Those of "semi" and "anti" have no right.

    Args:
        client: the client.
        library: what the sides are tables of.
        keys: the keys of both sides as key tables of one schema.
        how: a kind of join.
        nulls_equal: whether null keys equal each other.
        most_rows: the most rows that there may be; None: any number.

    Raises:
        InvalidArgument: they would be more; `reason` is "TOO_MANY_ROWS", and `rows` says how many.
    """
    order = order_by(library, keys[0].column_names, False, "last", None)
    is_null = [None if nulls_equal else null_rows(each, order) for each in keys]
    direct = _direct(keys, is_null)
    if direct is None:
        found = _by_hash(client, library, keys, is_null, how, most_rows)
        if found is not None:
            return found
        direct = _codes(client, keys[0], keys[1], order, is_null)
    return _pairs(client, *direct, how, most_rows)


def renamed(library: Library, left: Any, right: Any, right_names: Sequence[Any], suffix: str) -> dict[Any, Any]:
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


def built(
    library: Library,
    left: Any,
    right: Any,
    keys: dict[Any, Any],
    names: dict[Any, Any],
    of_left: Rows,
    of_right: Rows,
) -> Any:
    """The joined table of these rows; `keys` has the right name of each left key, `names` what `renamed` returned."""
    # Keys come from the left side; rows that only the right side has are together.
    lacks_left = np.flatnonzero(of_left < 0) if of_left.min(initial=0) < 0 else of_left[:0]
    plain = [name for name in library.columns(left) if name not in keys or not lacks_left.size]
    wanted = [Wanted(left, plain, of_left), Wanted(right, list(names), of_right)]
    found = dict(zip([*plain, *names.values()], library.picked(wanted)))
    columns: dict[Any, Any] = {}
    for name in library.columns(left):
        if name in found:
            columns[name] = found[name]
        else:
            first = library.pick(left, name, of_left[of_left >= 0])
            whole = library.append(first, library.pick(right, keys[name], of_right[lacks_left]))
            places = np.empty(of_left.size, np.intp)
            places[of_left >= 0] = np.arange(of_left.size - lacks_left.size)
            places[lacks_left] = np.arange(of_left.size - lacks_left.size, of_left.size)
            columns[name] = library.again(whole, places)
    columns.update((made, found[made]) for made in names.values())
    return library.build(columns)
