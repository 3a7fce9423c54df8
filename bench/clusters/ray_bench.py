#!/usr/bin/env python3
"""Times sorts, groups and joins of corank.ray beside ray.data's own, on the same cluster and rows.

    scripts/ray.sh bench/clusters/ray_bench.py --corankd build/bin/corankd --out bench/results/cpu/ray.json

Each row has 100 bytes, as in sort benchmarks: an int64 key, a short string, and a payload. ray.data sorts with each of
its strategies, and groups and joins with its default one. Groups have a count, a sum and a maximum. Joins are with
every fourth row, which has only its key and its number. All ways take turns. In its turn, each runs twice, and the
second time counts: ray.data and corank do not share workers, so the first run may have to start them. Each answer of
the first round is checked: sorts beside sums and neighbours, groups and joins beside pyarrow's. The machine's other
work shows in the spread. The details are of a run by itself, whose rows move as on several nodes: cloudsort.py needs
them.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import corank.ray
import numpy as np
import pyarrow as pa
import ray
import ray.data
from corank import _ray_run
from corank.testing import LocalServer
from ray.data.aggregate import Count, Max, Sum
from ray.data.context import ShuffleStrategy

ROOT = Path(__file__).resolve().parents[2]
ROW_BYTES = 100
SORTS = {
    "ray.data, pull-based": ShuffleStrategy.SORT_SHUFFLE_PULL_BASED,
    "ray.data, push-based": ShuffleStrategy.SORT_SHUFFLE_PUSH_BASED,
}
HASHES = {"ray.data": ShuffleStrategy.SHUFFLE_V2}
"""Its default."""
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


def other_side(batch: Any) -> Any:
    """Every fourth row, for a join by any of the key columns."""
    kept = batch.take(np.flatnonzero(batch["id"].to_numpy() % 4 == 0))
    return kept.select(["key", "name", "id"]).rename_columns(["key", "name", "other_id"])


def whole(ds: Any, columns: list[str]) -> Any:
    """These columns of all rows, in one table."""
    return pa.concat_tables([table.select(columns) for table in ray.get(ds.to_arrow_refs()) if table.num_rows])


def check_groups(ds: Any, key: str, wanted: Any) -> None:
    """Checks that the groups equal pyarrow's."""
    found = whole(ds, wanted.column_names).cast(wanted.schema).sort_by(key)
    if not found.equals(wanted):
        raise AssertionError(f"wrong groups of {key}")


def pairs_of(ids: Any, other_ids: Any) -> tuple[int, ...]:
    """Figures that name the pairs of a join in any order."""
    left, right = ids.to_numpy(), other_ids.to_numpy()
    return left.size, int(left.sum()), int(right.sum()), int((left ^ right).sum())


def check_pairs(ds: Any, key: str, wanted: tuple[int, ...]) -> None:
    """Checks that a join has the same pairs as pyarrow's."""
    found = whole(ds, ["id", "other_id"])
    if pairs_of(found["id"], found["other_id"]) != wanted:
        raise AssertionError(f"wrong pairs of {key}")


def with_ray(make: Callable[[], Any], strategy: Any) -> Any:
    """What ray.data makes with one of its strategies."""
    ray.data.DataContext.get_current().shuffle_strategy = strategy
    made = make()
    made.context.shuffle_strategy = strategy
    return made.materialize()


@dataclass(frozen=True)
class Case:
    """Work that the benchmark times."""

    row: str
    type: str
    shape: str
    """Of the input, beside its blocks."""
    ours: Callable[..., Any]
    """Takes the options that all operations of corank.ray have."""
    theirs: Callable[[], Any]
    strategies: dict[str, Any]
    check: Callable[[Any], None]
    goal: dict[str, float]
    """The least ratio with each engine; empty: none."""


