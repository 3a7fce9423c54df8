#!/usr/bin/env python3
"""Times sorts, joins and groups of tables with the Python client, from table to table, beside polars and pandas.

    bench/places/tables_bench.py --corankd build/bin/corankd --out bench/results/cpu/tables.json

Each library sorts its own table, and the client sorts the same one: by an int64 key, by an int64 of few values and then
a string, and, with a fifth of the rows, by a string of 8 to 64 bytes. By the same keys, polars and the client join each
table with a quarter of its rows, and add up a column for each key, in the order of the keys. The client also
sorts the keys with the only other column beside them, as `sort_by` does on a GPU, beside taking the rows. All
works of a case take turns; each answer of the first round is checked. With --phases, it prints the functions in which
one more call of the client spends its time.
"""

from __future__ import annotations

import argparse
import functools
import re
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars
import pyarrow as pa
from places_bench import commit_of, milliseconds, quantiles, require, write_results

# isort: split
import corank
from corank.testing import LocalServer
from phases import phases

Call = Callable[..., Any]


class Case(NamedTuple):
    """A table with its keys, and who sorts it."""

    row: str
    rows: int
    type: str
    distribution: str
    ours: Call
    """Takes options of the client."""
    reference_name: str
    reference: Call
    number: Callable[[Any], np.ndarray]
    """The row numbers of a result."""


