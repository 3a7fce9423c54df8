"""Sort, Merge and Search of tables: the server compares the packed digits of the keys, level after level.

A level gives the server one number a row. Rows whose numbers are equal go on to the next level, together with the
number of their group, until they differ or have no digit left. So a level moves 8 bytes a row at most, however wide the
keys are, and most keys need one level.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Callable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corank._arrow_rows import take_rows
from corank._errors import InvalidArgument
from corank._key_digits import Order, Packer, digits, direct_keys, held_type, is_number, one_array
from corank._options import InfoOptions
from corank._typed import ArrayOperators

Rows = NDArray[np.intp]
Places = NDArray[np.int64]
_MOST_COLUMNS = 32
"""Of one Sort."""
_Arrange = Callable[[NDArray[Any], Rows], tuple[NDArray[Any], Rows]]
"""Puts rows in the order of their keys: the sorted keys and the rows."""


def sort_order(
    client: ArrayOperators, table: Any, order: Order, options: InfoOptions, limit: int | None = None
) -> Rows:
    """The stable permutation that sorts the rows of a table, or the first `limit` rows of it, by the server's Sort."""
    if limit == 0 or table.num_rows == 0:
        return np.arange(0)
    direct = _direct(table, order)
    if direct is not None:
        found: Rows = client.argsort(direct, descending=order.descending[0], limit=limit, **options)
        return found
    columns = _nullable_numbers(table, order)
    if columns is not None:
        directions, places = list(order.descending), list(order.nulls)
        rows: Rows = client.argsort_columns(
            columns, descending=directions, nulls=places, nan=order.nan, limit=limit, **options
        )
        return rows
    if limit is not None and limit < table.num_rows:
        return _first_rows(client, table, order, options, limit)
    return _refined(Packer(digits(table, order)), np.array([0, table.num_rows]), _sorts(client, options))


def sort_groups(client: ArrayOperators, table: Any, order: Order, options: InfoOptions) -> tuple[Rows, Rows]:
    """The stable permutation that sorts the rows of a table, and where in it each group of equal rows begins."""
    heads = np.zeros(table.num_rows, np.bool_)
    direct = _direct(table, order)
    if direct is not None and direct.dtype.kind != "f":
        ordered, rows = client.sort_with_indices(direct, descending=order.descending[0], **options)
        heads[:1] = True
        np.not_equal(ordered[1:], ordered[:-1], out=heads[1:])
    else:
        rows = _refined(Packer(digits(table, order)), np.array([0, table.num_rows]), _sorts(client, options), heads)
    return rows, np.flatnonzero(heads)


def row_codes(client: ArrayOperators, table: Any, order: Order, options: InfoOptions) -> NDArray[Any]:
    """An unsigned number for each row of a table, equal for rows that are equal and for no others."""
    packer = Packer(digits(table, order))
    codes = packer.keys(None, None, 1) if table.num_rows else None
    if codes is None:
        return np.zeros(table.num_rows, np.uint8)
    if packer.is_done:
        return np.asarray(codes)
    heads = np.zeros(table.num_rows, np.bool_)
    rows = _refined(packer, np.array([0, table.num_rows]), _sorts(client, options), heads, codes)
    numbers = np.empty(table.num_rows, np.min_scalar_type(table.num_rows))
    numbers[rows] = np.cumsum(heads, dtype=numbers.dtype)
    return numbers


def _direct(table: Any, order: Order) -> NDArray[Any] | None:
    """The only key as an array for the server; None: there are several, or it needs digits."""
    if len(order.keys) > 1:
        return None
    return direct_keys(table.column(order.keys[0]), order.descending[0], order.nulls[0], order.nan)


def _nullable_numbers(table: Any, order: Order) -> list[Any] | None:
    """The keys as columns for the server, if all are numbers and some are null; None: they need digits.

    Columns travel as they lie in memory, which costs this process less than digits. Strings cost the server more.
    """
    names = list(order.keys)
    if len(names) > _MOST_COLUMNS or not all(is_number(held_type(table.column(name).type)) for name in names):
        return None
    columns = [one_array(table.column(name)) for name in names]
    return columns if any(column.null_count for column in columns) else None


