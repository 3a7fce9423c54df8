"""Rows of Arrow tables by their numbers, also of the types that pyarrow's take does not know."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


def _taken_as(type_: Any) -> Any:
    """The type that stands for one in pyarrow's take; None: itself."""
    types = pa.types
    if getattr(types, "is_string_view", lambda _: False)(type_):
        return pa.large_string()
    if getattr(types, "is_binary_view", lambda _: False)(type_):
        return pa.large_binary()
    return None


def take_column(column: Any, rows: NDArray[Any], holes: bool = False) -> Any:
    """These elements of an array or a chunked array; with `holes`, row -1 is null."""
    indices = pa.array(rows, mask=rows < 0) if holes else pa.array(rows)
    if pa.types.is_run_end_encoded(column.type):
        return pc.run_end_encode(_each(column, pc.run_end_decode).take(indices), column.type.run_end_type)
    stand_in = _taken_as(column.type)
    return column.take(indices) if stand_in is None else column.cast(stand_in).take(indices).cast(column.type)


def _each(column: Any, function: Any) -> Any:
    return (
        pa.chunked_array([function(each) for each in column.chunks]) if hasattr(column, "chunks") else function(column)
    )


def take_rows(table: Any, rows: NDArray[Any]) -> Any:
    """These rows of a Table or a RecordBatch."""
    types = [field.type for field in table.schema]
    if not any(_taken_as(type_) or pa.types.is_run_end_encoded(type_) for type_ in types):
        return table.take(pa.array(rows))
    columns = [take_column(column, rows) for column in table.columns]
    return type(table).from_arrays(columns, schema=table.schema)
