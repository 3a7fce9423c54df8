#!/usr/bin/env python3
"""Makes the tables and plots of a results folder from its JSON files.

    bench/report/report.py bench/results/h200

For every NAME.json of a benchmark program, writes NAME.md and, if matplotlib is installed, the plots that its rows
allow (plots.py), such as NAME-rates.svg. The tables show all rows and mark those that lose to their reference or miss
their goal.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import plots
from rows import Row, count

LOSES = "**loses**"
MISSED = "**missed**"


def figure(value: float | None) -> str:
    """A measured value in at most 4 digits."""
    if value is None:
        return "–"
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def spread(row: Row) -> str:
    """The 10 % and 90 % quantiles of ours, as deviations from the median."""
    if not row["spread"] or not row["ours"]:
        return "–"
    low, high = row["spread"]["ours"]
    return f"{100 * (low / row['ours'] - 1):+.0f} … {100 * (high / row['ours'] - 1):+.0f} %"


def ratio(row: Row) -> str:
    if row["ratio"] is None:
        return "–"
    text = f"{row['ratio']:.2f}"
    return f"{text} {LOSES}" if row["ratio"] < 1 else text


def verdict(row: Row) -> str:
    if not row["goal"]:
        return "–"
    return f"{row['goal']}: " + ("met" if row["met"] else MISSED)


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def part_of_ceiling(row: Row) -> str:
    ceiling = row.get("ceiling")
    if ceiling is None or ceiling["part"] is None:
        return "–"
    return f"{ceiling['part']:.2f} of {figure(ceiling['gb_per_second'])} GB/s"


def table(rows: Iterable[Row]) -> list[str]:
    """The lines of one Markdown table."""
    lines = [
        "| type | n | input | ours | reference | unit | ratio | spread of ours | of ceiling | goal | note |",
        "| --- | ---: | --- | ---: | ---: | --- | ---: | --- | ---: | --- | --- |",
    ]
    for row in rows:
        reference = figure(row["reference"])
        if row["reference_name"]:
            reference = f"{reference} ({row['reference_name']})"
        ceiling = part_of_ceiling(row)
        note = f"**failed**: {row['error']}" if "error" in row else row.get("note", "")
        cells = [
            row["type"],
            count(row["n"]),
            row["distribution"],
            figure(row["ours"]),
            reference,
            row["unit"],
            ratio(row),
            spread(row),
            ceiling,
            verdict(row),
            note,
        ]
        lines.append("| " + " | ".join(cell(text) for text in cells) + " |")
    return lines


TIMES = {
    "p50": "p50",
    "p99": "p99",
    "echo p50": "echo_p50",
    "echo p99": "echo_p99",
    "call p50": "call_p50",
    "echo call p50": "echo_call_p50",
    "queue": "queue_p50",
    "copy in": "copy_in_p50",
    "kernels": "kernel_p50",
    "copy out": "copy_out_p50",
    "receiving": "receive_p50",
    "sending": "send_p50",
    "call with 256 keys": "call_with_256_keys",
    "the same after 5 ms idle": "call_with_256_keys_after_idle",
    "empty call": "empty_call",
    "empty call after 5 ms idle": "empty_call_after_idle",
}
UNITS = {"us": "µs", "ms": "ms"}
LOADS = {
    "offered /s": "offered_per_s",
    "started by the client /s": "begun_per_s",
    "arrived at the server /s": "arrived_per_s",
    "answered in time": "in_time",
    "refused": "refused",
    "late": "late",
    "client cores": "client_cores",
    "server cores": "server_cores",
}
ALIKE = {
    "echo with tcmalloc that copies": "copying_echo",
    "echo with tcmalloc that holds chunks, GB/s": "held_echo_GBps",
    "echo: sends, ms": "held_echo_client_send_p50_ms",
    "echo: waits, ms": "held_echo_client_wait_p50_ms",
    "echo: receives, ms": "held_echo_client_answer_p50_ms",
    "ours: sends, ms": "client_send_p50_ms",
    "ours: waits, ms": "client_wait_p50_ms",
    "ours: receives, ms": "client_answer_p50_ms",
}
SHAPES = {"in flight": "in_flight", "streams": "streams", "connections": "parts"}


def details_table(rows: list[Row], columns: dict[str, str]) -> list[str]:
    """The lines of a Markdown table of the details that rows have, after the columns that identify the rows."""
    shown = [row for row in rows if any(detail in row.get("details", {}) for detail in columns.values())]
    if not shown:
        return []
    details = [row.get("details", {}) for row in shown]
    present = {
        name: detail for name, detail in {**SHAPES, **columns}.items() if any(detail in values for values in details)
    }
    words = {"input": "distribution"}
    if len({(row["n"], row["distribution"]) for row in shown}) < len(shown):
        words["beside"] = "reference_name"
    differing = {name: key for name, key in words.items() if len({row[key] for row in shown}) > 1}
    if "in flight" in present:
        differing.pop("input", None)  # the same, in words
    lines = [
        "| " + " | ".join(["n", *differing, *present]) + " |",
        "| ---: |" + " --- |" * len(differing) + " ---: |" * len(present),
    ]
    for row, values in zip(shown, details, strict=True):
        cells = [
            count(row["n"]),
            *(cell(row[key]) for key in differing.values()),
            *(figure(values.get(detail)) for detail in present.values()),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def details_tables(rows: list[Row]) -> Iterable[list[str]]:
    """The tables that explain the figures of one kind of rows: latencies with the server's stages; echo servers with
    corankd's allocator that also copy messages or hold chunks; and open loops."""
    for unit, sign in UNITS.items():
        yield details_table(rows, {f"{name}, {sign}": f"{stem}_{unit}" for name, stem in TIMES.items()})
    yield details_table(rows, ALIKE)
    yield details_table(rows, LOADS)


