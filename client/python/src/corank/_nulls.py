"""Key columns with nulls: what users pass, the bitmap that the server takes, and the way back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable, Literal, NamedTuple

import numpy as np
from numpy.ma import MaskedArray, getmaskarray
from numpy.typing import NDArray

from corank._elements import RemoteArray
from corank._errors import Internal, InvalidArgument
from corank._results import names
from corank.v1 import operators_pb2 as operators

NullOrder = Literal["last", "first"]
NanOrder = Literal["greatest", "beside_null", "null"]
NULL_ORDERS = names("NULL_ORDER_", operators.NullOrder)
NAN_ORDERS: dict[str, int] = {
    "greatest": operators.NAN_ORDER_GREATEST,
    "beside_null": operators.NAN_ORDER_BESIDE_NULLS,
    "null": operators.NAN_ORDER_AS_NULLS,
}

Validity = NDArray[np.uint8]
"""A bitmap as in Apache Arrow: bit i % 8 of byte i / 8, the least significant first, is 1 if row i is not null."""


class Nullable(NamedTuple):
    """A column with nulls.

    Examples:
        >>> client.sort_columns([corank.Nullable([3, 0, 1], [False, True, False])])
        [Nullable(values=array([1, 3, 0]), mask=array([False, False,  True]))]
    """

    values: Any
    """A column without nulls. Elements of null rows do not count, and come back with their rows."""
    mask: Any
    """bool, shape (n,): whether each row is null."""


NullForm = Callable[[Any, Validity], Any]
"""Makes a column in the form in which it was given, of its sorted values and their validity."""


def nulls_of(path: str, column: Any) -> tuple[Any, NDArray[np.bool_] | None, NullForm | None]:
    """A column without its nulls, the rows that are null (None: it can have none), and the way back.

    Raises:
        TypeError: its mask is none.
    """
    if isinstance(column, Nullable):
        mask = np.asarray(column.mask)
        if mask.ndim != 1 or (mask.size and mask.dtype != np.bool_):
            raise TypeError(f"{path}: a mask is a bool for each row, not {mask.dtype.name} of shape {mask.shape}")
        return column.values, mask.astype(np.bool_), lambda found, validity: Nullable(found, _mask(found, validity))
    if isinstance(column, MaskedArray):
        dtype = column.dtype

        def masked(found: Any, validity: Validity) -> Any:
            return MaskedArray(np.asarray(found, dtype), _mask(found, validity))

        return column.data, getmaskarray(column), masked
    if isinstance(column, (list, tuple)) and (first := _first_string(column)) is not None:
        empty = type(first)()
        mask = np.fromiter((each is None for each in column), np.bool_, len(column))
        return [empty if each is None else each for each in column], mask, _with_none
    return column, None, None


def _first_string(column: Sequence[Any]) -> str | bytes | None:
    """Of strings with None among them, the first that is not; of anything else, None."""
    if not any(each is None for each in column):
        return None
    first = next((each for each in column if each is not None), "")
    return first if isinstance(first, (str, bytes)) else None


def _with_none(found: Any, validity: Validity) -> Any:
    return [None if is_null else each for each, is_null in zip(found, _mask(found, validity).tolist())]


def validity_of(path: str, mask: NDArray[np.bool_], rows: int) -> Validity:
    """The bitmap of the rows that are not null.

    Raises:
        InvalidArgument: the mask has another number of rows.
    """
    if mask.size != rows:
        raise InvalidArgument(f"{path}: a mask of {mask.size} rows for {rows} values", field=f"{path}.validity.count")
    return np.packbits(~mask, bitorder="little")


def _mask(found: Any, validity: Any) -> Any:
    """The rows that are null; a handle of a kept validity as it is.

    Raises:
        Internal: the server's answer is not what it should be.
    """
    if isinstance(validity, RemoteArray):
        return validity
    rows = len(found)
    if validity.size != (rows + 7) // 8:
        raise Internal(f"the server answered a validity of {validity.size} bytes for {rows} rows")
    return np.unpackbits(validity, count=rows, bitorder="little") == 0
