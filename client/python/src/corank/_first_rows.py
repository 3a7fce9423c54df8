"""The rows that a sort with a limit or an offset returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corank import _conversion as conversion
from corank._elements import Input, whole
from corank._wire import OutgoingArray


def limited_segments(segments: Any, limit: int) -> NDArray[np.int64]:
    """Finds the segments of the result of a sort with `segments` and `limit`.

    Args:
        segments: the offsets that the sort got.
        limit: its limit.

    Returns:
        As many offsets: the results of segment i are result[offsets[i]:offsets[i + 1]].

    Raises:
        TypeError: the offsets are on the server, or an argument is no integer.
        InvalidArgument: `limit` is negative.

    Examples:
        >>> corank.limited_segments([0, 5, 5, 6], 2)
        array([0, 2, 2, 3])
    """
    given = conversion.integers("segments", segments)
    if given.data is None:
        raise TypeError("segments: are on the server; fetch them first")
    lengths = np.diff(np.frombuffer(given.data, "<i8"))
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(np.clip(lengths, 0, whole("limit", limit)), out=offsets[1:])
    return offsets


@dataclass(frozen=True)
class FirstRows:
    """The first rows of all from an offset on, or of each segment; all rows without a limit."""

    limit: int | None = None
    segments: OutgoingArray | None = None
    offset: int = 0

    @property
    def parts(self) -> list[OutgoingArray]:
        """The request's array of offsets, if it has segments."""
        return [] if self.segments is None else [self.segments]

    def count(self, rows: int | None) -> int | None:
        """How many of so many rows the sort returns; None: not known before the answer."""
        if rows is None:
            return None
        left = max(0, rows - max(0, self.offset))
        if self.limit is None or self.limit >= left:
            return left
        if self.segments is None:
            return max(0, self.limit)
        if self.segments.data is None:
            return None
        return min(rows, int(limited_segments(np.frombuffer(self.segments.data, "<i8"), self.limit)[-1]))

    def most(self, rows: int | None) -> int | None:
        """The most that it may return; None: not known before the answer."""
        segments = 1 if self.segments is None else self.segments.most
        if rows is None or self.limit is None or segments is None:
            return rows  # an offset leaves no more
        return max(0, min(self.limit * max(1, segments - 1), rows))


ALL_ROWS = FirstRows()


def first_rows(limit: int | None, offset: int, segments: Input | None) -> FirstRows:
    """The rows that these arguments of a sort ask for.

    Raises:
        TypeError: an argument is of another type.
    """
    offsets = None if segments is None else conversion.integers("segment_offsets", segments)
    return FirstRows(None if limit is None else whole("limit", limit), offsets, whole("offset", offset))
