"""Runs a server for hours at 0.8 of its capacity, with clients that crash, stall and reconnect; it must not grow.

Usage: soak.py [RESULTS_FOLDER]      writes soak.json and soak.svg there (default: tests/reliability/results)

The load pauses after the warm-up and again at the end. The memory that the server then still holds, after minutes of
housekeeping, shows growth that the fluctuation of a load would hide. The limit is 2 % of the memory under load; of the
memory at rest, about a tenth of that, heap fragments alone exceed 2 %.

Environment: CORANKD, the server's binary; SOAK_MINUTES of load (60); SOAK_SHARE of the capacity (0.8); SOAK_FLAGS,
more flags.
Exit code 1: an answer was wrong, a failure was not retryable, something grew by 2 % or more or did not return to zero,
or the clients made fewer than 0.95 of the calls that the share asks for, after the warm-up.
"""

from __future__ import annotations

import itertools
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import conftest  # noqa: F401
from corank.testing import LocalServer
from e2e_support import samples
from reliability_support import PREFIX, own_memory, wait_until_empty
from workload import Load, start

PROCESSES = 2
FLAGS = (f"--shared-memory={PREFIX}", "--kept-bytes=64MiB", "--kept-expiry=3m", "--host-pool-bytes=512MiB",
         "--stream-window-bytes=4MiB", "--keepalive-interval=5s", "--keepalive-timeout=5s",
         "--log-level=error")  # fmt: skip
"""Arrays kept by crashed clients expire well within the warm-up, so their number is steady afterwards."""
WATCHED = {
    "resident memory": "process_resident_memory_bytes",
    "pinned memory kept": "corank_host_pool_kept_bytes",
    "pinned memory in use": 'corank_memory_used_bytes{budget="host_pool"}',
    "kept arrays": 'corank_memory_used_bytes{budget="kept_arrays"}',
    "threads": "process_threads",
    "open files": "process_open_fds",
    "connections": "corank_connections",
    "regions": "corank_regions",
    "lanes busy": "corank_lanes_busy",
}
OWN_MEMORY = "own memory"
"""Resident memory without the memory that clients share with the server."""
BOUNDED = (OWN_MEMORY, "threads")
"""Figures that may not grow by 2 %. Open files other than connections and regions may not grow at all."""
SHOWN = (OWN_MEMORY, *WATCHED)
MOST_GROWTH = 0.02
LEAST_REACHED = 0.95
"""The least share of the requested calls."""
REST = 150.0
"""Seconds of a pause: more than two rounds of housekeeping, which runs once a minute."""


@dataclass(frozen=True)
class Leg:
    """The outcome of a part of the load."""

    calls_per_second: float
    """Calls that were answered, and calls that stalled on purpose."""
    other_cores: float
    """How many cores other programs than the server and its clients used on average."""


