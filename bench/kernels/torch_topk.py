#!/usr/bin/env python3
"""Times the top-k of segments by kernel_bench beside torch.topk on the same GPU, one after the other.

    bench/kernels/torch_topk.py --kernel-bench build/bin/kernel_bench --out bench/results/h200/torch.json

Both return the least keys of every segment in order, with their indices; only ours are stable.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

SEGMENTS, LENGTH, LIMIT = 256, 524_288, 256
ROUNDS = 21
GOAL = 3.0


def torch_seconds() -> list[float]:
    keys = torch.rand((SEGMENTS, LENGTH), device="cuda", generator=torch.Generator("cuda").manual_seed(1))
    seconds = []
    for _ in range(ROUNDS + 2):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        start.record()
        values, _ = torch.topk(keys, LIMIT, dim=1, largest=False, sorted=True)
        stop.record()
        stop.synchronize()
        seconds.append(start.elapsed_time(stop) / 1000)
    if not torch.equal(values, torch.sort(keys, dim=1).values[:, :LIMIT]):
        raise SystemExit("torch_topk: torch.topk's answer is not what torch.sort gives")
    return seconds[2:]  # without the warm-up


def our_results(kernel_bench: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "ours.json"
        subprocess.run([kernel_bench, "--filter=^topk/segments/", f"--out={out}"], check=True)
        results: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kernel-bench", default="build/bin/kernel_bench")
    parser.add_argument("--out", help="where the JSON goes")
    options = parser.parse_args()

    results = our_results(options.kernel_bench)
    (row,) = results["rows"]
    if row["n"] != SEGMENTS * LENGTH or row.get("error"):
        raise SystemExit("torch_topk: kernel_bench did not sort these segments")
    seconds = torch_seconds()
    keys = SEGMENTS * LENGTH / 1e9
    row["ours"] = keys / (row["details"]["with_indices_us"] * 1e-6)
    row["reference"] = keys / statistics.median(seconds)
    row["ratio"] = row["ours"] / row["reference"]
    row.update(unit="Gkeys/s", reference_name=f"torch.topk {torch.__version__}", spread=None, note="with indices")
    row.update(goal=f"ratio >= {GOAL:g}", met=row["ratio"] >= GOAL)
    row["details"] = {"ours_us": row["details"]["with_indices_us"], "torch_us": statistics.median(seconds) * 1e6}
    del row["ceiling"]
    results["command"] = " ".join(sys.argv)
    print(f"corank {row['ours']:.1f}, torch.topk {row['reference']:.1f} Gkeys/s: {row['ratio']:.2f} times as fast")
    if options.out:
        Path(options.out).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return 0 if row["met"] else 1


if __name__ == "__main__":
    sys.exit(main())
