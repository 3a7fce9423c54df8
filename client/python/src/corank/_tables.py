"""Operators on tables of pandas, polars, cuDF and Arrow. Arrow is loaded by the first call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from corank._options import TableOptions, options_of
from corank._typed import ArrayOperators

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from corank._table_groups import TableGroups

NullPlace = Literal["first", "last"]
JoinHow = Literal["inner", "left", "right", "full", "semi", "anti"]
NanPlace = Literal["beside_null", "null", "greatest"]
T = TypeVar("T")


class TableOperators:
    """Sorts, merges, joins and groups of tables; a chain does not take them.

    The server compares keys. Other columns do not travel, but for the one that `group_by` may have the server reduce.
    Each method may make several calls.
    """

    def _calls(self, options: TableOptions) -> ArrayOperators:
        """This client with the options of one table operation."""
        try:
            import pyarrow  # noqa: F401
        except ImportError as error:
            raise ImportError("tables need pyarrow 20 or newer: pip install 'corank[tables]'") from error
        from corank._table_sorts import calls_of

        return calls_of(cast(ArrayOperators, self), cast("dict[str, Any]", options))

    @options_of(TableOptions)
    def sort_by(
        self,
        table: T,
        keys: str | Sequence[str],
        *,
        descending: bool | Sequence[bool] = False,
        nulls: NullPlace | Sequence[NullPlace] | None = None,
        nan: NanPlace | Sequence[NanPlace] | None = None,
        limit: int | None = None,
        offset: int = 0,
        columns: str | Sequence[str] | None = None,
        **options: Unpack[TableOptions],
    ) -> T:
        """Sorts the rows of a table by one or more columns. Stable in both directions.

        Without nulls= and nan=, the result is that of the table's own library: `sort_values(kind="stable")` of pandas,
        `sort(maintain_order=True)` of polars, `sort_by` of pyarrow. Strings compare byte by byte, as code points do;
        ordered categories as their library orders them.

        Args:
            table: a DataFrame of pandas, polars or cuDF, a Table or RecordBatch of pyarrow, or anything that has
                `__arrow_c_stream__`.
            keys: the column or columns to compare, the most significant first: any number of numbers, bools, decimals,
                dates, times, strings, binaries, and dictionaries of these.
            descending: greatest first, in all keys or, as a sequence, in each.
            nulls: "first" or "last", for all keys or, as a sequence, for each, whatever the direction. None: "first"
                for polars, "last" for the others.
            nan: "null": NaN equals null; "beside_null": NaN comes between the numbers and the nulls; "greatest": NaN is
                greater than every number. For all keys or, as a sequence, for each. None: "null" for pandas,
                "beside_null" for pyarrow, "greatest" for polars and cuDF.
            limit: return only the first `limit` rows of the order.
            offset: leave out the first `offset` rows before `limit` counts.
            columns: return only these columns; None: all.
            **options: see CallOptions. The deadline limits all calls together.

        Returns:
            A table of the type of `table`; a pyarrow.Table for types that only have `__arrow_c_stream__`. Rows of
            pandas keep the labels of their index.

        Raises:
            InvalidArgument: a key is no column, or an option does not fit the keys.
            TypeError: `table` is no table, a key has no order, or an option is of another type.
            ImportError: pyarrow is missing.

        Examples:
            >>> import pyarrow
            >>> table = pyarrow.table({"day": [2, 1, None, 1], "name": ["d", "b", "a", "c"]})
            >>> client.sort_by(table, ["day", "name"], descending=[False, True])["name"].to_pylist()
            ['c', 'b', 'd', 'a']
        """
        calls = self._calls(options)
        from corank import _table_sorts as sorts

        return cast(T, sorts.sort_by(calls, table, keys, descending, nulls, nan, limit, offset, columns))

    @options_of(TableOptions)
    def argsort_by(
        self,
        table: Any,
        keys: str | Sequence[str],
        *,
        descending: bool | Sequence[bool] = False,
        nulls: NullPlace | Sequence[NullPlace] | None = None,
        nan: NanPlace | Sequence[NanPlace] | None = None,
        limit: int | None = None,
        offset: int = 0,
        **options: Unpack[TableOptions],
    ) -> NDArray[np.intp]:
        """Finds the stable permutation that sorts the rows of a table.

        Args:
            table: as for `sort_by`.
            keys: as for `sort_by`.
            descending: as for `sort_by`.
            nulls: as for `sort_by`.
            nan: as for `sort_by`.
            limit: return only the first `limit` rows of the order.
            offset: leave out the first `offset` rows before `limit` counts.
            **options: see CallOptions. The deadline limits all calls together.

        Returns:
            Row numbers from 0, whatever the index of pandas is: an array of NumPy, also for frames of cuDF.

        Examples:
            >>> import pyarrow
            >>> client.argsort_by(pyarrow.table({"day": [2, None, 1]}), "day")
            array([2, 0, 1])
        """
        calls = self._calls(options)
        from corank import _table_sorts as sorts

        return sorts.argsort_by(calls, table, keys, descending, nulls, nan, limit, offset)[2].astype(
            np.intp, copy=False
        )

    @options_of(TableOptions)
    def search_by(
        self,
        table: Any,
        needles: Any,
        keys: str | Sequence[str],
        *,
        side: Literal["left", "right"] = "left",
        descending: bool | Sequence[bool] = False,
        nulls: NullPlace | Sequence[NullPlace] | None = None,
        nan: NanPlace | Sequence[NanPlace] | None = None,
        assume_sorted: bool = False,
        **options: Unpack[TableOptions],
    ) -> NDArray[np.intp]:
        """Finds where the rows of a table belong in another one, which is sorted as by `sort_by`.

        Args:
            table: as for `sort_by`, sorted by the keys in the order of the options below.
            needles: a table that has the keys too, with rows in any order. Keys of another type are converted if no
                value changes by it.
            keys: as for `sort_by`.
            side: "left": the first position whose row does not come before the needle; "right": the first position
                whose row comes after it.
            descending: as for `sort_by`.
            nulls: as for `sort_by`.
            nan: as for `sort_by`.
            assume_sorted: skip the check that raises InvalidArgument for a table that is not sorted.
            **options: see CallOptions.

        Returns:
            Positions from 0 to the number of rows of the table, one for each row of the needles.

        Examples:
            >>> import pyarrow
            >>> days = pyarrow.table({"day": [1, 3, 3]})
            >>> client.search_by(days, pyarrow.table({"day": [3, 2]}), "day", side="right")
            array([3, 1])
        """
        calls = self._calls(options)
        from corank import _table_sorts as sorts

        return sorts.search_by(calls, table, needles, keys, descending, nulls, nan, side, assume_sorted)

    @options_of(TableOptions)
    def top_k(
        self,
        table: T,
        k: int,
        keys: str | Sequence[str],
        *,
        descending: bool | Sequence[bool] = True,
        nulls: NullPlace | Sequence[NullPlace] = "last",
        nan: NanPlace | Sequence[NanPlace] | None = None,
        columns: str | Sequence[str] | None = None,
        **options: Unpack[TableOptions],
    ) -> T:
        """Finds the k rows with the greatest keys, greatest first; of equal rows, the first ones.

        Args:
            table: as for `sort_by`.
            k: how many rows to return, at most; 0 or more.
            keys: as for `sort_by`.
            descending: False: the rows with the least keys, least first. A sequence has one value for each key.
            nulls: "last": rows with null keys are returned only if there are fewer than k others; "first": before all
                others.
            nan: as for `sort_by`.
            columns: return only these columns; None: all.
            **options: see CallOptions. The deadline limits all calls together.

        Returns:
            A table of the type of `table`, as `sort_by` returns it.

        Examples:
            >>> import pyarrow
            >>> client.top_k(pyarrow.table({"day": [2, None, 1, 3]}), 2, "day")["day"].to_pylist()
            [3, 2]
        """
        calls = self._calls(options)
        from corank import _table_sorts as sorts
        from corank._elements import whole

        return cast(T, sorts.sort_by(calls, table, keys, descending, nulls, nan, whole("k", k), 0, columns))

    @options_of(TableOptions)
    def merge_by(
        self,
        tables: Sequence[T],
        keys: str | Sequence[str],
        *,
        descending: bool | Sequence[bool] = False,
        nulls: NullPlace | Sequence[NullPlace] | None = None,
        nan: NanPlace | Sequence[NanPlace] | None = None,
        columns: str | Sequence[str] | None = None,
        **options: Unpack[TableOptions],
    ) -> T:
        """Merges sorted tables into one. Stable: rows of an earlier table come first among equals.

        Args:
            tables: one table or more of one library and with the same columns, each sorted in the order that the other
                arguments name.
            keys: as for `sort_by`.
            descending: as for `sort_by`.
            nulls: as for `sort_by`.
            nan: as for `sort_by`.
            columns: return only these columns; None: all.
            **options: see CallOptions. The deadline limits all calls together.

        Returns:
            A table of the type of `tables[0]`. Rows of pandas keep the labels of their index.

        Raises:
            InvalidArgument: a table is not sorted, or the columns differ.

        Examples:
            >>> import pyarrow
            >>> tables = [pyarrow.table({"day": days}) for days in ([1, 4], [2, 3, None])]
            >>> client.merge_by(tables, "day")["day"].to_pylist()
            [1, 2, 3, 4, None]
        """
        calls = self._calls(options)
        from corank import _table_sorts as sorts

        return cast(T, sorts.merge_by(calls, tables, keys, descending, nulls, nan, columns))

    @options_of(TableOptions)
    def join_by(
        self,
        left: T,
        right: T,
        on: str | Sequence[str] | None = None,
        *,
        left_on: str | Sequence[str] | None = None,
        right_on: str | Sequence[str] | None = None,
        how: JoinHow = "inner",
        suffix: str = "_right",
        nulls_equal: bool | None = None,
        **options: Unpack[TableOptions],
    ) -> T:
        """Joins two tables by equal keys.

        Args:
            left: as `table` for `sort_by`.
            right: a table of the same library.
            on: the key column or columns, if their names are the same on both sides.
            left_on: the keys of the left side, in place of `on`.
            right_on: the keys of the right side, as many.
            how: "inner": pairs of rows with equal keys; "left": also rows of the left without a match, with nulls for
                the right; "right": the reverse; "full": both; "semi": rows of the left that have a match, once each;
                "anti": rows of the left that have none.
            suffix: what the names of columns of the right get that are also names of the left.
            nulls_equal: whether null keys equal each other. None: True for pandas, False for polars and pyarrow. NaN
                equals NaN in all three; in pandas it is null.
            **options: see CallOptions. The deadline limits all calls together.

        Returns:
            A table of the type of `left`: its columns, and then the columns of the right but for the keys. Rows come in
            the order of the left and, for one row of it, in the order of the right; with "right" it is the reverse, and
            with "full" rows of the right without a match come last. A frame of pandas gets an index that counts from 0,
            and a RecordBatch becomes a pyarrow.Table; with "semi" and "anti" the one keeps its labels and the other its
            type.

        Raises:
            InvalidArgument: a key is no column, or two columns of the result would have one name.
            TypeError: keys are of types that do not compare.

        Examples:
            >>> import pyarrow
            >>> sales = pyarrow.table({"city": ["Oslo", "Voss", "Oslo"], "amount": [10, 20, 30]})
            >>> cities = pyarrow.table({"city": ["Bodø", "Oslo"], "county": ["Nordland", "Oslo"]})
            >>> client.join_by(sales, cities, "city").to_pylist()[1]
            {'city': 'Oslo', 'amount': 30, 'county': 'Oslo'}
        """
        calls = self._calls(options)
        from corank import _table_joins as joins

        return cast(T, joins.join_by(calls, left, right, on, left_on, right_on, how, suffix, nulls_equal))

    @options_of(TableOptions)
    def group_by(
        self,
        table: T,
        keys: str | Sequence[str],
        *,
        descending: bool | Sequence[bool] = False,
        nulls: NullPlace | Sequence[NullPlace] | None = None,
        nan: NanPlace | Sequence[NanPlace] | None = None,
        drop_nulls: bool | None = None,
        **options: Unpack[TableOptions],
    ) -> TableGroups[T]:
        """Groups the rows of a table by equal keys. The calls come with `agg` of what it returns.

        Args:
            table: as for `sort_by`.
            keys: as for `sort_by`. Null keys equal each other, and so do NaNs.
            descending: the order of the groups, as for `sort_by`.
            nulls: as for `sort_by`.
            nan: as for `sort_by`.
            drop_nulls: leave out rows with a null key. None: True for pandas, False for polars and pyarrow.
            **options: see CallOptions. The deadline limits all calls together.

        Returns:
            Groups, whose `agg` reduces each of them to a row.

        Examples:
            >>> import pyarrow
            >>> table = pyarrow.table({"city": ["Oslo", "Voss", "Oslo"], "amount": [10, 20, 30]})
            >>> client.group_by(table, "city").agg(("amount", "sum"), rows="count").to_pydict()
            {'city': ['Oslo', 'Voss'], 'amount_sum': [40, 20], 'rows': [2, 1]}
        """
        calls = self._calls(options)
        from corank import _table_groups as groups

        return groups.TableGroups(calls, table, keys, descending, nulls, nan, drop_nulls)
