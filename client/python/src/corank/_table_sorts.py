"""Sorts and merges of tables: the server orders the keys, and this process takes the rows in that order."""

from __future__ import annotations

import functools
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corank._address import is_this_host, may_be_several
from corank._column_names import check_columns, listed
from corank._elements import flag, whole
from corank._errors import CorankError, InvalidArgument
from corank._frames import Library, Rows
from corank._key_columns import NANS, Order, kind_of, one_array
from corank._key_tables import key_table, of_one_schema
from corank._options import InfoOptions
from corank._table_libraries import library_of
from corank._table_order import direct_key, merge_order, search_rows, sort_order
from corank._typed import ArrayOperators

MANY_ROWS = 1 << 20
"""Sorts of fewer rows are not worth the question which engine the server has."""
_PLACES = ("first", "last")
_NOT_FROM_GPU = (
    *("INVALID_ARGUMENT", "UNIMPLEMENTED", "FAILED_PRECONDITION", "NOT_FOUND", "PERMISSION_DENIED"),
    "RESOURCE_EXHAUSTED",
)
"""How a sort fails if its memory cannot be shared, or the server does not take this handle: a copy may travel."""


class _Calls:
    """A client whose operators have the options of one table operation, and its deadline all together."""

    def __init__(self, client: Any, options: Mapping[str, Any]) -> None:
        self._client, self._options = client, dict(options)
        deadline = options.get("deadline")
        is_number = isinstance(deadline, (int, float)) and not isinstance(deadline, bool) and deadline > 0
        self._end = time.monotonic() + float(cast(float, deadline)) if is_number else None

    @property
    def _now(self) -> dict[str, Any]:
        """The options of the next call. Its deadline is the time that the table call has left."""
        if self._end is None:
            return self._options
        return {**self._options, "deadline": max(self._end - time.monotonic(), 1e-9)}  # 1 ns raises DeadlineExceeded

    @property
    def are_beside_gpu(self) -> bool:
        """Whether arrays go to a GPU of this host in shared memory. It may ask the server."""
        address = self._client.address
        if not is_this_host(address) or may_be_several(address):
            return False
        if self._options.get("place", "auto") not in ("auto", "shared_memory"):
            return False
        of_info = {name: given for name, given in self._now.items() if name in InfoOptions.__annotations__}
        info = self._client.info(**of_info)
        return info.engine == "cuda" and "shared_memory" in info.places

    def __getattr__(self, name: str) -> Any:
        return functools.partial(getattr(self._client, name), **self._now)


def calls_of(client: ArrayOperators, options: Mapping[str, Any]) -> ArrayOperators:
    """The client, with the options of one table operation for every call."""
    return cast(ArrayOperators, _Calls(client, options))


def names_of(argument: str, given: Any) -> list[Any]:
    """The columns that a caller named, one or several.

    Raises:
        InvalidArgument: there are none.
    """
    names = list(given) if isinstance(given, (list, tuple)) else [given]
    names = [name.item() if isinstance(name, (np.str_, np.integer)) else name for name in names]
    if not names:
        raise InvalidArgument(f"{argument}: is empty; name one column or more", field=argument)
    return names


def _of_each(option: str, given: Any, names: Sequence[Any]) -> tuple[Any, ...]:
    """An option of each key; one value is of all."""
    if isinstance(given, (str, bool, np.bool_)):
        return (given,) * len(names)
    if not isinstance(given, (list, tuple, np.ndarray)):
        raise TypeError(f"{option}: is of type {type(given).__name__}; pass one value, or a list of one for each key")
    if len(given) != len(names):
        raise InvalidArgument(f"{option}: {len(given)} values for {len(names)} keys", field=option)
    return tuple(given)


def _choice_of_each(option: str, given: Any, names: Sequence[Any], choices: Sequence[str]) -> tuple[Any, ...]:
    """An option of each key that has a few choices.

    Raises:
        InvalidArgument: it is none of them.
    """
    found = _of_each(option, given, names)
    for each in found:
        if each not in choices:
            raise InvalidArgument(f"{option}: {each!r} is none of {', '.join(map(repr, choices))}", field=option)
    return found


def order_by(library: Library, names: Sequence[Any], descending: Any, nulls: Any, nan: Any) -> Order:
    """The order of rows of a key table, with the library's own places of nulls and NaN where they are None.

    Raises:
        InvalidArgument: an option does not fit the keys, or is none of its choices.
    """
    directions = tuple(flag("descending", each) for each in _of_each("descending", descending, names))
    places = _choice_of_each("nulls", library.nulls if nulls is None else nulls, names, _PLACES)
    nans = _choice_of_each("nan", library.nan if nan is None else nan, names, NANS)
    keys = tuple(str(at) for at in range(len(names)))
    return Order(keys, directions, places, nans)


