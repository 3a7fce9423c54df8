"""Strings that lie in several chunks or as views, put together where they are needed.

Strings of millions of rows fill more memory than a process has at hand, and fresh pages cost more than the copy. So the
bytes and their offsets go where they travel, piece by piece, without an array in between.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corank._pieces import PIECE_ROWS, of_pieces


def is_view(type_: Any) -> bool:
    """Whether elements are views of strings or binaries."""
    checks = (getattr(pa.types, f"is_{kind}_view", None) for kind in ("string", "binary"))  # not in old versions
    return any(check is not None and bool(check(type_)) for check in checks)


class JoinedStrings:
    """The strings or binaries of an array or a chunked array of pyarrow, one after the other."""

    def __init__(self, column: Any) -> None:
        self._column = column

        def size(piece: slice) -> int:
            return sum(int(lengths.sum(dtype=np.int64)) for lengths in self._lengths(piece))

        self._begins = np.cumsum([0, *of_pieces(size, len(column))], dtype=np.int64)

    @property
    def nbytes(self) -> int:
        """The bytes of all strings."""
        return int(self._begins[-1])

    def put_offsets(self, into: NDArray[np.uint8]) -> None:
        """Writes where each string begins and the last one ends, in 64 bits."""
        offsets = into.view(np.int64)
        offsets[0] = 0

        def put(piece: slice) -> None:
            ends, end = offsets[piece.start + 1 : piece.stop + 1], self._begins[piece.start // PIECE_ROWS]
            for lengths in self._lengths(piece):
                np.cumsum(lengths, out=ends[: lengths.size])
                ends[: lengths.size] += end
                end, ends = ends[lengths.size - 1] if lengths.size else end, ends[lengths.size :]

        of_pieces(put, len(self._column))

    def put_bytes(self, into: NDArray[np.uint8]) -> None:
        """Writes the bytes of all strings."""

        def put(piece: slice) -> None:
            at = piece.start // PIECE_ROWS
            rest = into[self._begins[at] : self._begins[at + 1]]
            for chunk in self._chunks(piece):
                whole = chunk.cast(pa.large_binary())  # of views, by pyarrow; it stays in the cache
                _, offsets, data = whole.buffers()
                if len(whole):
                    first, last = np.frombuffer(offsets, np.int64, len(whole) + 1, whole.offset * 8)[[0, -1]]
                    if first < last:
                        rest[: last - first] = np.frombuffer(data, np.uint8, last - first, first)
                        rest = rest[last - first :]

        of_pieces(put, len(self._column))

    def validity(self) -> NDArray[np.uint8] | None:
        """The bitmap of the strings that are not null; None: no string is."""
        if not self._column.null_count:
            return None
        return np.packbits(np.asarray(self._column.is_valid()), bitorder="little")

    def array(self) -> Any:
        """An array of Arrow, whose offsets have 64 bits."""
        count, validity = len(self._column), self.validity()
        offsets, data = pa.allocate_buffer(8 * (count + 1)), pa.allocate_buffer(self.nbytes)
        self.put_offsets(np.frombuffer(offsets, np.uint8))
        self.put_bytes(np.frombuffer(data, np.uint8))
        bitmap = None if validity is None else pa.py_buffer(validity)
        return pa.Array.from_buffers(pa.large_binary(), count, [bitmap, offsets, data])

    def _chunks(self, piece: slice) -> list[Any]:
        found = self._column[piece]
        return list(found.chunks) if isinstance(found, pa.ChunkedArray) else [found]

    def _lengths(self, piece: slice) -> list[NDArray[Any]]:
        return [_lengths(chunk) for chunk in self._chunks(piece)]


def _lengths(array: Any) -> NDArray[Any]:
    """The length of each string."""
    count, type_ = len(array), array.type
    if count == 0:
        return np.zeros(0, np.int32)
    buffer = array.buffers()[1]
    if is_view(type_):  # 16 bytes, the first 4 of which are the length
        lengths = np.frombuffer(buffer, np.int32, 4 * count, 16 * array.offset)[::4]
        return np.where(np.asarray(array.is_valid()), lengths, 0) if array.null_count else lengths
    is_narrow = pa.types.is_string(type_) or pa.types.is_binary(type_)
    dtype = np.dtype(np.int32 if is_narrow else np.int64)
    return np.diff(np.frombuffer(buffer, dtype, count + 1, dtype.itemsize * array.offset))
