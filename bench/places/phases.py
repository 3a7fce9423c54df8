"""The time that one call of the Python client spends in each of its functions and in each stage of the server."""

from __future__ import annotations

import cProfile
import pstats
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import corank

STAGES = ("queue", "copy_in", "kernel", "copy_out", "elapsed")
_LEAST_SHARE = 0.01


def phases(call: Callable[..., Any]) -> list[str]:
    """Lines about a call, which takes `on_stats`.

    The functions are those that the calling thread entered, with the time until they returned. CPU time is that of all
    threads of this process, so its ratio to the time tells how many cores a function used.
    """
    stats: list[corank.Stats] = []
    before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    call(on_stats=stats.append)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    faults = after.ru_minflt - before.ru_minflt
    lines = [f"{1e3 * wall:.1f} ms; CPU {1e3 * user:.0f} ms user, {1e3 * system:.0f} ms system; {faults:,} page faults"]
    for each in stats:
        times = ", ".join(f"{name} {getattr(each, f'{name}_ns') * 1e-6:.1f}" for name in STAGES)
        lines.append(f"server's {each.operator} ({each.place}): {times} ms")
    by_time, by_cpu = (_profile(call, timer) for timer in (time.perf_counter, time.process_time))
    total = max(cumulative for _, _, cumulative in by_time.values())
    lines.append(f"{'ms':>9} {'own ms':>9} {'CPU ms':>9} {'calls':>6}  function")
    for name, (calls, own, cumulative) in sorted(by_time.items(), key=lambda item: -item[1][2]):
        if cumulative >= _LEAST_SHARE * total:
            cpu = by_cpu.get(name, (0, 0.0, 0.0))[2]
            lines.append(f"{1e3 * cumulative:9.1f} {1e3 * own:9.1f} {1e3 * cpu:9.1f} {calls:6}  {name}")
    return lines


def _profile(call: Callable[..., Any], timer: Callable[[], float]) -> dict[str, tuple[int, float, float]]:
    """The number of calls, the own and the cumulative seconds of each function, by its name."""
    profile = cProfile.Profile(timer)
    profile.runcall(call)
    found: dict[str, tuple[int, float, float]] = {}
    for (file, line, function), (_, calls, own, cumulative, _) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        name = function if file == "~" else f"{Path(file).name}:{line} {function}"
        found[name] = (calls, own, cumulative)
    return found
