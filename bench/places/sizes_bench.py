#!/usr/bin/env python3
"""Times sorts of growing arrays in every place, with the Python client, beside what a user would do instead.

    bench/places/sizes_bench.py --corankd build/bin/corankd --out bench/results/h200/sizes.json

Shows from which size on a call pays. For each size all works take turns: the places, np.sort, and polars and CuPy
where they are installed. Each answer of the first round is checked.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from places_bench import commit_of, milliseconds, quantiles, require, write_results

# isort: split
import corank
from corank.testing import LocalServer

try:
    import cupy
except ImportError:
    cupy = None
try:
    import polars
except ImportError:
    polars = None

LARGEST_INLINE_BYTES = 1 << 27
ENOUGH_SECONDS, FEWEST_ROUNDS, MOST_ROUNDS = 2.0, 5, 101

Call = Callable[[], Any]
"""Sorts once and returns the sorted keys."""


def places(client: corank.Client, x: np.ndarray, gpu: bool) -> dict[str, Call]:
    """The ways through the server: from the caller's array to the caller's result."""
    out = np.empty_like(x)
    shared, shared_out = client.empty_shared(x.size, x.dtype), client.empty_shared(x.size, x.dtype)
    shared[:] = x
    ways: dict[str, Call] = {
        "in the message": lambda: client.sort(x, out=out, place="inline"),
        "by streams": lambda: client.sort(x, out=out, place="stream"),
        "copied to shared memory": lambda: client.sort(x, out=out, place="shared_memory"),
        "in shared memory": lambda: client.sort(shared, out=shared_out),
    }
    if x.nbytes > LARGEST_INLINE_BYTES:
        del ways["in the message"]
    if gpu and cupy is not None:
        keys, ordered = cupy.asarray(x), cupy.empty(x.size, cupy.uint32)
        ways["in GPU memory"] = lambda: client.sort(keys, out=ordered)
    return ways


def others(x: np.ndarray) -> dict[str, Call]:
    ways: dict[str, Call] = {"np.sort": lambda: np.sort(x)}
    if polars is not None:
        series = polars.Series(x)
        ways["polars"] = lambda: series.sort().to_numpy()
    if cupy is not None:
        ways["CuPy with its copies"] = lambda: cupy.asnumpy(cupy.sort(cupy.asarray(x)))
    return ways


def take_turns(works: dict[str, Call], answer: np.ndarray) -> dict[str, list[float]]:
    """Milliseconds of each work, one figure a round."""
    took = 0.0
    for name, work in works.items():
        result: Any = None

        def keep(work: Call = work) -> None:
            nonlocal result
            result = work()

        took += milliseconds(keep) / 1e3
        keys = result.get() if hasattr(result, "get") else result
        require(bool(np.array_equal(keys, answer)), name)
    rounds = int(min(MOST_ROUNDS, max(FEWEST_ROUNDS, ENOUGH_SECONDS / took)))
    samples: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            samples[name].append(milliseconds(work))
    return samples


def rows_of(n: int, samples: dict[str, list[float]], ways: dict[str, Call]) -> list[dict[str, Any]]:
    reference = statistics.median(samples["np.sort"])
    rows = []
    for name, times in samples.items():
        if name == "np.sort":
            continue
        ours = statistics.median(times)
        rows.append(
            {
                "row": f"Sort {name}" if name in ways else f"{name}, no server",
                "type": "u32",
                "n": n,
                "distribution": "uniform",
                "ours": ours,
                "reference": reference,
                "reference_name": "np.sort",
                "unit": "ms",
                "better": "lower",
                "ratio": reference / ours,
                "spread": {
                    "ours": quantiles(times),
                    "samples": len(times),
                    "reference": quantiles(samples["np.sort"]),
                },
                "goal": "",
                "met": None,
                "checked": True,
            }
        )
    return rows


def main() -> int:
    root = Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corankd", default=str(root / "build" / "bin" / "corankd"))
    parser.add_argument("--engine", choices=("auto", "cuda", "cpu"), default="auto")
    parser.add_argument("--out", help="where the JSON goes")
    parser.add_argument("--max-log2", type=int, default=28, help="of the most keys; 2^28 of them are 1 GiB")
    parser.add_argument("--commit", default="", help="the commit to name in the JSON; by default what git says")
    options = parser.parse_args()

    arguments = ["--shared-memory=/corank-", f"--max-request-bytes={1 << 28}", f"--engine={options.engine}"]
    if options.engine != "cpu":
        arguments.append("--cuda-ipc=true")
    rows: list[dict[str, Any]] = []
    with LocalServer(options.corankd, arguments) as server, server.connect(deadline=300) as client:
        gpu = server.engine == "cuda"
        device = client.info().device
        for log2 in range(10, options.max_log2 + 1, 2):
            x = np.random.default_rng(log2).integers(0, 2**32, 1 << log2, dtype=np.uint32)
            ways = places(client, x, gpu)
            samples = take_turns({**ways, **others(x)}, np.sort(x))
            rows += rows_of(x.size, samples, ways)
            medians = {name: statistics.median(times) for name, times in samples.items()}
            print(f"2^{log2}: " + ", ".join(f"{name} {ms:.3g} ms" for name, ms in medians.items()), flush=True)
    if options.out:
        write_results(Path(options.out), device, commit_of(options.commit), "make bench-sizes", rows)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
