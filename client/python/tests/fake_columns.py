"""Sort and Search by key columns of numbers and strings, as the test double does them: a rank for each row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import oracles
from fake_arrays import NAMES, STATS, Refused, indices, read
from numpy.typing import NDArray

from corank.v1 import operators_pb2 as operators


def sort(request: Any) -> Any:
    """What Sort answers: the order of the rows, or their ranks."""
    if request.HasField("segment_offsets"):
        raise Refused("segment_offsets", "the double sorts columns as a whole only")
    ranks = _row_ranks([("key_columns", request.key_columns)])
    if request.HasField("run_offsets"):
        offsets = read("run_offsets", request.run_offsets).tolist()
        for run, (begin, end) in enumerate(zip(offsets, offsets[1:])):
            if (np.diff(ranks[begin:end]) < 0).any():
                raise Refused(f"run_offsets[{run}]", "is out of order")
    if request.output == operators.SORT_OUTPUT_RANKS:
        return operators.SortResponse(ranks=indices(ranks + 1), stats=STATS)
    if request.output != operators.SORT_OUTPUT_INDICES:
        raise Refused("output", "the double gives the order of columns, or ranks")
    order = np.argsort(ranks, kind="stable")
    if request.offset > 0 and request.HasField("segment_offsets"):
        raise Refused("offset", "is not for segments")
    order = order[request.offset :]
    order = order[: request.limit] if request.HasField("limit") else order
    return operators.SortResponse(indices=indices(order), stats=STATS)


def search(request: Any) -> Any:
    """What Search answers."""
    both = [("haystack_columns", request.haystack_columns), ("needle_columns", request.needle_columns)]
    ranks = _row_ranks(both)
    haystack, needles = np.split(ranks, [_count(request.haystack_columns[0])])
    if not request.assume_sorted and (np.diff(haystack) < 0).any():
        raise Refused("haystack_columns", "is out of order")
    is_upper = request.bound == operators.SEARCH_BOUND_UPPER
    found = np.searchsorted(haystack, needles, "right" if is_upper else "left")
    return operators.SearchResponse(positions=indices(found), stats=STATS)


def _count(column: Any) -> int:
    return len(_values("", column))


def _row_ranks(tables: Sequence[tuple[str, Any]]) -> NDArray[Any]:
    """The dense rank, from 0, of each row of all tables together."""
    keys: list[NDArray[Any]] = []
    for at in range(len(tables[0][1])):
        keys += _ranks([(f"{field}[{at}]", columns[at]) for field, columns in tables])
    order = np.lexsort(keys[::-1])
    ordered = np.array(keys)[:, order]
    is_new = np.any(ordered[:, 1:] != ordered[:, :-1], axis=0)
    ranks = np.zeros(order.size, np.int64)
    ranks[order[1:]] = np.cumsum(is_new)
    return ranks


def _values(field: str, column: Any) -> NDArray[Any]:
    data = read(f"{field}.data", column.data)
    if not column.HasField("offsets"):
        return oracles.comparable(data, NAMES[column.data.type])
    offsets, joined = read(f"{field}.offsets", column.offsets).tolist(), data.tobytes()
    strings = np.empty(len(offsets) - 1, object)
    strings[:] = [joined[begin:end] for begin, end in zip(offsets, offsets[1:])]
    return strings


def _ranks(columns: Sequence[tuple[str, Any]]) -> list[NDArray[Any]]:
    """For each row of the columns one after the other: whether it is a value, NaN or null, and its rank as a value."""
    parts = [_values(field, column) for field, column in columns]
    values, first = np.concatenate(parts), columns[0][1]
    ranks = np.unique(values, return_inverse=True)[1].reshape(-1)
    kinds = np.zeros(values.size, np.int64)
    if values.dtype.kind == "f" and first.nans != operators.NAN_ORDER_GREATEST:
        kinds[np.isnan(values)] = 1 if first.nans == operators.NAN_ORDER_BESIDE_NULLS else 2
    ends = np.cumsum([len(part) for part in parts])
    for (field, column), begin, end in zip(columns, [0, *ends], ends):
        if column.HasField("validity"):
            bitmap = read(f"{field}.validity", column.validity)
            kinds[begin:end][np.unpackbits(bitmap, count=end - begin, bitorder="little") == 0] = 2
    if first.order == operators.SORT_ORDER_DESCENDING:
        ranks = -ranks
    ranks[kinds > 0] = 0
    return [2 - kinds if first.nulls == operators.NULL_ORDER_FIRST else kinds, ranks]
