#!/usr/bin/env python3
"""Makes the plots of docs/plots, and tables of README.md, docs/when-does-it-pay.md and tests/RELIABILITY.md, from
bench/results.

    bench/report/pays.py [--check]

A table stands between `<!-- made by bench/report/pays.py: NAME -->` and `<!-- end -->`. With --check nothing is
written; a file that is not as its results make it is named, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from plots import pyplot, rate_lines, times_by_size
from rows import Row

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results"
PLOTS = Path("docs") / "plots"
PAGES = ("README.md", "docs/when-does-it-pay.md", "tests/RELIABILITY.md")
BLOCK = re.compile(r"(<!-- made by bench/report/pays\.py: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
SIZE = (5.8, 3.4)  # inches: readable on a phone
OURS, OTHERS, LOSING = "#2a8f6f", "#8c959f", "#d9822b"
# Stands for the colour of text, which differs between light and dark pages.
INK = "#24292f"
DARK = "svg { color: #24292f } @media (prefers-color-scheme: dark) { svg { color: #e6e9ed } }"

STREAMS, SHARED, IPC = "Sort by streams, 4 connections", "Sort in shared memory", "Sort in CUDA IPC memory"
MERGE = "Merge of two halves in shared memory"
CPP_STREAMS = "Sort 1 GiB over 8 connections by the client library, echo over one"
# The sizes benchmark, with and without the GPU of the same machine.
GPU_SIZES, CPU_SIZES = "h200/sizes", "cpu-xeon/sizes"
PLACES = {
    "Sort in GPU memory": "GPU memory",
    "Sort in shared memory": "shared memory",
    "Sort copied to shared memory": "copied to shared memory",
    "Sort by streams": "streams",
    "Sort in the message": "in the message",
}
RIVALS = {
    "np.sort": "`np.sort`",
    "polars, no server": "polars",
    "CuPy with its copies, no server": "CuPy with its copies",
}
ONE_CALL = "Sort inline, one at a time"
CUPY = "CuPy, copies included"


def load(name: str) -> list[Row]:
    rows: list[Row] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["rows"]
    return rows


def some(rows: list[Row], row: str, **values: object) -> list[Row]:
    """The rows of a kind that have these values.

    Raises:
        SystemExit: there is none.
    """
    found = [r for r in rows if r["row"] == row and r["ours"] and all(r[key] == value for key, value in values.items())]
    if not found:
        raise SystemExit(f"pays.py: bench/results has no row {row!r} with {values}")
    return found


def time(milliseconds: float) -> str:
    """As people say it, in two or three digits."""
    if milliseconds < 1:
        return f"{milliseconds * 1e3:.0f} µs"
    if milliseconds < 1000:
        return f"{milliseconds:.0f} ms" if milliseconds >= 10 else f"{milliseconds:.1f} ms"
    return f"{milliseconds / 1e3:.1f} s"


def times(samples: list[float]) -> str:
    """One time, or from the shortest to the longest."""
    (low, unit), (high, greater) = (time(edge(samples)).split() for edge in (min, max))
    if unit != greater:
        return f"{low} {unit} to {high} {greater}"
    return f"{high} {unit}" if low == high else f"{low} to {high} {unit}"


def ours(rows: list[Row], row: str, **values: object) -> list[float]:
    return [r["ours"] for r in some(rows, row, **values)]


def without(places: list[Row]) -> dict[str, list[float]]:
    """What the same sort takes otherwise, host memory to host memory: milliseconds, one figure a run."""
    names = {
        "np.sort": "np.sort",
        "polars on all cores": "polars",
        "CuPy with its copies": CUPY,
        "PyTorch on all cores": "torch.sort, CPU",
    }
    return {
        words: [r["reference"] for row in (STREAMS, SHARED) for r in some(places, row, reference_name=name)]
        for name, words in names.items()
    }


def streamed_by_cpp(service: list[Row]) -> float:
    """Milliseconds of 1 GiB, from the GB/s of the row."""
    row = some(service, CPP_STREAMS)[0]
    return float(4 * row["n"] / row["ours"] / 1e6)


# --- tables ---------------------------------------------------------------------------------------------------------


def users_table() -> list[str]:
    places, service, kernels = load("h200/places"), load("h200/service"), load("h200/kernels")
    otherwise = without(places)
    cub = some(kernels, "sort AUTO", type="u32", n=1 << 28, distribution="uniform")[0]
    one = some(service, ONE_CALL)[0]
    copies = some(places, MERGE)[0]
    alone = time(cub["n"] / cub["reference"] / 1e6)
    rows = [
        ("sort in shared memory, Python", ours(places, SHARED), f"`np.sort`: {times(otherwise['np.sort'])}"),
        ("sort a CuPy array where it is, Python", ours(places, IPC), f"CUB's kernels alone: {alone}"),
        ("sort by streams, C++", [streamed_by_cpp(service)], f"polars on 16 cores: {times(otherwise['polars'])}"),
        ("sort by streams, Python", ours(places, STREAMS), f"CuPy, copies included: {times(otherwise[CUPY])}"),
        ("merge two halves in shared memory", ours(places, MERGE), f"copying in and out: {time(copies['reference'])}"),
        ("sort 1,024 keys in a call", [one["ours"] / 1e3], f"a gRPC echo of them: {time(one['reference'] / 1e3)}"),
    ]
    return ["| what you do | corank | what you would do otherwise |", "| --- | ---: | --- |"] + [
        f"| {what} | {times(took)} | {instead} |" for what, took, instead in rows
    ]


def calls_table() -> list[str]:
    service = load("h200/service")
    lines = ["| sorts of 1,024 `uint32` in flight | a sort | an echo of the same bytes |", "| ---: | ---: | ---: |"]
    for row in some(service, "Sort inline by calls in flight"):
        details = row["details"]
        lines.append(
            f"| {details['in_flight']:.0f} | {time(details['p50_us'] / 1e3)} | {time(details['echo_p50_us'] / 1e3)} |"
        )
    return lines


def cpu_table() -> list[str]:
    rows = load("cpu/engine")
    lines = ["| work, 16,777,216 elements | CPU engine, 2 threads | one thread otherwise |", "| --- | ---: | --- |"]
    shown = [
        ("sort keys", "u32", "VQSort", "sort `uint32`"),
        ("sort keys", "u32", "std::sort", "sort `uint32`"),
        ("sort keys", "u64", "VQSort", "sort `uint64`"),
        ("sort pairs", "u32+u32", "std::stable_sort", "sort `uint32` with `uint32` values"),
        ("merge", "u32", "std::merge", "merge two halves of `uint32`"),
    ]
    for kind, element, reference, words in shown:
        row = next(
            r for r in some(rows, kind, type=element)
            if r["reference_name"].startswith(reference) and r["distribution"].startswith("uniform")
        )  # fmt: skip
        took, instead = (row["n"] / row[side] / 1e6 for side in ("ours", "reference"))
        name = row["reference_name"].split(" (")[0].split(",")[0]
        lines.append(f"| {words} | {time(took)} | `{name}`: {time(instead)} |")
    return lines


def crossing_table(results: str) -> list[str]:
    """From how many keys on each place is faster than what needs no server."""
    lines = times_by_size(load(results))
    rivals = {name: words for name, words in RIVALS.items() if results == GPU_SIZES or "CuPy" not in words}
    table = ["| the array is | " + " | ".join(f"beats {words} from" for words in rivals.values()) + " |"]
    table.append("| --- |" + " ---: |" * len(rivals))
    for place in PLACES:
        if place not in lines:
            continue
        found = [first_faster(lines[place], lines[rival]) for rival in rivals]
        cells = ["never" if n is None else f"{n:,} keys" for n in found]
        table.append(f"| {place.removeprefix('Sort ')} | {' | '.join(cells)} |")
    return table


def first_faster(ours: dict[int, float], other: dict[int, float]) -> int | None:
    """The fewest keys from which ours is the faster one, at that size and every greater one that was measured."""
    faster = None
    for n in sorted(ours, reverse=True):
        if ours[n] >= other[n]:
            break
        faster = n
    return faster


def wire_table() -> list[str]:
    """The goals of the wire: rates beside an echo by gRPC's C++ server, and answers in time beyond capacity."""
    service, overload = load("h200/service"), load("h200/overload")

    def ratio(row: str, **values: object) -> float:
        return float(some(service, row, **values)[0]["ratio"])

    def loads(keys: int, *loads: str) -> list[float]:
        rows = {r["distribution"]: r["ratio"] for r in some(overload, "Open loop, inline: answers in time", n=keys)}
        return [rows[f"{load} x capacity"] for load in loads]

    def percent(kind: str, keys: int) -> float:
        return float(some(overload, f"Open loop, inline: {kind}", n=keys)[0]["ours"])

    sized = [ratio("Sort inline by size", n=n) for n in (1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20)]
    small = [ratio(f"Sort inline, {calls} in flight", n=1 << 10) for calls in (64, 512)]
    streams = [ratio(f"Sort 256 MiB streamed, {count}") for count in ("one stream", "8 streams")]
    rows: list[tuple[str, list[float], float]] = [
        ("sorts of 1,024 `uint32`, 64 and 512 calls in flight: times the echo's rate", small, 5),
        ("sorts of 16, 64 and 256 KiB, 8 in flight: times the echo's rate", sized[:3], 2),
        ("sorts of 1 MiB, 8 in flight", sized[3:4], 1.2),
        ("sorts of 4 MiB, 8 in flight", sized[4:], 1.5),
        ("sorts of 256 MiB by one stream, by eight", streams, 2),
        (
            "4 KiB at 0.5, 0.8 and 0.9 times the capacity: in time, of those offered",
            loads(1 << 10, "0.5", "0.8", "0.9"),
            0.95,
        ),
        ("4 KiB at 1.5 times: of the best goodput", loads(1 << 10, "1.5"), 0.9),
        ("4 KiB at 3 times", loads(1 << 10, "3"), 0.5),
        ("1 MiB at 2 and 3 times", loads(1 << 18, "2", "3"), 0.9),
        ("4 MiB at 2 and 3 times", loads(1 << 20, "2", "3"), 0.9),
    ]
    lines = ["| work | goal | H200 | met |", "| --- | ---: | ---: | --- |"]
    one = 1 / ratio(ONE_CALL)
    for work, found, goal in rows:
        figures = ", ".join(f"{value:.2f}" for value in found)
        lines.append(f"| {work} | {goal:g} | {figures} | {'yes' if min(found) >= goal else 'no'} |")
        if len(lines) == 3:
            met = "yes" if one <= 0.8 else "no"
            lines.append(f"| the same, one at a time: of the echo's time | at most 0.8 | {one:.2f} | {met} |")
    for kind in ("refusals with RetryInfo", "accepted calls that were answered in time"):
        found = [percent(kind, keys) for keys in (1 << 10, 1 << 18, 1 << 20)]
        figures = ", ".join(f"{value:.4g} %" for value in found)
        lines.append(
            f"| {kind}, 4 KiB, 1 and 4 MiB at 3 times | all | {figures} | {'yes' if min(found) == 100 else 'no'} |"
        )
    return lines


