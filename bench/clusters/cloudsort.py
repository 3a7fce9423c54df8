#!/usr/bin/env python3
"""Predicts a sort of 100 TB on a cluster from the stages that ray_bench.py measured.

    bench/clusters/cloudsort.py bench/results/cpu/ray.json [--nodes 40]

Runs rounds of 32 blocks a node through three resources of a node: cores, network and disks. A stage of a round starts
when the resource is free and its input is there, so rounds overlap, as the tasks of corank.ray do. All nodes are alike.
The model has no stragglers, no scheduling and no garbage collection: it is a bound, not a promise.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path

BLOCK_GB = 2.0
BLOCKS_OF_ROUND = 32


@dataclass(frozen=True)
class Node:
    """A machine. The defaults are an i4i.4xlarge: 16 virtual cores, 25 Gbit/s, one local disk."""

    cores: int = 16
    network_gb_s: float = 3.1
    """Each way."""
    read_gb_s: float = 2.2
    write_gb_s: float = 1.5


@dataclass(frozen=True)
class Work:
    """Seconds of one core for each GB."""

    map: float
    merge: float
    reduce: float


def work_of(path: Path, type_: str) -> Work:
    """The measured stages; a reduce costs what a merge does, because the bench may have none."""
    row = next(each for each in json.loads(path.read_text(encoding="utf-8"))["rows"] if each["type"] == type_)
    details = row["details"]
    merge = details["merge_s"] / details["merge_gb"]
    return Work(details["map_s"] / details["map_gb"], merge, merge)


def simulate(total_gb: float, nodes: int, node: Node, work: Work) -> tuple[float, dict[str, float]]:
    """Seconds, and for how long each resource of a node is busy."""
    mine = total_gb / nodes
    size = BLOCK_GB * BLOCKS_OF_ROUND
    free = {"cores": 0.0, "receive": 0.0, "send": 0.0, "disk": 0.0}
    busy = dict.fromkeys(free, 0.0)

    def use(resource: str, ready: float, seconds: float) -> float:
        begin = max(ready, free[resource])
        free[resource], busy[resource] = begin + seconds, busy[resource] + seconds
        return free[resource]

    away = (nodes - 1) / nodes
    left, merged = mine, 0.0
    while left > 1e-9:
        part = min(size, left)
        left -= part
        loaded = use("receive", 0.0, part / node.network_gb_s)  # from the object storage
        mapped = use("cores", loaded, part * work.map / node.cores)
        sent = use("send", mapped, part * away / node.network_gb_s)
        received = use("receive", mapped, part * away / node.network_gb_s)
        done = use("cores", max(sent, received), part * work.merge / node.cores)
        merged = use("disk", done, part / node.write_gb_s)
    left = mine
    end = merged
    while left > 1e-9:
        part = min(size, left)
        left -= part
        read = use("disk", merged, part / node.read_gb_s)
        reduced = use("cores", read, part * work.reduce / node.cores)
        end = use("send", reduced, part / node.network_gb_s)  # to the object storage
    return end, busy


def main() -> int:
    """Prints the prediction."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--nodes", type=int, default=40)
    parser.add_argument("--tb", type=float, default=100)
    parser.add_argument("--type", default="i64")
    options = parser.parse_args()
    work = work_of(options.results, options.type)
    print(f"seconds of a core for each GB: map {work.map:.2f}, merge {work.merge:.2f}, reduce {work.reduce:.2f}")
    for nodes in (options.nodes, 2 * options.nodes):
        seconds, busy = simulate(1e3 * options.tb, nodes, Node(), work)
        shares = ", ".join(f"{name} {100 * used / seconds:.0f} %" for name, used in busy.items())
        print(f"{nodes} nodes: {seconds:,.0f} s; busy: {shares}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
