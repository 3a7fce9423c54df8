"""What a server has open, as its metrics tell it."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable

from corank.testing import LocalServer
from e2e_support import STATE_GAUGES, samples, wait_until

LONG = bool(os.environ.get("RELIABILITY_LONG"))
"""Whether the long forms of the tests run: `make soak`."""
PREFIX = "/corank-reliability-"
"""What names of shared-memory objects begin with."""

_BUDGETS = ("host_pool", "device_work", "kept_arrays")


def held_bytes(now: dict[str, float], *budgets: str) -> float:
    """Bytes of memory budgets, by default of all, that are in use."""
    return sum(now[f'corank_memory_used_bytes{{budget="{name}"}}'] for name in budgets or _BUDGETS)


def own_memory(server: LocalServer) -> float:
    """Anonymous resident memory of the server, in bytes."""
    text = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return 1024.0 * int(text.split("RssAnon:")[1].split()[0])


def cancelled_before(now: dict[str, float], stage: str) -> float:
    """Requests that were dropped before this stage."""
    return now[f'corank_cancelled_total{{stage="{stage}"}}']


def is_empty(now: dict[str, float]) -> bool:
    """Whether nothing waits, runs, is open or is held, but for connections."""
    return all(now[name] == 0 for name in STATE_GAUGES) and held_bytes(now) == 0


def wait_until_empty(server: LocalServer, seconds: float = 30) -> None:
    """Returns once all state counters are zero; fails the test, with what is not, if some stay."""
    wait_until_none_left(lambda: samples(server), seconds=seconds)


def wait_until_none_left(look: Callable[[], dict[str, float]], *gauges: str, seconds: float = 30) -> None:
    """Returns once `look` finds all state counters and these gauges at zero; fails the test with those that stay.

    A connection ends before the calls on it have: they let go of their lanes and memory when they notice.
    """
    last: dict[str, float] = {}

    def are_zero() -> bool:
        last.update(look())
        return is_empty(last) and all(last[name] == 0 for name in gauges)

    try:
        wait_until(are_zero, "all state counters are zero", seconds)
    except AssertionError as error:
        watched = {*STATE_GAUGES, *gauges}
        left = {name: last[name] for name in last if last[name] and (name in watched or "_used_bytes" in name)}
        raise AssertionError(f"{error}: {left}") from None
