"""The rank of each key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import DTypeLike

from corank import _conversion as conversion
from corank._elements import Input, flag
from corank._options import CallOptions, choice
from corank._ordered import indices_output
from corank._task import A, Operators, Output, Task, one
from corank.v1 import operators_pb2 as operators
from corank.v1 import rank_pb2 as ranks

if TYPE_CHECKING:
    from typing_extensions import Unpack

PositionRank = Literal["min", "max", "dense", "ordinal"]
RankMethod = Literal["average", PositionRank]
_METHODS = {
    "average": ranks.RANK_METHOD_AVERAGE,
    "min": ranks.RANK_METHOD_MIN,
    "max": ranks.RANK_METHOD_MAX,
    "dense": ranks.RANK_METHOD_DENSE,
    "ordinal": ranks.RANK_METHOD_ORDINAL,
}


class KeyRankOperators(Operators[A]):
    """The operator that ranks keys."""

    def rank(
        self,
        keys: Input,
        method: RankMethod = "average",
        *,
        descending: bool = False,
        keys_sorted: bool = False,
        segments: Input | None = None,
        dtype: DTypeLike | None = None,
        index_dtype: DTypeLike | None = np.intp,
        **options: Unpack[CallOptions],
    ) -> A:
        """Ranks keys from 1, like scipy.stats.rankdata.

        All NaNs are one key, which comes last as in `sort`, and -0.0 equals 0.0.

        Args:
            keys: shape (n,): numbers, bools, dates or times.
            method: the rank of equal keys. "average": the mean of the positions that a sort gives them; "min", "max":
                the least or greatest of these positions; "dense": as "min", but the next key has the next rank;
                "ordinal": each key has a rank of its own, in the order of a stable sort.
            descending: the greatest key has rank 1.
            keys_sorted: the keys, or those of each segment, are in this order, which saves the server a sort; it
                checks that.
            segments: s + 1 offsets that rise from 0 to n. Each segment keys[segments[i]:segments[i + 1]] is ranked for
                itself, from 1.
            dtype: read the keys' bits as this type of the same width, such as "bfloat16" for uint16 arrays.
            index_dtype: integer dtype of the ranks, but for "average"; None: the server's uint32 or uint64, which saves
                a conversion.
            **options: see CallOptions.

        Returns:
            The ranks, shape (n,): float64 for "average", otherwise of index_dtype.

        Raises:
            InvalidArgument: the keys are not sorted, with keys_sorted.

        Examples:
            >>> client.rank([30, 10, 30])
            array([2.5, 1. , 2.5])
            >>> client.rank([30, 10, 30], "dense")
            array([2, 1, 2])
            >>> client.rank([30, 10, 30, 20], "dense", segments=[0, 2, 4])
            array([2, 1, 2, 1])
        """
        found = conversion.keys("keys", keys, dtype)
        order = operators.SORT_ORDER_DESCENDING if flag("descending", descending) else operators.SORT_ORDER_ASCENDING
        request = ranks.RankRequest(method=choice("method", method, _METHODS), order=order, keys_sorted=keys_sorted)
        part = found.part
        parts = [part] if segments is None else [part, conversion.integers("segment_offsets", segments)]
        name, destination = "ranks", "ranks_destination"
        if method == "average":
            output = Output(name, request, destination, np.dtype("<f8"), part.length, most=part.most)
        else:
            output = indices_output(name, request, destination, part.length, part.most, index_dtype, part.most)
        return self._array(Task("Rank", "rank", request, parts, [output], ranks.RankResponse, one), options)
