"""Ranks of rows: one array of integers in place of a key of several columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import DTypeLike

from corank._columns import KeyColumn, Order, columns_request, runs_parts
from corank._elements import Input
from corank._nulls import NanOrder, NullOrder
from corank._options import SORT_ALGORITHMS, CallOptions, choice
from corank._ordered import SortAlgorithm, indices_output
from corank._task import A, Operators, Task, one
from corank._wire import Part
from corank.v1 import operators_pb2 as operators

if TYPE_CHECKING:
    from typing_extensions import Unpack


class ColumnRankOperators(Operators[A]):
    """Ranks of rows of several columns."""

    def rank_columns(
        self,
        columns: Sequence[KeyColumn],
        *,
        descending: bool | Sequence[bool] = False,
        nulls: NullOrder | Sequence[NullOrder] = "last",
        nan: NanOrder | Sequence[NanOrder] = "greatest",
        algorithm: SortAlgorithm = "auto",
        runs: Input | None = None,
        index_dtype: DTypeLike | None = np.intp,
        **options: Unpack[CallOptions],
    ) -> A:
        """Finds the dense rank of each row, from 1, in the order of `sort_columns`.

        Equal rows have equal ranks, so ranks can be the keys of `join`, `group`, `merge` and `search` in place of
        several columns. Rows of two tables get ranks that match if one call ranks them together.

        Args:
            columns: as for `sort_columns`.
            descending: the greatest row has rank 1; in all columns or, as a sequence, in each.
            nulls: as for `sort_columns`.
            nan: as for `sort_columns`.
            algorithm: how the server sorts the first 8 bytes that differ; the result is the same.
            runs: as for `sort_columns`.
            index_dtype: integer dtype of the ranks; None: the server's uint32 or uint64, which saves a conversion.
            **options: see CallOptions.

        Returns:
            Ranks, shape (n,), in the order of the input.

        Examples:
            >>> client.rank_columns([["b", "a", "b"], [2, 3, 2]])
            array([2, 1, 2])
        """
        number = choice("algorithm", algorithm, SORT_ALGORITHMS)
        request, found = columns_request(columns, Order(descending, nulls, nan), number)
        request.output = operators.SORT_OUTPUT_RANKS
        rows = found[0].rows
        ranks = indices_output("ranks", request, "ranks_destination", rows, rows, index_dtype)
        parts: list[Part] = [*(column.part for column in found), *runs_parts(runs)]
        return self._array(Task("Sort", "sort", request, parts, [ranks], operators.SortResponse, one), options)
