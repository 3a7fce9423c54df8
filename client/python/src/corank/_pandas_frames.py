"""Frames of pandas, and what frames of cuDF share with them. pandas is not imported: a frame says that it is loaded."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corank._errors import InvalidArgument
from corank._frames import ByColumn, Library, Rows, arrow_of
from corank._key_columns import Nan, Nulls


class IndexedFrames(Library):
    """What the frames of pandas and of cuDF have in common."""

    nulls: Nulls = "last"
    joins_nulls = True
    groups_nulls = False

    def columns(self, table: Any) -> list[Any]:
        return list(table.columns)

    def levels(self, table: Any) -> Sequence[Any]:
        return [name for name in table.index.names if name is not None]

    def count(self, table: Any) -> int:
        return len(table)

    def check_orders(self, tables: Sequence[Any], names: Sequence[Any]) -> None:
        for name in names:
            first = self.categories(tables[0], name)
            for at, each in enumerate(tables):
                if self.categories(each, name) != first:
                    text = f"tables[{at}]: the categories of {name!r} are not those of tables[0], nor in their order"
                    text += f"; convert it by astype(tables[0][{name!r}].dtype), and sort again"
                    raise InvalidArgument(text, field=f"tables[{at}]")

    def select(self, table: Any, names: Sequence[Any]) -> Any:
        return table[list(names)]

    def take(self, table: Any, rows: Rows) -> Any:
        return table.take(rows)


class PandasFrames(IndexedFrames, ByColumn):
    name = "pandas"
    nan: Nan = "null"

    def __init__(self) -> None:
        self._pandas = sys.modules["pandas"]

    def values(self, table: Any, name: Any) -> Any:
        column = table[name]
        is_sparse = isinstance(column.dtype, self._pandas.SparseDtype)
        return arrow_of(name, column.sparse.to_dense() if is_sparse else column)

    def key(self, table: Any, name: Any, by_value: bool = False) -> Any:
        column = table[name]
        if not by_value and isinstance(
            column.dtype, self._pandas.CategoricalDtype
        ):  # pandas sorts it in the order of its categories
            codes = column.cat.codes.to_numpy()
            return pa.array(codes, mask=codes < 0)
        return self.values(table, name)

    def categories(self, table: Any, name: Any) -> list[Any] | None:
        dtype = table[name].dtype
        return list(dtype.categories) if isinstance(dtype, self._pandas.CategoricalDtype) else None

    def concat(self, tables: Sequence[Any]) -> Any:
        self._check_names(tables)
        return self._pandas.concat(list(tables))

    def _plain(self, table: Any, name: Any) -> NDArray[Any] | None:
        dtype = table[name].dtype
        return table[name].to_numpy() if isinstance(dtype, np.dtype) and dtype.kind in "biufcmM" else None

    def _of_plain(self, elements: NDArray[Any]) -> Any:
        return self._pandas.Series(elements, copy=False)

    def _places(self, rows: Rows) -> Any:
        return rows.astype(np.intp, copy=False), bool(rows.min(initial=0) < 0)

    def _picked(self, table: Any, name: Any, places: Any) -> Any:
        column, series = table[name], self._pandas.Series
        is_numpy = isinstance(column.dtype, np.dtype)
        values = column.to_numpy() if is_numpy else column.array
        if places is None:
            made = values.copy()
        else:
            # With a hole, integers of NumPy become floats and bools objects, as in pandas' own joins.
            rows, has_holes = places
            take = self._pandas.api.extensions.take
            made = take(values, rows, allow_fill=has_holes) if is_numpy else values.take(rows, allow_fill=has_holes)
        # Without a dtype, objects might be taken for strings.
        return series(made, dtype=made.dtype, copy=False) if is_numpy else series(made)

    def append(self, first: Any, second: Any) -> Any:
        return self._pandas.concat([first, second], ignore_index=True)

    def again(self, column: Any, rows: Rows) -> Any:
        return column.take(rows).reset_index(drop=True)

    def column(self, array: Any, table: Any, name: Any, exact: bool) -> Any:
        pandas, made = self._pandas, array.to_pandas()
        if name is None:
            return made
        dtype = table[name].dtype
        if exact and array.null_count and hasattr(dtype, "__from_arrow__"):
            return pandas.Series(dtype.__from_arrow__(array))  # without a way through floats
        if exact:
            return made.astype(dtype)
        if isinstance(dtype, pandas.ArrowDtype):
            return pandas.Series(array, dtype=pandas.ArrowDtype(array.type))
        if hasattr(dtype, "numpy_dtype"):  # a nullable one of pandas
            nullable = {"int64": "Int64", "uint64": "UInt64", "double": "Float64"}[str(array.type)]
            return made.astype(nullable)
        return made

    def build(self, columns: Mapping[Any, Any]) -> Any:
        return self._pandas.DataFrame(dict(columns), copy=False)
