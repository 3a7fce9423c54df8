"""The benchmark of places also runs without a GPU, and its results follow bench/results/schema.json.

CORANKD names the server.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

BENCH = Path(__file__).resolve().parent.parent


def test_places_bench_writes_valid_results(tmp_path: Path) -> None:
    corankd = os.environ.get("CORANKD")
    if not corankd:
        pytest.skip("CORANKD is not set")
    out = tmp_path / "places.json"
    program = BENCH / "places" / "places_bench.py"
    done = subprocess.run(
        [
            sys.executable,
            program,
            "--corankd",
            corankd,
            "--out",
            out,
            "--n",
            "50000",
            "--rounds",
            "2",
            "--commit",
            "abc",
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads(out.read_text(encoding="utf-8"))
    jsonschema.validate(results, json.loads((BENCH / "results" / "schema.json").read_text(encoding="utf-8")))
    assert results["commit"] == "abc"
    assert {"Sort in shared memory", "Merge of two halves in shared memory"} <= {row["row"] for row in results["rows"]}
    for row in results["rows"]:
        stages = {"queue_p50_ms", "copy_in_p50_ms", "kernel_p50_ms", "copy_out_p50_ms"}
        of_streams = {"receive_p50_ms", "send_p50_ms"} if "streams" in row["row"] else set()
        assert stages <= set(row["details"]) <= stages | of_streams
        assert row["ours"] > row["details"]["kernel_p50_ms"] > 0
    echoed = any(row["reference_name"] == "an echo by gRPC for Python" for row in results["rows"])
    assert echoed == Path(corankd).with_name("echo_server").exists()
    assert list(tmp_path.iterdir()) == [out]


def test_sizes_bench_writes_valid_results(tmp_path: Path) -> None:
    corankd = os.environ.get("CORANKD")
    if not corankd:
        pytest.skip("CORANKD is not set")
    out = tmp_path / "sizes.json"
    program = BENCH / "places" / "sizes_bench.py"
    command = [
        sys.executable,
        str(program),
        "--corankd",
        corankd,
        "--out",
        str(out),
        "--max-log2",
        "12",
        "--commit",
        "abc",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads(out.read_text(encoding="utf-8"))
    jsonschema.validate(results, json.loads((BENCH / "results" / "schema.json").read_text(encoding="utf-8")))
    by_server = [row for row in results["rows"] if row["row"].startswith("Sort ")]
    assert {(row["row"], row["n"]) for row in by_server} >= {("Sort in shared memory", n) for n in (1 << 10, 1 << 12)}
    assert all(row["ours"] > 0 and row["reference_name"] == "np.sort" for row in results["rows"])


def test_tables_bench_writes_valid_results(tmp_path: Path) -> None:
    corankd = os.environ.get("CORANKD")
    if not corankd:
        pytest.skip("CORANKD is not set")
    for library in ("pandas", "polars", "pyarrow"):
        pytest.importorskip(library)
    out = tmp_path / "tables.json"
    program = BENCH / "places" / "tables_bench.py"
    command = [sys.executable, str(program), "--corankd", corankd, "--out", str(out), "--commit", "abc"]
    command += ["--rows", "5000", "--rounds", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "function" not in done.stdout
    results = json.loads(out.read_text(encoding="utf-8"))
    jsonschema.validate(results, json.loads((BENCH / "results" / "schema.json").read_text(encoding="utf-8")))
    assert {row["reference_name"] for row in results["rows"]} == {"polars", "pandas", "rows taken here"}


def test_tables_bench_prints_the_phases_of_the_rows_that_a_filter_finds() -> None:
    corankd = os.environ.get("CORANKD")
    if not corankd:
        pytest.skip("CORANKD is not set")
    for library in ("pandas", "polars", "pyarrow"):
        pytest.importorskip(library)
    command = [sys.executable, str(BENCH / "places" / "tables_bench.py"), "--corankd", corankd, "--rows", "5000"]
    command += ["--rounds", "2", "--filter", "^join_by a string", "--phases"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    heading, *lines = done.stdout.splitlines()
    assert heading.startswith("join_by a string, polars: ")
    assert all(line.startswith("  ") for line in lines), done.stdout
    assert sum("server's Join (" in line for line in lines) == 1
    of_functions = [line.split() for line in lines if "_table_joins.py:" in line]
    assert {"join_by", "joined_rows", "built"} <= {line[-1] for line in of_functions}
    for total, own, _, calls, *_ in of_functions:
        assert 0 <= float(own) <= float(total)
        assert int(calls) > 0
