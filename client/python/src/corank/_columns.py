"""Key columns: numbers, byte strings of one width, and strings of any length."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple, Union

import numpy as np
from numpy.typing import NDArray

from corank import _conversion as conversion
from corank._arrow_columns import ArrowColumn, arrow_column, is_arrow
from corank._conversion import Keys
from corank._elements import MAX_RECORD_BYTES, TYPES, Dlpack, OnGpu, RemoteArray, flag
from corank._errors import Internal, InvalidArgument
from corank._first_rows import ALL_ROWS, FirstRows
from corank._inputs import refuse
from corank._nulls import NAN_ORDERS, NULL_ORDERS, Nullable, NullForm, nulls_of, validity_of
from corank._options import choice
from corank._task import Output
from corank._wire import OutgoingArray, OutgoingMessage
from corank.v1 import array_pb2
from corank.v1 import operators_pb2 as operators

KeyColumn = Union[
    NDArray[Any],
    Nullable,
    Sequence[Union[bytes, None]],
    Sequence[Union[str, None]],
    Sequence[int],
    Sequence[float],
    RemoteArray,
    OnGpu,
    Dlpack,
]
"""The types of a column; see Client.sort_columns."""


class Text(NamedTuple):
    """An array of NumPy's strings as a column, and back."""

    column: Any
    dtype: np.dtype[Any]

    def restored(self, column: Any) -> Any:
        """The sorted column as the array was; handles of kept arrays as they are."""
        if isinstance(column, list):
            return np.array(column, self.dtype)
        if self.dtype.kind != "U" or not isinstance(column, np.ndarray):
            return column
        return column.view(self.dtype.newbyteorder(">")).astype(self.dtype)


class Column(NamedTuple):
    """A column on its way out, and the form in which it comes back."""

    part: OutgoingMessage
    outputs: list[Output]
    rows: int
    strings: type[bytes] | type[str] | None  # of a list of strings, what they are
    is_shifted: bool  # of dates and times; see Keys
    text: Text | None  # of an array of NumPy's strings
    null_form: NullForm | None  # of a column that may have nulls
    arrow: ArrowColumn | None = None


def _strings(path: str, strings: Sequence[Any], kind: type[Any]) -> list[OutgoingArray]:
    for at, string in enumerate(strings):
        if not isinstance(string, kind):
            raise TypeError(f"{path}[{at}]: {type(string).__name__} among {kind.__name__}")
    encoded = strings if kind is bytes else [string.encode() for string in strings]
    offsets = np.fromiter(accumulate(map(len, encoded), initial=0), np.dtype("<i8"), len(encoded) + 1)
    data = np.frombuffer(b"".join(encoded), np.uint8)
    return [
        conversion.outgoing("data", data, array_pb2.ELEMENT_TYPE_UINT8),
        conversion.outgoing("offsets", offsets, array_pb2.ELEMENT_TYPE_INT64),
    ]


def _fixed(path: str, column: Any) -> Keys:
    """A column whose elements have one width."""
    held = conversion.remote(column)
    if held is not None:
        strings = held._type == array_pb2.ELEMENT_TYPE_RECORD
        found = Keys(*conversion.values("data", held)) if strings else conversion.keys(path, held)
    elif column.dtype.kind == "S" or (column.dtype.kind == "V" and column.dtype.names is None):
        found = Keys(*conversion.values("data", column))
    else:
        found = conversion.keys(path, column)
    return found._replace(part=found.part._replace(field="data"))


def text_of(array: NDArray[Any]) -> Text | None:
    """An array of dtype "U" or "S" as a column that orders as NumPy does; None: it is another array.

    Code points as 4 big-endian bytes each order as strings do. Strings of more than 256 bytes travel as a list.
    """
    if array.dtype.kind not in "US":
        return None
    if array.dtype.itemsize > MAX_RECORD_BYTES:
        return Text(array.tolist(), array.dtype)
    if array.dtype.kind == "S":
        return Text(array, array.dtype)
    big = np.ascontiguousarray(array.astype(array.dtype.newbyteorder(">"), copy=False))
    return Text(big.view(f"V{big.dtype.itemsize}"), array.dtype.newbyteorder("="))


