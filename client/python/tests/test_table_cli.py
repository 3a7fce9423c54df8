"""`corank-table`: files in, files out, and errors of one line."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import corank

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

from table_cases import TYPES, column, expected  # noqa: E402

from corank import table as cli  # noqa: E402
from corank._arrow_rows import with_one_dictionary  # noqa: E402

SALES = {
    "day": [2, 1, None, 1, 2],
    "city": ["Oslo", "Århus", "Oslo", "Bergen", None],
    "amount": [10.0, 25.5, 7.0, 2.0, 3.5],
}


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, any_client: corank.Client) -> pathlib.Path:
    """A folder with files, in which the command runs beside a server."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CORANK_SERVER", any_client.address)
    pq.write_table(pa.table(SALES), "sales.parquet")
    (tmp_path / "cities.csv").write_text("city,county\nOslo,Oslo\nBodø,Nordland\n", encoding="utf-8")
    return tmp_path


def run(*arguments: str) -> int:
    return cli.main(list(arguments))


def test_sort_writes_parquet_with_the_same_schema(folder: pathlib.Path) -> None:
    assert run("sort", "sales.parquet", "--by", "day,-amount", "-o", "out.parquet") == 0
    found = pq.read_table("out.parquet")
    assert found.schema.equals(pq.read_schema("sales.parquet"))
    assert found["amount"].to_pylist() == [25.5, 2.0, 10.0, 3.5, 7.0]
    assert sorted(os.listdir()) == ["cities.csv", "out.parquet", "sales.parquet"], "no part is left"
    assert run("sort", "out.parquet", "--by", "-amount", "-o", "out.parquet") == 0
    assert pq.read_table("out.parquet")["amount"].to_pylist() == [25.5, 10.0, 7.0, 3.5, 2.0]


def test_every_command_prints_csv(folder: pathlib.Path, capfd: pytest.CaptureFixture[str]) -> None:
    for arguments, lines in [
        (
            ["sort", "sales.parquet", "--by=day", "--limit=2", "--columns=day,amount"],
            ['"day","amount"', "1,25.5", "1,2"],
        ),
        (["sort", "sales.parquet", "--by=day", "--nulls=first", "--limit=1", "--columns=amount"], ['"amount"', "7"]),
        (
            ["sort", "sales.parquet", "--by=-amount", "--offset=1", "--limit=2", "--columns=amount"],
            ['"amount"', "10", "7"],
        ),
        (["top", "2", "sales.parquet", "--by", "amount", "--columns", "amount"], ['"amount"', "25.5", "10"]),
        (["top", "1", "sales.parquet", "--by", "-amount", "--columns", "amount"], ['"amount"', "2"]),
        (["unique", "sales.parquet", "--by", "city", "--columns", "amount"], ['"amount"', "2", "10", "25.5", "3.5"]),
        (
            ["sort", "cities.csv", "cities.csv", "--by=-city", "--columns=city"],
            ['"city"', *['"Oslo"'] * 2, *['"Bodø"'] * 2],
        ),
        (
            ["join", "sales.parquet", "cities.csv", "--on=city"],
            ['"day","city","amount","county"', '2,"Oslo",10,"Oslo"', ',"Oslo",7,"Oslo"'],
        ),
        (
            ["join", "cities.csv", "sales.parquet", "--left-on=city", "--right-on=city", "--how=anti"],
            ['"city","county"', '"Bodø","Nordland"'],
        ),
    ]:
        assert run(*arguments) == 0, arguments
        assert capfd.readouterr().out.splitlines() == lines


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_files_hold_every_type_of_key(folder: pathlib.Path, capfd: pytest.CaptureFixture[str], type_: Any) -> None:
    table = pa.table({"k": column(np.random.default_rng(4), type_, 50, True), "n": range(50)})
    pq.write_table(with_one_dictionary(table), "in.parquet")  # Parquet's have no nulls among their values
    rows = [table["n"][int(row)].as_py() for row in expected(table, ["k"], [True], "last")]
    assert run("sort", "in.parquet", "--by=-k", "-o=out.parquet") == 0
    assert pq.read_table("out.parquet")["n"].to_pylist() == rows
    assert run("top", "9", "in.parquet", "--by=k", "--columns=n,k", "-o=out.csv") == 0
    written = [line.partition(b",")[0] for line in pathlib.Path("out.csv").read_bytes().split(b"\n")]
    assert written[0] == b'"n"'
    assert {str(row).encode() for row in rows[:9]} <= set(written), "binaries may hold line ends"