TABLES: dict[str, Callable[[], list[str]]] = {
    "users": users_table,
    "calls": calls_table,
    "wire": wire_table,
    "cpu": cpu_table,
    "crossing": lambda: crossing_table(GPU_SIZES),
    "crossing-cpu": lambda: crossing_table(CPU_SIZES),
}


# --- plots ----------------------------------------------------------------------------------------------------------


def draw_places(plt: Any) -> Any:
    """What sorting 1 GiB takes, by place and by other means."""
    places, service = load("h200/places"), load("h200/service")
    mine = {
        "GPU memory": ours(places, IPC),
        "shared memory": ours(places, SHARED),
        "streams, C++": [streamed_by_cpp(service)],
        "streams, Python": ours(places, STREAMS),
    }
    bars = [*((name, took, OURS) for name, took in mine.items()), *((n, t, OTHERS) for n, t in without(places).items())]
    bars.reverse()
    fig, axes = plt.subplots(figsize=SIZE)
    for at, (_, took, color) in enumerate(bars):
        low, high = min(took), max(took)
        axes.barh(at, high, color=color, height=0.62)
        axes.text(high * 1.08, at, times([low, high]), va="center", fontsize=9)
    axes.set_yticks(range(len(bars)), [f"corank: {name}" if color == OURS else name for name, _, color in bars])
    axes.set_xscale("log")
    axes.set_xlim(2, 6e4)
    axes.set_xticks([10, 100, 1000, 10000], ["10 ms", "100 ms", "1 s", "10 s"])
    axes.minorticks_off()
    axes.set_title("Sorting 1 GiB of uint32; shorter is better", fontsize=10)
    return fig