def _sorts(client: ArrayOperators, options: InfoOptions) -> _Arrange:
    def arrange(keys: NDArray[Any], rows: Rows) -> tuple[NDArray[Any], Rows]:
        ordered, positions = client.sort_with_indices(keys, index_dtype=None, **options)
        return ordered, rows[positions]

    return arrange


def _first_rows(client: ArrayOperators, table: Any, order: Order, options: InfoOptions, limit: int) -> Rows:
    """The first rows of the order. Rows that tie with the last of them in the first level go on to the others."""
    keys = Packer(digits(table, order)).keys(None, None, 1)
    if keys is None:
        return np.arange(limit)
    positions: Rows
    ordered, positions = client.sort_with_indices(keys, limit=limit, **options)
    rows: Rows = np.flatnonzero(keys <= ordered[-1])
    if rows.size == limit and bool((ordered[1:] != ordered[:-1]).all()):
        return positions
    few = take_rows(table.select(list(order.keys)), rows)
    found: Rows = rows[_refined(Packer(digits(few, order)), np.array([0, rows.size]), _sorts(client, options))[:limit]]
    return found


def merge_order(client: ArrayOperators, tables: Sequence[Any], order: Order, options: InfoOptions) -> Rows:
    """The stable permutation that merges sorted tables, as rows of all tables one after the other, by Merge.

    Raises:
        InvalidArgument: a table is not sorted, as far as its rows had to be compared; `field` names it: tables[1].
    """
    ends = np.cumsum([0, *(table.num_rows for table in tables)])

    def merged(keys: Sequence[NDArray[Any]], runs: Sequence[int], rows: Rows) -> tuple[NDArray[Any], Rows]:
        """The keys of these runs in order, and their rows, which are one after the other in `rows`."""
        cuts = np.cumsum([0, *(each.size for each in keys)])
        narrow = rows.astype(np.min_scalar_type(int(ends[-1])))
        values = [narrow[begin:end] for begin, end in zip(cuts, cuts[1:])]
        try:
            ordered, found = client.merge(list(keys), values=values, descending=direction, **options)
        except InvalidArgument as error:
            place = re.match(r"keys\[(\d+)\]", error.field)
            if place is not None:
                error.field = f"tables[{runs[int(place.group(1))]}]"
            raise
        return ordered, found.astype(np.intp)

    def arrange(keys: NDArray[Any], rows: Rows) -> tuple[NDArray[Any], Rows]:
        cuts = np.searchsorted(rows, ends)
        runs = [run for run, (begin, end) in enumerate(zip(cuts, cuts[1:])) if begin < end]
        if len(runs) < 2:
            return keys, rows
        return merged([keys[cuts[run] : cuts[run + 1]] for run in runs], runs, rows)

    full = [run for run, table in enumerate(tables) if table.num_rows]
    direct = [_direct(tables[run], order) for run in full]
    if len(direct) > 1 and all(each is not None for each in direct):
        direction = order.descending[0]
        return merged([each for each in direct if each is not None], full, np.arange(ends[-1]))[1]
    direction = False
    keys_only = pa.concat_tables([table.select(list(order.keys)) for table in tables])
    return _refined(Packer(digits(keys_only, order)), ends, arrange)


def _refined(
    packer: Packer,
    ends: NDArray[Any],
    arrange: _Arrange,
    heads: NDArray[np.bool_] | None = None,
    first: NDArray[Any] | None = None,
) -> Rows:
    """The rows in order. Rows of one run, which ends[i]:ends[i + 1] is, need no arranging if there are several runs.

    If there is one run, it sets `heads` where a row differs from the one before it. `first` are the keys of the first
    level if the packer made them already.
    """
    count = int(ends[-1])
    out: Rows = np.arange(count)
    if heads is not None:
        heads[:1] = True
    if count < 2:
        return out
    run_of = None if len(ends) <= 2 else np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    rows: Rows = out
    places: Any = slice(None)  # where the rows of this level belong in `out`
    groups, group_count = None, 1
    while True:
        keys = packer.keys(None if groups is None else rows, groups, group_count) if first is None else first
        first = None
        if keys is None:
            break
        ordered, arranged = arrange(keys, rows)
        out[places] = arranged
        same = ordered[1:] == ordered[:-1]
        if heads is not None:
            heads[np.arange(count)[places][1:][~same]] = True
        if not same.any():
            break
        tied = np.flatnonzero(np.concatenate([[False], same]) | np.concatenate([same, [False]]))
        begins = np.concatenate([[True], ~same])[tied]
        if run_of is not None:
            # A group of one run is in order already.
            runs, starts = run_of[arranged[tied]], np.flatnonzero(begins)
            is_mixed = np.minimum.reduceat(runs, starts) < np.maximum.reduceat(runs, starts)
            if not is_mixed.any():
                break
            stays = np.repeat(is_mixed, np.diff(starts, append=len(runs)))
            tied, begins = tied[stays], begins[stays]
        in_order = arranged[tied]
        places = tied if isinstance(places, slice) else places[tied]
        group_count = int(begins.sum())
        group_of = np.full(count, -1)
        group_of[in_order] = np.cumsum(begins) - 1
        rows = np.flatnonzero(group_of >= 0)
        groups = group_of[rows]
    return out


