"""Triton's perf_analyzer against corankd. Skipped until `make test-perf-analyzer` has downloaded the program."""

from __future__ import annotations

import pathlib
import re
import subprocess

import pytest
from conftest import ROOT
from corank.testing import LocalServer
from tritonclient import grpc as triton

SCRIPT = ROOT / "scripts" / "perf_analyzer.sh"
# perf_analyzer names its objects after the tensors.
PREFIXES = "/keys,/output"


@pytest.mark.parametrize(
    "mode",
    [
        [],
        ["--streaming", "--async"],
        pytest.param(
            ["--shared-memory", "system", "--output-shared-memory-size", "16384"],
            marks=pytest.mark.skipif(
                not list((ROOT / ".deps" / "cuda" / "lib").glob("libcudart.so.*")),
                reason="perf_analyzer needs a CUDA runtime for shared memory",
            ),
        ),
    ],
    ids=["unary", "stream", "shared-memory"],
)
def test_perf_analyzer_measures_the_server(corankd: pathlib.Path, mode: list[str]) -> None:
    if not (ROOT / ".deps" / "perf-analyzer" / ".version").exists():
        pytest.skip("perf_analyzer is not here; make test-perf-analyzer downloads it")
    with LocalServer(corankd, ["--engine=cpu", f"--shared-memory={PREFIXES}"]) as server:
        command = [
            str(SCRIPT),
            "-m",
            "sort_int32",
            "-i",
            "grpc",
            "-u",
            server.address,
            "--shape",
            "keys:4096",
            "-s",
            "1000",
        ]
        windows = ["--measurement-mode", "count_windows", "--measurement-request-count", "50", "-r", "3"]
        run = subprocess.run(
            [*command, *windows, *mode], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300
        )
        assert run.returncode == 0, run.stdout
        throughput = re.search(r"Throughput: ([0-9.]+) infer/sec", run.stdout)
        assert throughput, run.stdout
        assert float(throughput[1]) > 0
        measured = re.search(r"Successful request count: (\d+)", run.stdout)  # by the server's own statistics
        assert measured, run.stdout
        assert int(measured[1]) > 0
        with triton.InferenceServerClient(server.address) as client:
            (model,) = client.get_inference_statistics("sort_int32").model_stats
            assert model.inference_stats.fail.count == 0
            assert model.inference_count >= int(measured[1])
            assert not client.get_system_shared_memory_status().regions  # it cleans up
