#!/usr/bin/env python3
"""Times corank for a user of this host: 1 GiB arrays in every place, beside what the user would do otherwise.

    bench/places/places_bench.py --corankd build/bin/corankd --out bench/results/h200/places.json

Starts its own corankd and alternates calls of the Python client with the reference of each row: the bus copies that
the work needs in any case, the kernels alone, np.sort, polars, CuPy, PyTorch. It leaves out libraries that are not
installed and, on the CPU engine, rows that need a GPU. Streams also stand beside gRPC for Python alone: an echo without
the client library, if echo_server lies beside corankd. It checks every answer.
"""

from __future__ import annotations

import argparse
import datetime
import json
import operator
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "client" / "python" / "src"))

import corank  # noqa: E402
from corank.testing import LocalServer  # noqa: E402
from grpc_echo import GrpcEcho  # noqa: E402

try:
    import cupy
except ImportError:
    cupy = None
try:
    import torch
except ImportError:
    torch = None
try:
    import polars
except ImportError:
    polars = None

WARM_UP_CALLS, WARM_UP_SECONDS = 12, 1.0
FEW = 256
"""Keys of a call that costs as little as a call can."""

Work = Callable[[], float]
"""Does the work once and returns the milliseconds."""


@dataclass
class Case:
    """A row: our work and its reference, in milliseconds."""

    row: str
    n: int
    ours: Work
    reference: Work | None
    reference_name: str
    goal: str = ""
    most: Callable[[float], float] | None = None
    """The longest time that meets the goal, from the time of the reference, in milliseconds."""
    reference_rounds: int | None = None
    details: dict[str, float] = field(default_factory=dict)
    stats: list[corank.Stats] = field(default_factory=list)
    """The stats of each call, which `ours` appends."""


def milliseconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return 1e3 * (time.perf_counter() - start)


def quantiles(samples: list[float]) -> list[float]:
    return [float(np.quantile(samples, 0.1)), float(np.quantile(samples, 0.9))]


def warm_up(case: Case) -> None:
    """Warms up every lane: a lane allocates the memory that it keeps at its first call, and lanes take turns."""
    start = time.perf_counter()
    for _ in range(WARM_UP_CALLS):
        case.ours()
        if time.perf_counter() - start > WARM_UP_SECONDS:
            break


STAGES = ("queue", "copy_in", "kernel", "copy_out", "receive", "send")


def stages(stats: list[corank.Stats]) -> dict[str, float]:
    """The median of each stage as the server reports it; the stages of streams only for calls that have them."""
    times = {name: [getattr(call, f"{name}_ns") * 1e-6 for call in stats] for name in STAGES}
    return {
        f"{name}_p50_ms": statistics.median(of_calls)
        for name, of_calls in times.items()
        if name not in ("receive", "send") or any(of_calls)
    }


def measure(case: Case, rounds: int) -> dict[str, Any]:
    warm_up(case)
    warm_ups = len(case.stats)
    references = case.reference_rounds if case.reference_rounds is not None else rounds
    ours, reference = [], []
    for i in range(max(rounds, references)):
        if case.reference is not None and i < references:
            reference.append(case.reference())
        if i < rounds:
            ours.append(case.ours())
    our_median = statistics.median(ours)
    row: dict[str, Any] = {
        "row": case.row,
        "type": "u32",
        "n": case.n,
        "distribution": "uniform",
        "ours": our_median,
        "reference": statistics.median(reference) if reference else None,
        "reference_name": case.reference_name if reference else "",
        "unit": "ms",
        "better": "lower",
        "ratio": statistics.median(reference) / our_median if reference else None,
        "spread": {"ours": quantiles(ours), "samples": len(ours)},
        "goal": case.goal if reference else "",
        "met": None,
        "checked": True,
        "details": {**case.details, **stages(case.stats[warm_ups:])},
    }
    if reference:
        row["spread"]["reference"] = quantiles(reference)
        if case.most is not None:
            row["met"] = our_median <= case.most(row["reference"])
    return row


def require(holds: bool, what: str) -> None:
    if not holds:
        raise SystemExit(f"places_bench: wrong answer: {what}")


class Bus:
    """Copies between pinned memory and the GPU."""

    def __init__(self, size_bytes: int) -> None:
        self._bytes = size_bytes
        self._host_in, self._host_out = (cupy.cuda.alloc_pinned_memory(size_bytes) for _ in range(2))
        self._gpu_in, self._gpu_out = (cupy.cuda.alloc(size_bytes) for _ in range(2))
        self._in, self._out = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)

    def _copy_in(self) -> None:
        self._gpu_in.copy_from_host_async(self._host_in.ptr, self._bytes, self._in)

    def _copy_out(self) -> None:
        self._gpu_out.copy_to_host_async(self._host_out.ptr, self._bytes, self._out)

    def in_then_out(self) -> float:
        def work() -> None:
            self._copy_in()
            self._in.synchronize()
            self._copy_out()
            self._out.synchronize()

        return milliseconds(work)

    def in_and_out_together(self) -> float:
        def work() -> None:
            self._copy_in()
            self._copy_out()
            self._in.synchronize()
            self._out.synchronize()

        return milliseconds(work)