def groups(rows: list[Row]) -> dict[str, list[Row]]:
    """Rows by kind, in order of first appearance."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["row"], []).append(row)
    return found


def summary(rows: list[Row]) -> str:
    goals = [row for row in rows if row["goal"]]
    compared = [row for row in rows if row["ratio"] is not None]
    failed = sum("error" in row for row in rows)
    return (
        f"{len(rows)} rows. Goals met: {sum(bool(row['met']) for row in goals)} of {len(goals)}. "
        f"Better than the reference: {sum(row['ratio'] >= 1 for row in compared)} of {len(compared)}. Failed: {failed}."
    )


def markdown(name: str, results: dict[str, Any], drawn: list[str]) -> str:
    lines = [
        f"# {name}",
        "",
        "`bench/report/report.py` makes this page from the JSON file beside it. Do not edit it.",
        "",
        f"- machine: {results['machine']}",
        f"- date: {results['date']}",
        f"- commit: {results['commit']}",
        f"- command: `{results['command']}`",
        "",
        "Figures are medians. A *ratio* above 1 means that corank is better. *Spread* gives the 10 % and 90 %",
        "quantiles relative to the median.",
        "",
        summary(results["rows"]),
        "",
    ]
    for plot in drawn:
        lines += [f"![{plot}]({plot})", ""]
    for kind, rows in groups(results["rows"]).items():
        lines += [f"## {kind}", "", *table(rows), ""]
        for details in details_tables(rows):
            if details:
                lines += [*details, ""]
    return "\n".join(lines)


def report(source: Path, plt: Any | None, suffix: str) -> Path:
    results = json.loads(source.read_text(encoding="utf-8"))
    drawn = []
    if plt is not None:
        for kind, draw in plots.KINDS.items():
            path = source.with_name(f"{source.stem}-{kind}.{suffix}")
            if draw(plt, results["rows"], path):
                drawn.append(path.name)
    target = source.with_suffix(".md")
    temporary = target.with_suffix(".md.tmp")
    temporary.write_text(markdown(f"{source.parent.name}: {source.stem}", results, drawn), encoding="utf-8")
    os.replace(temporary, target)
    return target


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="a folder with JSON files of benchmark programs")
    parser.add_argument("--format", choices=("svg", "png"), default="svg", help="format of the plots (svg)")
    parser.add_argument("--no-plots", action="store_true", help="write tables only")
    options = parser.parse_args()
    sources = sorted(options.folder.glob("*.json"))
    if not sources:
        print(f"report.py: no JSON file in {options.folder}", file=sys.stderr)
        return 1
    plt = None if options.no_plots else plots.pyplot()
    if plt is None and not options.no_plots:
        print("report.py: matplotlib is not installed: writing tables without plots", file=sys.stderr)
    for source in sources:
        print(report(source, plt, options.format))
    return 0


if __name__ == "__main__":
    sys.exit(main())
