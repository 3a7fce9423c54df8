"""Sums and means of groups of rows: exact for integers, durations and decimals, in float64 for floats."""

from __future__ import annotations

import decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corank._errors import InvalidArgument
from corank._frames import Rows
from corank._key_columns import decimal_words, filled, numbers_of, one_array

_HALF_BITS = 32
_HALF = (1 << _HALF_BITS) - 1


class RowGroups(NamedTuple):
    """The rows of a table by groups."""

    rows: Rows
    """Group after group."""
    starts: Rows
    """Where each group begins in `rows`."""

    @property
    def counts(self) -> Rows:
        return np.diff(self.starts, append=self.rows.size)

    @property
    def firsts(self) -> Rows:
        return self.rows[self.starts]

    @property
    def lasts(self) -> Rows:
        found: Rows = self.rows[self.starts + self.counts - 1]
        return found

    def reduced(self, function: Any, values: NDArray[Any]) -> NDArray[Any]:
        """One number for each group, of one for each of `rows`."""
        made: NDArray[Any] = function.reduceat(values, self.starts) if self.starts.size else values[:0]
        return made


def sum_type(type_: Any) -> Any:
    """The type of the sums of a column; None: it has none."""
    types = pa.types
    if types.is_decimal(type_):
        return pa.decimal256(76, type_.scale) if type_.bit_width > 128 else pa.decimal128(38, type_.scale)
    if types.is_floating(type_):
        return pa.float64()
    if types.is_duration(type_):
        return type_
    if types.is_unsigned_integer(type_):
        return pa.uint64()
    return pa.int64() if types.is_integer(type_) or types.is_boolean(type_) or types.is_null(type_) else None


def mean_type(type_: Any) -> Any:
    """The type of the means of a column; None: it has none."""
    if pa.types.is_duration(type_) or pa.types.is_timestamp(type_):
        return type_
    return None if sum_type(type_) is None else pa.float64()


def sums_fit(column: Any) -> bool:
    """Whether no sum of some of these integers can exceed 64 bits."""
    ends = pc.min_max(column).as_py()
    most = max(abs(ends["min"] or 0), abs(ends["max"] or 0))
    return bool(most * len(column) < 1 << 63)


def numbers_by_group(column: Any, groups: RowGroups) -> NDArray[Any]:
    """The numbers of a column by groups, 0 for null; times as integers."""
    return numbers_of(filled(one_array(column)))[groups.rows]


