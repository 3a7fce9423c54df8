"""The plots of a results file. Each function draws what the rows allow and returns whether it drew anything."""

from __future__ import annotations

import importlib
import importlib.util
import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rows import Row, count

LENGTH = re.compile(r"(segments of|mean) (\d+)")
BY_SIZE, BY_CALLS = "Sort inline by size", "Sort inline by calls in flight"  # rows of curves


def label(row: Row) -> str:
    reference = row["reference_name"].split(",")[0]
    return f"{row['row']}, {row['type']}, {count(row['n'])}, {row['distribution']} : {reference}"


def times_by_size(rows: list[Row]) -> dict[str, dict[int, float]]:
    """Milliseconds by the number of keys, for each work that the sizes benchmark timed; its reference is np.sort."""
    lines: dict[str, dict[int, float]] = {}
    for row in rows:
        if row["unit"] != "ms" or row["reference_name"] != "np.sort" or row["ours"] is None:
            continue
        lines.setdefault(row["row"], {})[row["n"]] = row["ours"]
        lines.setdefault("np.sort", {})[row["n"]] = row["reference"]
    return {name: points for name, points in lines.items() if len(points) > 1}


def plot_times(plt: Any, rows: list[Row], path: Path) -> bool:
    """Draws the time of a sort against its size, by place and by other means; lines without a server are dashed."""
    lines = times_by_size(rows)
    if not lines:
        return False
    fig, axes = plt.subplots(figsize=(8, 5))
    drawn = {name: sorted(points.items()) for name, points in lines.items()}
    draw_lines(axes, drawn, {name for name in drawn if not name.startswith("Sort ")})
    axes.set_xlabel("keys")
    axes.set_ylabel("ms")
    axes.legend(fontsize=8)
    save(plt, fig, path)
    return True


