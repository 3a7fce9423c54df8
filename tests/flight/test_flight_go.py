"""Arrow's client for Go works with the Flight gateway as it is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
PYTHON = HERE.parents[1] / "client" / "python"
sys.path[:0] = [str(PYTHON), str(PYTHON / "src"), str(PYTHON / "tests")]

import generate  # noqa: E402

generate.ensure()

from corank.testing import LocalServer  # noqa: E402
from flight_cases import all_free, served  # noqa: E402

PROGRAM = HERE.parents[1] / ".deps" / "flight" / "client"


def test_the_client_of_go_sorts_joins_keeps_and_meets_errors() -> None:
    binary = os.environ.get("CORANKD")
    if not binary:
        pytest.skip("CORANKD is not set: set it to the path of corankd")
    if shutil.which("go") is None:
        pytest.skip("Go is not installed: install it from https://go.dev/dl")
    built = subprocess.run(
        ["go", "build", "-p", "2", "-o", str(PROGRAM), "."],
        cwd=HERE / "go",
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    with LocalServer(binary) as server, served(server.address) as gateway:
        address = f"127.0.0.1:{gateway.port}"
        done = subprocess.run([str(PROGRAM), address], capture_output=True, text=True, check=False, timeout=120)
        assert (done.returncode, done.stdout) == (0, "corank-flight: Go's client works\n"), done.stderr
        all_free(gateway)