def value_counts(groups: RowGroups, is_value: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many values each group has."""
    return groups.reduced(np.add, is_value.astype(np.int64))


def sums(name: Any, column: Any, groups: RowGroups, is_value: NDArray[np.bool_], of_nothing: bool) -> Any:
    """The sum of each group as an array of Arrow; with `of_nothing`, 0 for groups without values, otherwise null.

    Args:
        name: the column's name, for errors.
        column: the column.
        groups: the groups.
        is_value: which of the groups' rows have a value.
        of_nothing: whether the sum of no values is 0.

    Raises:
        InvalidArgument: a sum does not fit.
    """
    empty = None if of_nothing else value_counts(groups, is_value) == 0
    type_ = sum_type(column.type)
    if pa.types.is_decimal(type_):
        return _decimal_sums(name, column, groups, is_value, empty)
    added = in_64_bits(name, _added(column, groups, is_value), type_)
    return pa.array(added, mask=empty).cast(type_)


def in_64_bits(name: Any, added: NDArray[Any], type_: Any) -> NDArray[Any]:
    """Sums as numbers of 64 bits, which Python's integers become for this type of sums.

    Raises:
        InvalidArgument: one does not fit.
    """
    if added.dtype != object:
        return added
    limits = np.iinfo(np.uint64 if pa.types.is_unsigned_integer(type_) else np.int64)
    if any(not limits.min <= each <= limits.max for each in added):
        raise too_large(name)
    return added.astype(limits.dtype)


def too_large(name: Any, request_id: str = "") -> InvalidArgument:
    """The error of a sum of integers of a column that exceeds 64 bits."""
    text = f"agg: a sum of column {name!r} does not fit in 64 bits; convert the column to decimals or floats"
    return InvalidArgument(text, field="agg", request_id=request_id)


def means(name: Any, column: Any, groups: RowGroups, is_value: NDArray[np.bool_]) -> Any:
    """The mean of each group as an array of Arrow, null for groups without values; arguments as for `sums`."""
    counts = value_counts(groups, is_value)
    if pa.types.is_decimal(column.type):
        return quotients(sums(name, column, groups, is_value, False), counts, column.type)
    return quotients(_added(column, groups, is_value), counts, column.type)


def quotients(added: Any, counts: NDArray[Any], type_: Any) -> Any:
    """The means of a column of this type as an array of Arrow, of its sums and of the counts of its values.

    Args:
        added: an array of decimals, of numbers, or of Python's integers.
        counts: how many values each sum is of; 0: the mean is null.
        type_: the type of the column.
    """
    empty = counts == 0
    if pa.types.is_decimal(type_):
        with decimal.localcontext() as context:
            context.prec = 80
            pairs = zip(added.to_pylist(), counts)
            return pa.array([float(each / int(count)) if count else None for each, count in pairs], pa.float64())
    added, divisors = np.asarray(added), np.maximum(counts, 1)
    if pa.types.is_temporal(type_):  # cut toward 0, as pandas and polars do
        whole = np.abs(added) // divisors
        return pa.array(np.where(added < 0, -whole, whole).astype(np.int64), mask=empty).cast(type_)
    return pa.array((added / divisors).astype(np.float64), mask=empty)


def _added(column: Any, groups: RowGroups, is_value: NDArray[np.bool_]) -> NDArray[Any]:
    """Sums in float64, or exact ones: in 64 bits, or Python's integers if one may not fit."""
    if pa.types.is_null(column.type):
        return groups.reduced(np.add, np.zeros(groups.rows.size, np.int64))
    values = np.where(is_value, numbers_by_group(column, groups), 0)
    if values.dtype.kind == "f":
        return groups.reduced(np.add, values.astype(np.float64))
    wide = values.astype(np.uint64 if values.dtype.kind == "u" else np.int64)
    most = max(abs(int(wide.max(initial=0))), abs(int(wide.min(initial=0))))
    if most * int(groups.counts.max(initial=0)) <= np.iinfo(wide.dtype).max:
        return groups.reduced(np.add, wide)
    high = groups.reduced(np.add, wide >> _HALF_BITS).astype(object)
    low = groups.reduced(np.add, wide & _HALF).astype(object)
    exact: NDArray[Any] = high * (1 << _HALF_BITS) + low
    return exact


def _decimal_sums(
    name: Any, column: Any, groups: RowGroups, is_value: NDArray[np.bool_], empty: NDArray[np.bool_] | None
) -> Any:
    """Sums in halves of 64-bit words, whose sums fit in 64 bits."""
    type_ = sum_type(column.type)
    words = decimal_words(one_array(column))[groups.rows]
    words[~is_value] = 0
    halves = []
    for word in words.T:
        halves += [(word & _HALF).astype(np.int64), (word >> _HALF_BITS).astype(np.int64)]
    halves[-1] = words[:, -1].view(np.int64) >> _HALF_BITS  # the sign
    found = np.empty((groups.starts.size, type_.bit_width // _HALF_BITS), "<u4")
    carry: Any = 0
    for at in range(found.shape[1]):
        added = carry + (groups.reduced(np.add, halves[at]) if at < len(halves) else 0)
        found[:, at] = added & _HALF
        carry = added >> _HALF_BITS
    made = pa.Array.from_buffers(type_, len(found), [None, pa.py_buffer(found.tobytes())])
    try:
        if np.any(carry != -(found[:, -1] >> 31).astype(np.int64)):
            raise pa.ArrowInvalid("more bits")
        made.validate(full=True)
    except pa.ArrowInvalid:
        text = f"agg: a sum of column {name!r} does not fit in {type_}; convert the column to floats"
        raise InvalidArgument(text, field="agg") from None
    return made if empty is None else made.take(pa.array(np.arange(len(made)), mask=empty))
