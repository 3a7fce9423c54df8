"""Sorts of key columns: their results are more than the fields of one response."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from corank import _conversion as conversion
from corank._columns import Column, KeyColumn, Order, columns_request, runs_parts, sorted_columns
from corank._elements import Input
from corank._first_rows import first_rows
from corank._nulls import NanOrder, NullOrder
from corank._options import SORT_ALGORITHMS, CallOptions, choice
from corank._ordered import SortAlgorithm, indices_output
from corank._task import A, Operators, Output, Task
from corank._wire import Part
from corank.v1 import operators_pb2 as operators

if TYPE_CHECKING:
    from typing_extensions import Unpack


class ColumnOperators(Operators[A]):
    """Operators whose results are more than the fields of one response; a chain does not take them."""

    def sort_columns(
        self,
        columns: Sequence[KeyColumn],
        *,
        values: Input | None = None,
        descending: bool | Sequence[bool] = False,
        nulls: NullOrder | Sequence[NullOrder] = "last",
        nan: NanOrder | Sequence[NanOrder] = "greatest",
        algorithm: SortAlgorithm = "auto",
        segments: Input | None = None,
        limit: int | None = None,
        offset: int = 0,
        runs: Input | None = None,
        **options: Unpack[CallOptions],
    ) -> Any:
        """Sorts rows by several columns: by the first, equal rows by the second, and so on. Stable.

        Args:
            columns: 1 to 32 columns of n rows. A column is an array as for `sort`; an array of byte strings of one
                width (dtype "S" or "V"), compared byte by byte; or a list or tuple of bytes or of str, of any lengths,
                compared as in Python. A column with nulls is a masked array of NumPy, a list or tuple of strings with
                None among them, corank.Nullable(values, mask), or an array of pyarrow, which travels as it is in
                memory: numbers, bools, dates, times, strings or binaries, with or without nulls.
            values: shape (n,), one value for each row, as for `sort`.
            descending: greatest first, in all columns or, as a sequence, in each.
            nulls: the end of the order at which nulls lie, also of a descending column: "last" or "first". One for all
                columns, or one for each.
            nan: the place of NaNs: "greatest", greater than all numbers, as polars does; "beside_null", between the
                numbers and the nulls, also of a descending column, as Arrow does; or "null", among the nulls, as pandas
                does. The latter two follow `nulls` in columns without nulls too. One for all columns, or one for each.
            algorithm: how the server sorts the first 8 bytes that differ; the result is the same.
            segments: s + 1 offsets that rise from 0 to n. Rows segments[i] to segments[i + 1] are sorted by
                themselves. Not together with runs.
            limit: return only the first `limit` rows in sorted order; with segments, the first `limit` rows of each
                segment, one segment after the other. corank.limited_segments returns their offsets. Strings in shared
                memory (out=) then need room for as many of the longest one, or for all of them if that is less.
            offset: leave out the first `offset` rows before `limit` counts; not with segments.
            runs: r + 1 offsets that rise from 0 to n, to merge tables: rows are sorted runs, one after the other, and
                run i is rows runs[i] to runs[i + 1]. Equal rows of an earlier run come first. The server checks that
                each run is sorted. Not together with an algorithm.
            **options: see CallOptions. A list of strings is two results for out= and keep=: the joined bytes (uint8),
                and where each string begins and the last one ends (int64). A column with nulls is one result more,
                its validity: a bitmap (uint8) as in Apache Arrow.

        Returns:
            The list of sorted columns, each in the form in which it was given, or with values a pair (columns, values).
            A list of strings or a column with nulls that keep= keeps is a tuple of handles.

        Examples:
            >>> client.sort_columns([["b", "a", "b"], [2, 3, 1]])
            [['a', 'b', 'b'], array([3, 1, 2])]
        """
        number = choice("algorithm", algorithm, SORT_ALGORITHMS)
        first = first_rows(limit, offset, segments)
        request, found = columns_request(columns, Order(descending, nulls, nan), number, first)
        request.output = operators.SORT_OUTPUT_KEYS
        offsets = [*first.parts, *runs_parts(runs)]
        if values is None:
            return self._sort_columns(request, found, offsets, [], options)
        part, value_dtype = conversion.values("values", values)
        count, most = first.count(found[0].rows), first.most(found[0].rows)
        type_ = part.header.type
        output = Output("values", request, "values_destination", value_dtype, count, element_type=type_, most=most)
        return self._sort_columns(request, found, [part, *offsets], [output], options)

    def sort_columns_with_indices(
        self,
        columns: Sequence[KeyColumn],
        *,
        descending: bool | Sequence[bool] = False,
        nulls: NullOrder | Sequence[NullOrder] = "last",
        nan: NanOrder | Sequence[NanOrder] = "greatest",
        algorithm: SortAlgorithm = "auto",
        segments: Input | None = None,
        limit: int | None = None,
        offset: int = 0,
        runs: Input | None = None,
        index_dtype: DTypeLike | None = np.intp,
        **options: Unpack[CallOptions],
    ) -> Any:
        """Does `sort_columns` and `argsort_columns` in one call.

        Args:
            columns: as for `sort_columns`.
            descending: greatest first, in all columns or, as a sequence, in each.
            nulls: as for `sort_columns`.
            nan: as for `sort_columns`.
            algorithm: how the server sorts the first 8 bytes that differ; the result is the same.
            segments: as for `sort_columns`. Positions count from the start of all rows.
            limit: return only the first `limit` rows in sorted order; with segments, of each segment.
            offset: leave out the first `offset` rows before `limit` counts; not with segments.
            runs: as for `sort_columns`.
            index_dtype: integer dtype of the positions; None: the server's uint32 or uint64, which saves a conversion.
            **options: see CallOptions.

        Returns:
            The pair (list of sorted columns, positions).

        Examples:
            >>> client.sort_columns_with_indices([["b", "a", "b"], [2, 3, 1]])
            ([['a', 'b', 'b'], array([3, 1, 2])], array([1, 2, 0]))
        """
        number = choice("algorithm", algorithm, SORT_ALGORITHMS)
        first = first_rows(limit, offset, segments)
        request, found = columns_request(columns, Order(descending, nulls, nan), number, first)
        request.output = operators.SORT_OUTPUT_KEYS_AND_INDICES
        rows = found[0].rows
        count, most = first.count(rows), first.most(rows)
        indices = indices_output("indices", request, "indices_destination", count, rows - 1, index_dtype, most)
        return self._sort_columns(request, found, [*first.parts, *runs_parts(runs)], [indices], options)

    def _sort_columns(
        self,
        request: operators.SortRequest,
        found: Sequence[Column],
        more_parts: Sequence[Part],
        more_outputs: Sequence[Output],
        options: CallOptions,
    ) -> Any:
        """The sorted columns, or the pair of them and the one other output."""

        def finish(results: Sequence[Any]) -> Any:
            columns = sorted_columns(found, results)
            return (columns, results[-1]) if more_outputs else columns

        parts: list[Part] = [*(column.part for column in found), *more_parts]
        outputs = [*(output for column in found for output in column.outputs), *more_outputs]
        is_shifted = any(column.is_shifted for column in found)
        task = Task("Sort", "sort", request, parts, outputs, operators.SortResponse, finish, is_shifted)
        return self._perform(task, options)
