"""Sort of key columns of numbers, as the test double does it: column after column, the last one first."""

from __future__ import annotations

from typing import Any

import numpy as np
import oracles
from fake_arrays import NAMES, Refused, read
from numpy.typing import NDArray

from corank.v1 import operators_pb2 as operators


def argsort(columns: Any) -> NDArray[Any]:
    """The stable order of the rows."""
    order: NDArray[Any] = np.arange(columns[0].data.count)
    for at in reversed(range(len(columns))):
        kinds, ranks = _ranks(f"key_columns[{at}]", columns[at])
        order = order[np.lexsort((ranks[order], kinds[order]))]
    return order


def _ranks(field: str, column: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """For each row, whether it is a value, NaN or null, and its place among the values."""
    if column.HasField("offsets"):
        raise Refused(field, "the double sorts columns of numbers only")
    values = read(f"{field}.data", column.data)
    ranks = np.unique(oracles.comparable(values, NAMES[column.data.type]), return_inverse=True)[1].reshape(-1)
    kinds = np.zeros(values.size, np.int64)
    if values.dtype.kind == "f" and column.nans != operators.NAN_ORDER_GREATEST:
        kinds[np.isnan(values)] = 1 if column.nans == operators.NAN_ORDER_BESIDE_NULLS else 2
    if column.HasField("validity"):
        bits = np.unpackbits(read(f"{field}.validity", column.validity), count=values.size, bitorder="little")
        kinds[bits == 0] = 2
    if column.order == operators.SORT_ORDER_DESCENDING:
        ranks = -ranks
    ranks[kinds > 0] = 0
    return (2 - kinds if column.nulls == operators.NULL_ORDER_FIRST else kinds), ranks