@dataclass
class Instead:
    """What a user would do without corank, from host array to host array."""

    name: str
    work: Work
    rounds: int | None = None


def ways_without(x: np.ndarray) -> list[Instead]:
    ways = [Instead("np.sort", lambda: milliseconds(lambda: np.sort(x)), 1)]
    if polars is not None:
        series = polars.Series(x)
        ways.append(Instead("polars on all cores", lambda: milliseconds(lambda: series.sort().to_numpy())))
    if cupy is not None:
        ways.append(
            Instead("CuPy with its copies", lambda: milliseconds(lambda: cupy.asnumpy(cupy.sort(cupy.asarray(x)))))
        )
    if torch is not None:
        tensor = torch.from_numpy(x.view(np.int32))
        ways.append(Instead("PyTorch on all cores", lambda: milliseconds(lambda: torch.sort(tensor)), 1))
    return ways


def shared_halves(client: corank.Client, x: np.ndarray) -> list[np.ndarray]:
    """The two halves of the array, each sorted."""
    keys, middle = client.empty_shared(x.size, np.uint32), x.size // 2
    keys[:middle] = np.sort(x[:middle])
    keys[middle:] = np.sort(x[middle:])
    return [keys[:middle], keys[middle:]]


def shared_cases(client: corank.Client, x: np.ndarray, sorted_x: np.ndarray) -> list[Case]:
    n = x.size
    inputs, outputs = client.empty_shared(n, np.uint32), client.empty_shared(n, np.uint32)
    inputs[:] = x
    sorts: list[corank.Stats] = []
    merges: list[corank.Stats] = []

    def sort() -> float:
        return milliseconds(lambda: client.sort(inputs, out=outputs, on_stats=sorts.append))

    sort()
    require(bool(np.array_equal(outputs, sorted_x)), "sort in shared memory")
    halves = shared_halves(client, x)

    def merge() -> float:
        return milliseconds(lambda: client.merge(halves, out=outputs, on_stats=merges.append))

    outputs[:] = 0
    merge()
    require(bool(np.array_equal(outputs, sorted_x)), "merge in shared memory")
    bus = Bus(4 * n) if cupy is not None else None
    floor = bus.in_then_out if bus else None
    together = bus.in_and_out_together if bus else None
    cases = [
        Case(
            "Sort in shared memory",
            n,
            sort,
            floor,
            "copies in and then out",
            "<= 1.2 x",
            lambda ms: 1.2 * ms,
            stats=sorts,
        ),
        Case(
            "Merge of two halves in shared memory",
            n,
            merge,
            together,
            "copies in and out together",
            "<= 1.3 x",
            lambda ms: 1.3 * ms,
            stats=merges,
        ),
    ]
    times_faster = {"np.sort": 30, "CuPy with its copies": 5}
    for way in ways_without(x):
        times = times_faster.get(way.name, 1)
        goal = f">= {times} x faster" if times > 1 else "ahead"
        most = partial(operator.mul, 1 / times)
        cases.append(Case("Sort in shared memory", n, sort, way.work, way.name, goal, most, way.rounds, stats=sorts))
    return cases


def stream_cases(client: corank.Client, x: np.ndarray, sorted_x: np.ndarray, echo: GrpcEcho | None) -> list[Case]:
    n = x.size
    out = np.empty_like(x)

    stats: dict[int, list[corank.Stats]] = {1: [], 4: [], 8: []}

    def sort(connections: int) -> Work:
        def call() -> None:
            client.sort(x, out=out, place="stream", connections=connections, on_stats=stats[connections].append)

        return lambda: milliseconds(call)

    sort(4)()
    require(bool(np.array_equal(out, sorted_x)), "sort by streams")
    name = "Sort by streams, {} connections"
    cases = [
        Case(name.format(4), n, sort(4), way.work, way.name, "ahead", lambda ms: ms, way.rounds, stats=stats[4])
        for way in ways_without(x)
    ]
    for connections in (4, 8):
        ours = sort(connections)
        cases.append(Case(name.format(connections), n, ours, sort(1), "the same by one", stats=stats[connections]))
    if echo is not None:
        work = partial(milliseconds, echo.carry)
        cases.append(Case(name.format(4), n, sort(4), work, "an echo by gRPC for Python", stats=stats[4]))
    return cases


