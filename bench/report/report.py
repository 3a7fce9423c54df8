#!/usr/bin/env python3
"""Makes the tables and plots of a results folder from its JSON files.

    bench/report/report.py bench/results/h200

For every NAME.json that a benchmark program wrote, writes NAME.md and, where matplotlib is installed, NAME-ratios.svg
and, for sorts, NAME-rates.svg. All rows are shown; those that lose to their reference or miss their goal are marked.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Row = dict[str, Any]

LOSES = "**loses**"
MISSED = "**missed**"


def figure(value: float | None) -> str:
    """A measured value in at most 4 digits."""
    if value is None:
        return "–"
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def count(n: int) -> str:
    """A number of elements, as a power of two where it is one."""
    if n >= 1024 and n & (n - 1) == 0:
        return f"2^{n.bit_length() - 1}"
    return f"{n:,}"


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
        ceiling = f"{row['ceiling']:.2f}" if "ceiling" in row else "–"
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


def latency_table(rows: Iterable[Row]) -> list[str]:
    """The lines of a Markdown table of latencies and of the server's stages, in microseconds."""
    columns = {
        "p50": "p50_us",
        "p99": "p99_us",
        "echo p50": "echo_p50_us",
        "echo p99": "echo_p99_us",
        "queue": "queue_p50_us",
        "copy in": "copy_in_p50_us",
        "kernels": "kernel_p50_us",
        "copy out": "copy_out_p50_us",
    }
    lines = ["| n | " + " | ".join(f"{name}, µs" for name in columns) + " |", "| ---: |" + " ---: |" * len(columns)]
    for row in rows:
        details = row.get("details", {})
        cells = [count(row["n"]), *(figure(details.get(detail)) for detail in columns.values())]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def groups(rows: list[Row]) -> dict[str, list[Row]]:
    """Rows by kind, in the order of their first appearance."""
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
        f"Ahead of the reference: {sum(row['ratio'] >= 1 for row in compared)} of {len(compared)}. Failed: {failed}."
    )


def markdown(name: str, results: dict[str, Any], plots: list[str]) -> str:
    lines = [
        f"# {name}",
        "",
        "Made by `bench/report/report.py` from the JSON file beside it; not edited by hand.",
        "",
        f"- machine: {results['machine']}",
        f"- date: {results['date']}",
        f"- commit: {results['commit']}",
        f"- command: `{results['command']}`",
        "",
        "Figures are medians; *ratio* is above 1 where ours is better; *spread* is the 10 % and 90 % quantile beside"
        " the median.",
        "",
        summary(results["rows"]),
        "",
    ]
    for plot in plots:
        lines += [f"![{plot}]({plot})", ""]
    for kind, rows in groups(results["rows"]).items():
        lines += [f"## {kind}", "", *table(rows), ""]
        if any("p50_us" in row.get("details", {}) for row in rows):
            lines += [*latency_table(rows), ""]
    return "\n".join(lines)


def label(row: Row) -> str:
    reference = row["reference_name"].split(",")[0]
    return f"{row['row']}, {row['type']}, {count(row['n'])}, {row['distribution']} : {reference}"


def headline(rows: list[Row]) -> list[Row]:
    """The rows that a plot can show: of the sorts, each type at its greatest uniform n; the tables have the rest."""
    uniform = [row for row in rows if row["row"].startswith("sort ") and row["distribution"] == "uniform"]
    greatest: dict[tuple[str, str], int] = {}
    for row in uniform:
        key = (row["row"], row["type"])
        greatest[key] = max(greatest.get(key, 0), row["n"])
    return [
        row
        for row in rows
        if not row["row"].startswith("sort ")
        or (row["distribution"] == "uniform" and row["n"] == greatest[row["row"], row["type"]])
    ]