def argsort_by(
    client: ArrayOperators,
    table: Any,
    keys: Any,
    descending: Any,
    nulls: Any,
    nan: Any,
    limit: int | None,
    offset: int = 0,
) -> tuple[Library, Any, Rows]:
    """The rows in order as an array on the host, with the library of the table and the table that they are of."""
    asked = _asked(table, keys, descending, nulls, nan, limit, offset)
    rows: Any = _rows_in_order(client, asked)
    return asked.library, asked.table, rows if isinstance(rows, np.ndarray) else rows.get()  # CuPy's, of cuDF


class _Asked(NamedTuple):
    """A table to sort, and how."""

    library: Library
    table: Any
    keys: list[Any]
    order: Order
    limit: int | None
    offset: int


def _asked(table: Any, keys: Any, descending: Any, nulls: Any, nan: Any, limit: int | None, offset: int) -> _Asked:
    library, table = library_of("table", table)
    names = names_of("keys", keys)
    check_columns("keys", names, library.columns(table), library.levels(table))
    order = order_by(library, names, descending, nulls, nan)
    wanted = None if limit is None else whole("limit", limit)
    return _Asked(library, table, names, order, wanted, whole("offset", offset))


def _rows_in_order(client: ArrayOperators, asked: _Asked) -> Rows:
    library, table, names, order, limit, offset = asked
    rows = _order_on_gpu(client, asked)
    return sort_order(client, key_table(library, table, names), order, {}, limit, offset) if rows is None else rows


def _order_on_gpu(client: ArrayOperators, asked: _Asked) -> Any:
    """The rows in order as an array on the GPU, if the only key lies there; None: it has to come to the host."""
    library, table, names, order, limit, offset = asked
    keys = library.on_gpu(table, names[0]) if len(names) == 1 and library.count(table) and limit != 0 else None
    if keys is None or (keys.dtype.kind == "f" and order.nan[0] != "greatest"):
        return None
    try:
        return client.argsort(keys, descending=order.descending[0], limit=limit, offset=offset, index_dtype=None)
    except CorankError as error:
        if error.code in _NOT_FROM_GPU:
            return None
        raise


def travels(rows: int, others: int, limit: int | None) -> bool:
    """Whether whole rows may travel to a sort by one number and come back in order, rather than be taken here.

    Sort moves one array of values beside the keys. A GPU does so in about the time of the copies, while rows that are
    taken wait for memory, here as in the CPU engine.

    Args:
        rows: the number of rows.
        others: the number of columns of the result but the key.
        limit: how many rows are wanted; None: all.
    """
    return limit is None and rows >= MANY_ROWS and others <= 1


def _sorted_whole(client: ArrayOperators, asked: _Asked, chosen: Any) -> Any:
    """The chosen columns in order by one Sort of all of them; None: the rows have to be taken."""
    library, table, names, order, limit, offset = asked
    columns = library.columns(chosen)
    others = [name for name in columns if name != names[0]]
    if len(names) > 1 or offset > 0 or not travels(library.count(table), len(others), limit):
        return None
    if not library.has_numbers(table, names[0]) or not all(library.has_numbers(chosen, name) for name in others):
        return None
    if not cast(_Calls, client).are_beside_gpu:
        return None
    keys = direct_key(key_table(library, table, names), order)
    if keys is None:
        return None
    payload = library.numbers(chosen, others[0]) if others else None
    found: Any = client.sort(keys, values=payload, descending=order.descending[0])
    made = dict(zip([names[0], *others], found)) if others else {names[0]: found}
    return library.of_numbers(chosen, [made[name] for name in columns])


def search_by(
    client: ArrayOperators,
    table: Any,
    needles: Any,
    keys: Any,
    descending: Any,
    nulls: Any,
    nan: Any,
    side: Any,
    assume_sorted: Any,
) -> Rows:
    """Where the rows of one table belong in the other, which is sorted."""
    library, table = library_of("table", table)
    other, needles = library_of("needles", needles)
    names = names_of("keys", keys)
    check_columns("keys", names, library.columns(table), library.levels(table))
    check_columns("keys", names, other.columns(needles), other.levels(needles))
    order = order_by(library, names, descending, nulls, nan)
    for name in names:
        if library.categories(table, name) != other.categories(needles, name):
            text = f"needles: the categories of {name!r} are not those of the table, in their order; convert the column"
            raise InvalidArgument(text, field="needles")
    keys_of_table = key_table(library, table, names)
    sought = _cast_like(keys_of_table, key_table(other, needles, names), names)
    try:
        return search_rows(client, keys_of_table, sought, order, {}, side, flag("assume_sorted", assume_sorted))
    except InvalidArgument as error:
        if error.field != "haystack_columns":
            raise
        raise _not_sorted("table", names, error) from None


