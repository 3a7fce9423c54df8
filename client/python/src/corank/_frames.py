"""Tables of polars and Arrow: their columns as Arrow arrays, and rows taken from them in their own form.

polars is not imported: a table of it says by its type what it is, and its module is loaded then.
"""

from __future__ import annotations

import functools
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corank._arrow_rows import decoded_runs, indices_of, take_column, take_rows, unified, with_one_dictionary
from corank._column_names import listed
from corank._cores import by_all_cores
from corank._errors import InvalidArgument
from corank._key_columns import Nan, Nulls, held_type, numbers_of, one_array
from corank._pieces import of_pieces
from corank._row_hashes import are_equal, row_hashes
from corank._taking import pooled, taken

Rows = NDArray[Any]
"""Row numbers, of any type of integers."""
_ROWS_OF_ONE_THREAD = 1 << 17
_ROWS_TO_HASH = 1 << 18
"""Rows that polars hashes at a time, which it divides among its threads."""
_JOINED_ROWS = 32
"""About so many rows polars copies into one chunk in the time that it takes one row, at random, from several chunks."""
_PLAIN_OF_POLARS = {"Float32", "Float64", *(f"{kind}{bits}" for kind in ("Int", "UInt") for bits in (8, 16, 32, 64))}


class Wanted(NamedTuple):
    """Rows of some columns of a table."""

    table: Any
    names: Sequence[Any]
    rows: Rows

    @property
    def are_all(self) -> bool:
        """Whether these are all rows of the table, in their order."""
        rows, last = self.rows, len(self.table) - 1
        if rows.size != last + 1:
            return False
        return last < 0 or bool(rows[0] == 0 and rows[-1] == last and (rows[1:] > rows[:-1]).all())