def busy_seconds() -> float:
    """CPU time of everything that runs on this machine, including time that its host withheld."""
    words = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(float, words[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


@dataclass
class Soak:
    """One run."""

    server: LocalServer
    rate: float = 0
    """Calls a second of each process; 0: without pause."""
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    rows: list[dict[str, float]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    legs: int = 0

    def listen(self, process: subprocess.Popen[str]) -> None:
        """Adds up the counts of a process until it ends."""
        assert process.stdout is not None
        for line in process.stdout:
            try:
                told: dict[str, Any] = json.loads(line)
            except json.JSONDecodeError:
                continue  # the incomplete last line of a killed process
            with self.lock:
                if "wrong" in told:
                    self.wrong.append(told["wrong"])
                else:
                    self.counts.update(told)

    def calls(self) -> int:
        """Calls that ended as they should."""
        with self.lock:
            return self.counts["OK"] + self.counts["stalled"]

    def own_seconds(self) -> float:
        """CPU time of the server, of this process and of all clients that have ended."""
        return samples(self.server)["process_cpu_seconds_total"] + sum(os.times()[:4])

    def run(self, seconds: float) -> Leg:
        """One leg of the load, watched."""
        numbers = range(PROCESSES * self.legs, PROCESSES * (self.legs + 1))
        self.legs += 1
        stopped = threading.Event()
        watcher = threading.Thread(target=self.sample, args=(stopped,))
        began = time.monotonic()
        threads = [
            threading.Thread(target=self.run_clients, args=(began, began + seconds, n, n % PROCESSES > 0))
            for n in numbers
        ]
        calls, other = self.calls(), busy_seconds() - self.own_seconds()
        for thread in (*threads, watcher):
            thread.start()
        for thread in threads:
            thread.join()
        other = busy_seconds() - self.own_seconds() - other
        took = time.monotonic() - began
        stopped.set()
        watcher.join()
        return Leg((self.calls() - calls) / seconds, max(0.0, other / took))

    def run_clients(self, began: float, end: float, number: int, crashes: bool) -> None:
        """Runs client processes one after the other until the end; crashing ones crash about every half minute.

        Each makes up for the calls that its predecessor missed.
        """
        chance = random.Random(number)
        seed = number * 1000
        while (left := end - time.monotonic()) > 1:
            process = start(self.server.address, Load(began, end, self.rate, seed))
            seed += 1
            killer = threading.Timer(chance.uniform(10, 50) if crashes else left + 60, process.kill)
            killer.start()
            self.listen(process)
            began = time.monotonic()
            code = process.wait()
            killer.cancel()
            with self.lock:
                self.counts["crashes"] += code == -9
                if code not in (0, -9):
                    self.wrong.append(f"a client ended with {code}")

    def sample(self, stopped: threading.Event) -> None:
        """Records the server's figures until told to stop; times count load without pauses."""
        before = self.rows[-1]["seconds"] if self.rows else 0.0
        began = time.monotonic()
        while not stopped.wait(2):
            now = samples(self.server)
            row = {name: now[metric] for name, metric in WATCHED.items()}
            row[OWN_MEMORY] = own_memory(self.server)
            row["calls"] = self.calls()
            self.rows.append({"seconds": before + time.monotonic() - began, **row})

    def rest(self) -> float:
        """The server's own memory after it has been idle for a while, without buffers kept for reuse."""
        with self.server.connect() as client:  # arrays kept by crashed clients expire later
            for array in client.arrays().arrays:
                array.delete()
        try:
            wait_until_empty(self.server)
        except AssertionError as error:
            self.wrong.append(str(error))
        time.sleep(REST)
        return own_memory(self.server) - samples(self.server)[WATCHED["pinned memory kept"]]


def capacity(server: LocalServer) -> Leg:
    """The capacity: calls a second that the same clients, crashing ones too, get without pauses in about 40 seconds."""
    trial = Soak(server)
    whole = trial.run(40)
    steady = [row for row in trial.rows if 10 <= row["seconds"] <= 40]
    rate = (steady[-1]["calls"] - steady[0]["calls"]) / (steady[-1]["seconds"] - steady[0]["seconds"])
    return Leg(rate, whole.other_cores)


def shortfall(asked: float, judged: Leg, trial: Leg) -> list[str]:
    """A message if the load fell short of its share; empty otherwise."""
    share = judged.calls_per_second / asked
    if share >= LEAST_REACHED:
        return []
    text = f"only {judged.calls_per_second:.0f} of {asked:.0f} calls/s were reached: {share:.3f}, not {LEAST_REACHED:g}"
    cores = os.cpu_count() or 1
    text += f"; other programs took {judged.other_cores:.2f} of {cores} cores, and {trial.other_cores:.2f} while the"
    text += " capacity was measured"
    if judged.other_cores > trial.other_cores + 0.05 * cores:
        text += ", which was more than was left: let nothing else run beside it"
    return [text]


def warm_up(seconds: float) -> float:
    """Seconds of warm-up: a quarter of the load, at most 10 minutes."""
    return min(seconds / 4, 600)


def growth(rows: list[dict[str, float]], name: str) -> tuple[float, float, float]:
    """Medians after warm-up and at the end, and the growth."""
    end = rows[-1]["seconds"]
    warm = warm_up(end)
    span = (end - warm) / 4
    first = statistics.median(row[name] for row in rows if warm <= row["seconds"] <= warm + span)
    last = statistics.median(row[name] for row in rows if row["seconds"] >= end - span)
    return first, last, (last - first) / first if first else 0.0


def plot(rows: list[dict[str, float]], path: pathlib.Path) -> None:
    """Plots the recorded figures over time."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(len(SHOWN) + 1, 1, sharex=True, figsize=(9, 13))
    minutes = [row["seconds"] / 60 for row in rows]
    for axis, name in zip(axes, SHOWN, strict=False):
        scale = 2**20 if "memory" in name or name == "kept arrays" else 1
        axis.plot(minutes, [row[name] / scale for row in rows], linewidth=0.8)
        axis.set_ylabel(name + (", MiB" if scale > 1 else ""), rotation=0, ha="right", fontsize=8)
        axis.set_ylim(bottom=0)
    rates = [
        (later["calls"] - sooner["calls"]) / (later["seconds"] - sooner["seconds"])
        for sooner, later in itertools.pairwise(rows)
    ]
    axes[-1].plot(minutes[1:], rates, linewidth=0.8)
    axes[-1].set_ylabel("calls a second", rotation=0, ha="right", fontsize=8)
    axes[-1].set_xlabel("minutes")
    figure.tight_layout()
    figure.savefig(path)


def main() -> int:
    """Runs the soak, writes the figures and judges them."""
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).with_name("results"))
    folder.mkdir(parents=True, exist_ok=True)
    seconds = 60 * float(os.environ.get("SOAK_MINUTES", "60"))
    share = float(os.environ.get("SOAK_SHARE", "0.8"))
    with LocalServer(os.environ["CORANKD"], [*FLAGS, *os.environ.get("SOAK_FLAGS", "").split()]) as server:
        trial = capacity(server)
        most = trial.calls_per_second
        print(f"soak: engine {server.engine}, capacity {most:.0f} calls/s; {seconds / 60:g} minutes at {share:g} of it")
        soak = Soak(server, share * most / PROCESSES)
        resting: list[float] = []
        for leg in (warm_up(seconds), seconds - warm_up(seconds)):
            judged = soak.run(leg)
            resting.append(soak.rest())
        failures = [*soak.wrong, *shortfall(share * most, judged, trial)]
        engine = server.engine
        code = server.stop()
    if code != 0:
        failures.append(f"the server ended with {code}")
    grown = {name: growth(soak.rows, name) for name in SHOWN}
    at_rest = (resting[1] - resting[0]) / grown[OWN_MEMORY][0]
    if at_rest >= MOST_GROWTH:
        failures.append(f"own memory at rest grew by {at_rest:.1%} of what it is under load")
    failures += [f"{name} grew by {grown[name][2]:.1%}" for name in BOUNDED if grown[name][2] >= MOST_GROWTH]
    for row in soak.rows:
        row["other files"] = row["open files"] - row["connections"]
    other = growth(soak.rows, "other files")
    if other[1] > other[0] + 2:
        failures.append(f"open files beside connections grew from {other[0]:g} to {other[1]:g}")
    result = {
        "date": time.strftime("%Y-%m-%d"), "engine": engine, "cores": os.cpu_count(), "minutes": seconds / 60,
        "capacity_per_second": most, "share": share, "asked_per_second": share * most,
        "reached_per_second": judged.calls_per_second, "reached_share": judged.calls_per_second / (share * most),
        "other_cores": {"capacity": trial.other_cores, "judged": judged.other_cores},
        "counts": dict(soak.counts), "stalled_share": soak.counts["stalled"] / soak.calls(),
        "at_rest": {"warm": resting[0], "end": resting[1], "growth": at_rest},
        "growth": {name: {"warm": a, "end": b, "growth": c} for name, (a, b, c) in grown.items()},
        "failures": failures, "rows": soak.rows[:: max(1, len(soak.rows) // 600)],
    }  # fmt: skip
    (folder / "soak.json").write_text(json.dumps(result, indent=1) + "\n")
    plot(soak.rows, folder / "soak.svg")
    for name, (a, b, c) in {**grown, "at rest, of that": (resting[0], resting[1], at_rest)}.items():
        print(f"soak: {name:22} {a:15,.0f} after warm-up {b:15,.0f} at the end {c:+8.2%}")
    print(f"soak: {dict(soak.counts)}")
    print(f"soak: {judged.calls_per_second:.0f} calls/s of {share * most:.0f}; other programs: {result['other_cores']}")
    print("\n".join(f"soak: FAILED: {text}" for text in failures[:20]) or "soak: passed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