class Order(NamedTuple):
    """How rows compare in columns: in all of them, or in each."""

    descending: bool | Sequence[bool] = False
    nulls: Any = "last"
    nan: Any = "greatest"


def _of_each(field: str, option: str, given: Any, columns: int) -> list[Any]:
    """An option of each column.

    Raises:
        InvalidArgument: there are not as many as columns.
    """
    each = list(given) if isinstance(given, (list, tuple, np.ndarray)) else [given] * columns
    if len(each) != columns:
        raise InvalidArgument(f"{option}: {len(each)} for {columns} columns", field=field)
    return each


def columns_of(field: str, columns: Sequence[KeyColumn], order: Order, first: FirstRows = ALL_ROWS) -> list[Column]:
    """The columns of a request's field; `first`: the rows that it returns.

    Raises:
        TypeError: a column has no order that corank knows.
        InvalidArgument: there are no columns, or not as many directions or places of nulls.
    """
    refuse("columns", columns)
    if len(columns) == 0:
        raise InvalidArgument("columns: at least one is needed", field=field)

    def each_of(option: str, given: Any) -> list[Any]:
        return _of_each(field, option, given, len(columns))

    directions = [flag("descending", each) for each in each_of("descending", order.descending)]
    nulls = [choice("nulls", each, NULL_ORDERS) for each in each_of("nulls", order.nulls)]
    nans = [choice("nan", each, NAN_ORDERS) for each in each_of("nan", order.nan)]
    out = []
    for at, column in enumerate(columns):
        direction = operators.SORT_ORDER_DESCENDING if directions[at] else operators.SORT_ORDER_ASCENDING
        message = operators.KeyColumn(order=direction, nulls=nulls[at], nans=nans[at])
        out.append(_column(f"{field}[{at}]", column, message, first))
    return out


def columns_request(
    columns: Sequence[KeyColumn], order: Order, algorithm: Any, first: FirstRows = ALL_ROWS
) -> tuple[operators.SortRequest, list[Column]]:
    """A Sort request without its columns, and these.

    Raises:
        TypeError: a column has no order that corank knows.
        InvalidArgument: there are no columns, or not as many directions or places of nulls.
    """
    found = columns_of("key_columns", columns, order, first)
    return operators.SortRequest(algorithm=algorithm, limit=first.limit, offset=first.offset or None), found


def runs_parts(runs: Any) -> list[OutgoingArray]:
    """Where the sorted runs of rows begin and end, if the rows are such."""
    return [] if runs is None else [conversion.integers("run_offsets", runs)]