@functools.cache
def tables(rows: int) -> dict[str, tuple[Any, list[str], str, str]]:
    """Tables of Arrow by the names of their keys, with what these are."""
    rng = np.random.default_rng(rows)
    number = pa.array(np.arange(rows))
    wide = rng.integers(0, 2**63, rows)
    few = rng.integers(0, 1000, rows)
    words = pa.array([f"customer-{each:09d}" for each in range(max(1, rows // 10))])
    texts = words.take(pa.array(rng.integers(0, len(words), rows)))
    letters = rng.integers(97, 123, (max(1, rows // 5), 64), np.uint8)
    lengths = rng.integers(8, 65, len(letters))
    long = pa.array([each[:length].tobytes().decode() for each, length in zip(letters, lengths, strict=True)])
    return {
        "an int64": (pa.table({"k": wide, "row": number}), ["k"], "i64", "uniform"),
        "an int64 and a string": (
            pa.table({"k": few, "s": texts, "row": number}),
            ["k", "s"],
            "i64+string",
            "1000 numbers, strings of 18 bytes",
        ),
        "a string": (
            pa.table({"s": long, "row": number[: len(long)]}),
            ["s"],
            "string",
            "random strings of 8 to 64 bytes",
        ),
    }


def joins(client: corank.Client, rows: int) -> list[Case]:
    """Inner joins of each table with a quarter of its rows, beside polars."""
    out = []
    for name, (table, keys, type_, distribution) in tables(rows).items():
        left = polars.from_arrow(table)
        right = left.sample(max(1, table.num_rows // 4), seed=1).rename({"row": "other"})

        def by_polars(left: Any = left, right: Any = right, on: list[str] = keys) -> Any:
            return left.join(right, on=on, maintain_order="left_right")

        def ours(left: Any = left, right: Any = right, on: list[str] = keys, **options: Any) -> Any:
            return client.join_by(left, right, on, **options)

        row = f"join_by {name}, polars"
        number = lambda t: np.stack([t["row"].to_numpy(), t["other"].to_numpy()])  # noqa: E731
        out.append(Case(row, table.num_rows, type_, distribution, ours, "polars", by_polars, number))
    return out


def groups(client: corank.Client, rows: int) -> list[Case]:
    """The sum of a column for each key, beside polars."""
    out = []
    for name, (table, keys, type_, distribution) in tables(rows).items():
        frame = polars.from_arrow(table)

        def by_polars(frame: Any = frame, by: list[str] = keys) -> Any:
            return frame.group_by(by).agg(total=polars.col("row").sum()).sort(by)

        def ours(frame: Any = frame, by: list[str] = keys, **options: Any) -> Any:
            return client.group_by(frame, by, **options).agg(total=("row", "sum"))

        row = f"group_by {name}, polars"
        number = lambda t: t["total"].to_numpy()  # noqa: E731
        out.append(Case(row, table.num_rows, type_, distribution, ours, "polars", by_polars, number))
    return out


def cases(client: corank.Client, rows: int) -> list[Case]:
    """What the benchmark times."""
    out = [*joins(client, rows), *groups(client, rows)]
    for name, (table, keys, type_, distribution) in tables(rows).items():
        of_polars, of_pandas = polars.from_arrow(table), table.to_pandas()

        def by_polars(frame: Any = of_polars, by: list[str] = keys) -> Any:
            return frame.sort(by, maintain_order=True)

        def by_pandas(frame: Any = of_pandas, by: list[str] = keys) -> Any:
            return frame.sort_values(by, kind="stable")

        for frame, reference_name, reference in (
            (of_polars, "polars", by_polars),
            (of_pandas, "pandas", by_pandas),
        ):

            def ours(frame: Any = frame, by: list[str] = keys, **options: Any) -> Any:
                return client.sort_by(frame, by, **options)

            row = f"sort_by {name}, {reference_name}"
            number = lambda t: t["row"].to_numpy()  # noqa: E731
            out.append(Case(row, table.num_rows, type_, distribution, ours, reference_name, reference, number))
        if keys == ["k"]:
            k, numbers = table["k"].to_numpy(), table["row"].to_numpy()

            def together(k: np.ndarray = k, numbers: np.ndarray = numbers, **options: Any) -> Any:
                return {"row": client.sort(k, values=numbers, **options)[1]}

            def apart(table: Any = table, k: np.ndarray = k) -> Any:
                return table.take(pa.array(client.argsort(k, index_dtype=None)))

            row = "sort_by an int64, rows beside the keys"
            number = lambda t: np.asarray(t["row"])  # noqa: E731
            out.append(Case(row, table.num_rows, type_, distribution, together, "rows taken here", apart, number))
    return out


def measure(case: Case, rounds: int, with_phases: bool) -> dict[str, Any]:
    """The row of a case."""
    works = (case.ours, case.reference)
    mine, theirs = (case.number(work()) for work in works)
    require(bool(np.array_equal(mine, theirs)), case.row)
    samples: list[list[float]] = [[], []]
    for _ in range(rounds):
        for times, work in zip(samples, works, strict=True):
            times.append(milliseconds(work))
    ours, reference = map(statistics.median, samples)
    print(f"{case.row}: {ours:.4g} ms, {case.reference_name} {reference:.4g} ms", flush=True)
    if with_phases:
        print("\n".join(f"  {line}" for line in phases(case.ours)), flush=True)
    return {
        "row": case.row,
        "type": case.type,
        "n": case.rows,
        "distribution": case.distribution,
        "ours": ours,
        "reference": reference,
        "reference_name": case.reference_name,
        "unit": "ms",
        "better": "lower",
        "ratio": reference / ours,
        "spread": {"ours": quantiles(samples[0]), "samples": rounds, "reference": quantiles(samples[1])},
        "goal": "",
        "met": None,
        "checked": True,
    }


def main() -> int:
    root = Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corankd", default=str(root / "build" / "bin" / "corankd"))
    parser.add_argument("--engine", choices=("auto", "cuda", "cpu"), default="auto")
    parser.add_argument("--out", help="where the JSON goes")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--filter", default="", help="time the rows whose name this regular expression finds")
    parser.add_argument("--phases", action="store_true", help="print where a call of each row spends its time")
    parser.add_argument("--commit", default="", help="the commit to name in the JSON; by default what git says")
    options = parser.parse_args()

    arguments = ["--shared-memory=/corank-", f"--engine={options.engine}"]
    with LocalServer(options.corankd, arguments) as server, server.connect(deadline=600) as client:
        device = client.info().device
        found = [case for case in cases(client, options.rows) if re.search(options.filter, case.row)]
        rows = [measure(case, options.rounds, options.phases) for case in found]
    if options.out:
        write_results(Path(options.out), device, commit_of(options.commit), "make bench-tables", rows)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