class Library(ABC):
    """What the tables of one library can do, and how that library sorts, joins and groups by itself."""

    name: str
    nulls: Nulls
    nan: Nan
    joins_nulls: bool
    """Whether null keys of a join equal each other."""
    groups_nulls: bool
    """Whether rows with a null key are a group."""
    sums_nothing = True
    """Whether the sum of no values is 0 rather than null."""
    edges_skip_nulls = True
    """Whether the first and the last value of a group are the first and the last that are not null."""

    @abstractmethod
    def columns(self, table: Any) -> list[Any]:
        """The names of the columns."""

    def levels(self, table: Any) -> Sequence[Any]:
        """The names of the levels of its index."""
        return ()

    def count(self, table: Any) -> int:
        """The number of rows."""
        return len(table)

    @abstractmethod
    def values(self, table: Any, name: Any) -> Any:
        """A column as an Arrow array."""

    def key(self, table: Any, name: Any, by_value: bool = False) -> Any:
        """A column as an Arrow array that sorts as the library sorts the column, or as its values do."""
        return self.values(table, name)

    def categories(self, table: Any, name: Any) -> list[Any] | None:
        """The values of a column in the order in which it sorts, if its type says them and `key` has their numbers."""
        return None

    def has_numbers(self, table: Any, name: Any) -> bool:
        """Whether a column is plain numbers without nulls, by its type: `of_numbers` makes the same of `numbers`."""
        return False

    def numbers(self, table: Any, name: Any) -> NDArray[Any]:
        """A column that `has_numbers` as NumPy's array."""
        return numbers_of(one_array(self.values(table, name)))

    def of_numbers(self, table: Any, columns: Sequence[NDArray[Any]]) -> Any:
        """A table like this one, whose columns hold what `numbers` made of such a table."""
        raise NotImplementedError

    def on_gpu(self, table: Any, name: Any) -> Any:
        """A column of numbers without nulls as an array on the GPU, where it lies; None: it does not."""
        return None

    def check_orders(self, tables: Sequence[Any], names: Sequence[Any]) -> None:  # noqa: B027
        """Refuses tables to merge whose keys are sorted in orders of their own.

        Raises:
            InvalidArgument: a column of two tables has different categories.
        """

    def _check_names(self, tables: Sequence[Any]) -> None:
        """Refuses tables to merge whose columns have other names or another order.

        Raises:
            InvalidArgument: it names the first of them.
        """
        names = self.columns(tables[0])
        for at, each in enumerate(tables):
            if self.columns(each) != names:
                text = f"tables[{at}]: has the columns {listed(self.columns(each))}, but tables[0] has {listed(names)}"
                raise InvalidArgument(text, field=f"tables[{at}]")

    @abstractmethod
    def select(self, table: Any, names: Sequence[Any]) -> Any:
        """The table of these columns."""

    @abstractmethod
    def take(self, table: Any, rows: Rows) -> Any:
        """The table of these rows."""

    @abstractmethod
    def concat(self, tables: Sequence[Any]) -> Any:
        """The rows of all tables, one after the other."""

    def pick(self, table: Any, name: Any, rows: Rows) -> Any:
        """These elements of a column; null for row -1."""
        return self.picked([Wanted(table, [name], rows)])[0]

    def picked(self, wanted: Sequence[Wanted]) -> list[Any]:
        """What `pick` makes of all names, one after the other, by several threads if there are many rows."""
        numbers = [self._numbers_picked(each) for each in wanted]
        rest = [
            each._replace(names=[name for name in each.names if name not in found])
            for each, found in zip(wanted, numbers)
        ]
        others = iter(self._others_picked(rest))
        return [
            found[name] if name in found else next(others)
            for each, found in zip(wanted, numbers)
            for name in each.names
        ]

    def _numbers_picked(self, wanted: Wanted) -> dict[Any, Any]:
        """What `pick` makes of those columns that are plain numbers, if all rows are there and there are many."""
        table, rows = wanted.table, wanted.rows
        if rows.size < _ROWS_OF_ONE_THREAD or wanted.are_all or rows.min() < 0:
            return {}
        plain = {name: array for name in wanted.names if (array := self._plain(table, name)) is not None}
        return dict(zip(plain, map(self._of_plain, taken(list(plain.values()), rows))))

    def _plain(self, table: Any, name: Any) -> NDArray[Any] | None:
        """A column of numbers without nulls as NumPy's array, of whose elements `_of_plain` makes a column."""
        return self.numbers(table, name) if self.has_numbers(table, name) else None

    @abstractmethod
    def _of_plain(self, elements: NDArray[Any]) -> Any:
        """What `pick` makes of a column that is `_plain`."""

    @abstractmethod
    def _others_picked(self, wanted: Sequence[Wanted]) -> list[Any]:
        """What `picked` makes of any columns, by the library itself."""

    def hashes(self, keys: Any, seed: int) -> NDArray[np.uint64]:
        """A number for each row of a key table. Equal rows of two tables of one schema have equal numbers.

        Others may have too, but for a seed that nobody can guess only by chance.
        """
        return row_hashes(keys, self.nan, seed)

    def are_equal(self, keys: Sequence[Any], rows: Sequence[Rows]) -> bool:
        """Whether these rows of two key tables of one schema are equal, one by one; nulls are, and NaNs."""
        return are_equal(keys, rows, self.nan)

    @abstractmethod
    def append(self, first: Any, second: Any) -> Any:
        """Two columns that `pick` made, one after the other."""

    @abstractmethod
    def again(self, column: Any, rows: Rows) -> Any:
        """These elements of a column that `pick` or `append` made."""

    @abstractmethod
    def column(self, array: Any, table: Any, name: Any, exact: bool) -> Any:
        """A column of an Arrow array that was made of column `name` of a table; None: of no column.

        With `exact`, it gets the type of that column.
        """

    @abstractmethod
    def build(self, columns: Mapping[Any, Any]) -> Any:
        """The table of these columns."""


class ByColumn(Library):
    """A library that takes rows of a column in one thread."""

    def _others_picked(self, wanted: Sequence[Wanted]) -> list[Any]:
        makers: list[Callable[[], Any]] = []
        for each in wanted:
            places = None if each.are_all else self._places(each.rows)
            makers += [functools.partial(self._picked, each.table, name, places) for name in each.names]
        if len(makers) < 2 or sum(each.rows.size * len(each.names) for each in wanted) < _ROWS_OF_ONE_THREAD:
            return [make() for make in makers]
        return by_all_cores(lambda make: make(), makers)

    @abstractmethod
    def _places(self, rows: Rows) -> Any:
        """Row numbers as `_picked` takes them."""

    @abstractmethod
    def _picked(self, table: Any, name: Any, places: Any) -> Any:
        """What `pick` makes of a column; without places, of all rows."""


