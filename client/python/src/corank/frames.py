"""Adds `frame.corank` to DataFrames of pandas and polars.

    import corank.frames

    frame.corank.sort(["day", "name"])

Importing this module imports pandas and polars, where they are installed, and registers the attribute with them.
Nothing else in the package does.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import corank
from corank._client import Client

if TYPE_CHECKING:
    from corank._table_groups import TableGroups

__all__ = ["FrameAccessor"]


class FrameAccessor:
    """The operators of a client on one frame. They take the options of the client's methods.

    The calls go to the client that the functions of the module `corank` share.
    """

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self._client: Client | None = None

    def on(self, client: Client) -> FrameAccessor:
        """The same operators by a client of yours.

        Args:
            client: the client.

        Raises:
            TypeError: it is none.
        """
        if not hasattr(client, "sort_by"):
            raise TypeError(
                f"client: is of type {type(client).__name__}; pass a client, such as corank.connect(address)"
            )
        made = FrameAccessor(self._frame)
        made._client = client
        return made

    @property
    def _calls(self) -> Any:
        return corank if self._client is None else self._client

    def sort(self, keys: str | Sequence[str], **options: Any) -> Any:
        """Sorts the rows; see `corank.Client.sort_by`.

        Args:
            keys: the column or columns to compare.
            **options: the other arguments of `sort_by`.
        """
        return self._calls.sort_by(self._frame, keys, **options)

    def argsort(self, keys: str | Sequence[str], **options: Any) -> NDArray[np.intp]:
        """Finds the order of the rows; see `corank.Client.argsort_by`.

        Args:
            keys: the column or columns to compare.
            **options: the other arguments of `argsort_by`.
        """
        found: NDArray[np.intp] = self._calls.argsort_by(self._frame, keys, **options)
        return found

    def top_k(self, k: int, keys: str | Sequence[str], **options: Any) -> Any:
        """Finds the rows with the greatest keys; see `corank.Client.top_k`.

        Args:
            k: how many rows to return, at most.
            keys: the column or columns to compare.
            **options: the other arguments of `top_k`.
        """
        return self._calls.top_k(self._frame, k, keys, **options)

    def merge(self, others: Any, keys: str | Sequence[str], **options: Any) -> Any:
        """Merges sorted frames into one, this one first; see `corank.Client.merge_by`.

        Args:
            others: the other frame, or a list of several.
            keys: the column or columns to compare.
            **options: the other arguments of `merge_by`.
        """
        more = list(others) if isinstance(others, (list, tuple)) else [others]
        return self._calls.merge_by([self._frame, *more], keys, **options)

    def join(self, right: Any, on: str | Sequence[str] | None = None, **options: Any) -> Any:
        """Joins another frame by equal keys; see `corank.Client.join_by`.

        Args:
            right: the other frame.
            on: the key column or columns.
            **options: the other arguments of `join_by`.
        """
        return self._calls.join_by(self._frame, right, on, **options)

    def group(self, keys: str | Sequence[str], **options: Any) -> TableGroups[Any]:
        """Groups the rows by equal keys; see `corank.Client.group_by`.

        Args:
            keys: the column or columns that make a group.
            **options: the other arguments of `group_by`.
        """
        found: TableGroups[Any] = self._calls.group_by(self._frame, keys, **options)
        return found


def _register() -> None:
    for name, folder, function in (
        ("pandas", "pandas.api.extensions", "register_dataframe_accessor"),
        ("polars", "polars.api", "register_dataframe_namespace"),
    ):
        try:
            importlib.import_module(name)
        except ImportError:
            continue
        getattr(importlib.import_module(folder), function)("corank")(FrameAccessor)


_register()