def draw_sizes(plt: Any) -> Any:
    """What a call carries, against its size, beside an echo that does no work."""
    rows = some(load("h200/service"), "Sort inline by size")
    fig, axes = plt.subplots(figsize=SIZE)
    for side, color, name in (("ours", OURS, "corank sorts them"), ("reference", OTHERS, "an echo sends them back")):
        points = sorted((4 * r["n"], r[side]) for r in rows)
        style = "-o" if side == "ours" else "--o"
        axes.plot(*zip(*points, strict=True), style, color=color, label=name, markersize=4)
    axes.set_xscale("log", base=2)
    axes.set_xticks([2**k for k in (10, 14, 18, 22, 26)], ["1 KiB", "16 KiB", "256 KiB", "4 MiB", "64 MiB"])
    axes.set_ylim(0)
    axes.set_xlabel("bytes of a call")
    axes.set_ylabel("GB/s each way")
    axes.set_title("Sorts of uint32 in the message, 8 calls in flight", fontsize=10)
    axes.legend(frameon=False)
    return fig


def draw_times(plt: Any, results: str, title: str) -> Any:
    """The time of a sort against its size, by place, beside what needs no server."""
    lines = times_by_size(load(results))
    fig, axes = plt.subplots(figsize=(5.8, 4.4))
    greens = ("#0b5d45", "#1f8a66", "#3aa981", "#68c4a1", "#9bdcc2")
    markers = "sodv^"
    for (place, words), color, marker in zip(PLACES.items(), greens, markers, strict=True):
        points = sorted(lines.get(place, {}).items())
        if points:
            axes.plot(*zip(*points, strict=True), marker=marker, color=color, label=words, markersize=4)
    shown = [name for name in RIVALS if results == GPU_SIZES or "CuPy" not in name]
    for name, color, style in zip(shown, (LOSING, OTHERS, "#b05ccf"), ("--", "-.", ":"), strict=False):
        points = sorted(lines[name].items())
        axes.plot(*zip(*points, strict=True), style, color=color, label=RIVALS[name].strip("`"), linewidth=1.8)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks([2**k for k in (10, 14, 18, 22, 26)], ["1,024", "16,384", "262,144", "4 million", "67 million"])
    axes.set_yticks([0.1, 1, 10, 100, 1000], ["100 µs", "1 ms", "10 ms", "100 ms", "1 s"])
    axes.minorticks_off()
    axes.set_xlabel("keys, random uint32")
    axes.set_title(title, fontsize=10)
    axes.legend(frameon=False, fontsize=8)
    return fig


