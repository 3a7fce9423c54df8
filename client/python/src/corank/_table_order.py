"""Sort, Merge and Search of the rows of tables: the server compares the key columns as they lie in memory.

A key that is one array of numbers without nulls goes to the operators on arrays, which are faster.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corank._arrow_rows import take_rows
from corank._errors import InvalidArgument
from corank._frames import Rows
from corank._key_columns import Columns, Order, direct_keys, key_columns
from corank._options import InfoOptions
from corank._typed import ArrayOperators

Places = NDArray[np.intp]
_MOST_COLUMNS = 32
"""Of one Sort or Search."""


def sort_order(
    client: ArrayOperators,
    table: Any,
    order: Order,
    options: InfoOptions,
    limit: int | None = None,
    offset: int = 0,
) -> Rows:
    """The stable permutation that sorts the rows of a table, or `limit` rows of it from `offset` on, by Sort."""
    if limit == 0 or table.num_rows == 0:
        return np.arange(0)
    direct = direct_key(table, order)
    if direct is not None:
        found: Rows = client.argsort(
            direct, descending=order.descending[0], limit=limit, offset=offset, index_dtype=None, **options
        )
        return found
    columns = _narrowed(client, key_columns(table, order), options)
    if not columns.arrays:
        return np.arange(table.num_rows)[offset:][:limit]
    rows: Rows = client.argsort_columns(limit=limit, offset=offset, index_dtype=None, **_given(columns), **options)
    return rows


def sort_groups(client: ArrayOperators, table: Any, order: Order, options: InfoOptions) -> tuple[Rows, Rows]:
    """The stable permutation that sorts the rows of a table, and where in it each group of equal rows begins."""
    if table.num_rows == 0:
        return np.arange(0), np.arange(0)
    keys, descending = direct_key(table, order), order.descending[0]
    if keys is None or keys.dtype.kind == "f":  # floats that are equal may have other bits
        keys, descending = row_codes(client, table, order, options), False
    ordered, rows = client.sort_with_indices(keys, descending=descending, **options)
    heads = np.ones(table.num_rows, np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=heads[1:])
    return rows, np.flatnonzero(heads)


def row_codes(client: ArrayOperators, table: Any, order: Order, options: InfoOptions) -> NDArray[Any]:
    """An unsigned number for each row of a table, in the order of the rows and equal only for rows that are equal."""
    columns = _narrowed(client, key_columns(table, order), options)
    if table.num_rows == 0 or not columns.arrays:
        return np.zeros(table.num_rows, np.uint8)
    return np.asarray(client.rank_columns(index_dtype=None, **_given(columns), **options))


def direct_key(table: Any, order: Order) -> NDArray[Any] | None:
    """The only key as an array for the server; None: there are several, or it has to be a key column."""
    if len(order.keys) > 1:
        return None
    return direct_keys(table.column(order.keys[0]), order.descending[0], order.nulls[0], order.nan[0])


def _given(columns: Columns) -> dict[str, Any]:
    """The columns as arguments of the operators on columns."""
    return {"columns": columns.arrays, **_order(columns)}


def _order(columns: Columns) -> dict[str, Any]:
    return {"descending": columns.descending, "nulls": columns.nulls, "nan": columns.nan}


def _narrowed(client: ArrayOperators, columns: Columns, options: InfoOptions) -> Columns:
    """Columns of the same order, as few as the server takes: ranks stand for the first ones of too many."""
    while len(columns.arrays) > _MOST_COLUMNS:
        first, rest = (
            Columns(columns.arrays[part], columns.descending[part], columns.nulls[part], columns.nan[part])
            for part in (slice(_MOST_COLUMNS), slice(_MOST_COLUMNS, None))
        )
        ranks = client.rank_columns(index_dtype=None, **_given(first), **options)
        nulls, nan = ["last", *rest.nulls], ["greatest", *rest.nan]
        columns = Columns([ranks, *rest.arrays], [False, *rest.descending], nulls, nan)
    return columns


def merge_order(client: ArrayOperators, tables: Sequence[Any], order: Order, options: InfoOptions) -> Rows:
    """The stable permutation that merges sorted tables, as rows of all tables one after the other.

    Raises:
        InvalidArgument: a table is not sorted; `field` names it: tables[1].
    """
    full = [number for number, table in enumerate(tables) if table.num_rows]
    ends = np.cumsum([0, *(tables[number].num_rows for number in full)])
    if not full:
        return np.arange(0)
    try:
        direct = [keys for number in full if (keys := direct_key(tables[number], order)) is not None]
        if len(direct) == len(full) > 1:  # Merge takes two arrays or more
            values = [np.arange(*ends[at : at + 2], dtype=np.min_scalar_type(int(ends[-1]))) for at in range(len(full))]
            found = client.merge(direct, values=values, descending=order.descending[0], **options)[1]
            return np.asarray(found)
        keys = pa.concat_tables([tables[number].select(list(order.keys)) for number in full])
        columns = _narrowed(client, key_columns(keys, order), options)
        if not columns.arrays:
            return np.arange(ends[-1])
        rows: Rows = client.argsort_columns(runs=ends, index_dtype=None, **_given(columns), **options)
        return rows
    except InvalidArgument as error:
        place = re.match(r"(?:keys|run_offsets)\[(\d+)\]", error.field)
        if place is not None:
            error.field = f"tables[{full[int(place.group(1))]}]"
        raise


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
    lower = search_rows(client, table, needles, order, options, "left")
    return lower, search_rows(client, table, needles, order, options, "right", assume_sorted=True)


def search_rows(
    client: ArrayOperators,
    table: Any,
    needles: Any,
    order: Order,
    options: InfoOptions,
    side: Any,
    assume_sorted: bool = False,
) -> Places:
    """Where the rows of `needles` belong in the sorted table: before the first equal row, or after the last one.

    Raises:
        InvalidArgument: the table is not sorted; `field` names it: haystack_columns.
    """
    count, names = table.num_rows, list(order.keys)
    columns = [key_columns(each, order) for each in (table, needles)]
    if len(columns[0].arrays) > _MOST_COLUMNS:
        both = pa.concat_tables([table.select(names), needles.select(names)])
        narrow = _narrowed(client, key_columns(both, order), options)
        columns = [
            narrow._replace(arrays=[each[part] for each in narrow.arrays])
            for part in (slice(count), slice(count, None))
        ]
    haystack, sought = columns
    if not haystack.arrays:
        return np.full(needles.num_rows, 0 if side == "left" else count)
    found: Places = client.search_columns(
        haystack.arrays, sought.arrays, side=side, assume_sorted=assume_sorted, **_order(haystack), **options
    )
    return found