class ArrowTables(ByColumn):
    name = "pyarrow"
    nulls: Nulls = "last"
    nan: Nan = "beside_null"
    joins_nulls = False
    groups_nulls = True
    sums_nothing = False

    def columns(self, table: Any) -> list[Any]:
        return list(table.schema.names)

    def count(self, table: Any) -> int:
        return int(table.num_rows)

    def values(self, table: Any, name: Any) -> Any:
        return decoded_runs(table.column(name))

    def has_numbers(self, table: Any, name: Any) -> bool:
        column = table.column(name)
        is_plain = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
        return is_plain and isinstance(table, pa.Table) and not column.null_count

    def of_numbers(self, table: Any, columns: Sequence[NDArray[Any]]) -> Any:
        return pa.Table.from_arrays(list(map(pa.array, columns)), schema=table.schema)

    def select(self, table: Any, names: Sequence[Any]) -> Any:
        return table.select(list(names))

    def take(self, table: Any, rows: Rows) -> Any:
        names = self.columns(table)
        if isinstance(table, pa.RecordBatch) or rows.size < _ROWS_OF_ONE_THREAD or len(set(names)) < len(names):
            return take_rows(table, rows)
        columns = self.picked([Wanted(table, names, rows)])
        fields = [field.with_type(column.type) for field, column in zip(table.schema, columns)]
        return pa.Table.from_arrays(columns, schema=pa.schema(fields, table.schema.metadata))

    def _of_plain(self, elements: NDArray[Any]) -> Any:
        return pa.chunked_array([pa.array(elements)])

    def concat(self, tables: Sequence[Any]) -> Any:
        self._check_names(tables)
        first = tables[0]
        for at, each in enumerate(tables):
            for ours, theirs in zip(each.schema, first.schema):
                if ours.type != theirs.type:
                    text = f"tables[{at}]: column {ours.name!r} is {ours.type}, that of tables[0] {theirs.type}"
                    raise InvalidArgument(f"{text}; cast one of them", field=f"tables[{at}]")
        as_tables = [each if isinstance(each, pa.Table) else pa.Table.from_batches([each]) for each in tables]
        try:
            found = with_one_dictionary(pa.concat_tables(as_tables))
        except pa.ArrowInvalid:  # some columns may not be null, others of these names may
            found = with_one_dictionary(pa.concat_tables(as_tables, promote_options="default"))
        if isinstance(first, pa.Table):
            return found
        batches = found.combine_chunks().to_batches()
        return batches[0] if batches else first

    def _places(self, rows: Rows) -> Any:
        return indices_of(rows)

    def _picked(self, table: Any, name: Any, places: Any) -> Any:
        found = table.column(name)
        found = found if isinstance(found, pa.ChunkedArray) else pa.chunked_array([found])
        return unified(found) if places is None else take_column(found, places)

    def append(self, first: Any, second: Any) -> Any:
        type_ = first.type
        if second.type != type_:
            schemas = [pa.schema([("key", held_type(each.type))]) for each in (first, second)]
            type_ = pa.unify_schemas(schemas, promote_options="permissive").field(0).type
        return pa.chunked_array([*first.cast(type_).chunks, *second.cast(type_).chunks], type_)

    def again(self, column: Any, rows: Rows) -> Any:
        return take_column(column, indices_of(rows))

    def column(self, array: Any, table: Any, name: Any, exact: bool) -> Any:
        return pa.chunked_array([array.cast(table.column(name).type) if exact else array])

    def build(self, columns: Mapping[Any, Any]) -> Any:
        return pa.table(dict(columns))


