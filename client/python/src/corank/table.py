"""`corank-table`, or `python -m corank.table`: sorts, merges, joins and searches files of rows by a corank server."""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import sys
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, Callable

import corank
from corank._channels import DEFAULT_ADDRESS
from corank._errors import of_command

_FORMATS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "tsv"}
_EPILOG = """\
examples:
  corank-table sort sales.parquet --by day,-amount -o sorted.parquet
  corank-table top 10 sales.csv --by amount
  corank-table merge monday.parquet tuesday.parquet --by time -o both.parquet
  corank-table join sales.csv cities.csv --on city --how left -o joined.csv
  corank-table unique sales.parquet --by city --columns city
  corank-table search quotes.parquet trades.csv --by stock,time --side right

Files are .parquet, .csv or .tsv; - is CSV from stdin or to stdout. The whole
table must fit into memory. Start a server with `corankd`.
"""


class _Wrong(Exception):
    """What the caller can change, in one line."""


def _format(path: str, given: str | None = None, advice: str = "") -> str:
    if given is not None:
        return given
    if path == "-":
        return "csv"
    suffix = pathlib.PurePath(path).suffix.lower()
    if suffix not in _FORMATS:
        raise _Wrong(f"{path}: its name does not tell its format; end it in .parquet, .csv or .tsv{advice}")
    return _FORMATS[suffix]


def _line(error: BaseException) -> str:
    # pyarrow's own texts have the path and the number of the error too.
    text = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
    return text.strip().partition("\n")[0]


def _read(path: str, given: str | None) -> Any:
    """The table in a file."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    format_ = _format(path, given, ", or give --format")
    piped = sys.stdin.buffer.read() if path == "-" else None

    def source() -> Any:
        return path if piped is None else pa.BufferReader(piped)

    try:
        if format_ == "parquet":
            return pyarrow.parquet.read_table(source())
        options = pyarrow.csv.ParseOptions(delimiter="\t" if format_ == "tsv" else ",", newlines_in_values=True)

        def read(convert: Any = None) -> Any:
            return pyarrow.csv.read_csv(source(), parse_options=options, convert_options=convert)

        return _as_written(path, read(), read)
    except (OSError, pa.ArrowException) as error:
        raise _Wrong(f"{path}: cannot read it as {format_}: {_line(error)}") from None


def _as_written(path: str, table: Any, read: Callable[[Any], Any]) -> Any:
    """The table of a CSV file with empty cells as nulls, also of texts, and with whole numbers of up to 38 digits.

    pyarrow takes integers of more than 64 bits for floats, which round them.

    Raises:
        _Wrong: a column is no UTF-8.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv

    for at, (name, column) in enumerate(zip(table.column_names, table.columns)):
        if pa.types.is_binary(column.type):
            raise _Wrong(f"{path}: column {name!r} is no UTF-8; convert the file first, as by iconv -f latin1 -t utf-8")
        if pa.types.is_string(column.type):
            table = table.set_column(at, name, pc.if_else(pc.equal(column, ""), None, column))
        if pa.types.is_floating(column.type) and (pc.max(pc.abs(column)).as_py() or 0) >= 2.0**63:
            as_text = {"column_types": {name: pa.string()}, "include_columns": [name], "strings_can_be_null": True}
            texts = read(pyarrow.csv.ConvertOptions(**as_text)).column(0)
            if pc.all(pc.match_substring_regex(texts, "^[-+]?[0-9]{1,38}$")).as_py():
                table = table.set_column(at, name, texts.cast(pa.decimal128(38, 0)))
    return table


def _plain(table: Any) -> Any:
    """The table for CSV: its strings and binaries without views.

    Raises:
        _Wrong: CSV has no form for a column.
    """
    import pyarrow as pa
    import pyarrow.csv

    views = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    fields = [field.with_type(views.get(field.type, field.type)) for field in table.schema]
    for field in fields:
        try:
            pyarrow.csv.write_csv(pa.schema([field]).empty_table(), pa.BufferOutputStream())
        except pa.ArrowException:
            text = f"column {field.name!r} is {field.type}, which CSV cannot hold"
            raise _Wrong(f"{text}; write a .parquet file, or leave the column out by --columns") from None
    return table.cast(pa.schema(fields))


def _write(table: Any, file: BinaryIO, format_: str) -> None:
    import pyarrow.csv
    import pyarrow.parquet

    if format_ == "parquet":
        pyarrow.parquet.write_table(table, file)
    else:
        options = pyarrow.csv.WriteOptions(delimiter="\t" if format_ == "tsv" else ",")
        pyarrow.csv.write_csv(_plain(table), file, options)


