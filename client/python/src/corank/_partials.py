"""Aggregates of groups whose rows lie in several tables: partial results that add up. Pure: no Ray.

The keys of a table of partial results are called k0, k1 and so on, its other columns p0, p1 and so on. Sums of integers
of 64 bits are two numbers, high * 2^32 + low with 0 <= low < 2^32, because a part of a sum may exceed 64 bits although
the whole one does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corank._arrow_rows import with_one_dictionary
from corank._column_names import check_columns
from corank._errors import InvalidArgument
from corank._group_sums import in_64_bits, mean_type, quotients, sum_type, sums_fit
from corank._key_columns import Order
from corank._table_groups import Reduction, TableGroups, check_function
from corank._typed import ArrayOperators

_LOW_BITS = 32
_LOW = (1 << _LOW_BITS) - 1
_ADDED = ("rows", "count", "sum", "high", "low")


class Part(NamedTuple):
    """A column of partial results."""

    column: str | None
    """The column that it is of; None: the rows themselves."""
    function: str
    """"rows", "count", "sum", "high", "low", "min", "max", "first" or "last"."""


class Aggregates:
    """What each group of a table becomes.

    Args:
        schema: the schema of the table.
        order: the key columns and the order of the groups.
        drops_nulls: leave out rows with a null key.
        asked: the results.

    Raises:
        InvalidArgument: a column is not known, or two results have one name.
        TypeError: a column has no sum or no order.
    """

    def __init__(self, schema: Any, order: Order, drops_nulls: bool, asked: Sequence[Reduction]) -> None:
        self._schema, self._given, self._drops, self._asked = schema, order, drops_nulls, tuple(asked)
        names = list(order.keys)
        for each in self._asked:
            if each.column is not None:
                check_columns("agg", [each.column], schema.names)
                check_function(each, schema.field(each.column).type)
            if each.out in names:
                raise InvalidArgument(f"agg: two columns would be {each.out!r}; name one by NAME=(...)", field="agg")
            names.append(each.out)
        self._parts = tuple(dict.fromkeys(part for each in self._asked for part in self._parts_of(each)))
        self.order = Order(tuple(f"k{at}" for at in range(len(order.keys))), *order[1:])
        """The order of partial results."""

    def _type(self, column: str | None) -> Any:
        return self._schema.field(column).type

    def _is_wide(self, column: str | None) -> bool:
        type_ = self._type(column)
        return bool((pa.types.is_integer(type_) or pa.types.is_temporal(type_)) and type_.bit_width == 64)

    def _parts_of(self, asked: Reduction) -> list[Part]:
        column, function = asked.column, asked.function
        if function == "count":
            return [Part(column, "rows" if column is None else "count")]
        if function not in ("sum", "mean"):
            return [Part(column, function)]
        sums = ["high", "low"] if self._is_wide(column) else ["sum"]
        return [Part(column, each) for each in ([*sums, "count"] if function == "mean" else sums)]

    def _part_type(self, part: Part) -> Any:
        if part.function in ("rows", "count"):
            return pa.int64()
        type_ = self._type(part.column)
        if part.function in ("high", "low") and pa.types.is_temporal(type_):
            return pa.int64()
        return sum_type(type_) if part.function in _ADDED else type_

    @property
    def schema(self) -> Any:
        """The columns of partial results."""
        keys = [self._schema.field(name).with_name(f"k{at}") for at, name in enumerate(self._given.keys)]
        parts = [pa.field(f"p{at}", self._part_type(part)) for at, part in enumerate(self._parts)]
        return pa.schema([*keys, *parts])

    @property
    def result_schema(self) -> Any:
        """The columns of the result."""
        keys = [self._schema.field(name) for name in self._given.keys]
        return pa.schema([*keys, *(pa.field(each.out, self._result_type(each)) for each in self._asked)])

    def _result_type(self, asked: Reduction) -> Any:
        if asked.function == "count":
            return pa.int64()
        type_ = self._type(asked.column)
        of_type = {"sum": sum_type, "mean": mean_type}.get(asked.function)
        return type_ if of_type is None else of_type(type_)

    @property
    def row_bytes(self) -> int:
        """The bytes that numbers take in a row of partial results."""
        return 8 * len(self._parts)

    def partial(self, client: ArrayOperators, table: Any) -> Any:
        """The partial results of a table, a row for each of its groups, in the order of the groups."""
        if table.num_rows == 0:
            return self.schema.empty_table()
        columns = {f"k{at}": table.column(name) for at, name in enumerate(self._given.keys)}
        asked: dict[str, Any] = {}
        whole: set[str | None] = set()  # columns whose sums fit in 64 bits for sure
        for at, part in enumerate(self._parts):
            name, function = f"v:{part.column}", part.function
            if part.column is None:
                asked[f"p{at}"] = "count"
                continue
            columns[name] = table.column(part.column)
            if function in ("high", "low"):
                numbers = columns[name]
                numbers = numbers.cast(pa.int64()) if pa.types.is_temporal(numbers.type) else numbers
                if sums_fit(numbers):
                    whole.add(part.column)
                    function = "sum"
                else:
                    numbers = _half(numbers, function)
                name = f"{function}:{part.column}"
                columns[name], function = numbers, "sum"
            asked[f"p{at}"] = (name, function)
        found = self._grouped(client, pa.table(columns), asked, self._drops)
        for at, part in enumerate(self._parts):
            if part.column in whole and part.function in ("high", "low"):
                found = found.set_column(
                    found.column_names.index(f"p{at}"), f"p{at}", _half(found.column(f"p{at}"), part.function)
                )
        return self._normal(found)

    def combined(self, client: ArrayOperators, tables: Sequence[Any]) -> Any:
        """Combines the partial results of several tables into one table of partial results."""
        table = with_one_dictionary(pa.concat_tables([self.schema.empty_table(), *tables])).combine_chunks()
        if table.num_rows == 0:
            return table
        functions = ["sum" if part.function in _ADDED else part.function for part in self._parts]
        asked = {f"p{at}": (f"p{at}", function) for at, function in enumerate(functions)}
        return self._normal(self._grouped(client, table, asked, False))

    def _grouped(self, client: ArrayOperators, table: Any, asked: dict[str, Any], drops_nulls: bool) -> Any:
        order = self.order
        groups = TableGroups(
            client, table, list(order.keys), list(order.descending), list(order.nulls), list(order.nan), drops_nulls
        )
        return groups.agg(**asked)

    def _normal(self, found: Any) -> Any:
        """Partial results with the types of `schema`, and with what exceeds the low halves of sums in the high ones."""
        columns = {name: found.column(name) for name in self.schema.names}
        for at, part in enumerate(self._parts):
            if part.function == "high":
                low_name = f"p{self._parts.index(Part(part.column, 'low'))}"
                empty = np.asarray(columns[low_name].is_null())
                high, low = (np.asarray(columns[name].fill_null(0)) for name in (f"p{at}", low_name))
                columns[f"p{at}"] = pa.chunked_array([pa.array(high + (low >> _LOW_BITS), mask=empty)])
                columns[low_name] = pa.chunked_array([pa.array(low & low.dtype.type(_LOW), mask=empty)])
        return pa.table(columns).cast(self.schema).combine_chunks()

    def result(self, found: Any) -> Any:
        """The results that partial results of all rows add up to.

        Raises:
            InvalidArgument: a sum of integers does not fit in 64 bits.
        """
        columns = [found.column(f"k{at}") for at in range(len(self._given.keys))]
        for each in self._asked:
            parts = [found.column(f"p{self._parts.index(part)}") for part in self._parts_of(each)]
            if each.function not in ("sum", "mean"):
                columns.append(parts[0])
                continue
            is_wide = self._is_wide(each.column)
            added = _whole(parts[0], parts[1]) if is_wide else parts[0]
            if each.function == "mean":
                columns.append(quotients(added, np.asarray(parts[-1]), self._type(each.column)))
            elif is_wide:
                whole = in_64_bits(each.column, added, parts[0].type)
                columns.append(pa.array(whole, mask=np.asarray(parts[0].is_null())))
            else:
                columns.append(added)
        return pa.Table.from_arrays(columns, names=self.result_schema.names).cast(self.result_schema)


def _half(column: Any, part: str) -> Any:
    """One of the two numbers that stand for each integer."""
    if part == "high":
        return pc.shift_right(column, pa.scalar(_LOW_BITS, column.type))
    return pc.bit_wise_and(column, pa.scalar(_LOW, column.type))


def _whole(high: Any, low: Any) -> NDArray[Any]:
    """The integers that two numbers each stand for, 0 for null: of 64 bits, or Python's if one does not fit."""
    is_signed = pa.types.is_signed_integer(high.type)
    least, most = (-(1 << 31), (1 << 31) - 1) if is_signed else (0, _LOW)
    tops, rests = (np.asarray(each.fill_null(0)) for each in (high, low))
    if tops.size and (int(tops.min()) < least or int(tops.max()) > most):
        tops, rests = tops.astype(object), rests.astype(object)
    found: NDArray[Any] = tops * (1 << _LOW_BITS) + rests
    return found
