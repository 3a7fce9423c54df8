#!/usr/bin/env python3
"""Simulates the autoscaler of the Helm chart over loads of some hours: pods, calls that fail, and times to answer.

    bench/clusters/scaling.py [--trace FILE.csv] [--plot docs/plots/scaling.svg]

A call waits for a lane of the pod that it is sent to, as in corankd: a pod refuses it if its queue is full, or if the
wait would be too long for its deadline. Pods, policies and targets are those of deploy/chart/corank/values.yaml. The
autoscaler is Kubernetes' algorithm for average values: the largest of all metrics, a tolerance, stabilisation windows,
and policies. The loads are made, not recorded; --trace replays one that was: lines of "seconds,calls per second".

The model has one sort of call and even pods; a new pod gets load as connections come of age.
"""

from __future__ import annotations

import argparse
import heapq
import math
import random
import sys
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
VALUES = ROOT / "deploy" / "chart" / "corank" / "values.yaml"
HOURS = 4
SYNC_S = 15  # between two looks of the autoscaler
TOLERANCE = 0.1  # of its target that a metric may be away before the autoscaler acts


@dataclass(frozen=True)
class Chart:
    """What the chart sets."""

    lanes: int
    least: int
    most: int
    queue_age_s: float
    queued: float
    busy_share: float
    up_s: float
    down_s: float
    connection_s: float
    """The age of a connection at which the server ends it, so that its client connects again."""

    @classmethod
    def read(cls, path: Path = VALUES) -> Chart:
        """The defaults of the chart."""
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
        scaling = values["autoscaling"]
        return cls(
            lanes=values["lanes"],
            least=scaling["minReplicas"],
            most=scaling["maxReplicas"],
            queue_age_s=scaling["queueAgeSeconds"],
            queued=scaling["queuedRequests"],
            busy_share=scaling["busyLanesPercent"] / 100,
            up_s=scaling["scaleUpStabilizationSeconds"],
            down_s=scaling["scaleDownStabilizationSeconds"],
            connection_s=60.0 * float(values["connections"]["maxAge"].removesuffix("m")),
        )


@dataclass(frozen=True)
class Calls:
    """What callers send."""

    mean_s: float = 0.1
    """On a lane, on average; times are lognormal, so that one call in a hundred takes five times as long."""
    deadline_s: float = 5
    most_queued: int = 1024
    """corankd's --max-queued-requests."""
    start_s: float = 60
    """From a new pod until it is ready: a node is there, its image is not."""

    def seconds(self, rng: random.Random) -> float:
        """The time of one call on a lane."""
        spread = 0.8
        return rng.lognormvariate(math.log(self.mean_s) - spread * spread / 2, spread)


@dataclass
class Pod:
    """A server: the times at which its lanes are free, and those at which its queued calls start."""

    born: float
    ready: float
    free: list[float]
    starts: deque[tuple[float, float]] = field(default_factory=deque)  # (start, arrival) of calls, by start
    is_leaving: bool = False

    def _waiting(self, now: float) -> None:
        while self.starts and self.starts[0][0] <= now:
            self.starts.popleft()

    def queued(self, now: float) -> int:
        """Calls that wait."""
        self._waiting(now)
        return len(self.starts)

    def age(self, now: float) -> float:
        """Seconds that the oldest of them has waited."""
        self._waiting(now)
        return now - self.starts[0][1] if self.starts else 0.0

    def busy(self, now: float) -> int:
        """Lanes at work."""
        return sum(at > now for at in self.free)

    def take(self, now: float, seconds: float, calls: Calls) -> float | None:
        """Answers a call. Returns the seconds until its answer; None: it was refused or came too late."""
        if self.queued(now) >= calls.most_queued:
            return None
        start = max(now, self.free[0])
        if start - now + calls.mean_s >= calls.deadline_s:
            return None  # corankd refuses what it does not expect to answer in time
        if start > now:
            self.starts.append((start, now))
        heapq.heapreplace(self.free, start + seconds)
        total = start - now + seconds
        return total if total <= calls.deadline_s else None