def draw_calls(plt: Any) -> Any:
    """The median time of small calls, against how many are in flight."""
    rows = some(load("h200/service"), "Sort inline by calls in flight")
    fig, axes = plt.subplots(figsize=SIZE)
    for detail, color, name in (
        ("", OURS, "corank sorts 1,024 uint32"),
        ("echo_", OTHERS, "an echo of the same bytes"),
    ):
        points = sorted((r["details"]["in_flight"], r["details"][f"{detail}p50_us"]) for r in rows)
        axes.plot(*zip(*points, strict=True), "--o" if detail else "-o", color=color, label=name, markersize=4)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_yticks([50, 100, 200, 500, 1000], ["50 µs", "100 µs", "200 µs", "500 µs", "1 ms"])
    axes.minorticks_off()
    axes.set_xticks([2**k for k in range(8)], [str(2**k) for k in range(8)])
    axes.set_xlabel("calls in flight")
    axes.set_title("Median time of a small call", fontsize=10)
    axes.legend(frameon=False)
    return fig


def draw_kernels(plt: Any) -> Any:
    """The rate of the kernels alone, against the number of keys."""
    lines = rate_lines(load("h200/kernels"))["u32"]
    names = {
        "AUTO": ("corank", OURS, "-"),
        "cub::DeviceRadixSort": ("CUB, radix sort", OTHERS, "--"),
        "cub::DeviceMergeSort": ("CUB, merge sort", LOSING, ":"),
    }
    fig, axes = plt.subplots(figsize=SIZE)
    for key, (name, color, style) in names.items():
        points = sorted((n, n / rate / 1e6) for n, rate in lines[key])
        axes.plot(*zip(*points, strict=True), style, color=color, label=name, linewidth=1.8)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks([2**k for k in (10, 15, 20, 25, 30)], ["2^10", "2^15", "2^20", "2^25", "2^30"])
    axes.set_yticks([0.01, 0.1, 1, 10], ["10 µs", "100 µs", "1 ms", "10 ms"])
    axes.minorticks_off()
    axes.set_xlabel("keys, random uint32, in GPU memory")
    axes.set_title("Time of the kernels alone on an H200", fontsize=10)
    axes.legend(frameon=False)
    return fig