def headline(rows: list[Row]) -> list[Row]:
    """The rows that a plot can show: for sorts, each type at its largest uniform n; for rates against a length, the
    rows with a goal. The tables have the rest."""
    by_size = times_by_size(rows)
    uniform = [row for row in rows if row["row"].startswith("sort ") and row["distribution"] == "uniform"]
    greatest: dict[tuple[str, str], int] = {}
    for row in uniform:
        key = (row["row"], row["type"])
        greatest[key] = max(greatest.get(key, 0), row["n"])
    return [
        row
        for row in rows
        if row["row"] not in (BY_SIZE, BY_CALLS)
        and (row["goal"] or row["row"] not in by_size)
        and (row["goal"] or not LENGTH.search(row["distribution"]))
        and (
            not row["row"].startswith("sort ")
            or (row["distribution"] == "uniform" and row["n"] == greatest[row["row"], row["type"]])
        )
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
    axes.set_xticks([0.02, 0.1, 0.5, 1, 2, 10, 50, 250, 1000], minor=False)
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


def draw_lines(axes: Any, lines: dict[str, list[tuple[int, float]]], references: set[str]) -> None:
    """Named lines on logarithmic scales; references are dashed."""
    for name, points in lines.items():
        points.sort()
        axes.plot(
            [x for x, _ in points],
            [rate for _, rate in points],
            marker=".",
            linestyle="--" if name in references else "-",
            label=name,
        )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.grid(True, which="major", alpha=0.3)


def grid(plt: Any, panels: int, most_columns: int, size: tuple[float, float]) -> tuple[Any, list[Any]]:
    """A figure with this many panels of a size in inches, and at most this many per row."""
    columns = min(most_columns, panels)
    height = math.ceil(panels / columns)
    fig, lines = plt.subplots(height, columns, figsize=(size[0] * columns, size[1] * height), squeeze=False)
    places = [axes for line in lines for axes in line]
    for axes in places[panels:]:
        axes.set_visible(False)
    return fig, places[:panels]


def plot_rates(plt: Any, rows: list[Row], path: Path) -> bool:
    """The rate of the sorts against the number of keys, one panel per type."""
    lines = rate_lines(rows)
    if not lines:
        return False
    fig, places = grid(plt, len(lines), 4, (4.2, 3.6))
    for axes, (kind, of_type) in zip(places, lines.items(), strict=True):
        draw_lines(axes, of_type, {name for name in of_type if name.startswith("cub")})
        axes.set_title(kind)
        axes.set_xlabel("elements")
    places[0].set_ylabel("billions of elements per second")
    places[0].legend(fontsize=7)
    save(plt, fig, path)
    return True


def length_lines(rows: list[Row]) -> dict[str, dict[str, list[tuple[int, float]]]]:
    """For each kind of work on segments or intervals: named lines of (length, rate) for corank and its references."""
    lines: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for row in rows:
        found = LENGTH.fullmatch(row["distribution"])
        if not found or not row["ours"]:
            continue
        length = int(found[2])
        of_kind = lines.setdefault(f"{row['row']}, {row['unit']}", {})
        of_kind.setdefault(f"ours, {row['type']}", []).append((length, row["ours"]))
        if row["reference"]:
            name = f"{row['reference_name'].split(',')[0]}, {row['type']}"
            of_kind.setdefault(name, []).append((length, row["reference"]))
    return {kind: of_kind for kind, of_kind in lines.items() if any(len(points) > 2 for points in of_kind.values())}


def plot_lengths(plt: Any, rows: list[Row], path: Path) -> bool:
    """Rates against the length of segments or intervals, one panel per kind of work."""
    lines = length_lines(rows)
    if not lines:
        return False
    fig, places = grid(plt, len(lines), 3, (4.6, 3.6))
    for axes, (kind, of_kind) in zip(places, lines.items(), strict=True):
        draw_lines(axes, of_kind, {name for name in of_kind if not name.startswith("ours")})
        work, unit = kind.rsplit(", ", 1)
        axes.set_title(work, fontsize=9)
        axes.set_xlabel("mean length")
        axes.set_ylabel(unit)
        axes.legend(fontsize=6)
    save(plt, fig, path)
    return True


def plot_curve(plt: Any, path: Path, lines: dict[str, list[tuple[int, float]]], words: tuple[str, str]) -> bool:
    """One panel of named lines, dashed for the echo; `words` label the axes."""
    if not any(len(points) > 1 for points in lines.values()):
        return False
    fig, axes = plt.subplots(figsize=(5.6, 4))
    draw_lines(axes, lines, {name for name in lines if name.startswith("echo")})
    axes.set_xlabel(words[0])
    axes.set_ylabel(words[1])
    axes.legend(fontsize=8)
    save(plt, fig, path)
    return True


def plot_sizes(plt: Any, rows: list[Row], path: Path) -> bool:
    """Throughput against the bytes of a call."""
    lines: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        if row["row"] != BY_SIZE or not row["ours"]:
            continue
        lines.setdefault(f"sort, {row['distribution']}", []).append((4 * row["n"], row["ours"]))
        lines.setdefault(f"echo, {row['distribution']}", []).append((4 * row["n"], row["reference"]))
    return plot_curve(plt, path, lines, ("bytes of a call", "GB/s each way"))


def plot_in_flight(plt: Any, rows: list[Row], path: Path) -> bool:
    """Latency against the number of calls in flight."""
    lines: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        if row["row"] != BY_CALLS or not row["ours"]:
            continue
        details = row["details"]
        for name, detail in (("sort", ""), ("echo", "echo_")):
            for quantile in ("p50", "p99"):
                line = lines.setdefault(f"{name}, {quantile}", [])
                line.append((int(details["in_flight"]), details[f"{detail}{quantile}_us"]))
    return plot_curve(plt, path, lines, ("calls in flight", "latency, µs"))


def device_lines(rows: list[Row]) -> dict[str, dict[str, list[tuple[int, float]]]]:
    """Parts of the time that one device takes, by the number of devices, of works that three numbers of them do."""
    lines: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for row in rows:
        if row["reference_name"] != "one device" or not row["ratio"]:
            continue
        of_work = lines.setdefault(row["row"].rpartition(", ")[0], {})
        points = of_work.setdefault(f"{row['type']}, {count(row['n'])}, {row['distribution']}", [(1, 1.0)])
        points.append((int(row["details"]["devices"]), 1 / row["ratio"]))
    long = {
        work: {name: points for name, points in of_work.items() if len(points) > 2} for work, of_work in lines.items()
    }
    return {work: of_work for work, of_work in long.items() if of_work}


def plot_devices(plt: Any, rows: list[Row], path: Path) -> bool:
    """Time against the number of devices that share one array, one panel per work; dashed: one time by that number."""
    lines = device_lines(rows)
    if not lines:
        return False
    fig, places = grid(plt, len(lines), 3, (4.2, 3.6))
    for axes, (work, of_work) in zip(places, lines.items(), strict=True):
        numbers = sorted({devices for points in of_work.values() for devices, _ in points})
        of_work["divided by the number"] = [(devices, 1 / devices) for devices in numbers]
        draw_lines(axes, of_work, {"divided by the number"})
        axes.set_xticks(numbers, [str(devices) for devices in numbers])
        axes.set_yticks([part for part in (1, 0.7, 0.5, 0.35, 0.25, 0.125) if part >= 1 / numbers[-1]])
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter("")
        axes.set_title(work, fontsize=9)
        axes.set_xlabel("devices")
        axes.legend(fontsize=7, loc="lower left")
    for axes in places[::3]:
        axes.set_ylabel("time, as a part of that of one device")
    save(plt, fig, path)
    return True


def save(plt: Any, fig: Any, path: Path) -> None:
    fig.tight_layout()
    temporary = path.with_suffix(".tmp")
    fig.savefig(temporary, format=path.suffix[1:], metadata={"Date": None} if path.suffix == ".svg" else None)
    os.replace(temporary, path)
    plt.close(fig)


def pyplot() -> Any | None:
    """matplotlib without a display, or None if it is not installed."""
    if importlib.util.find_spec("matplotlib") is None:
        return None
    matplotlib: Any = importlib.import_module("matplotlib")
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "corank"  # the same figures give the same file
    return importlib.import_module("matplotlib.pyplot")


KINDS: dict[str, Callable[[Any, list[Row], Path], bool]] = {
    "rates": plot_rates,
    "lengths": plot_lengths,
    "times": plot_times,
    "sizes": plot_sizes,
    "in-flight": plot_in_flight,
    "devices": plot_devices,
    "ratios": plot_ratios,
}
