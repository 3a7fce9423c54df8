"""The operators of asyncio clients; generate.py makes their types of those in _typed.pyi."""

from __future__ import annotations

from typing import Any

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


class AsyncOperators(
    OrderedOperators[Any],
    ColumnRankOperators[Any],
    ColumnSearchOperators[Any],
    ColumnOperators[Any],
    GroupOperators[Any],
    SetOperators[Any],
    JoinOperators[Any],
    SelectOperators[Any],
    KeyRankOperators[Any],
    IntervalOperators[Any],
):
    """Operators that return arrays to `await`."""
