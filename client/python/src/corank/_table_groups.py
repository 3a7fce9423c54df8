"""Groups of the rows of a table and what they add up to: the server finds the groups by their keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable, Generic, NamedTuple, TypeVar, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corank._arrow_rows import take_rows
from corank._column_names import check_columns
from corank._elements import flag
from corank._errors import InvalidArgument
from corank._frames import Rows, Wanted
from corank._group_sums import (
    RowGroups,
    mean_type,
    means,
    numbers_by_group,
    quotients,
    sum_type,
    sums,
    sums_fit,
    too_large,
    value_counts,
)
from corank._key_columns import Order, check_type, filled, held_type, is_number, numbers_of, one_array
from corank._key_tables import key_table
from corank._results import Groups
from corank._table_joins import null_rows
from corank._table_libraries import library_of
from corank._table_order import direct_key, row_codes, sort_groups
from corank._table_sorts import names_of, order_by
from corank._typed import ArrayOperators

T = TypeVar("T")
FUNCTIONS = ("count", "sum", "mean", "min", "max", "first", "last")
_OF_SERVER = {"count": "counts", "sum": "sums", "mean": "sums", "min": "minima", "max": "maxima"}


class Reduction(NamedTuple):
    """One column of the result."""

    out: Any
    """Its name."""
    column: Any
    """The column that it is of; None: the rows themselves are counted."""
    function: str


def reductions(given: Sequence[Any], named: dict[str, Any]) -> list[Reduction]:
    """What the arguments of `agg` ask for.

    Raises:
        TypeError: one is neither "count" nor a pair of a column and a function.
        InvalidArgument: a function has no such name, or there are none.
    """
    asked = [(None, each) for each in given] + list(named.items())
    out = []
    for name, what in asked:
        where = f"agg: {name}" if name else "agg"
        is_pair = isinstance(what, (tuple, list)) and len(what) == 2 and isinstance(what[1], str)
        if not is_pair and not (isinstance(what, str) and what == "count"):
            several = "; pass each pair by itself: agg(('amount', 'sum'), ('amount', 'max'))"
            raise TypeError(
                f"{where}: {what!r} is neither 'count' nor a pair such as ('amount', 'sum')"
                f"{several if isinstance(what, (dict, list)) else ''}"
            )
        column, function = what if is_pair else (None, "count")
        if function not in FUNCTIONS:
            known = ", ".join(map(repr, FUNCTIONS))
            raise InvalidArgument(f"{where}: {function!r} is none of {known}", field="agg")
        out.append(Reduction(name or (f"{column}_{function}" if is_pair else "count"), column, function))
    if not out:
        raise InvalidArgument("agg: is empty; pass total=('amount', 'sum') or rows='count'", field="agg")
    return out


def goes_to_group(values: Sequence[Any], functions: Sequence[str], nan_is_null: bool) -> bool:
    """Whether the server's Group does all of it in one call, with the values beside the keys or their ranks.

    It reduces one array of numbers. A second array would have it sort the keys again.

    Args:
        values: the columns to reduce, as arrays of Arrow.
        functions: the functions.
        nan_is_null: whether the functions leave NaN out.
    """
    if len(values) > 1 or any(function not in _OF_SERVER for function in functions):
        return False
    if not values:
        return True
    (column,) = values
    type_ = column.type
    if not (pa.types.is_integer(type_) or pa.types.is_floating(type_)):
        return False
    if "mean" in functions and pa.types.is_integer(type_) and not sums_fit(column):
        return False  # the server refuses sums of more than 64 bits, and means are exact here
    if nan_is_null or not pa.types.is_floating(type_) or not ("min" in functions or "max" in functions):
        return True
    # The server takes NaN for the greatest value.
    return not bool(np.isnan(numbers_of(filled(one_array(column)))).any())


class TableGroups(Generic[T]):
    """Rows of a table with equal keys; `agg` reduces them. Made by `group_by`."""

    def __init__(
        self,
        client: ArrayOperators,
        table: T,
        keys: Any,
        descending: Any,
        nulls: Any,
        nan: Any,
        drop_nulls: bool | None,
    ) -> None:
        self._client = client
        self._library, self._table = library_of("table", table)
        self._names = names_of("keys", keys)
        check_columns("keys", self._names, self._library.columns(self._table), self._library.levels(self._table))
        self._order = order_by(self._library, self._names, descending, nulls, nan)
        self._keys = key_table(self._library, self._table, self._names)
        self._drops = not self._library.groups_nulls if drop_nulls is None else flag("drop_nulls", drop_nulls)

    def __getattr__(self, name: str) -> Any:
        advice = f"; call agg((column, {name!r}))" if name in FUNCTIONS else ""
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{advice}")

    def __repr__(self) -> str:
        return f"TableGroups({', '.join(map(repr, self._names))}; {self._library.count(self._table):,} rows)"

    def agg(self, *reduced: Any, **named: Any) -> T:
        """Reduces each group to one row.

        Args:
            *reduced: pairs (column, function), whose results are called COLUMN_FUNCTION, or "count".
            **named: the same, with the name of the result: `total=("amount", "sum")`, `rows="count"`.

        Functions leave nulls out: "count" counts the other values ("count" alone counts rows), and results of a group
        without values are null, but for sums of pandas and polars, which are 0. "first" and "last" go by the order of
        the table; those of polars also take nulls. "min" and "max" take NaN only where there is nothing else, and "sum"
        and "mean" of NaN are NaN; in pandas NaN is null. Sums are int64, uint64 or float64, decimals of 38 or 76
        digits, or durations; means are float64, durations or timestamps. Other results have the type of the column.

        Returns:
            A table with the key columns and one column for each function, a row for each group, in the order of the
            keys. A frame of pandas has the keys as columns, and an index that counts from 0. A RecordBatch gives a
            pyarrow.Table.

        Raises:
            InvalidArgument: a column or a function is not known, two results have one name, or a sum of integers does
                not fit in 64 bits.
            TypeError: a column has no sum or no order.
        """
        asked = reductions(reduced, named)
        names = list(self._names)
        for each in asked:
            if each.column is not None:
                check_columns("agg", [each.column], self._library.columns(self._table))
            if each.out in names:
                raise InvalidArgument(f"agg: two columns would be {each.out!r}; name one by NAME=(...)", field="agg")
            names.append(each.out)
        rows = self._kept_rows()
        keys = self._keys if rows is None else take_rows(self._keys, rows)
        columns = {
            each.column: self._library.values(self._table, each.column) for each in asked if each.column is not None
        }
        for each in asked:
            if each.column is not None:
                check_function(each, columns[each.column].type)
        firsts, made = self._by_group(keys, columns, asked, rows) or self._by_sort(keys, columns, asked, rows)
        found = self._library.picked([Wanted(self._table, self._names, firsts)])
        out = dict(zip(self._names, found))
        out.update((each.out, column) for each, column in zip(asked, made))
        return cast(T, self._library.build(out))

    def firsts(self) -> T:
        """The first row of each group, in the order of the keys.

        Returns:
            A table of the type of the one that was grouped; rows of pandas keep the labels of their index.
        """
        rows = self._kept_rows()
        keys = self._keys if rows is None else take_rows(self._keys, rows)
        order, starts = sort_groups(self._client, keys, self._order, {})
        first = order[starts]
        return cast(T, self._library.take(self._table, first if rows is None else rows[first]))

    def _kept_rows(self) -> Rows | None:
        """The rows that groups are made of; None: all."""
        is_null = null_rows(self._keys, self._order) if self._drops else None
        return None if is_null is None else np.flatnonzero(~is_null)

    def _by_group(
        self, keys: Any, columns: dict[Any, Any], asked: Sequence[Reduction], rows: Rows | None
    ) -> tuple[Rows, list[Any]] | None:
        """The first rows and the results by the server's Group; None: it cannot. `keys` are of `rows`, or of all."""
        functions, nan_is_null = [each.function for each in asked], self._library.nan == "null"
        if keys.num_rows == 0 or not goes_to_group(list(columns.values()), functions, nan_is_null):
            return None
        direct, descending = direct_key(keys, self._order), self._order.descending[0]
        if direct is None:
            direct, descending = row_codes(self._client, keys, self._order, {}), False
        results = ["firsts", *dict.fromkeys(_OF_SERVER[each] for each in functions)]
        validity: Any = None
        values: Any = None
        for column in columns.values():  # there is at most one
            array = one_array(column if rows is None else column.take(pa.array(rows)))
            is_null = np.asarray(array.is_null(nan_is_null=nan_is_null and pa.types.is_floating(array.type)))
            if is_null.any():
                validity = np.packbits(~is_null, bitorder="little")
                results.append("value_counts")
            if any(each in ("sums", "minima", "maxima", "value_counts") for each in results):
                values = numbers_of(filled(array))
        if "mean" in functions and validity is None and "counts" not in results:
            results.append("counts")
        try:
            found = self._client.group(
                direct,
                values=values,
                values_validity=validity,
                results=cast(Any, results),
                descending=descending,
            )
        except InvalidArgument as error:
            if error.field != "values":  # of a sum that does not fit
                raise
            raise too_large(next(iter(columns)), error.request_id) from None
        counts = found.counts if validity is None else found.value_counts  # of values
        made = [self._found(found, counts, each, columns) for each in asked]
        return found.firsts if rows is None else rows[found.firsts], made

    def _found(self, found: Groups, counts: Any, asked: Reduction, columns: dict[Any, Any]) -> Any:
        """A column of the result, of the server's groups and the number of values in each."""
        if asked.column is None:
            return self._library.column(pa.array(found.counts), self._table, None, False)
        if asked.function == "count":
            return self._library.column(pa.array(counts), self._table, asked.column, False)
        is_exact = asked.function in ("min", "max")
        array: Any = getattr(found, _OF_SERVER[asked.function])
        empty = None if found.value_counts is None else counts == 0
        if asked.function == "mean":
            array = quotients(array, counts, columns[asked.column].type)
        elif empty is None or (asked.function == "sum" and self._library.sums_nothing):
            array = pa.array(array if empty is None else np.where(empty, array.dtype.type(0), array))
        else:
            array = pa.array(array, mask=empty)
        return self._library.column(array, self._table, asked.column, is_exact)

    def _by_sort(
        self, keys: Any, columns: dict[Any, Any], asked: Sequence[Reduction], rows: Rows | None
    ) -> tuple[Rows, list[Any]]:
        """The first rows and the results; `keys` are of these rows, or of all."""
        order, starts = sort_groups(self._client, keys, self._order, {})
        groups = RowGroups(order if rows is None else rows[order], starts)
        made = []
        for each in asked:
            if each.column is None:
                made.append(self._library.column(pa.array(groups.counts), self._table, None, False))
                continue
            column = columns[each.column]
            if each.function in ("min", "max"):
                column = self._library.key(self._table, each.column)
            is_null = column.is_null(nan_is_null=self._library.nan == "null" and pa.types.is_floating(column.type))
            is_value = ~np.asarray(is_null)[groups.rows]
            if each.function in ("sum", "mean", "count"):
                array = self._added(each, column, groups, is_value)
                made.append(self._library.column(array, self._table, each.column, False))
                continue
            if each.function in ("first", "last"):
                is_last = each.function == "last"
                if self._library.edges_skip_nulls:
                    places = _edge(groups, is_value, is_last)
                else:
                    places = groups.lasts if is_last else groups.firsts
            elif is_number(column.type):
                places = _extreme(groups, column, is_value, each.function == "max")
            else:
                places = self._sorted_extreme(keys, column, rows, groups, each.function == "max")
            made.append(self._library.pick(self._table, each.column, places))
        return groups.firsts, made

    def _added(self, asked: Reduction, column: Any, groups: RowGroups, is_value: NDArray[np.bool_]) -> Any:
        """The counts, sums or means of a column, as an array of Arrow."""
        if asked.function == "count":
            return pa.array(value_counts(groups, is_value))
        if asked.function == "sum":
            return sums(asked.column, column, groups, is_value, self._library.sums_nothing)
        return means(asked.column, column, groups, is_value)

    def _sorted_extreme(self, keys: Any, column: Any, rows: Rows | None, groups: RowGroups, greatest: bool) -> Rows:
        """The row of the least or greatest value of each group, by one more sort; -1: it has no value."""
        array = one_array(column)
        if rows is not None:
            array = array.take(pa.array(rows))
        order = Order(
            (*self._order.keys, "value"),
            (*self._order.descending, greatest),
            (*self._order.nulls, "last"),
            (*self._order.nan, "greatest"),
        )
        found, _ = sort_groups(self._client, keys.append_column("value", array), order, {})
        firsts = found[groups.starts]
        is_null = np.asarray(array.is_null())[firsts]
        return np.where(is_null, -1, firsts if rows is None else rows[firsts])


