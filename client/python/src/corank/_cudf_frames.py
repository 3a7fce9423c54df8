"""Frames of cuDF: their rows stay on the GPU, and so does a key that is one column of numbers without nulls.

Other keys come to the host as arrays of Arrow, and so do the columns of a join or a group. cuDF is not imported: a
frame says by its type that it is loaded.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from corank._frames import ArrowTables
from corank._key_columns import Nan
from corank._pandas_frames import IndexedFrames


class CudfFrames(IndexedFrames, ArrowTables):
    """cuDF, whose nulls are last, and whose NaNs are greater than all numbers."""

    name = "cudf"
    nan: Nan = "greatest"

    def __init__(self) -> None:
        self._cudf = sys.modules["cudf"]

    def values(self, table: Any, name: Any) -> Any:
        return table[name].to_arrow()

    def key(self, table: Any, name: Any, by_value: bool = False) -> Any:
        array = self.values(table, name)
        is_category = pa.types.is_dictionary(array.type) and not by_value
        return array.indices if is_category else array  # cuDF sorts it in the order of its categories

    def categories(self, table: Any, name: Any) -> list[Any] | None:
        array = self.values(table.head(0), name)
        found: list[Any] | None = array.dictionary.to_pylist() if pa.types.is_dictionary(array.type) else None
        return found

    def has_numbers(self, table: Any, name: Any) -> bool:
        return False  # columns do not come to the host only to be moved

    def on_gpu(self, table: Any, name: Any) -> Any:
        column = table[name]
        is_number = getattr(column.dtype, "kind", "O") in "iuf"
        return column.values if is_number and not column.has_nulls else None

    def concat(self, tables: Sequence[Any]) -> Any:
        self._check_names(tables)
        return self._cudf.concat(list(tables))

    def _picked(self, table: Any, name: Any, places: Any) -> Any:
        return super()._picked(pa.table({"0": self.values(table, name)}), "0", places)

    def column(self, array: Any, table: Any, name: Any, exact: bool) -> Any:
        return pa.chunked_array([array.cast(self.values(table.head(0), name).type) if exact else array])

    def build(self, columns: Mapping[Any, Any]) -> Any:
        names = list(map(str, range(len(columns))))
        made = self._cudf.DataFrame.from_arrow(pa.table(dict(zip(names, columns.values()))))
        made.columns = list(columns)
        return made