def test_merge_takes_sorted_files(folder: pathlib.Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run("sort", "sales.parquet", "--by=amount", "-o=sorted.parquet") == 0
    assert run("merge", "sorted.parquet", "sorted.parquet", "--by=amount", "-o=both.tsv") == 0
    assert pathlib.Path("both.tsv").read_text(encoding="utf-8").splitlines()[:3] == [
        '"day"\t"city"\t"amount"',
        '1\t"Bergen"\t2',
        '1\t"Bergen"\t2',
    ]
    assert run("merge", "sorted.parquet", "sales.parquet", "--by=amount") == 1
    assert capfd.readouterr().err.startswith("corank-table: sales.parquet: not sorted by amount; sort it by the")


def test_search_finds_where_rows_belong_in_a_sorted_file(
    folder: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run("sort", "sales.parquet", "--by", "-day,city", "--nulls=first", "-o", "sorted.parquet") == 0
    # (null, Oslo), (2, null), (2, Oslo), (1, Bergen), (1, Århus)
    (folder / "sought.csv").write_text("note,city,day\nx,Oslo,1\ny,Oslo,2\nz,Bergen,2\n,Aa,\n", encoding="utf-8")
    assert run("search", "sorted.parquet", "sought.csv", "--by=-day,city", "--nulls=first") == 0
    header = '"note","city","day","position"\n'
    assert capfd.readouterr().out == header + '"x","Oslo",1,4\n"y","Oslo",2,2\n"z","Bergen",2,2\n,"Aa",,0\n'
    options = ["--by=-day,city", "--nulls=first", "--side=right", "--position=at"]
    assert run("search", "sorted.parquet", "sought.csv", *options) == 0
    out = capfd.readouterr().out
    assert [line.rpartition(",")[2] for line in out.splitlines()] == ['"at"', "4", "3", "2", "0"]


def test_a_server_that_is_down_is_looked_for_by_the_flag(
    folder: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run("sort", "sales.parquet", "--by=day", "--server=127.0.0.1:1", "--deadline=9") == 1
    printed = capfd.readouterr().err
    assert "is corankd running there? Set CORANK_SERVER or give another --server" in printed
    assert "connect()" not in printed


def test_a_failure_is_one_line_and_leaves_the_output_as_it_was(
    folder: pathlib.Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "out.csv").write_text("before")
    (folder / "bad.parquet").write_text("this is no Parquet")
    (folder / "data.bin").write_text("x")
    (folder / "latin.csv").write_bytes(b"k\n\xe9\n")
    pq.write_table(pa.table({"k": [1], "parts": [[1]]}), "nested.parquet")
    for arguments, text in [
        (["sort", "missing.csv", "--by=k"], "missing.csv: cannot read it as csv: No such file or directory"),
        (["sort", "bad.parquet", "--by=k"], "bad.parquet: cannot read it as parquet: "),
        (["sort", "data.bin", "--by=k"], "data.bin: its name does not tell its format; end it in .parquet, .csv or "),
        (["sort", "latin.csv", "--by=k"], "latin.csv: column 'k' is no UTF-8; convert the file first, as by iconv"),
        (
            ["sort", "sales.parquet", "cities.csv", "--by=city"],
            "cities.csv: has the columns 'city', 'county', but ",
        ),
        (["merge", "sales.parquet", "cities.csv", "--by=city"], "cities.csv: has the columns 'city', 'county', but "),
        (["join", "sales.parquet", "cities.csv"], "the keys are missing or given twice; give --on, or --left-on and"),
        (
            ["join", "sales.parquet", "cities.csv", "--on=city", "--right-on=city"],
            "the keys are missing or given twice",
        ),
        (["sort", "sales.parquet", "--by=amont"], "keys: no column 'amont'; did you mean 'amount'?"),
        (
            ["sort", "sales.parquet", "--by=day", "-o=x.txt"],
            "x.txt: its name does not tell its format; end it in .parquet, .csv or .tsv\n",
        ),
        (["sort", "sales.parquet", "--by=day", "-o=no/out.csv"], "no/out.csv: cannot write it as csv: No such file"),
        (["sort", "sales.parquet", "--by=day", "--columns=x"], "columns: no column 'x'; the columns are 'day'"),
        (["unique", "sales.parquet", "--by=day", "--columns=x"], "columns: no column 'x'; the columns are 'day'"),
        (
            ["sort", "nested.parquet", "--by=k"],
            "column 'parts' is list<element: int64>, which CSV cannot hold; write a",
        ),
        (["sort", "nested.parquet", "--by=parts"], "key: column 'parts' is list<element: int64>; keys are numbers,"),
        (
            ["search", "sales.parquet", "sales.parquet", "--by=day"],
            "sales.parquet: not sorted by day; sort it by the same",
        ),
        (
            ["search", "cities.csv", "sales.parquet", "--by=city", "--position=day"],
            "sales.parquet: has a column 'day' already; name the new one by --position",
        ),
        (["join", "sales.parquet", "cities.csv", "--on=town"], "on: no column 'town' in left; the columns are 'day'"),
        (["sort", "sales.parquet", "--by=day", "--limit=-1"], "limit: -1 is less than 0"),
        (["sort", "sales.parquet", "--by=day", "--server=127.0.0.1:1", "--deadline=1"], "Sort: "),
    ]:
        output = [] if any(each.startswith("-o") for each in arguments) else ["-o", "out.csv"]
        assert run(*arguments, *output) == 1, arguments
        printed = capfd.readouterr().err
        assert printed.startswith("corank-table: " + text), printed
        assert printed.count("\n") == 1, printed
        assert (folder / "out.csv").read_text() == "before"

    def broken(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cli, "_write", broken)
    assert run("sort", "sales.parquet", "--by=day", "-o=out.csv") == 1
    assert capfd.readouterr().err == "corank-table: out.csv: cannot write it as csv: No space left on device\n"
    assert (folder / "out.csv").read_text() == "before"
    assert not [name for name in os.listdir() if name.endswith(".part")]


def test_cells_of_csv_keep_their_values(folder: pathlib.Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = '\ufeffk,n,s\r\nb,,"two\nlines"\r\n,18446744073709551616,"a ""quote"", x"\r\nNA,-5,\r\n"",1,\r\n'
    (folder / "cells.csv").write_text(text, encoding="utf-8", newline="")
    header = '"k","n","s"\n'
    rows = ['"NA",-5,\n', '"b",,"two\nlines"\n', ',18446744073709551616,"a ""quote"", x"\n', ",1,\n"]
    assert run("sort", "cells.csv", "--by", "k") == 0
    assert capfd.readouterr().out == header + "".join(rows)
    assert run("sort", "cells.csv", "--by=-n", "-o", "cells.csv") == 0
    assert (folder / "cells.csv").read_text(encoding="utf-8") == header + "".join(rows[at] for at in (2, 3, 0, 1))
    assert run("join", "cells.csv", "cells.csv", "--on=k", "--how=semi") == 0
    assert capfd.readouterr().out == header + rows[0] + rows[1], "empty cells match nothing"
    (folder / "floats.csv").write_text("x\n1e20\n\n5e19\n")
    assert run("sort", "floats.csv", "--by=x") == 0
    assert capfd.readouterr().out == '"x"\n5e+19\n1e+20\n', "only digits are a whole number"
    # More than pyarrow's block.
    lines = [f'{number % 97},"line one\nline two of {number}"\n' for number in range(40_000)]
    (folder / "long.csv").write_text("k,v\n" + "".join(lines))
    assert run("sort", "long.csv", "--by=k", "-o=long.parquet") == 0
    assert pq.read_table("long.parquet").num_rows == 40_000


def test_files_whose_types_differ_become_one_table(folder: pathlib.Path, capfd: pytest.CaptureFixture[str]) -> None:
    for name, text in [("a.csv", "k,v\n1,\n3,\n"), ("b.csv", "v,k\nx,2.5\n"), ("c.csv", "k,v\nx,y\n")]:
        (folder / name).write_text(text)
    for command in ("sort", "merge"):
        assert run(command, "a.csv", "b.csv", "--by=k") == 0
        assert capfd.readouterr().out.splitlines() == ['"k","v"', "1,", '2.5,"x"', "3,"]
        assert run(command, "a.csv", "c.csv", "--by=k") == 1
        assert capfd.readouterr().err.startswith("corank-table: a.csv, c.csv: their columns differ: ")


def test_columns_whose_names_have_commas_or_dashes_are_taken_whole() -> None:
    columns = ["a,b", "-c", "a", "b"]
    assert cli._keys(["a,b", "-c"], columns) == (["a,b", "-c"], [False, False])
    assert cli._keys(["-a,b"], columns) == (["a,b"], [True])
    assert cli._keys(["b,-a"], columns) == (["b", "a"], [False, True])
    assert cli._names(["a,b", "b,a"], columns) == ["a,b", "b", "a"]


def test_stdin_and_stdout_are_csv(folder: pathlib.Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "corank.table", "sort", "-", "--by", "-k"]
    done = subprocess.run(command, input=b"k\n1\n3\n2\n", capture_output=True, check=False, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, b'"k"\n3\n2\n1\n', b"")


@pytest.mark.parametrize("command", [[], ["sort"], ["top"], ["unique"], ["merge"], ["join"]])
def test_help_fits_a_terminal(
    command: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as ended:
        run(*command, "--help")
    assert ended.value.code == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80
