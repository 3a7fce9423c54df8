"""Copies between large arrays, on several cores."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corank._cores import by_all_cores

_PIECE_BYTES = 16 << 20
_THREADS = 8


def bytes_of(array: NDArray[Any]) -> memoryview:
    """The bytes of a dense array."""
    return memoryview(array.view(np.uint8))  # type: ignore[arg-type]  # NumPy 1's stubs do not know that it is a buffer


def _copy(into: NDArray[Any], source: NDArray[Any]) -> None:
    if into.dtype == source.dtype:
        # Copies bytes, because NumPy copies structured elements field by field.
        into.view(np.uint8)[:] = source.view(np.uint8)
    else:
        into[:] = source


def copy_into(into: NDArray[Any], source: NDArray[Any]) -> None:
    """into[:] = source for dense arrays of one length; equal dtypes keep every bit.

    Large ones are copied by several threads: one core fills a fresh array slower than memory could take it.
    """
    threads = min(_THREADS, os.cpu_count() or 1, -(-into.nbytes // _PIECE_BYTES))
    if threads <= 1:
        _copy(into, source)
        return
    ends = [into.size * at // threads for at in range(threads + 1)]
    parts = [slice(begin, end) for begin, end in zip(ends, ends[1:])]
    by_all_cores(lambda part: _copy(into[part], source[part]), parts)
