"""The benchmark programs run, check their answers, and their results follow bench/results/schema.json.

CORANK_BENCH_BIN names the folder of the programs.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest

BENCH = Path(__file__).resolve().parent.parent
Results = dict[str, Any]


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    folder = os.environ.get("CORANK_BENCH_BIN")
    if not folder:
        pytest.skip("CORANK_BENCH_BIN is not set")
    path = Path(folder) / program
    if not path.exists():
        pytest.skip(f"{program} is not built")
    return subprocess.run([path, *arguments], capture_output=True, text=True, timeout=60, check=False)


def results_of(program: str, out: Path, *arguments: str) -> Results:
    """Runs a program that must succeed; returns its JSON, which must follow the schema."""
    done = run(program, "--quick", f"--out={out}", "--commit=abc1234", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    results: Results = json.loads(out.read_text(encoding="utf-8"))
    schema = json.loads((BENCH / "results" / "schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(results, schema)
    assert results["commit"] == "abc1234"
    assert not [name for name in out.parent.iterdir() if name.suffix == ".tmp"]
    return results


def test_engine_bench_writes_valid_results_with_checked_answers(tmp_path: Path) -> None:
    rows = results_of("engine_bench", tmp_path / "engine.json")["rows"]
    assert {row["row"] for row in rows} == {"sort keys", "sort pairs", "merge", "search by columns", "move intervals"}
    assert all(row["checked"] for row in rows)
    assert all(row["ratio"] > 0 for row in rows)
    assert all(row["spread"]["ours"][0] <= row["ours"] <= row["spread"]["ours"][1] for row in rows)


def test_quick_rows_carry_no_goal(tmp_path: Path) -> None:
    rows = results_of("engine_bench", tmp_path / "engine.json", "--filter=merge")["rows"]
    assert [(row["goal"], row["met"]) for row in rows] == [("", None)] * len(rows)


def test_filter_selects_cases(tmp_path: Path) -> None:
    rows = results_of("engine_bench", tmp_path / "engine.json", "--filter=^merge/u64$")["rows"]
    assert [(row["row"], row["type"]) for row in rows] == [("merge", "u64")]


def test_a_filter_that_matches_nothing_fails_and_writes_nothing(tmp_path: Path) -> None:
    done = run("engine_bench", "--quick", f"--out={tmp_path / 'engine.json'}", "--filter=nothing-is-called-this")
    assert done.returncode == 1
    assert "no case matches" in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_filter_that_is_no_regular_expression_is_named() -> None:
    for program in ("engine_bench", "service_bench"):
        done = run(program, "--quick", "--filter=(")
        assert done.returncode == 1
        assert "--filter=(: " in done.stderr


def test_an_output_that_cannot_be_written_fails(tmp_path: Path) -> None:
    done = run("engine_bench", "--quick", "--filter=merge/u32", f"--out={tmp_path / 'no' / 'such' / 'folder.json'}")
    assert done.returncode == 1
    assert "cannot write" in done.stderr


def test_kernel_bench_writes_valid_results_with_checked_answers(tmp_path: Path) -> None:
    probe = run("kernel_bench", "--quick", "--filter=ceiling/round-trip")
    if "no usable NVIDIA GPU" in probe.stderr:
        assert probe.returncode == 1
        pytest.skip(probe.stderr.strip())
    rows = results_of("kernel_bench", tmp_path / "kernels.json")["rows"]
    sorts = {"sort AUTO", "sort MERGESORT", "merge AUTO", "segmented sort"}
    selections = {f"{work} by {what}" for work in ("select", "partition") for what in ("flags", "threshold")}
    others = {"load balance", "insert", "remove", "rank dense", "rank min", "rank ordinal", "search by columns"}
    others.add("n-th element, the median")
    assert sorts | selections | others <= {row["row"] for row in rows}
    assert all(row["checked"] for row in rows if row["reference_name"])


def test_shards_bench_compares_several_devices_with_one(tmp_path: Path) -> None:
    rows = results_of("shards_bench", tmp_path / "shards.json")["rows"]
    assert {row["row"] for row in rows} == {
        "argsort in device memory, 2 devices",
        "expand from host memory, 2 devices",
        "gather from host memory, 2 devices",
        "merge in device memory, 2 devices",
        "merge of an array larger than a device, 2 devices",
        "move from host memory, 2 devices",
        "sort by columns and segments from host memory, 2 devices",
        "sort by columns from host memory, 2 devices",
        "sort in device memory, 2 devices",
        "sort from host memory, 2 devices",
        "sort of an array larger than a device, 2 devices",
    }
    assert all(row["checked"] and row["details"]["devices"] == 2 for row in rows)


def test_service_bench_measures_corankd_beside_the_echo_server(tmp_path: Path) -> None:
    results = results_of("service_bench", tmp_path / "service.json", "--engine=cpu")
    assert results["machine"].startswith("cpu engine on ")
    beside = [row for row in results["rows"] if "beside" in row["row"]]
    assert [row["reference_name"] for row in beside] == ["alone", "alone"]
    assert all(row["checked"] and row["details"]["large_per_second"] > 0 for row in beside)
    rows = [row for row in results["rows"] if row not in beside]
    assert len(rows) == 9 + 2 * 2 + 7  # two points of each curve
    assert sum(row["row"].startswith("Sort inline by ") for row in rows) == 4
    assert all(row["reference_name"] == "echo server" and row["checked"] for row in rows)
    for row in rows:
        assert row["ratio"] > 0
        if "inline" in row["row"]:
            assert row["details"]["p50_us"] > row["details"]["kernel_p50_us"] > 0
        else:
            details = row["details"]
            assert details["call_p50_ms"] > details["kernel_p50_ms"] > 0
            assert {"queue_p50_ms", "copy_in_p50_ms", "copy_out_p50_ms", "receive_p50_ms", "send_p50_ms"} <= set(
                details
            )


def test_service_bench_sorts_and_merges_streams_in_pieces(tmp_path: Path) -> None:
    rows = results_of("service_bench", tmp_path / "service.json", "--engine=cpu", "--filter=out of core")["rows"]
    assert [row["row"].split()[0] for row in rows] == ["Sort", "Merge"]
    assert rows[0]["details"]["runs"] > 1
    assert all(row["checked"] for row in rows)


def test_service_bench_lets_the_client_library_sort_over_several_connections(tmp_path: Path) -> None:
    arguments = ("--engine=cpu", "--filter=over 8 connections")
    rows = results_of("service_bench", tmp_path / "service.json", *arguments)["rows"]
    assert ["client library" in row["row"] for row in rows] == [False, True]
    assert all(row["details"]["parts"] == 8 for row in rows)


def test_overload_bench_loads_the_server_with_kept_arrays_and_with_messages(tmp_path: Path) -> None:
    rows = results_of("overload_bench", tmp_path / "overload.json", "--engine=cpu")["rows"]
    loads = [row for row in rows if row["row"].endswith("answers in time") and "accepted" not in row["row"]]
    assert [row["n"] for row in loads] == [1 << 14] * 6 + [1 << 10] * 7 + [1 << 14] * 10
    assert [row["row"].startswith("Open loop, inline") for row in loads] == [False] * 6 + [True] * 17
    for row in loads:
        details = row["details"]
        endings = ("in_time", "wrong", "refused", "late", "failed")
        assert sum(details[ending] for ending in endings) == details["sent"] > 0
        assert details["wrong"] == details["failed"] == 0
        assert 0 < details["arrived_per_s"] <= details["begun_per_s"]


def test_overload_bench_can_leave_messages_out(tmp_path: Path) -> None:
    rows = results_of("overload_bench", tmp_path / "overload.json", "--engine=cpu", "--inline=false")["rows"]
    assert {row["type"] for row in rows} == {"u64"}


def test_service_bench_says_why_a_server_does_not_start(tmp_path: Path) -> None:
    done = run("service_bench", "--quick", f"--out={tmp_path / 'service.json'}", "--corankd=/bin/false")
    assert done.returncode == 1
    assert "/bin/false does not serve" in done.stderr
    assert not (tmp_path / "service.json").exists()