@contextlib.contextmanager
def _replacing(path: str) -> Iterator[BinaryIO]:
    """A file beside `path` that takes its place at the end, and is removed if anything fails."""
    target = pathlib.Path(path)
    if target.is_dir():
        raise _Wrong(f"{path}: is a folder; name a file in it")
    beside = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with open(beside, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise


def _save(table: Any, path: str) -> None:
    """Writes a table to a file, as a whole or not at all, or to stdout."""
    import pyarrow as pa

    format_ = _format(path)
    try:
        if path == "-":
            _write(table, sys.stdout.buffer, format_)
            sys.stdout.buffer.flush()
            return
        with _replacing(path) as file:
            _write(table, file, format_)
    except BrokenPipeError:
        raise
    except (OSError, pa.ArrowException) as error:
        raise _Wrong(f"{path}: cannot write it as {format_}: {_line(error)}") from None


def _names(given: Sequence[str] | None, columns: Sequence[str]) -> list[str]:
    """The columns that options name, with commas or one after the other; a name may itself have a comma."""
    return [name for each in given or () for name in ([each] if each in columns else each.split(","))]


def _keys(given: Sequence[str], columns: Sequence[str]) -> tuple[list[str], list[bool]]:
    """The columns that --by names, and which of them are descending."""
    names = []
    for each in given:
        whole = [each] if each in columns or each.removeprefix("-") in columns else each.split(",")
        names += whole
    is_descending = [name not in columns and name.startswith("-") for name in names]
    return [name[1:] if down else name for name, down in zip(names, is_descending)], is_descending


def _read_all(paths: Sequence[str], given: str | None) -> list[Any]:
    """The tables in files, with the columns of the first one and with types in common.

    Raises:
        _Wrong: their columns differ.
    """
    import pyarrow as pa

    found = [_read(path, given) for path in paths]
    names = found[0].column_names
    for path, table in zip(paths, found):
        if sorted(table.column_names) != sorted(names):
            ours, theirs = (", ".join(map(repr, each)) for each in (table.column_names, names))
            raise _Wrong(f"{path}: has the columns {ours}, but {paths[0]} has {theirs}")
    found = [table if table.column_names == names else table.select(names) for table in found]
    try:
        common = pa.unify_schemas([table.schema for table in found], promote_options="permissive")
        return [table if table.schema.equals(common) else table.cast(common) for table in found]
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise _Wrong(f"{', '.join(paths)}: their columns differ: {_line(error)}") from None


def _merged(client: corank.Client, paths: Sequence[str], tables: Sequence[Any], keys: Any, **options: Any) -> Any:
    """The rows of all files in order.

    Raises:
        _Wrong: a file is not sorted.
    """
    try:
        return client.merge_by(tables, keys, **options)
    except corank.InvalidArgument as error:
        if not error.field.startswith("tables["):
            raise
        path = paths[int(error.field[len("tables[") : -1])]
        raise _Wrong(f"{path}: not sorted by {', '.join(keys)}; sort it by the same --by and --nulls first") from None


def _with_positions(client: corank.Client, given: argparse.Namespace, options: dict[str, Any]) -> Any:
    """The rows of NEEDLES with a column of their positions in TABLE.

    Raises:
        _Wrong: TABLE is not sorted, or NEEDLES has that column.
    """
    import pyarrow as pa

    table, needles = _read(given.table, given.format), _read(given.needles, given.format)
    if given.position in needles.column_names:
        raise _Wrong(f"{given.needles}: has a column {given.position!r} already; name the new one by --position")
    keys, descending = _keys(given.by, table.column_names)
    try:
        found = client.search_by(table, needles, keys, side=given.side, descending=descending, **options)
    except corank.InvalidArgument as error:
        if error.field != "table":
            raise
        raise _Wrong(f"{given.table}: not sorted by {', '.join(keys)}; sort it by the same --by and --nulls") from None
    return needles.append_column(given.position, pa.array(found))


def _result(client: corank.Client, given: argparse.Namespace) -> Any:
    """The table that a command asks for."""
    import pyarrow as pa

    options: dict[str, Any] = {"nulls": given.nulls} if getattr(given, "nulls", None) else {}
    if given.command == "join":
        left, right = _read(given.left, given.format), _read(given.right, given.format)
        sides = [left.column_names, right.column_names]
        on, left_on, right_on = (
            _names(names, side) or None
            for names, side in ((given.on, sides[0]), (given.left_on, sides[0]), (given.right_on, sides[1]))
        )
        is_given = tuple(each is not None for each in (on, left_on, right_on))
        if is_given not in ((True, False, False), (False, True, True)):
            raise _Wrong("the keys are missing or given twice; give --on, or --left-on and --right-on")
        return client.join_by(left, right, on, left_on=left_on, right_on=right_on, how=given.how, suffix=given.suffix)
    if given.command == "search":
        return _with_positions(client, given, options)
    if given.command == "merge":
        tables = _read_all(given.files, given.format)
        keys, descending = _keys(given.by, tables[0].column_names)
        return _merged(client, given.files, tables, keys, descending=descending, **options)
    table = pa.concat_tables(_read_all(given.files, given.format))
    keys, descending = _keys(given.by, table.column_names)
    columns = _names(given.columns, table.column_names) or None
    if given.command == "unique":
        rows = client.group_by(table, keys, descending=descending, **options).firsts()
        return rows if columns is None else _selected(rows, columns)
    if given.command == "top":
        if given.k < 0:
            raise _Wrong(f"{given.k} rows: give 0 or more")
        wanted = [not each for each in descending]
        return client.top_k(table, given.k, keys, descending=wanted, columns=columns, **options)
    return client.sort_by(
        table, keys, descending=descending, limit=given.limit, offset=given.offset, columns=columns, **options
    )


def _selected(table: Any, columns: Sequence[str]) -> Any:
    missing = [name for name in columns if name not in table.column_names]
    if missing:
        raise _Wrong(f"columns: no column {missing[0]!r}; the columns are {', '.join(map(repr, table.column_names))}")
    return table.select(list(columns))


def _parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("-o", "--output", default="-", metavar="FILE", help="where to write; default: CSV to stdout")
    common.add_argument("--format", choices=["parquet", "csv", "tsv"], help="of the inputs, whatever their names")
    common.add_argument("--server", metavar="HOST:PORT", help=f"default: CORANK_SERVER, else {DEFAULT_ADDRESS}")
    common.add_argument("--deadline", type=float, metavar="SECONDS", help="give up after this time")
    keyed = argparse.ArgumentParser(add_help=False)
    keyed.add_argument(
        "--by", action="append", required=True, metavar="KEYS", help="columns: day,-amount; - is greatest first"
    )
    keyed.add_argument("--nulls", choices=["first", "last"], help="where null keys go; default: last")
    chosen = argparse.ArgumentParser(add_help=False)
    chosen.add_argument("--columns", action="append", metavar="NAMES", help="write only these: day,amount")
    parser = argparse.ArgumentParser(
        prog="corank-table",
        description="Sorts, merges, joins and searches files of rows by a corank server.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"corank-table {corank.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    sort = commands.add_parser("sort", parents=[keyed, chosen, common], help="sort the rows of all files together")
    sort.add_argument("--limit", type=int, metavar="N", help="write only the first N rows")
    sort.add_argument("--offset", type=int, default=0, metavar="N", help="leave out the first N rows")
    top = commands.add_parser(
        "top", parents=[keyed, chosen, common], help="find the rows with the greatest keys, or the least: --by=-KEY"
    )
    top.add_argument("k", type=int, metavar="K", help="how many rows to write")
    unique = commands.add_parser("unique", parents=[keyed, chosen, common], help="keep the first row of each key")
    merge = commands.add_parser("merge", parents=[keyed, common], help="merge files that are sorted")
    for each in (sort, top, unique, merge):
        each.add_argument("files", nargs="+", metavar="FILE", help="an input")
    join = commands.add_parser("join", parents=[common], help="join two files by equal keys")
    join.add_argument("left", metavar="LEFT", help="a file")
    join.add_argument("right", metavar="RIGHT", help="another file")
    join.add_argument("--on", action="append", metavar="KEYS", help="the key columns, if both files name them alike")
    join.add_argument("--left-on", action="append", metavar="KEYS", help="the key columns of LEFT")
    join.add_argument("--right-on", action="append", metavar="KEYS", help="the key columns of RIGHT")
    join.add_argument("--how", default="inner", choices=["inner", "left", "right", "full", "semi", "anti"])
    join.add_argument("--suffix", default="_right", help="for columns of RIGHT that LEFT has too; default: _right")
    search = commands.add_parser(
        "search", parents=[keyed, common], help="find where the rows of a file belong in a sorted one"
    )
    search.add_argument("table", metavar="TABLE", help="a file that is sorted by the keys")
    search.add_argument("needles", metavar="NEEDLES", help="a file with these keys; its rows are written")
    search.add_argument(
        "--side", default="left", choices=["left", "right"], help="before rows with equal keys, or after; default: left"
    )
    search.add_argument(
        "--position", default="position", metavar="NAME", help="the column that is added; default: position"
    )
    return parser


def _with_values(arguments: Sequence[str]) -> list[str]:
    """The arguments, with `--by -KEY` as `--by=-KEY`, which argparse would take for an option."""
    out: list[str] = []
    for each in arguments:
        if out and out[-1] == "--by" and each.startswith("-") and not each.startswith("--"):
            out[-1] = f"--by={each}"
        else:
            out.append(each)
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command: 0, or 1 with one line on stderr that says what to change; 130 after Ctrl-C."""
    given = _parser().parse_args(_with_values(sys.argv[1:] if arguments is None else arguments))
    try:
        _format(given.output)  # before any work
        options: Any = {} if given.deadline is None else {"deadline": given.deadline}
        with corank.connect(given.server, **options) as client:
            _save(_result(client, given), given.output)
    except (_Wrong, corank.CorankError, TypeError, ImportError) as error:
        print(f"corank-table: {of_command(error)}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # as of `head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