def gpu_cases(client: corank.Client, server: LocalServer, x: np.ndarray) -> list[Case]:
    keys = cupy.asarray(x)
    out = cupy.empty_like(keys)
    stats: list[corank.Stats] = []

    def sort() -> float:
        return milliseconds(lambda: client.sort(keys, out=out, on_stats=stats.append))

    sort()
    require(bool((out[1:] >= out[:-1]).all()), "sort in GPU memory")
    require(int(out.sum(dtype=cupy.uint64)) == int(x.sum(dtype=np.uint64)), "sort in GPU memory: other keys")

    def kernel() -> float:
        return stats[-1].kernel_ns * 1e-6  # of the call before this

    few = [milliseconds(lambda: client.sort(keys[:FEW], out=out[:FEW])) for _ in range(25)]
    with grpc.insecure_channel(server.address) as channel:  # the time of gRPC alone in this language
        check: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary("/grpc.health.v1.Health/Check")
        empty = [milliseconds(lambda: check(b"")) for _ in range(25)]
    return [
        Case(
            "Sort in CUDA IPC memory",
            x.size,
            sort,
            kernel,
            "its kernels",
            "<= kernels + 0.15 ms",
            lambda ms: ms + 0.15,
            details={
                "call_with_256_keys_ms": statistics.median(few[5:]),
                "empty_call_ms": statistics.median(empty[5:]),
            },
            stats=stats,
        )
    ]


def pieces_cases(client: corank.Client, x: np.ndarray, sorted_x: np.ndarray) -> list[Case]:
    """On a server whose device memory holds only part of the array: a sort moves each byte over the bus twice each
    way, a merge once."""
    inputs, outputs = client.empty_shared(x.size, np.uint32), client.empty_shared(x.size, np.uint32)
    inputs[:] = x
    halves = shared_halves(client, x)
    bus = Bus(4 * x.size) if cupy is not None else None
    once = bus.in_and_out_together if bus else None
    twice = (lambda: bus.in_and_out_together() + bus.in_and_out_together()) if bus else None
    sorts: list[corank.Stats] = []
    merges: list[corank.Stats] = []

    def sort() -> float:
        return milliseconds(lambda: client.sort(inputs, out=outputs, on_stats=sorts.append))

    def merge() -> float:
        return milliseconds(lambda: client.merge(halves, out=outputs, on_stats=merges.append))

    name = "{} in shared memory, in pieces of a quarter"
    together = "copies in and out together"
    cases = [
        Case(name.format("Sort"), x.size, sort, twice, f"{together}, twice", stats=sorts),
        Case(name.format("Merge of two halves"), x.size, merge, once, together, stats=merges),
    ]
    for case in cases:
        outputs[:] = 0
        case.ours()
        require(bool(np.array_equal(outputs, sorted_x)), case.row)
        require(case.stats[-1].out_of_core, f"{case.row}: it was not")
    return cases


def machine_of(server_device: str) -> str:
    return f"{server_device}, {platform.machine()}, {len(os.sched_getaffinity(0))} cores"


def commit_of(given: str) -> str:
    if given:
        return given
    asked = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return asked.stdout.strip() or "unknown"


def write_results(out: Path, device: str, commit: str, command: str, rows: list[dict[str, Any]]) -> None:
    """Writes a results file, as bench/results/schema.json describes it."""
    result = {
        "machine": machine_of(device),
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "commit": commit,
        "command": command,
        "rows": rows,
    }
    temporary = out.with_suffix(".part")
    temporary.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    temporary.replace(out)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corankd", default=str(ROOT / "build" / "bin" / "corankd"))
    parser.add_argument("--out", help="where the JSON goes")
    parser.add_argument("--n", type=int, default=1 << 28, help="keys; 2^28 of them are 1 GiB")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--commit", default="", help="the commit to name in the JSON; by default what git says")
    options = parser.parse_args()

    x = np.random.default_rng(1).integers(0, 2**32, options.n, dtype=np.uint32)
    sorted_x = np.sort(x)
    rows = []

    def measure_all(cases: list[Case]) -> None:
        for case in cases:
            rows.append(measure(case, options.rounds))
            row = rows[-1]
            against = f" against {row['reference']:.2f} ({row['reference_name']})" if row["reference"] else ""
            verdict = "" if row["met"] is None else f"  [{row['goal']}: {'met' if row['met'] else 'NOT MET'}]"
            print(f"{row['row']:46} {row['ours']:9.2f} ms{against}{verdict}", flush=True)

    arguments = ["--shared-memory=/corank-", "--cuda-ipc=true", f"--max-request-bytes={1 << 28}"]
    echo_server = Path(options.corankd).with_name("echo_server")
    with ExitStack() as stack:
        server = stack.enter_context(LocalServer(options.corankd, arguments))
        client = stack.enter_context(server.connect(deadline=300))
        echo = stack.enter_context(GrpcEcho(echo_server, x, 4)) if echo_server.exists() else None
        device = client.info().device
        cases = stream_cases(client, x, sorted_x, echo) + shared_cases(client, x, sorted_x)
        if server.engine == "cuda" and cupy is not None:
            cases += gpu_cases(client, server, x)
        measure_all(cases)
    arguments = ["--shared-memory=/corank-", f"--max-device-bytes={max(1 << 20, x.nbytes // 4)}"]
    if server.engine == "cuda":  # the CPU engine works on the array in place
        with LocalServer(options.corankd, arguments) as server, server.connect(deadline=300) as client:
            measure_all(pieces_cases(client, x, sorted_x))
    if options.out:
        write_results(Path(options.out), device, commit_of(options.commit), "make bench-places", rows)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
