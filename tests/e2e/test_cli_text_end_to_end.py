"""The command line on text and tables, through a real server, against Python's own parsers and sorts."""

from __future__ import annotations

import csv
import io
import os
import pathlib
import random
import subprocess

import pytest
from corank.testing import LocalServer


class Runner:
    """`corank` with the shared server, in a folder."""

    def __init__(self, cli: pathlib.Path, server: LocalServer, folder: pathlib.Path) -> None:
        self.cli, self.server, self.folder = cli, server, folder

    def __call__(self, *arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
        """Runs a command that must succeed."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith("CORANK_")}
        done = subprocess.run(
            [str(self.cli), *arguments],
            cwd=self.folder,
            env={**clean, "CORANK_SERVER": self.server.address},
            input=None if text is None else text.encode(),
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        return subprocess.CompletedProcess(done.args, 0, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def run(cli: pathlib.Path, server: LocalServer, tmp_path: pathlib.Path) -> Runner:
    """Runs `corank` in a folder of its own."""
    return Runner(cli.resolve(), server, tmp_path)


def spelled(rng: random.Random) -> str:
    """A number in one of many spellings."""
    value = rng.choice([rng.uniform(-1e6, 1e6), rng.randint(-50, 50), rng.gauss(0, 1) * 10.0 ** rng.randint(-9, 9)])
    return rng.choice([repr, "{:.3f}".format, "{:e}".format, "{:+.2f}".format])(float(value))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("descending", [False, True])
def test_lines_are_sorted_as_floats_and_keep_their_spelling(run: Runner, seed: int, descending: bool) -> None:
    rng = random.Random(seed)
    lines = [spelled(rng) for _ in range(5000)] + ["inf", "-inf"]
    rng.shuffle(lines)
    done = run("sort", "-", *(["--descending"] if descending else []), text="\n".join(lines))
    assert done.stdout.splitlines() == sorted(lines, key=float, reverse=descending)


def test_lines_are_sorted_as_integers_beyond_float64(run: Runner) -> None:
    rng = random.Random(7)
    lines = [str(2**62 + rng.randint(0, 1000)) for _ in range(2000)]
    (run.folder / "nums.txt").write_text("\n".join(lines) + "\n")
    run("sort", "nums.txt", "-o", "sorted.txt")
    assert (run.folder / "sorted.txt").read_text().split() == sorted(lines, key=int)


def random_cell(rng: random.Random) -> str:
    """A cell that needs quotes more often than not."""
    return "".join(rng.choice('ab ,"\n;é\t') for _ in range(rng.randint(0, 5))).strip()


def written(rows: list[list[str]], delimiter: str, line_end: str) -> str:
    """The rows as Python's csv module writes them."""
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=delimiter, lineterminator=line_end).writerows(rows)
    return buffer.getvalue()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("ending", "delimiter"), [("csv", ","), ("tsv", "\t")])
def test_rows_follow_a_column_of_numbers(run: Runner, seed: int, ending: str, delimiter: str) -> None:
    rng = random.Random(seed)
    rows = [[random_cell(rng), rng.choice(["", spelled(rng), str(rng.randint(0, 9))]), str(i)] for i in range(500)]
    sign, line_end = rng.choice([1, -1]), rng.choice(["\n", "\r\n"])
    path = run.folder / f"table.{ending}"
    path.write_text(written([["text", "key", "number"], *rows], delimiter, line_end), newline="")
    run("sort", path.name, "--column", "key", *(["-d"] if sign < 0 else []), "-o", f"sorted.{ending}")

    def order(row: list[str]) -> tuple[bool, float]:
        return (row[1] == "", 0.0 if row[1] == "" else sign * float(row[1]))

    text = (run.folder / f"sorted.{ending}").read_bytes().decode()
    assert text == written([["text", "key", "number"], *sorted(rows, key=order)], delimiter, line_end)


@pytest.mark.parametrize("seed", range(4))
def test_rows_follow_a_column_of_text_byte_by_byte(run: Runner, seed: int) -> None:
    rng = random.Random(seed)
    rows = [[random_cell(rng), str(i)] for i in range(500)] + [["a", "500"]]
    done = run("sort", "-", "--format", "csv", "--column", "1", text=written([["text", "n"], *rows], ",", "\n"))
    ordered = sorted(rows, key=lambda row: (row[0] == "", row[0].encode()))
    assert done.stdout == written([["text", "n"], *ordered], ",", "\n")
