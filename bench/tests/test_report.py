"""The report shows every row and marks those that lose, miss their goal or fail."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

BENCH = Path(__file__).resolve().parent.parent


def make_row(**changes: object) -> dict[str, Any]:
    row: dict[str, Any] = {
        "row": "sort AUTO",
        "type": "u32",
        "n": 1 << 20,
        "distribution": "uniform",
        "ours": 12.5,
        "reference": 10.0,
        "reference_name": "cub::DeviceRadixSort",
        "unit": "Gkeys/s",
        "better": "higher",
        "ratio": 1.25,
        "spread": {"ours": [12.25, 12.75], "reference": [9.9, 10.1], "samples": 9},
        "goal": "ratio >= 1",
        "met": True,
        "checked": True,
    }
    row.update(changes)
    return row


def make_report(folder: Path, rows: list[dict[str, Any]], *arguments: str) -> str:
    results = {
        "machine": "NVIDIA H200",
        "date": "2026-01-02T03:04:05Z",
        "commit": "abc1234",
        "command": "kernel_bench",
        "rows": rows,
    }
    jsonschema.validate(results, json.loads((BENCH / "results" / "schema.json").read_text(encoding="utf-8")))
    (folder / "kernels.json").write_text(json.dumps(results), encoding="utf-8")
    script = BENCH / "report" / "report.py"
    subprocess.run([sys.executable, script, folder, *arguments], check=True, capture_output=True, timeout=60)
    return (folder / "kernels.md").read_text(encoding="utf-8")


def line_of(report: str, text: str) -> str:
    (line,) = [line for line in report.splitlines() if line.startswith("|") and text in line]
    return line


def test_a_winning_row_shows_both_sides_and_its_goal(tmp_path: Path) -> None:
    line = line_of(make_report(tmp_path, [make_row()], "--no-plots"), "2^20")
    assert "| 12.5 | 10 (cub::DeviceRadixSort) | Gkeys/s | 1.25 | -2 … +2 % |" in line
    assert "ratio >= 1: met" in line
    assert "**" not in line


def test_losing_and_missing_rows_are_shown_and_marked(tmp_path: Path) -> None:
    report = make_report(tmp_path, [make_row(), make_row(n=1 << 22, ours=5.0, ratio=0.5, met=False)], "--no-plots")
    line = line_of(report, "2^22")
    assert "0.50 **loses**" in line
    assert "ratio >= 1: **missed**" in line
    assert "Goals met: 1 of 2. Better than the reference: 1 of 2. Failed: 0." in report


def test_a_failed_row_shows_its_error(tmp_path: Path) -> None:
    failed = make_row(ours=None, reference=None, ratio=None, spread=None, met=False, error="wrong | answer")
    report = make_report(tmp_path, [failed], "--no-plots")
    assert "**failed**: wrong \\| answer" in line_of(report, "2^20")
    assert "Failed: 1." in report


def test_a_row_without_a_reference_has_no_ratio(tmp_path: Path) -> None:
    row = make_row(row="device copy", reference=None, reference_name="", ratio=None, goal="", met=None, checked=None)
    assert "| 12.5 | – | Gkeys/s | – |" in line_of(make_report(tmp_path, [row], "--no-plots"), "2^20")


def test_plots_are_drawn_from_the_rows(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    details = {"ours_us": 80.0, "cub_radix_us": 100.0, "cub_merge_us": 160.0}
    report = make_report(tmp_path, [make_row(details=details), make_row(row="sort MERGESORT", details=details)])
    for plot in ("kernels-rates.svg", "kernels-ratios.svg"):
        assert f"({plot})" in report
        assert "<svg" in (tmp_path / plot).read_text(encoding="utf-8")


def test_rates_are_drawn_against_the_length_of_segments(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    rows = [make_row(row="segmented sort", distribution=f"segments of {length}") for length in (1, 16, 1024)]
    assert "(kernels-lengths.svg)" in make_report(tmp_path, rows)
    drawn = (tmp_path / "kernels-lengths.svg").read_text(encoding="utf-8")
    assert "<!-- segmented sort -->" in drawn
    assert "<!-- ours, u32 -->" in drawn
    assert "(kernels-lengths.svg)" not in make_report(tmp_path, rows[:2])


def test_curves_of_calls_are_drawn_beside_the_echo(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    sizes = [make_row(row="Sort inline by size", n=n, distribution="8 in flight") for n in (256, 1024)]
    latencies = {"p50_us": 100.0, "p99_us": 200.0, "echo_p50_us": 50.0, "echo_p99_us": 80.0}
    calls = [
        make_row(row="Sort inline by calls in flight", details={**latencies, "in_flight": float(calls)})
        for calls in (1, 64)
    ]
    report = make_report(tmp_path, sizes + calls)
    assert "| 2^20 | 64 | 100 | 200 | 50 | 80 |" in report
    for plot, lines in (
        ("kernels-sizes.svg", ("sort, 8 in flight", "echo, 8 in flight")),
        ("kernels-in-flight.svg", ("sort, p99", "echo, p50")),
    ):
        assert f"({plot})" in report
        drawn = (tmp_path / plot).read_text(encoding="utf-8")
        assert all(f"<!-- {line} -->" in drawn for line in lines)
    assert "(kernels-sizes.svg)" not in make_report(tmp_path, sizes[:1])


def test_time_is_drawn_against_the_number_of_devices(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")

    def rows(*numbers: int) -> list[dict[str, Any]]:
        return [
            make_row(row=f"sort, {devices} devices", reference_name="one device", details={"devices": devices})
            for devices in numbers
        ]

    assert "kernels-devices.svg" not in make_report(tmp_path, rows(2)), "one point beside one device is no line"
    assert "![kernels-devices.svg](kernels-devices.svg)" in make_report(tmp_path, rows(2, 4))
    assert "divided by the number" in (tmp_path / "kernels-devices.svg").read_text(encoding="utf-8")


def test_stages_of_streams_and_places_are_shown_with_what_tells_the_rows_apart(tmp_path: Path) -> None:
    stages = {"queue_p50_ms": 0.5, "copy_in_p50_ms": 20.0, "kernel_p50_ms": 4.0, "copy_out_p50_ms": 19.0}
    stream = make_row(row="Sort streamed", details={**stages, "receive_p50_ms": 150.0, "streams": 8.0})
    shared = [
        make_row(row="Sort in shared memory", reference_name=name, details=stages) for name in ("np.sort", "polars")
    ]
    report = make_report(tmp_path, [stream, *shared, make_row(row="device copy")], "--no-plots")
    assert "| n | streams | queue, ms | copy in, ms | kernels, ms | copy out, ms | receiving, ms |" in report
    assert "| 2^20 | 8 | 0.5 | 20 | 4 | 19 | 150 |" in report
    assert "| n | beside | queue, ms | copy in, ms | kernels, ms | copy out, ms |" in report
    assert "| 2^20 | polars | 0.5 | 20 | 4 | 19 |" in report
    assert report.count("\n| n | ") == 2


def test_echoes_with_the_same_allocator_have_a_table_of_their_own(tmp_path: Path) -> None:
    phases = {"client_send_p50_ms": 90.0, "client_wait_p50_ms": 4.0, "client_answer_p50_ms": 80.0}
    held = {f"held_echo_{name}": value - 1 for name, value in phases.items()}
    streams = make_row(row="Sort streamed", details={"streams": 1.0, "held_echo_GBps": 1.5, **phases, **held})
    calls = make_row(row="Sort inline", details={"in_flight": 8.0, "copying_echo": 10.4})
    report = make_report(tmp_path, [streams, calls], "--no-plots")
    assert "| 2^20 | 1 | 1.5 | 89 | 3 | 79 | 90 | 4 | 80 |" in report
    assert "| n | in flight | echo with tcmalloc that copies |" in report
    assert "| 2^20 | 8 | 10.4 |" in report


def test_open_loops_show_what_the_client_began_and_what_arrived(tmp_path: Path) -> None:
    loads = [
        make_row(
            row="Open loop",
            distribution=f"{load} x capacity",
            details={"offered_per_s": 100.0 * load, "begun_per_s": 90.0 * load, "arrived_per_s": 80.0 * load},
            note="not judged",
        )
        for load in (1, 3)
    ]
    report = make_report(tmp_path, loads, "--no-plots")
    assert "| n | input | offered /s | started by the client /s | arrived at the server /s |" in report
    assert "| 2^20 | 3 x capacity | 300 | 270 | 240 |" in report
    assert report.count("| not judged |") == len(loads)


def test_a_folder_without_results_is_an_error(tmp_path: Path) -> None:
    script = BENCH / "report" / "report.py"
    done = subprocess.run([sys.executable, script, tmp_path], check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "no JSON file" in done.stderr
