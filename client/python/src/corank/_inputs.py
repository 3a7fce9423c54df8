"""What users pass as an array, as a NumPy array without loss; for everything else, advice on what to pass.

pandas, polars and pyarrow are not imported: an object of theirs says by its type what it is.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.ma import MaskedArray
from numpy.typing import NDArray

TABLES = ("DataFrame", "LazyFrame", "Table", "RecordBatch", "Dataset")


def array_of(field: str, given: Any) -> NDArray[Any]:
    """`given` as a NumPy array with the same elements.

    Raises:
        TypeError: it is no array, some of its elements are null, or NumPy would change them.
    """
    if isinstance(given, np.ndarray):
        if isinstance(given, MaskedArray):
            raise TypeError(f"{field}: masked arrays lose their mask; use `sort_columns`, or pass array.compressed()")
        return _checked(field, given)
    library = type(given).__module__.partition(".")[0]
    refuse(field, given)
    if library == "pandas":
        return _checked(field, _of_pandas(field, given))
    if library == "polars" and hasattr(given, "null_count"):
        _check_nulls(field, given, given.null_count(), "drop_nulls() or fill_null(value)")
        return _checked(field, given.to_numpy())
    if library == "pyarrow" and hasattr(given, "null_count"):
        _check_nulls(field, given, given.null_count, "drop_null() or fill_null(value)")
        is_chunked = type(given).__name__ == "ChunkedArray"
        return _checked(field, given.to_numpy() if is_chunked else given.to_numpy(zero_copy_only=False))
    out = np.asarray(given)
    if out.ndim == 0 and out.dtype.hasobject and not isinstance(given, int):
        raise TypeError(f"{field}: is of type {type(given).__name__}; pass an array or a list of numbers")
    is_list = isinstance(given, (list, tuple)) and out.size > 0
    if is_list and out.dtype.kind == "f" and all(isinstance(each, int) for each in given):
        raise TypeError(f"{field}: these integers fit no integer type, and float64 would change them")
    return _checked(field, out)


def refuse(field: str, given: Any) -> None:
    """Refuses what is no array, though NumPy would make one of it."""
    name = type(given).__name__
    if given is None:
        raise TypeError(f"{field}: is None; pass an array or a list of numbers")
    if isinstance(given, (str, bytes, os.PathLike)):
        raise TypeError(f"{field}: {given!r} is text, not an array; load a file first, as with np.load(path)")
    if isinstance(given, io.IOBase):
        raise TypeError(f"{field}: is an open file; load it first, as with np.load(file)")
    if name in TABLES:
        raise TypeError(
            f"{field}: is a {name}; pass one column, such as table['name'], several to sort_columns([...]), or the "
            "table to sort_by, merge_by, join_by or group_by"
        )
    if isinstance(given, Mapping):
        raise TypeError(f"{field}: is a {name}; pass an array, such as list(d.values())")
    if isinstance(given, (set, frozenset)) or (hasattr(given, "__next__") and not hasattr(given, "__len__")):
        raise TypeError(f"{field}: is a {name}; pass list(...) of it")


def _check_nulls(field: str, given: Any, nulls: int, advice: str) -> None:
    if nulls > 0:
        raise TypeError(
            f"{field}: {nulls:,} of {len(given):,} elements are null, which have no place in an order; use {advice}"
        )


def _of_pandas(field: str, given: Any) -> NDArray[Any]:
    """A Series, an Index or an array of pandas. NaN and NaT of NumPy's own types are values, not nulls."""
    dtype = getattr(given, "dtype", None)
    if dtype is None or isinstance(dtype, np.dtype):
        return np.asarray(given)
    _check_nulls(field, given, int(given.isna().sum()), "dropna() or fillna(value)")
    if getattr(dtype, "tz", None) is not None:
        raise TypeError(f"{field}: is of {dtype}; pass x.dt.tz_convert('UTC').dt.tz_localize(None)")
    numbers = getattr(dtype, "numpy_dtype", None)
    if numbers is not None and np.dtype(numbers).kind in "biufmM":
        return np.asarray(given.to_numpy(dtype=numbers))
    if type(dtype).__name__ == "CategoricalDtype":
        raise TypeError(f"{field}: is categorical; pass x.cat.codes, or x.astype(...) with the type of the categories")
    return np.asarray(given)


def _checked(field: str, out: NDArray[Any]) -> NDArray[Any]:
    """`out`, if its elements are no Python objects; strings become an array of NumPy's."""
    out = np.asarray(out)
    if not out.dtype.hasobject or out.ndim != 1:
        return out
    elements = out.tolist()
    if elements:
        if all(isinstance(each, str) for each in elements) or all(isinstance(each, bytes) for each in elements):
            made = np.array(elements)
            if made.tolist() == elements:
                return made
        for at, each in enumerate(elements):
            if each is None:
                raise TypeError(f"{field}[{at}]: is None, which has no place in an order; drop or fill such elements")
        if all(isinstance(each, int) for each in elements):
            raise TypeError(f"{field}: these integers fit no integer type of 64 bits")
        kind = type(elements[0]).__name__
        if kind in ("datetime", "date", "Timestamp"):
            raise TypeError(f"{field}: elements are Python objects ({kind}); pass np.array(x, 'datetime64[us]')")
        raise TypeError(f"{field}: elements are Python objects ({kind}); corank takes fixed-width numbers and records")
    raise TypeError(f"{field}: elements are Python objects; corank takes fixed-width numbers and records")