def check_function(asked: Reduction, type_: Any) -> None:
    """Refuses a function that a column of this type does not have."""
    if asked.function in ("sum", "mean"):
        found = sum_type(type_) if asked.function == "sum" else mean_type(type_)
        if found is None:
            raise TypeError(f"agg: column {asked.column!r} is {type_}, which has no {asked.function}")
    elif asked.function in ("min", "max"):
        try:
            check_type(str(asked.column), held_type(type_))
        except TypeError:
            raise TypeError(f"agg: column {asked.column!r} is {type_}, which has no {asked.function}") from None


def _edge(groups: RowGroups, is_value: NDArray[np.bool_], last: bool) -> Rows:
    """The row of the first or last value of each group; -1: it has none."""
    places = np.arange(groups.rows.size)
    if last:
        found = groups.reduced(np.maximum, np.where(is_value, places, -1))
        return np.where(found < 0, -1, groups.rows[found])
    found = groups.reduced(np.minimum, np.where(is_value, places, places.size))
    return np.where(found == places.size, -1, groups.rows[np.minimum(found, max(places.size - 1, 0))])


def _extreme(groups: RowGroups, column: Any, is_value: NDArray[np.bool_], greatest: bool) -> Rows:
    """The row of the least or greatest number of each group; -1: it has none."""
    values = numbers_by_group(column, groups)
    if values.dtype.kind == "b":
        values = values.astype(np.uint8)
    is_float = values.dtype.kind == "f"
    if is_float:
        rest: Any = np.nan
        function: Callable[..., Any] = np.fmax if greatest else np.fmin
    else:
        rest = np.iinfo(values.dtype).min if greatest else np.iinfo(values.dtype).max
        function = np.maximum if greatest else np.minimum
    best = np.repeat(groups.reduced(function, np.where(is_value, values, values.dtype.type(rest))), groups.counts)
    is_best = values == best
    if is_float:
        is_best |= np.isnan(values) & np.isnan(best)
    return _edge(groups, is_best & is_value, last=False)
