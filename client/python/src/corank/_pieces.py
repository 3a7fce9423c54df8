"""Work on pieces of rows that stay in a core's cache, by all cores."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from corank._cores import by_all_cores

PIECE_ROWS = 1 << 16
T = TypeVar("T")


def of_pieces(made: Callable[[slice], T], count: int, piece_rows: int = PIECE_ROWS) -> list[T]:
    """What a function makes of each piece of so many rows."""
    pieces = [slice(begin, min(begin + piece_rows, count)) for begin in range(0, count, piece_rows)]
    return by_all_cores(made, pieces)