DRAWN: dict[str, Callable[[Any], Any]] = {
    "places": draw_places,
    "times": lambda plt: draw_times(plt, GPU_SIZES, "Time of a sort, Python client, H200 and 16 cores"),
    "times-cpu": lambda plt: draw_times(plt, CPU_SIZES, "Time of a sort, Python client, 16 cores, no GPU"),
    "sizes": draw_sizes,
    "calls": draw_calls,
    "kernels": draw_kernels,
}


def svg(plt: Any, draw: Callable[[Any], Any]) -> str:
    """The plot as text: without a background, its ink that of the page."""
    fig = draw(plt)
    for axes in fig.axes:
        axes.spines[["top", "right"]].set_visible(False)
    fig.tight_layout()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plot.svg"
        fig.savefig(path, transparent=True, metadata={"Date": None})
        text = path.read_text(encoding="utf-8")
    plt.close(fig)
    text = re.sub(rf"{INK}(?=[;\"])", "currentColor", text)
    text = text.replace('<style type="text/css">', f'<style type="text/css">{DARK}', 1)
    return "".join(line.rstrip() + "\n" for line in text.splitlines())


def made() -> dict[Path, str]:
    """Every file that this makes, or makes a part of."""
    files: dict[Path, str] = {}
    for name in PAGES:
        text = (ROOT / name).read_text(encoding="utf-8")
        files[Path(name)] = BLOCK.sub(lambda at: f"{at[1]}\n" + "\n".join(TABLES[at[2]]()) + f"\n\n{at[3]}", text)
    plt = pyplot()
    if plt is None:
        raise SystemExit("pays.py: needs matplotlib: scripts/setup.sh")
    for ink in ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"):
        plt.rcParams[ink] = INK
    for name, draw in DRAWN.items():
        files[PLOTS / f"{name}.svg"] = svg(plt, draw)
    return files


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    stale = 0
    for path, text in made().items():
        target = ROOT / path
        if target.exists() and target.read_text(encoding="utf-8") == text:
            continue
        stale += 1
        if check:
            print(f"pays.py: {path} is not what bench/results make of it: run bench/report/pays.py", file=sys.stderr)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
            print(path)
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