def cases(ds: Any, blocks: int) -> Iterator[Case]:
    """All work on a data set."""
    count = ds.count()
    for type_, keys in KEYS.items():
        yield Case(
            "sort a data set",
            type_,
            "uniform",
            partial(corank.ray.sort, ds, keys),
            partial(ds.sort, keys),
            SORTS,
            partial(check, keys=keys, count=count),
            {"cpu": 1.5, "cuda": 3},
        )
    for type_, key, shape in (("i32", "group", "1,000 groups"), ("string", "name", "hardly a key twice")):
        aggregates = Count(alias_name="rows"), Sum("id", alias_name="ids"), Max("key", alias_name="most")
        asked = {"rows": "count", "ids": ("id", "sum"), "most": ("key", "max")}
        wanted = whole(ds, list({key, "id", "key"})).group_by(key)
        wanted = wanted.aggregate([([], "count_all"), ("id", "sum"), ("key", "max")]).sort_by(key)
        yield Case(
            "group a data set",
            type_,
            shape,
            partial(grouped, ds, key, asked),
            partial(ds.groupby(key, num_partitions=blocks).aggregate, *aggregates),
            HASHES,
            partial(check_groups, key=key, wanted=wanted.rename_columns([key, *asked])),
            {},
        )
    others = ds.map_batches(other_side, batch_format="pyarrow", batch_size=None).materialize()
    for type_, key in (("i64", "key"), ("string", "name")):
        right = others.select_columns([key, "other_id"]).materialize()
        pairs = whole(ds, [key, "id"]).join(whole(right, [key, "other_id"]), key, join_type="inner")
        yield Case(
            "join a data set with every fourth row",
            type_,
            "hardly a key twice",
            partial(corank.ray.join, ds, right, key),
            partial(ds.join, right, "inner", blocks, on=(key,)),
            HASHES,
            partial(check_pairs, key=key, wanted=pairs_of(pairs["id"], pairs["other_id"])),
            {},
        )


def grouped(ds: Any, key: str, asked: dict[str, Any], **options: Any) -> Any:
    """Groups with corank."""
    return corank.ray.group_by(ds, key, **options).agg(**asked)


def measured(case: Case, rounds: int, server: str) -> tuple[dict[str, list[float]], list[Any]]:
    """Seconds of each way in each round, and what tasks take as on several nodes. The ways take turns."""
    ways: dict[str, Callable[[], Any]] = {
        "corank": partial(case.ours, servers=server),
        **{name: partial(with_ray, case.theirs, strategy) for name, strategy in case.strategies.items()},
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(rounds):
        for name, way in ways.items():
            first, made = seconds(way)
            if turn == 0:
                case.check(made)
            del made
            took, made = seconds(way)
            times[name].append(took)
            del made
            print(f"{case.row}, {case.type}: {name}: {took:.2f} s, the first time {first:.2f} s", flush=True)
    stages: list[list[Any]] = []
    with mock.patch.object(_ray_run, "reach_bytes", return_value=0):
        case.ours(servers=server, on_stats=stages.append)
    return times, stages[-1]


def results(case: Case, count: int, blocks: int, rounds: int, server: str, engine: str) -> Iterator[dict[str, Any]]:
    """A row for each strategy of ray.data."""
    times, stages = measured(case, rounds, server)
    ours = statistics.median(times["corank"])
    least = case.goal.get("cpu" if engine == "cpu" else "cuda")
    for name in case.strategies:
        reference = statistics.median(times[name])
        yield {
            "row": case.row,
            "type": case.type,
            "n": count,
            "distribution": f"{case.shape}, {blocks} blocks, rows of {ROW_BYTES} bytes",
            "ours": ours,
            "reference": reference,
            "reference_name": name,
            "unit": "s",
            "better": "lower",
            "ratio": reference / ours,
            "spread": {
                "ours": quantiles(times["corank"]),
                "reference": quantiles(times[name]),
                "samples": rounds,
            },
            "goal": "" if least is None else f"ratio >= {least:g}",
            "met": None if least is None else reference / ours >= least,
            "checked": True,
            "details": stage_details(stages),
        }


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
    parser.add_argument("--filter", default="", help="regular expression, searched in the rows' names and types")
    parser.add_argument("--bytes", type=float, default=1e9, help="of the data set")
    parser.add_argument("--store-bytes", type=float, default=4e9, help="of Ray's object store")
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
            address="local",
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
        for case in cases(ds, options.blocks):
            if not re.search(options.filter, f"{case.row}, {case.type}"):
                continue
            out += results(case, count, options.blocks, options.rounds, server.address, engine)
        ray.shutdown()
    if options.out:
        report = {
            "machine": f"{engine} engine, {cores} cores, {platform.machine()}, Ray {ray.__version__}",
            "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "commit": commit,
            "command": "make bench-ray",
            "rows": out,
        }
        Path(options.out).write_text(json.dumps(report, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
