"""The benchmark of the clients runs, and its results follow bench/results/schema.json.

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


def test_clients_bench_writes_valid_results(tmp_path: Path) -> None:
    corankd = os.environ.get("CORANKD")
    if not corankd:
        pytest.skip("CORANKD is not set")
    out = tmp_path / "clients.json"
    command = [sys.executable, str(BENCH / "clients" / "clients_bench.py"), "python", "--corankd", corankd]
    command += ["--out", str(out), "--rounds", "1", "--seconds", "0.1", "--many", "1000000", "--commit", "abc"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(out.read_text(encoding="utf-8"))
    jsonschema.validate(result, json.loads((BENCH / "results" / "schema.json").read_text(encoding="utf-8")))
    assert [row["row"] for row in result["rows"]] == ["Sort, 64 in flight: python", "Sort by streams: python"]
    assert all(row["ours"] > 0 and row["reference"] > 0 for row in result["rows"])
