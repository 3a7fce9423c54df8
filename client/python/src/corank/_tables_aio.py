"""The operators on tables for asyncio: each runs in a thread of the client."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Coroutine, Sequence
from typing import Any, Callable, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from corank._client import Client

T = TypeVar("T")
R = TypeVar("R")


class AsyncTableGroups(Generic[T]):
    """Rows of a table with equal keys, whose methods are to be awaited; made by `group_by`."""

    def __init__(self, run: Callable[[Callable[[Any], Any]], Coroutine[Any, Any, Any]]) -> None:
        self._run = run

    async def agg(self, *reduced: Any, **named: Any) -> T:
        """Reduces each group to one row; see `TableGroups.agg`.

        Args:
            *reduced: pairs (column, function), or "count".
            **named: the same, with the name of the result.
        """
        found: T = await self._run(lambda groups: groups.agg(*reduced, **named))
        return found

    async def firsts(self) -> T:
        """The first row of each group, in the order of the keys."""
        found: T = await self._run(lambda groups: groups.firsts())
        return found


class AsyncTableOperators(ABC):
    """Sorts, merges, joins and groups of tables; arguments and results are those of `corank.Client`."""

    _client: Client

    @abstractmethod
    async def _in_thread(self, work: Callable[[], R]) -> R:
        """Does `work` in a thread."""

    async def sort_by(self, table: T, keys: str | Sequence[str], **options: Any) -> T:
        """Sorts the rows of a table; see `corank.Client.sort_by`.

        Args:
            table: a table of pandas, polars or Arrow.
            keys: the column or columns to compare.
            **options: the other arguments of `corank.Client.sort_by`.
        """
        return await self._in_thread(lambda: self._client.sort_by(table, keys, **options))

    async def argsort_by(self, table: Any, keys: str | Sequence[str], **options: Any) -> NDArray[np.intp]:
        """Finds the stable permutation that sorts the rows of a table; see `corank.Client.argsort_by`.

        Args:
            table: a table of pandas, polars or Arrow.
            keys: the column or columns to compare.
            **options: the other arguments of `corank.Client.argsort_by`.
        """
        return await self._in_thread(lambda: self._client.argsort_by(table, keys, **options))

    async def search_by(self, table: Any, needles: Any, keys: str | Sequence[str], **options: Any) -> NDArray[np.intp]:
        """Finds where rows belong in a sorted table; see `corank.Client.search_by`.

        Args:
            table: a sorted table of pandas, polars or Arrow.
            needles: a table with the same keys.
            keys: the column or columns to compare.
            **options: the other arguments of `corank.Client.search_by`.
        """
        return await self._in_thread(lambda: self._client.search_by(table, needles, keys, **options))

    async def top_k(self, table: T, k: int, keys: str | Sequence[str], **options: Any) -> T:
        """Finds the k rows with the greatest keys; see `corank.Client.top_k`.

        Args:
            table: a table of pandas, polars or Arrow.
            k: how many rows to return, at most.
            keys: the column or columns to compare.
            **options: the other arguments of `corank.Client.top_k`.
        """
        return await self._in_thread(lambda: self._client.top_k(table, k, keys, **options))

    async def merge_by(self, tables: Sequence[T], keys: str | Sequence[str], **options: Any) -> T:
        """Merges sorted tables into one; see `corank.Client.merge_by`.

        Args:
            tables: one table or more, each sorted.
            keys: the column or columns to compare.
            **options: the other arguments of `corank.Client.merge_by`.
        """
        return await self._in_thread(lambda: self._client.merge_by(tables, keys, **options))

    async def join_by(self, left: T, right: T, on: str | Sequence[str] | None = None, **options: Any) -> T:
        """Joins two tables by equal keys; see `corank.Client.join_by`.

        Args:
            left: a table of pandas, polars or Arrow.
            right: a table of the same library.
            on: the key column or columns.
            **options: the other arguments of `corank.Client.join_by`.
        """
        return await self._in_thread(lambda: self._client.join_by(left, right, on, **options))

    def group_by(self, table: T, keys: str | Sequence[str], **options: Any) -> AsyncTableGroups[T]:
        """Groups the rows of a table by equal keys, without waiting; see `corank.Client.group_by`.

        Args:
            table: a table of pandas, polars or Arrow.
            keys: the column or columns that make a group.
            **options: the other arguments of `corank.Client.group_by`.

        Returns:
            Groups, whose `agg` is to be awaited.
        """

        async def run(work: Callable[[Any], Any]) -> Any:
            return await self._in_thread(lambda: work(self._client.group_by(table, keys, **options)))

        return AsyncTableGroups(run)
