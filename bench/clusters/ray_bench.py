#!/usr/bin/env python3
"""Times corank.ray.sort beside ray.data.Dataset.sort with each of its strategies, on the same cluster and rows.

    scripts/ray.sh bench/clusters/ray_bench.py --corankd build/bin/corankd --out bench/results/cpu/ray.json

Each row has 100 bytes, as in sort benchmarks: an int64 key, a short string, and a payload. All ways take
turns; each answer of the first round is checked beside sums and neighbours. The machine's other work shows in the
spread.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import corank.ray
import numpy as np
import pyarrow as pa
import ray
import ray.data
from corank.testing import LocalServer
from ray.data.context import ShuffleStrategy

ROOT = Path(__file__).resolve().parents[2]
ROW_BYTES = 100
STRATEGIES = {
    "ray.data, pull-based": ShuffleStrategy.SORT_SHUFFLE_PULL_BASED,
    "ray.data, push-based": ShuffleStrategy.SORT_SHUFFLE_PUSH_BASED,
}
KEYS = {"i64": ["key"], "i32+string": ["group", "name"]}


def rows(batch: dict[str, np.ndarray]) -> Any:
    """A block: random keys that depend on nothing but its ids."""
    ids = batch["id"]
    random = np.random.default_rng(int(ids[0]))
    name = pa.array(np.char.add("user-", random.integers(0, 10**9, ids.size).astype(str)))
    payload = random.integers(0, 256, ids.size * 64, np.uint8).tobytes()
    return pa.table(
        {
            "key": random.integers(-(2**63), 2**63 - 1, ids.size),
            "group": random.integers(0, 1000, ids.size).astype(np.int32),
            "name": name,
            "id": ids,
            "payload": pa.Array.from_buffers(pa.binary(64), ids.size, [None, pa.py_buffer(payload)]),
        }
    )


def check(ds: Any, keys: list[str], count: int) -> None:
    """Whether the rows are all there and in order."""
    last: Any = None
    found = ids = 0
    for ref in ds.to_arrow_refs():
        table = ray.get(ref)
        if table.num_rows == 0:
            continue
        columns = [np.asarray(table[key].to_pylist() if key == "name" else table[key].to_numpy()) for key in keys]
        is_tie = np.ones(table.num_rows - 1, bool)
        for column in columns:
            if (is_tie & (column[1:] < column[:-1])).any():
                raise AssertionError(f"not in order: {keys}")
            is_tie &= column[1:] == column[:-1]
        first = tuple(column[0] for column in columns)
        if last is not None and first < last:
            raise AssertionError(f"blocks not in order: {keys}")
        last = tuple(column[-1] for column in columns)
        found, ids = found + table.num_rows, ids + int(table["id"].to_numpy().sum())
    if (found, ids) != (count, count * (count - 1) // 2):
        raise AssertionError(f"{found} of {count} rows")


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    made = work()
    return time.perf_counter() - start, made


def with_ray(ds: Any, keys: list[str], strategy: Any) -> Any:
    ray.data.DataContext.get_current().shuffle_strategy = strategy
    ordered = ds.sort(keys)
    ordered.context.shuffle_strategy = strategy
    return ordered.materialize()


def quantiles(times: list[float]) -> list[float]:
    return [float(each) for each in np.quantile(times, [0.1, 0.9])]


def stage_details(stages: list[Any]) -> dict[str, float]:
    """Seconds of all tasks of each stage, and gigabytes that they took."""
    out: dict[str, float] = {}
    for each in stages:
        for name, value in (("s", each.seconds), ("server_s", each.server_seconds), ("gb", each.nbytes / 1e9)):
            out[f"{each.stage}_{name}"] = out.get(f"{each.stage}_{name}", 0.0) + value
    return out


def main() -> int:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corankd", default=str(ROOT / "build" / "bin" / "corankd"))
    parser.add_argument("--out", help="where the JSON goes")
    parser.add_argument("--bytes", type=float, default=1e9, help="of the data set")
    parser.add_argument("--store-bytes", type=float, default=2e9, help="of Ray's object store")
    parser.add_argument("--blocks", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--commit", default="", help="the commit to name in the JSON; by default what git says")
    options = parser.parse_args()

    count, cores = int(options.bytes / ROW_BYTES), os.cpu_count() or 1
    commit = (
        options.commit
        or subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.strip()
    )
    out: list[dict[str, Any]] = []
    with LocalServer(options.corankd, ["--shared-memory=/corank-"]) as server:
        engine = server.engine
        ray.init(
            num_cpus=cores,
            object_store_memory=int(options.store_bytes),
            include_dashboard=False,
            log_to_driver=False,
            configure_logging=False,
        )
        ray.data.DataContext.get_current().enable_progress_bars = False
        size = -(-count // options.blocks)
        ds = ray.data.range(count, override_num_blocks=options.blocks)
        ds = ds.map_batches(rows, batch_size=size, zero_copy_batch=True).materialize()
        for type_, keys in KEYS.items():
            stages: list[list[Any]] = []
            ways: dict[str, Callable[[], Any]] = {
                "corank": partial(corank.ray.sort, ds, keys, servers=server.address, on_stats=stages.append),
                **{name: partial(with_ray, ds, keys, strategy) for name, strategy in STRATEGIES.items()},
            }
            times: dict[str, list[float]] = {name: [] for name in ways}
            for turn in range(options.rounds + 1):
                for name, way in ways.items():
                    took, made = seconds(way)
                    if turn == 0:  # workers start, and servers get their memory
                        check(made, keys, count)
                    else:
                        times[name].append(took)
                    del made
                    print(f"{type_}: {name}: {took:.2f} s", flush=True)
            ours = statistics.median(times["corank"])
            for name in STRATEGIES:
                reference = statistics.median(times[name])
                out.append(
                    {
                        "row": "sort a data set",
                        "type": type_,
                        "n": count,
                        "distribution": f"uniform, {options.blocks} blocks, rows of {ROW_BYTES} bytes",
                        "ours": ours,
                        "reference": reference,
                        "reference_name": name,
                        "unit": "s",
                        "better": "lower",
                        "ratio": reference / ours,
                        "spread": {
                            "ours": quantiles(times["corank"]),
                            "reference": quantiles(times[name]),
                            "samples": options.rounds,
                        },
                        "goal": "ratio >= 1.5" if engine == "cpu" else "ratio >= 3",
                        "met": reference / ours >= (1.5 if engine == "cpu" else 3),
                        "checked": True,
                        "details": stage_details(stages[-1]),
                    }
                )
        ray.shutdown()
    if options.out:
        results = {
            "machine": f"{engine} engine, {cores} cores, {platform.machine()}, Ray {ray.__version__}",
            "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "commit": commit,
            "command": "make bench-ray",
            "rows": out,
        }
        Path(options.out).write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