class PolarsFrames(Library):
    name = "polars"
    nulls: Nulls = "first"
    nan: Nan = "greatest"
    joins_nulls = False
    groups_nulls = True
    edges_skip_nulls = False

    def __init__(self) -> None:
        self._polars = sys.modules["polars"]

    def columns(self, table: Any) -> list[Any]:
        return list(table.columns)

    def values(self, table: Any, name: Any) -> Any:
        return arrow_of(name, table.get_column(name))

    def key(self, table: Any, name: Any, by_value: bool = False) -> Any:
        column, polars = table.get_column(name), self._polars
        if column.dtype in (polars.String, polars.Binary):
            return column.to_arrow(compat_level=polars.CompatLevel.newest())  # views, as they are in memory
        if self.has_numbers(table, name) and column.n_chunks() > 1:
            return one_array(pa.chunked_array([chunk.to_arrow() for chunk in column.get_chunks()]))
        is_physical = column.dtype == polars.Enum and not by_value
        return arrow_of(name, column.to_physical() if is_physical else column)

    def has_numbers(self, table: Any, name: Any) -> bool:
        column = table.get_column(name)
        return str(column.dtype) in _PLAIN_OF_POLARS and not column.null_count()

    def numbers(self, table: Any, name: Any) -> NDArray[Any]:
        return numbers_of(self.key(table, name))

    def of_numbers(self, table: Any, columns: Sequence[NDArray[Any]]) -> Any:
        return self.build(dict(zip(table.columns, map(self._of_plain, columns))))

    def _of_plain(self, elements: NDArray[Any]) -> Any:
        return self._polars.from_arrow(pa.array(elements))

    def categories(self, table: Any, name: Any) -> list[Any] | None:
        dtype = table.schema[name]
        return list(dtype.categories) if dtype == self._polars.Enum else None

    def select(self, table: Any, names: Sequence[Any]) -> Any:
        return table.select(list(names))

    def take(self, table: Any, rows: Rows) -> Any:
        names = self.columns(table)
        return self.build(dict(zip(names, self.picked([Wanted(table, names, rows)]))))

    def concat(self, tables: Sequence[Any]) -> Any:
        try:
            return self._polars.concat(list(tables), how="vertical")
        except (self._polars.exceptions.PolarsError, TypeError) as error:
            raise InvalidArgument(f"tables: their columns differ: {line(error)}", field="tables") from None

    def _others_picked(self, wanted: Sequence[Wanted]) -> list[Any]:
        made: list[Any] = []
        for each in wanted:
            columns = [each.table.get_column(name) for name in each.names]
            if columns and not each.are_all:
                frame = self._polars.DataFrame(columns)
                if each.rows.size * _JOINED_ROWS >= frame.height:
                    frame = frame.rechunk()
                # By all threads of polars, which gather() does not use.
                columns = frame[self._places(each.rows)].get_columns()
            made += columns
        return made

    def hashes(self, keys: Any, seed: int) -> NDArray[np.uint64]:
        if _has_decimals(keys):
            return super().hashes(keys, seed)
        # In pieces, because polars joins the hashes of its threads in one, into fresh pages.
        frame, found = self._polars.from_arrow(keys), pooled(keys.num_rows, np.uint64)

        def put(piece: slice) -> None:
            found[piece] = frame[piece].hash_rows(seed=seed).to_numpy()

        of_pieces(put, found.size, _ROWS_TO_HASH)
        return found

    def are_equal(self, keys: Sequence[Any], rows: Sequence[Rows]) -> bool:
        if _has_decimals(keys[0]):
            return super().are_equal(keys, rows)
        pairs = list(zip(*(self._polars.from_arrow(each).get_columns() for each in keys)))
        left_rows, right_rows = map(self._places, rows)

        def is_equal(piece: slice) -> bool:
            at, other = left_rows[piece], right_rows[piece]
            return all(left.gather(at).eq_missing(right.gather(other)).all() for left, right in pairs)

        return all(of_pieces(is_equal, rows[0].size))

    def _places(self, rows: Rows) -> Any:
        """Row numbers as polars wants them, unsigned and null for -1."""
        has_holes = rows.min(initial=0) < 0
        if rows.dtype.itemsize != 4:
            return self._polars.Series(rows).replace(-1, None) if has_holes else self._polars.Series(rows)
        if not has_holes:
            return self._polars.Series(rows.view(np.uint32))
        validity = pa.py_buffer(np.packbits(rows >= 0, bitorder="little"))
        return self._polars.from_arrow(pa.Array.from_buffers(pa.uint32(), rows.size, [validity, pa.py_buffer(rows)]))

    def append(self, first: Any, second: Any) -> Any:
        frames = [first.alias("key").to_frame(), second.alias("key").to_frame()]
        return self._polars.concat(frames, how="vertical_relaxed").get_column("key")

    def again(self, column: Any, rows: Rows) -> Any:
        return column.gather(rows)

    def column(self, array: Any, table: Any, name: Any, exact: bool) -> Any:
        made = self._polars.from_arrow(array)
        return made.cast(table.schema[name]) if exact else made

    def build(self, columns: Mapping[Any, Any]) -> Any:
        return self._polars.DataFrame([column.alias(name) for name, column in columns.items()])


def _has_decimals(keys: Any) -> bool:
    """Whether a key table has decimals, which polars does not take with more than 38 digits."""
    return any(pa.types.is_decimal(type_) for type_ in keys.schema.types)


def line(error: BaseException) -> str:
    """The first line of what an error says."""
    return str(error).strip().partition("\n")[0]


def arrow_of(name: Any, column: Any) -> Any:
    """A column of pandas or polars as an Arrow array; NaN of NumPy's floats stay NaN.

    Raises:
        TypeError: its elements are of no type of Arrow.
    """
    try:
        if hasattr(column, "to_arrow"):
            if str(column.dtype) == "Object":
                raise TypeError("its elements are Python objects")
            return column.to_arrow()
        if isinstance(column.dtype, np.dtype) and column.dtype.kind in "fiubmM":
            return pa.array(column.to_numpy())
        return pa.array(column, from_pandas=True)
    except (pa.ArrowException, TypeError, OverflowError, UnicodeError) as error:
        text = f"column {name!r} is of {column.dtype}, which Arrow cannot hold: {line(error)}; convert it first"
        raise TypeError(text) from None