def _not_sorted(argument: str, names: Sequence[Any], error: InvalidArgument) -> InvalidArgument:
    """The error of a table that is not in the order that the caller promised."""
    text = f"{argument}: not sorted by {listed(names)}; sort_by({argument}, ...) in the same order first"
    made = InvalidArgument(text, field=argument, request_id=error.request_id)
    made.reason = error.reason
    return made


def _cast_like(keys: Any, needles: Any, names: Sequence[Any]) -> Any:
    """A key table with the types of another one.

    Raises:
        TypeError: a value would change.
    """
    columns = []
    for name, column, needle in zip(names, keys.columns, needles.columns):
        sought, type_ = one_array(needle), one_array(column.slice(0, 0)).type
        try:
            if kind_of(sought.type) not in (kind_of(type_), "null"):
                raise pa.ArrowInvalid("they do not compare")
            made = sought.cast(type_)
            # Arrow checks the other casts.
            if pa.types.is_floating(sought.type) and not pa.types.is_integer(type_):
                is_kept = pc.or_(pc.equal(made.cast(sought.type), sought), pc.is_nan(sought))
                if not pc.all(is_kept).as_py():
                    raise pa.ArrowInvalid("values would change")
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            types = f"{needle.type}, and the table's is {column.type}"
            raise TypeError(f"needles: key {name!r} is {types}: {error}") from None
        columns.append(made)
    return pa.Table.from_arrays(columns, names=keys.column_names)


def sort_by(
    client: ArrayOperators,
    table: Any,
    keys: Any,
    descending: Any,
    nulls: Any,
    nan: Any,
    limit: int | None,
    offset: int,
    columns: Any,
) -> Any:
    """The table in order."""
    asked = _asked(table, keys, descending, nulls, nan, limit, offset)
    chosen = selected(asked.library, asked.table, columns)
    found = _sorted_whole(client, asked, chosen)
    return asked.library.take(chosen, _rows_in_order(client, asked)) if found is None else found


def selected(library: Library, table: Any, columns: Any) -> Any:
    """The table of these columns; None: of all.

    Raises:
        InvalidArgument: a name is of no column.
    """
    if columns is None:
        return table
    names = names_of("columns", columns)
    check_columns("columns", names, library.columns(table))
    return library.select(table, names)


def merge_by(
    client: ArrayOperators,
    tables: Any,
    keys: Any,
    descending: Any,
    nulls: Any,
    nan: Any,
    columns: Any,
) -> Any:
    """All rows of sorted tables in order."""
    library, table, rows = merged_rows(client, tables, keys, descending, nulls, nan, columns)
    return library.take(table, rows)


def merged_rows(
    client: ArrayOperators,
    tables: Any,
    keys: Any,
    descending: Any,
    nulls: Any,
    nan: Any,
    columns: Any,
) -> tuple[Library, Any, Rows]:
    """The rows of sorted tables in order, with their library and the table of all rows that they are of."""
    if not isinstance(tables, (list, tuple)):
        raise TypeError(f"tables: is of type {type(tables).__name__}; pass a list of sorted tables")
    if not tables:
        raise InvalidArgument("tables: is empty; pass one sorted table or more", field="tables")
    found = [library_of(f"tables[{at}]", table) for at, table in enumerate(tables)]
    library = found[0][0]
    for at, (each, _) in enumerate(found):
        if each.name != library.name:
            raise TypeError(f"tables[{at}]: is a table of {each.name}, tables[0] is one of {library.name}")
    names = names_of("keys", keys)
    of_keys = []
    for at, (_, table) in enumerate(found):
        check_columns("keys", names, library.columns(table), library.levels(table), f" in tables[{at}]")
        try:
            of_keys.append(key_table(library, table, names))
        except TypeError as error:
            raise TypeError(f"tables[{at}]: {error}") from None
    library.check_orders([table for _, table in found], names)
    order = order_by(library, names, descending, nulls, nan)
    try:
        rows = merge_order(client, of_one_schema("tables", of_keys, names), order, {})
    except InvalidArgument as error:
        if not error.field.startswith("tables["):
            raise
        raise _not_sorted(error.field, names, error) from None
    return library, library.concat([selected(library, table, columns) for _, table in found]), rows
