"""Work on pieces of rows that stay in a core's cache, a thread for each core."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

PIECE_ROWS = 1 << 16
T = TypeVar("T")


def of_pieces(made: Callable[[slice], T], count: int, piece_rows: int = PIECE_ROWS) -> Iterator[T]:
    """What a function makes of each piece of so many rows, by several threads if there are several pieces."""
    pieces = [slice(begin, min(begin + piece_rows, count)) for begin in range(0, count, piece_rows)]
    if len(pieces) < 2:
        yield from map(made, pieces)
        return
    with ThreadPoolExecutor(min(len(pieces), os.cpu_count() or 1)) as pool:
        yield from pool.map(made, pieces)