def equal_ranges(
    client: ArrayOperators, table: Any, needles: Any, order: Order, options: InfoOptions, step: int = 1
) -> tuple[Places, Places]:
    """For each row of `needles`, the rows of the sorted table that are equal to it: [lower, upper). By Search.

    With a `step`, the first search takes every step-th row, and the second only the ranges between its results.

    Raises:
        InvalidArgument: the rows that it looks at are not sorted.
    """
    count = table.num_rows
    if step == 1 or count < 2 * step * needles.num_rows:
        return _equal_ranges(client, table, needles, order, options)
    coarse = _equal_ranges(client, take_rows(table, np.arange(0, count, step)), needles, order, options)
    # Place p of the coarse rows lies in the rows (p - 1) * step to p * step, and before all rows if it is 0.
    chunks = np.unique(np.concatenate(coarse))
    chunks = chunks[chunks > 0] - 1
    rows = (chunks[:, None] * step + np.arange(step)).reshape(-1)
    fine = _equal_ranges(client, take_rows(table, rows[rows < count]), needles, order, options)

    def place(coarse: Places, fine: Places) -> Places:
        chunk = np.maximum(coarse - 1, 0)
        within = fine - np.searchsorted(chunks, chunk) * step
        return np.where(coarse == 0, 0, chunk * step + within)

    return place(coarse[0], fine[0]), place(coarse[1], fine[1])


def _equal_ranges(
    client: ArrayOperators, table: Any, needles: Any, order: Order, options: InfoOptions
) -> tuple[Places, Places]:
    names = list(order.keys)
    count, wanted = table.num_rows, needles.num_rows
    lower, upper = np.zeros(wanted, np.int64), np.full(wanted, count, np.int64)
    if count == 0 or wanted == 0:
        return lower, upper
    packer = Packer(digits(pa.concat_tables([table.select(names), needles.select(names)]), order))
    asking: Rows = np.arange(wanted)
    rows: Rows = np.arange(count)
    # Rows of a range of the table and the needles that look there are one group; group g begins at starts[g] in `rows`.
    groups: Any = None
    begins, starts = np.zeros(1, np.int64), np.zeros(1, np.int64)
    while asking.size:
        both = None if groups is None else np.concatenate([rows, count + asking])
        keys = packer.keys(both, groups, len(begins))
        if keys is None:
            break
        of_needle = np.zeros(wanted, np.intp) if groups is None else groups[rows.size :]
        haystack, targets = keys[: rows.size], keys[rows.size :]
        shift = begins[of_needle] - starts[of_needle]
        lower[asking] = client.search(haystack, targets, side="left", **options) + shift
        upper[asking] = client.search(haystack, targets, side="right", **options) + shift
        asking = asking[lower[asking] < upper[asking]]
        if not asking.size:
            break
        begins, of_needle = np.unique(lower[asking], return_inverse=True)
        ends = np.zeros_like(begins)
        ends[of_needle] = upper[asking]
        sizes = ends - begins
        starts = np.cumsum(sizes) - sizes
        numbers = np.repeat(np.arange(len(begins)), sizes)
        rows = np.arange(int(sizes.sum())) + (begins - starts)[numbers]
        groups = np.concatenate([numbers, of_needle.reshape(-1)])
    return lower, upper