def plot_ratios(plt: Any, rows: list[Row], path: Path) -> bool:
    """Bars of the headline ratios, on a logarithmic scale around 1."""
    compared = [row for row in headline(rows) if row["ratio"]]
    if not compared:
        return False
    compared.reverse()
    fig, axes = plt.subplots(figsize=(9, 1.2 + 0.2 * len(compared)))
    places = range(len(compared))
    colors = ["#2a7f62" if row["ratio"] >= 1 else "#c0392b" for row in compared]
    axes.barh(places, [row["ratio"] - 1 for row in compared], left=1, color=colors, height=0.7)
    axes.set_xscale("log")
    axes.set_xticks([0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20], minor=False)
    axes.set_xticks([], minor=True)
    axes.xaxis.set_major_formatter("{x:g}")
    ratios = [row["ratio"] for row in compared]
    axes.set_xlim(min(0.4, 0.8 * min(ratios)), max(2.5, 1.25 * max(ratios)))
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_yticks(places, [label(row) for row in compared], fontsize=6)
    axes.set_ylim(-0.6, len(compared) - 0.4)
    axes.set_xlabel("ours against the reference; above 1 is better for us")
    save(plt, fig, path)
    return True


def rate_lines(rows: list[Row]) -> dict[str, dict[str, list[tuple[int, float]]]]:
    """For each type: named lines of (n, billions of elements per second), from the uniform sorts."""
    lines: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for row in rows:
        details = row.get("details", {})
        if row["distribution"] != "uniform" or "cub_radix_us" not in details:
            continue
        of_type = lines.setdefault(row["type"], {})
        of_type.setdefault(row["row"].removeprefix("sort "), []).append((row["n"], row["n"] / details["ours_us"] / 1e3))
        if row["row"] == "sort AUTO":
            for name, detail in (("cub::DeviceRadixSort", "cub_radix_us"), ("cub::DeviceMergeSort", "cub_merge_us")):
                of_type.setdefault(name, []).append((row["n"], row["n"] / details[detail] / 1e3))
    return lines


def plot_rates(plt: Any, rows: list[Row], path: Path) -> bool:
    """The rate of the sorts against the number of keys, one panel a type."""
    lines = rate_lines(rows)
    if not lines:
        return False
    fig, panels = plt.subplots(1, len(lines), figsize=(4.2 * len(lines), 3.6), squeeze=False)
    for axes, (kind, of_type) in zip(panels[0], lines.items(), strict=True):
        for name, points in of_type.items():
            points.sort()
            axes.plot(
                [n for n, _ in points],
                [rate for _, rate in points],
                marker=".",
                linestyle="--" if name.startswith("cub") else "-",
                label=name,
            )
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_title(kind)
        axes.set_xlabel("elements")
        axes.grid(True, which="major", alpha=0.3)
    panels[0][0].set_ylabel("billions of elements per second")
    panels[0][0].legend(fontsize=7)
    save(plt, fig, path)
    return True


def save(plt: Any, fig: Any, path: Path) -> None:
    fig.tight_layout()
    temporary = path.with_suffix(".tmp")
    fig.savefig(temporary, format=path.suffix[1:], metadata={"Date": None} if path.suffix == ".svg" else None)
    os.replace(temporary, path)
    plt.close(fig)


def pyplot() -> Any | None:
    """matplotlib without a display, or None where it is not installed."""
    if importlib.util.find_spec("matplotlib") is None:
        return None
    matplotlib: Any = importlib.import_module("matplotlib")
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "corank"  # the same file from the same figures
    return importlib.import_module("matplotlib.pyplot")


def report(source: Path, plt: Any | None, suffix: str) -> Path:
    results = json.loads(source.read_text(encoding="utf-8"))
    plots = []
    if plt is not None:
        for kind, draw in (("rates", plot_rates), ("ratios", plot_ratios)):
            path = source.with_name(f"{source.stem}-{kind}.{suffix}")
            if draw(plt, results["rows"], path):
                plots.append(path.name)
    target = source.with_suffix(".md")
    temporary = target.with_suffix(".md.tmp")
    temporary.write_text(markdown(f"{source.parent.name}: {source.stem}", results, plots), encoding="utf-8")
    os.replace(temporary, target)
    return target


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="a folder with JSON files of benchmark programs")
    parser.add_argument("--format", choices=("svg", "png"), default="svg", help="of the plots (svg)")
    parser.add_argument("--no-plots", action="store_true", help="tables only")
    options = parser.parse_args()
    sources = sorted(options.folder.glob("*.json"))
    if not sources:
        print(f"report.py: no JSON file in {options.folder}", file=sys.stderr)
        return 1
    plt = None if options.no_plots else pyplot()
    if plt is None and not options.no_plots:
        print("report.py: matplotlib is not installed: tables without plots", file=sys.stderr)
    for source in sources:
        print(report(source, plt, options.format))
    return 0


if __name__ == "__main__":
    sys.exit(main())
