"""The library of a table, by its type."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from corank._cudf_frames import CudfFrames
from corank._frames import ArrowTables, Library, PolarsFrames, line
from corank._pandas_frames import PandasFrames


def _is_frame(table: Any, library: str) -> bool:
    return any(
        base.__name__ == "DataFrame" and base.__module__.partition(".")[0] == library for base in type(table).__mro__
    )


def library_of(argument: str, table: Any) -> tuple[Library, Any]:
    """The library of a table, and the table; one that only gives a stream of Arrow becomes a pyarrow.Table.

    Raises:
        TypeError: it is no table.
    """
    if isinstance(table, (pa.Table, pa.RecordBatch)):
        return ArrowTables(), table
    if _is_frame(table, "pandas"):
        return PandasFrames(), table
    if _is_frame(table, "polars"):
        return PolarsFrames(), table
    if _is_frame(table, "cudf"):
        return CudfFrames(), table
    kind = type(table).__name__
    if kind == "LazyFrame":
        raise TypeError(f"{argument}: is a LazyFrame; pass frame.collect()")
    if hasattr(table, "__arrow_c_stream__") and kind not in ("Series", "ChunkedArray"):
        try:
            return ArrowTables(), pa.table(table)
        except pa.ArrowInvalid as error:
            raise TypeError(f"{argument}: its stream of Arrow is no table: {line(error)}") from None
    raise TypeError(
        f"{argument}: is of type {kind}; pass a table of pandas, polars, pyarrow or cuDF, or one that has "
        "__arrow_c_stream__"
    )
