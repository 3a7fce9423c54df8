"""Select and Rank of the test double."""

from __future__ import annotations

from typing import Any

import numpy as np
import oracles
from fake_arrays import (
    NAMES,
    STATS,
    Refused,
    check_sorted,
    indices,
    is_descending,
    like,
    numbers,
    read,
    segment_offsets,
)

from corank.v1 import rank_pb2, select_pb2


def select(request: Any) -> Any:
    """The answer of Select."""
    elements = read("elements", request.elements)
    if request.HasField("positions"):
        positions = read("positions", request.positions)
        wrong = (positions < 0) | (positions >= elements.size)
        if wrong.any():
            raise Refused(f"positions[{int(np.argmax(wrong))}]", "is that of no element")
        holds = np.isin(np.arange(elements.size), positions)
    elif request.HasField("bitmap"):
        bits = np.unpackbits(read("bitmap", request.bitmap), count=elements.size, bitorder="little")
        holds = bits.astype(bool)
    elif request.HasField("flags"):
        holds = read("flags", request.flags) != 0
    else:
        comparison = select_pb2.Comparison.Name(request.comparison)
        threshold = read("threshold", request.threshold)
        holds = oracles.compares(elements, threshold, NAMES[request.elements.type], comparison)
    holds = holds != request.negate
    rows = np.flatnonzero(holds)
    count = np.array([rows.size], "<i8")
    if request.partition:
        rows = np.concatenate([rows, np.flatnonzero(~holds)])
    response = select_pb2.SelectResponse(stats=STATS)
    wanted = request.outputs or [select_pb2.SELECT_OUTPUT_ELEMENTS]
    if select_pb2.SELECT_OUTPUT_ELEMENTS in wanted:
        response.elements.CopyFrom(like(request.elements, elements[rows]))
    if request.HasField("values"):
        response.values.CopyFrom(like(request.values, read("values", request.values)[rows]))
    if select_pb2.SELECT_OUTPUT_INDICES in wanted:
        response.indices.CopyFrom(indices(rows))
    if select_pb2.SELECT_OUTPUT_COUNT in wanted:
        response.count.CopyFrom(numbers("ELEMENT_TYPE_INT64", count))
    return response


def rank(request: Any) -> Any:
    """The answer of Rank."""
    keys = read("keys", request.keys)
    offsets = segment_offsets(request, len(keys))
    if request.keys_sorted:
        for begin, end in zip(offsets, offsets[1:]):
            check_sorted("keys", keys[begin:end], request, request.keys.type)
    method = rank_pb2.RankMethod.Name(request.method).removeprefix("RANK_METHOD_").lower()
    ranks = oracles.segmented_rank(keys, offsets, NAMES[request.keys.type], method, is_descending(request))
    array = numbers("ELEMENT_TYPE_FLOAT64", ranks) if method == "average" else indices(ranks)
    return rank_pb2.RankResponse(ranks=array, stats=STATS)