class Autoscaler:
    """Kubernetes' HorizontalPodAutoscaler over metrics with average values."""

    def __init__(self, chart: Chart) -> None:
        self._chart = chart
        self._wanted: deque[tuple[float, int]] = deque()  # what each look asked for
        self._changes: deque[tuple[float, int]] = deque()  # (time, pods more or fewer)

    def _raw(self, pods: list[Pod], now: float) -> int:
        chart, count = self._chart, len(pods)
        ready = [pod for pod in pods if pod.ready <= now]
        sums = (
            (sum(pod.age(now) for pod in ready), chart.queue_age_s),
            (sum(pod.queued(now) for pod in ready), chart.queued),
            (sum(pod.busy(now) for pod in ready), chart.busy_share * chart.lanes),
        )
        wanted = 1
        for total, target in sums:
            is_near = abs(total / (target * count) - 1) <= TOLERANCE
            wanted = max(wanted, count if is_near else math.ceil(total / target))
        return min(max(wanted, chart.least), chart.most)

    def look(self, pods: list[Pod], now: float) -> int:
        """The number of pods from now on."""
        chart, count = self._chart, len(pods)
        self._wanted.append((now, self._raw(pods, now)))
        while self._wanted[0][0] < now - max(chart.up_s, chart.down_s):
            self._wanted.popleft()
        least = min(wanted for at, wanted in self._wanted if at >= now - chart.up_s)
        most = max(wanted for at, wanted in self._wanted if at >= now - chart.down_s)
        target = least if least > count else most if most < count else count
        if target > count:
            before = count - sum(by for at, by in self._changes if at > now - 60 and by > 0)
            target = min(target, max(2 * before, before + 2))
        elif target < count:
            before = count - sum(by for at, by in self._changes if at > now - 300 and by < 0)
            target = max(target, before - 1)
        if target != count:
            self._changes.append((now, target - count))
        return target


@dataclass
class Run:
    """What happened, minute by minute."""

    minutes: list[list[float]]
    """Of each minute: the times to answer of its calls."""
    failed: list[int]
    pods: list[int]

    @property
    def calls(self) -> int:
        """All calls."""
        return sum(map(len, self.minutes)) + sum(self.failed)

    @property
    def failures(self) -> float:
        """The part of the calls that were refused or late."""
        return sum(self.failed) / max(1, self.calls)

    @property
    def pod_hours(self) -> float:
        """Pods, times hours."""
        return sum(self.pods) / 60

    def percentile(self, part: float) -> float:
        """Seconds to an answer, over all answers."""
        times = sorted(time for minute in self.minutes for time in minute)
        return times[min(len(times) - 1, int(part * len(times)))] if times else 0.0


def arrivals(rate: Callable[[float], float], seconds: float, rng: random.Random) -> Iterator[float]:
    """Poisson arrivals of a rate that changes, in calls a second."""
    now = 0.0
    while now < seconds:
        now += rng.expovariate(max(rate(now), 1e-3))
        yield now


