"""Commands of a Flight gateway: JSON objects that name an operator on tables and its arguments."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from corank import _table_joins as joins
from corank import _table_sorts as sorts
from corank._arrow_rows import take_rows
from corank._client import Client
from corank._elements import whole
from corank._errors import InvalidArgument
from corank._flight_memory import table_name
from corank._table_groups import TableGroups

_ORDER = ("keys", "descending", "nulls", "nan")
_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "sort_by": (*_ORDER, "limit", "offset", "columns"),
    "top_k": (*_ORDER, "k", "columns"),
    "merge_by": (*_ORDER, "columns"),
    "join_by": ("on", "left_on", "right_on", "how", "suffix", "nulls_equal"),
    "group_by": (*_ORDER, "drop_nulls", "agg"),
}
_NEEDED = {"sort_by": ("keys",), "top_k": ("keys", "k"), "merge_by": ("keys",), "group_by": ("keys",)}
_TABLES = {"join_by": ("left", "right"), "merge_by": ("tables",)}
_OPTIONS = ("deadline", "priority")
MOST_BYTES = 64 << 10
"""The longest command."""


class Command(NamedTuple):
    """An operator with its arguments, and the kept tables that it names."""

    operator: str
    arguments: dict[str, Any]
    options: dict[str, Any]
    kept: dict[str, Any]
    """Names of kept tables by argument: "table", "left", "right", or a list for "tables"."""

    @property
    def streamed(self) -> str | None:
        """The argument that the caller streams; None: all tables are kept ones.

        Raises:
            InvalidArgument: a join has both tables to come.
        """
        if self.operator == "merge_by":
            return "tables"
        missing = [each for each in _TABLES.get(self.operator, ("table",)) if each not in self.kept]
        if len(missing) > 1:
            raise InvalidArgument(
                "left, right: one call streams one table; put the other first (DoPut), and name it here as 'left' or "
                "'right'",
                field="left",
            )
        return missing[0] if missing else None


def _close(name: str, names: Sequence[str]) -> str:
    found = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {found[0]!r}?" if found else f"there are {', '.join(map(repr, names))}"


def parse(text: bytes) -> Command:
    """A command.

    Raises:
        InvalidArgument: it is no JSON object, or has a member that the operator does not take.
    """
    if len(text) > MOST_BYTES:
        raise InvalidArgument(f"command: has {len(text):,} bytes; at most {MOST_BYTES:,} are allowed", field="command")
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(f"command: is no JSON: {error}", field="command") from None
    if not isinstance(given, dict):
        raise InvalidArgument('command: is no JSON object, such as {"operator": "sort_by", "keys": ["day"]}')
    operator = given.pop("operator", None)
    if not isinstance(operator, str) or operator not in _ARGUMENTS:
        advice = _close(str(operator), list(_ARGUMENTS))
        raise InvalidArgument(f"operator: {operator!r} is none; {advice}", field="operator")
    tables = _TABLES.get(operator, ("table",))
    known = (*_ARGUMENTS[operator], *_OPTIONS, *tables)
    for name in given:
        if name not in known:
            raise InvalidArgument(f"{name}: {operator} has no such argument; {_close(name, known)}", field=name)
    for name in _NEEDED.get(operator, ()):
        if name not in given:
            raise InvalidArgument(f"{name}: missing; {operator} needs it", field=name)
    kept = {name: _names(name, given.pop(name)) for name in tables if name in given}
    options = {name: given.pop(name) for name in _OPTIONS if given.get(name) is not None}
    return Command(operator, given, options, kept)


def _names(argument: str, given: Any) -> Any:
    if argument != "tables":
        return table_name(argument, given)
    if not isinstance(given, list):
        raise InvalidArgument("tables: is no list of names of kept tables", field="tables")
    return [table_name("tables", each) for each in given]


class Result(NamedTuple):
    """Rows that go back to the caller."""

    schema: Any
    rows: int
    take: Callable[[int, int], Any]
    """Makes the table of rows [begin, end)."""


def table_result(table: Any) -> Result:
    """A result that is there."""
    return Result(table.schema, table.num_rows, lambda begin, end: table.slice(begin, end - begin))


def run(client: Client, command: Command, tables: Mapping[str, Any], most_rows: int | None = None) -> Result:
    """What a command asks for.

    Args:
        client: the client of the caller.
        command: the command.
        tables: the tables of Arrow by argument, kept and streamed ones; a list for "tables".
        most_rows: the most rows that a join may have; None: any number.

    Raises:
        CorankError, TypeError: as the method of Client of this name.
    """
    given = command.arguments
    calls = sorts.calls_of(client, command.options)
    if command.operator == "join_by":
        how, suffix = given.get("how", "inner"), given.get("suffix", "_right")
        columns = (given.get("on"), given.get("left_on"), given.get("right_on"))
        left, right = tables["left"], tables["right"]
        return table_result(
            joins.join_by(calls, left, right, *columns, how, suffix, given.get("nulls_equal"), most_rows)
        )
    keys, descending, nulls, nan = (
        given.get("keys"),
        given.get("descending", False),
        given.get("nulls"),
        given.get("nan"),
    )
    if command.operator == "group_by":
        groups = TableGroups(calls, tables["table"], keys, descending, nulls, nan, given.get("drop_nulls"))
        agg = given.get("agg")
        if agg is None:
            return table_result(groups.firsts())
        if not isinstance(agg, dict):
            raise InvalidArgument(
                'agg: is no object, such as {"total": ["amount", "sum"], "rows": "count"}', field="agg"
            )
        return table_result(groups.agg(**agg))
    if command.operator == "merge_by":
        if not tables["tables"]:
            raise InvalidArgument("tables: there are none; stream one or more, or name kept ones", field="tables")
        _, table, rows = sorts.merged_rows(calls, tables["tables"], keys, descending, nulls, nan, given.get("columns"))
        return _taken(table, rows)
    limit = given.get("limit")
    if command.operator == "top_k":
        limit = whole("k", given["k"])
        descending, nulls = given.get("descending", True), given.get("nulls", "last")
    library, table, rows = sorts.argsort_by(
        calls, tables["table"], keys, descending, nulls, nan, limit, given.get("offset", 0)
    )
    return _taken(sorts.selected(library, table, given.get("columns")), rows)


def _taken(table: Any, rows: Any) -> Result:
    return Result(table.schema, len(rows), lambda begin, end: take_rows(table, rows[begin:end]))


def batches(result: Result, most_bytes: int) -> Iterator[Any]:
    """The rows of a result in batches of about `most_bytes`, or of one row; none is made before it is asked for."""
    begin, step = 0, min(1024, max(1, result.rows))
    while begin < result.rows:
        end = min(begin + step, result.rows)
        made = result.take(begin, end)
        begin = end
        for batch in made.combine_chunks().to_batches():
            yield from _pieces(batch, most_bytes)
        a_row = max(1, made.nbytes // max(1, made.num_rows))
        step = max(1, min(most_bytes // a_row, 1 << 20))


def _pieces(batch: Any, most_bytes: int) -> Iterator[Any]:
    if batch.num_rows < 2 or batch.nbytes <= 2 * most_bytes:
        yield batch
    else:
        half = batch.num_rows // 2
        yield from _pieces(batch.slice(0, half), most_bytes)
        yield from _pieces(batch.slice(half), most_bytes)