def _outputs(
    path: str, message: operators.KeyColumn, parts: Sequence[OutgoingArray], dtype: Any, rows: int, first: FirstRows
) -> list[Output]:
    """The outputs of a column's arrays."""
    count, most = first.count(rows), first.most(rows)
    has_strings = any(part.field == "offsets" for part in parts)

    def output(part: OutgoingArray, dtype: Any, count: int | None, most: int | None) -> Output:
        destination, type_ = f"{part.field}_destination", part.header.type
        return Output(f"{path}.{part.field}", message, destination, dtype, count, element_type=type_, most=most)

    outputs = []
    for part in parts:
        if part.field == "offsets":
            outputs.append(output(part, np.dtype("<i8"), None if count is None else count + 1, (most or 0) + 1))
        elif part.field == "validity":
            outputs.append(
                output(part, np.dtype(np.uint8), None if count is None else (count + 7) // 8, ((most or 0) + 7) // 8)
            )
        elif has_strings:
            # The answer decides which strings a limit leaves, and so how many bytes.
            outputs.append(output(part, dtype, part.header.count if count == rows else None, None))
        else:
            outputs.append(output(part, dtype, count, most))
    return outputs


def _column(path: str, given: KeyColumn, message: operators.KeyColumn, first: FirstRows) -> Column:
    if is_arrow(given):
        return _arrow_column(path, given, message, first)
    column, mask, null_form = nulls_of(path, given)
    kind = None
    if isinstance(column, (list, tuple)):
        kind = type(column[0]) if len(column) > 0 else str
    strings: type[bytes] | type[str] | None = kind if kind in (bytes, str) else None
    text, is_shifted = None, False
    if strings is None and conversion.remote(column) is None:
        column = conversion.one_dimensional(path, column)
        text = text_of(column)
        if text is not None and isinstance(text.column, list):
            strings = bytes if column.dtype.kind == "S" else str
        column = column if text is None else text.column
    if strings is not None:
        parts, dtype = _strings(path, list(column), strings), np.dtype(np.uint8)
    else:
        part, dtype, is_shifted = _fixed(path, column)
        parts = [part]
    if parts[-1].length is None:
        raise InvalidArgument(f"{path}: its number of rows is not known before the answer", field=path)
    rows = parts[-1].header.count - (strings is not None)
    if mask is not None:
        bitmap = validity_of(path, mask, rows)
        parts.append(conversion.outgoing("validity", bitmap, array_pb2.ELEMENT_TYPE_UINT8))
    outputs = _outputs(path, message, parts, dtype, rows, first)
    whole_part = OutgoingMessage(path.partition("[")[0], message, parts)
    return Column(whole_part, outputs, rows, strings, is_shifted, text, null_form)


def _arrow_column(path: str, given: Any, message: operators.KeyColumn, first: FirstRows) -> Column:
    found = arrow_column(path, given)
    bitmap, int64 = array_pb2.ELEMENT_TYPE_UINT8, array_pb2.ELEMENT_TYPE_INT64
    if found.data.dtype.kind == "V":
        data, dtype = conversion.values("data", found.data)
    else:
        dtype = found.data.dtype
        data = conversion.outgoing("data", found.data, TYPES[dtype.name])
    joined = found.joined
    rows = len(found.data) if found.offsets is None else len(found.offsets) - 1
    parts = [data if joined is None else data._replace(put=joined.put_bytes)]
    if found.offsets is not None:
        offsets = conversion.outgoing("offsets", found.offsets, int64)
        parts.append(offsets if joined is None else offsets._replace(put=joined.put_offsets))
    if found.validity is not None:
        parts.append(conversion.outgoing("validity", found.validity, bitmap))
    outputs = _outputs(path, message, parts, dtype, rows, first)
    whole_part = OutgoingMessage(path.partition("[")[0], message, parts)
    return Column(whole_part, outputs, rows, None, False, None, None, found)


def unpack(data: NDArray[Any], offsets: NDArray[Any], kind: type[bytes] | type[str]) -> list[bytes] | list[str]:
    """The strings of a sorted column: string i is data[offsets[i]:offsets[i + 1]].

    Raises:
        Internal: the server's answer is not what it should be.
    """
    ends, joined = offsets.tolist(), data.tobytes()
    if not ends or ends[0] != 0 or ends[-1] != len(joined) or any(a > b for a, b in zip(ends, ends[1:])):
        raise Internal("the server answered strings whose offsets are not those of their bytes")
    pieces = [joined[begin:end] for begin, end in zip(ends, ends[1:])]
    return pieces if kind is bytes else [piece.decode() for piece in pieces]


def sorted_columns(columns: Sequence[Column], results: Sequence[Any]) -> list[Any]:
    """The results of the columns' outputs, each in the form in which its column was given."""
    left = iter(results)
    return [_sorted_column(column, [next(left) for _ in column.outputs]) for column in columns]


def _sorted_column(column: Column, results: list[Any]) -> Any:
    if isinstance(results[0], RemoteArray):
        return results[0] if len(results) == 1 else tuple(results)
    if column.arrow is not None:
        return column.arrow.restored(results)
    found: Any = results[0]
    if column.strings is not None:
        found = unpack(found, results[1], column.strings)
    elif column.is_shifted:
        found = conversion.restored(found)
    if column.text is not None:
        found = column.text.restored(found)
    return found if column.null_form is None else column.null_form(found, results[-1])