def simulate(
    rate: Callable[[float], float], chart: Chart, calls: Calls, hours: float = HOURS, pods: int | None = None
) -> Run:
    """Serves a load with `pods` pods, or with as many as the autoscaler wants. The same arguments give the same run."""
    rng = random.Random(1)
    seconds = 3600 * hours
    minutes = math.ceil(seconds / 60)
    run = Run([[] for _ in range(minutes + 1)], [0] * (minutes + 1), [])
    servers = [Pod(-1e9, -1e9, [0.0] * chart.lanes) for _ in range(chart.least if pods is None else pods)]
    scaler = Autoscaler(chart)
    looks = minute = 0
    for now in arrivals(rate, seconds, rng):
        while pods is None and looks * SYNC_S <= now:
            at = looks * SYNC_S
            target = scaler.look(servers, at)
            while len(servers) < target:
                servers.append(Pod(at, at + calls.start_s, [at] * chart.lanes))
            del servers[target:]  # the newest; what they have taken, they finish
            looks += 1
        while minute * 60 <= now and minute <= minutes:
            run.pods.append(len(servers))
            minute += 1
        # A pod has all of its share once every connection has come of age.
        shares = [min(1.0, max(0.0, (now - pod.ready) / chart.connection_s)) for pod in servers]
        (server,) = rng.choices(servers, shares)
        answered = server.take(now, calls.seconds(rng), calls)
        slot = min(int(now // 60), minutes)
        if answered is None:
            run.failed[slot] += 1
        else:
            run.minutes[slot].append(answered)
    return run


def loads(pod_rate: float) -> dict[str, Callable[[float], float]]:
    """Loads in calls a second; `pod_rate` is what a pod can take."""
    hour = 3600.0

    def day(now: float) -> float:
        return pod_rate * (2.5 - 1.9 * math.cos(2 * math.pi * now / (HOURS * hour)))

    def step(now: float) -> float:
        return pod_rate * (4.5 if hour <= now < 2.5 * hour else 1.2)

    def bursts(now: float) -> float:
        return pod_rate * (5 if (now + hour / 4) % (hour / 2) < 180 else 1)

    return {"a day in four hours": day, "a step": step, "bursts of three minutes": bursts}


def trace(path: Path) -> Callable[[float], float]:
    """The load of a file with lines of "seconds,calls per second", from the first time on."""
    lines = [line.split(",") for line in path.read_text(encoding="utf-8").splitlines() if line and line[0].isdigit()]
    times, rates = [float(line[0]) for line in lines], [float(line[1]) for line in lines]
    return lambda now: rates[max(0, bisect_right(times, times[0] + now) - 1)]


def plot(runs: dict[str, Run], path: Path) -> None:
    """Draws each load: its calls, the pods, and the 99th percentile, by the minute."""
    sys.path.insert(0, str(ROOT / "bench" / "report"))
    plots: Any = __import__("plots")
    plt = plots.pyplot()
    if plt is None:
        raise SystemExit("scaling.py: needs matplotlib: scripts/setup.sh")
    fig, axes = plt.subplots(3, len(runs), figsize=(4 * len(runs), 6), sharex=True, squeeze=False)
    for column, (name, run) in enumerate(runs.items()):
        minutes = range(len(run.pods) - 1)  # the last one has only begun
        rates = [(len(run.minutes[at]) + run.failed[at]) / 60 for at in minutes]
        late = [run.failed[at] / 60 for at in minutes]
        p99 = [sorted(times)[int(0.99 * len(times))] if (times := run.minutes[at]) else 0 for at in minutes]
        top, middle, bottom = (axes[row][column] for row in range(3))
        top.plot(minutes, rates)
        top.plot(minutes, late, color="tab:red")
        top.set_title(name, fontsize=10)
        middle.step(minutes, run.pods[:-1], where="post")
        bottom.plot(minutes, p99)
        bottom.set_xlabel("minutes")
    for row, words in enumerate(("calls/s (red: failed)", "pods", "p99, s")):
        axes[row][0].set_ylabel(words)
        for one in axes[row]:
            one.set_ylim(bottom=0)
            one.grid(True, alpha=0.3)
    plots.save(plt, fig, path)


def main() -> int:
    """Prints a table of all loads; the autoscaler beside as many pods as the peak needs, and as the mean needs."""
    parser = argparse.ArgumentParser(description="Simulate the chart's autoscaler.")
    parser.add_argument("--trace", type=Path, help='a recorded load: lines of "seconds,calls per second"')
    parser.add_argument("--plot", type=Path, help="where the picture goes, .svg")
    options = parser.parse_args()
    chart, calls = Chart.read(), Calls()
    pod_rate = chart.lanes / calls.mean_s
    given = loads(pod_rate) if options.trace is None else {options.trace.stem: trace(options.trace)}
    print("| load | pods | pod hours | failed | p50 | p99 |\n| --- | --- | --- | --- | --- | --- |")
    scaled = {}
    for name, rate in given.items():
        rates = [rate(at) for at in range(0, 3600 * HOURS, 10)]
        peak = math.ceil(max(rates) / (chart.busy_share * pod_rate))
        mean = math.ceil(sum(rates) / len(rates) / (chart.busy_share * pod_rate))
        for words, pods in (("autoscaled", None), (f"{peak}, for the peak", peak), (f"{mean}, for the mean", mean)):
            run = simulate(rate, chart, calls, pods=pods)
            if pods is None:
                scaled[name] = run
                words += f", {min(run.pods)} to {max(run.pods)}"
            times = f"{run.percentile(0.5):.2f} s | {run.percentile(0.99):.2f} s"
            print(f"| {name} | {words} | {run.pod_hours:.1f} | {100 * run.failures:.2f} % | {times} |")
    if options.plot is not None:
        plot(scaled, options.plot)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
