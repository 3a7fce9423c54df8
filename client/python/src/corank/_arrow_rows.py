"""Rows of Arrow tables by their numbers, also of columns that pyarrow's take does not know or that are too long for it.

pyarrow takes from one array, whose strings have 2 GiB at most unless their offsets have 64 bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

NARROW_BYTES = 1 << 30
"""Strings of more bytes than these are taken with offsets of 64 bits."""


def _stand_in(column: Any, count: int) -> Any:
    """The type that stands for the column's in pyarrow's take of so many rows; None: itself."""
    types, type_ = pa.types, column.type
    if types.is_string_view(type_):
        return pa.large_string()
    if types.is_binary_view(type_):
        return pa.large_binary()
    if types.is_run_end_encoded(type_):
        return type_.value_type
    if isinstance(column, pa.ChunkedArray) and (types.is_string(type_) or types.is_binary(type_)):
        nbytes = column.nbytes * max(1.0, count / max(1, len(column)))
        if nbytes > NARROW_BYTES:
            return pa.large_string() if types.is_string(type_) else pa.large_binary()
    return None


def decoded_runs(column: Any) -> Any:
    """A column with an element for each row: of a run-end encoded one, its values; any other as it is."""
    if not pa.types.is_run_end_encoded(column.type):
        return column
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([pc.run_end_decode(chunk) for chunk in column.chunks], column.type.value_type)
    return pc.run_end_decode(column)


def _pieces(array: Any) -> Iterator[Any]:
    """An array in pieces that narrow offsets can count."""
    if array.nbytes <= NARROW_BYTES or len(array) < 2:
        yield array
    else:
        yield from _pieces(array.slice(0, len(array) // 2))
        yield from _pieces(array.slice(len(array) // 2))


def _restored(taken: Any, type_: Any) -> Any:
    """What was taken of a stand-in, in the type that it stood for."""
    if pa.types.is_run_end_encoded(type_):
        return pc.run_end_encode(taken, type_.run_end_type)
    if isinstance(taken, pa.ChunkedArray):
        return pa.chunked_array([piece.cast(type_) for chunk in taken.chunks for piece in _pieces(chunk)], type_)
    return taken.cast(type_)


def unified(column: Any) -> Any:
    """A chunked array whose dictionaries, if it has any, become one; nulls among their values become null indices.

    Dictionaries whose values together exceed the indices' type become one with indices of 32 bits.
    """
    type_ = column.type
    if not pa.types.is_dictionary(type_):
        return column
    if any(chunk.dictionary.null_count for chunk in column.chunks):  # which pyarrow does not unify
        column = pa.chunked_array([_without_null_values(chunk) for chunk in column.chunks], type_)
    try:
        return column.unify_dictionaries()
    except pa.ArrowNotImplementedError:  # of values that have parts
        return column
    except pa.ArrowInvalid:
        return column.cast(pa.dictionary(pa.int32(), type_.value_type, type_.ordered)).unify_dictionaries()


def with_one_dictionary(table: Any) -> Any:
    """The table, whose columns are `unified`."""
    columns = [unified(column) for column in table.columns]
    fields = [field.with_type(column.type) for field, column in zip(table.schema, columns)]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields, table.schema.metadata))


def _without_null_values(array: Any) -> Any:
    """A dictionary array whose nulls are all in its indices."""
    values, type_ = array.dictionary, array.type
    is_null = np.asarray(values.is_null())
    moved = pa.array(np.cumsum(~is_null) - 1, mask=is_null).cast(type_.index_type)
    return pa.DictionaryArray.from_arrays(moved.take(array.indices), values.drop_null(), ordered=type_.ordered)


def indices_of(rows: NDArray[Any]) -> Any:
    """Row numbers as an array of Arrow, null for -1."""
    return pa.array(rows, mask=rows < 0) if rows.min(initial=0) < 0 else pa.array(rows)


def take_column(column: Any, indices: Any) -> Any:
    """These elements of an array or a chunked array, whose dictionaries become one."""
    stand_in = _stand_in(column, len(indices))
    if stand_in is not None:
        return _restored(decoded_runs(column).cast(stand_in).take(indices), column.type)
    return (unified(column) if isinstance(column, pa.ChunkedArray) else column).take(indices)


def take_rows(table: Any, rows: NDArray[Any]) -> Any:
    """These rows of a Table or a RecordBatch."""
    is_plain = all(_stand_in(column, rows.size) is None for column in table.columns)
    if is_plain and not any(pa.types.is_dictionary(type_) for type_ in table.schema.types):
        return table.take(pa.array(rows))
    indices = pa.array(rows)
    columns = [take_column(column, indices) for column in table.columns]
    fields = [field.with_type(column.type) for field, column in zip(table.schema, columns)]
    return type(table).from_arrays(columns, schema=pa.schema(fields, table.schema.metadata))
