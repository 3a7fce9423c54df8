"""The module `cudf`, as far as corank uses it: frames on the fake GPU, whose columns are arrays of Arrow."""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from fake_cuda import CupyArray, FakeDriver


class Series:
    """A column."""

    def __init__(self, array: Any, driver: FakeDriver) -> None:
        self._array, self._driver = array, driver

    @property
    def dtype(self) -> Any:
        """NumPy's for numbers."""
        type_ = self._array.type
        is_number = pa.types.is_integer(type_) or pa.types.is_floating(type_)
        return np.dtype(type_.to_pandas_dtype()) if is_number else type_

    @property
    def has_nulls(self) -> bool:
        """Whether an element is null."""
        return bool(self._array.null_count)

    @property
    def values(self) -> CupyArray:
        """The numbers where they are."""
        made = CupyArray(self._driver.allocate(self._array.nbytes), self.dtype, 0, len(self._array))
        made.host[:] = self._array.to_numpy()
        return made

    def to_arrow(self) -> Any:
        """A copy on the host."""
        return self._array


class DataFrame:
    """A table with labels of its rows."""

    __module__ = "cudf.double"
    driver: FakeDriver

    def __init__(self, table: Any, labels: Sequence[int] | None = None) -> None:
        self._table = table
        self.labels = list(range(table.num_rows)) if labels is None else list(labels)
        self.index = types.SimpleNamespace(names=[None])
        self.columns: Sequence[Any] = list(table.column_names)

    @classmethod
    def from_arrow(cls, table: Any) -> DataFrame:
        """A frame of a table on the host."""
        return cls(table)

    def to_arrow(self) -> Any:
        """A copy on the host."""
        return self._table.rename_columns(list(map(str, self.columns)))

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The same for other libraries."""
        return self.to_arrow().__arrow_c_stream__()

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __getitem__(self, name: Any) -> Any:
        if isinstance(name, list):
            made = DataFrame(self._table.select([list(self.columns).index(each) for each in name]), self.labels)
            made.columns = name
            return made
        return Series(self._table.column(list(self.columns).index(name)).combine_chunks(), self.driver)

    def _rows(self, rows: Any) -> DataFrame:
        made = DataFrame(self._table.take(pa.array(rows)), [self.labels[int(row)] for row in rows])
        made.columns = self.columns
        return made

    def take(self, indices: Any) -> DataFrame:
        """These rows, of numbers on the host or on the GPU."""
        return self._rows(indices.host if isinstance(indices, CupyArray) else np.asarray(indices))

    def head(self, n: int) -> DataFrame:
        """The first rows."""
        return self._rows(np.arange(min(n, len(self))))


def cudf(driver: FakeDriver) -> types.ModuleType:
    """The module, on this GPU."""
    module = types.ModuleType("cudf")
    DataFrame.driver = driver

    def concat(frames: Sequence[DataFrame]) -> DataFrame:
        made = DataFrame(
            pa.concat_tables([each.to_arrow() for each in frames]), [label for each in frames for label in each.labels]
        )
        made.columns = frames[0].columns
        return made

    module.concat, module.DataFrame = concat, DataFrame  # type: ignore[attr-defined]
    return module
