"""Columns of numbers by all cores: elements taken from them, and their chunks put together.

NumPy and pyarrow do both in one thread. The memory comes from pyarrow's pool, which keeps the pages of arrays that were
freed: fresh pages cost more than the copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike, NDArray

from corank._cores import by_all_cores
from corank._pieces import of_pieces


def pooled(count: int, dtype: DTypeLike) -> NDArray[Any]:
    """An array of so many elements that are not initialised."""
    return np.frombuffer(pa.allocate_buffer(count * np.dtype(dtype).itemsize), dtype)


def taken(columns: Sequence[NDArray[Any]], rows: NDArray[Any]) -> list[NDArray[Any]]:
    """`column[rows]` of each column, for row numbers from 0 on.

    Raises:
        IndexError: a row is none of a column's.
    """
    dense = [np.ascontiguousarray(column) for column in columns]  # which NumPy would make for each piece otherwise
    made = [pooled(rows.size, column.dtype) for column in dense]
    least = min((column.size for column in dense), default=0)

    def take(piece: slice) -> None:
        places = rows[piece].astype(np.intp, copy=False)
        if places.min() < 0 or places.max() >= least:
            raise IndexError(f"rows {places.min()} to {places.max()} of {least}")
        for column, into in zip(dense, made):
            column.take(places, out=into[piece], mode="clip")  # "raise" would write to a buffer first

    if dense:
        of_pieces(take, rows.size)
    return made


def joined(chunks: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The elements of one or more arrays of one dtype, one after the other."""
    ends = np.cumsum([chunk.size for chunk in chunks])
    out = pooled(int(ends[-1]), chunks[0].dtype)

    def put(at: int) -> None:
        out[ends[at] - chunks[at].size : ends[at]] = chunks[at]

    by_all_cores(put, range(len(chunks)))
    return out
