"""Names of columns as callers give them: what is none is refused, with what to give instead."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from corank._errors import InvalidArgument


def listed(names: Iterable[Any]) -> str:
    """Names for a message."""
    return ", ".join(map(repr, names)) or "none"


def _advice(name: Any, columns: Sequence[Any], levels: Sequence[Any]) -> str:
    """What to give in place of a name that no column has."""
    if name in levels:
        return "a level of the index has this name; call reset_index() first"
    if columns and all(isinstance(each, tuple) for each in columns):
        return f"pass a list of names such as [{columns[0]!r}]"
    if isinstance(name, str):
        texts = [each for each in columns if isinstance(each, str)]
        same = [each for each in texts if each.casefold() == name.casefold()]
        close = same or difflib.get_close_matches(name, texts, n=1)
        if close:
            return f"did you mean {close[0]!r}?"
    if isinstance(name, tuple) and len(name) == 2 and name[1] in ("ascending", "descending"):
        return f"pass {name[0]!r}, and its direction by descending="
    return f"the columns are {listed(columns)}"


def _check_name(argument: str, name: Any, columns: Sequence[Any]) -> None:
    """Refuses what cannot be a column's name: arrays, expressions, functions, and collections but tuples."""
    kind = type(name).__name__
    is_array = hasattr(name, "__array__") and getattr(name, "ndim", True)
    if is_array and all(each in columns for each in np.asarray(name).ravel().tolist()):
        raise TypeError(f"{argument}: is of type {kind}; pass list(...) of it")
    if is_array or kind in ("Expr", "Expression"):
        raise TypeError(f"{argument}: is of type {kind}; add its values as a column, and pass the column's name")
    if callable(name) or not isinstance(name, Hashable) or hasattr(name, "__next__"):
        several = "" if argument == "agg" else ", or a list of names"
        raise TypeError(f"{argument}: is of type {kind}; pass the name of a column{several}")


def check_columns(
    argument: str, names: Sequence[Any], columns: Sequence[Any], levels: Sequence[Any] = (), of: str = ""
) -> None:
    """Refuses each name that no column has, or several columns have.

    Args:
        argument: what named them.
        names: the names.
        columns: the names of all columns.
        levels: the names of the levels of the index.
        of: the table, if there are several, as it ends "no column 'x'".

    Raises:
        InvalidArgument: a name is of no column, or of several, or is given twice.
        TypeError: it is an array, an expression, a function or a collection of names.
    """
    for at, name in enumerate(names):
        _check_name(argument, name, columns)
        found = sum(1 for each in columns if type(each) is type(name) and each == name)
        if found == 0:
            advice = _advice(name, columns, levels)
            raise InvalidArgument(f"{argument}: no column {name!r}{of}; {advice}", field=argument)
        if found > 1:
            text = f"{argument}: {found} columns{of} have the name {name!r}; rename them"
            raise InvalidArgument(text, field=argument)
        if name in names[:at]:
            raise InvalidArgument(f"{argument}: {name!r} is there twice", field=argument)
