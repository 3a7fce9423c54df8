"""The operators of clients and chains, with the types of their arrays in the stub beside this file.

What a call returns depends on its arrays, on values=, out= and keep=. The overloads that say so to type checkers would
hide the operators' code and help, so they are in _typed.pyi.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from corank._column_ranks import ColumnRankOperators
from corank._column_search import ColumnSearchOperators
from corank._groups import GroupOperators
from corank._intervals import IntervalOperators
from corank._join import JoinOperators
from corank._key_ranks import KeyRankOperators
from corank._ordered import OrderedOperators
from corank._select import SelectOperators
from corank._sets import SetOperators
from corank._sorted_columns import ColumnOperators


class ArrayOperators(
    OrderedOperators[NDArray[Any]],
    ColumnRankOperators[NDArray[Any]],
    ColumnSearchOperators[NDArray[Any]],
    ColumnOperators[NDArray[Any]],
    GroupOperators[NDArray[Any]],
    SetOperators[NDArray[Any]],
    JoinOperators[NDArray[Any]],
    SelectOperators[NDArray[Any]],
    KeyRankOperators[NDArray[Any]],
    IntervalOperators[NDArray[Any]],
):
    """Operators that return arrays."""


class PendingOperators(
    OrderedOperators[Any],
    ColumnRankOperators[Any],
    ColumnSearchOperators[Any],
    GroupOperators[Any],
    SetOperators[Any],
    JoinOperators[Any],
    SelectOperators[Any],
    KeyRankOperators[Any],
    IntervalOperators[Any],
):
    """Operators that return Pendings."""
