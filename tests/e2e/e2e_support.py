"""What several end-to-end tests look at: metrics, health, and conditions that come true."""

from __future__ import annotations

import os
import pathlib
import re
import time
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
from corank.testing import LocalServer
from grpc_health.v1 import health_pb2

STATE_GAUGES = (
    "corank_queue_requests",
    "corank_queue_bytes",
    "corank_lanes_busy",
    "corank_calls",
    "corank_stream_jobs",
    "corank_stream_job_bytes",
    "corank_regions",
    "corank_region_leases",
)
"""Metrics of a server that are 0 where nothing waits, runs or is open, but for memory and connections."""
_BUDGETS = ("host_pool", "device_work", "kept_arrays")
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
MEMORY_SCALE = 64 if os.environ.get("CORANKD_SANITIZED") else 1
"""Sanitized servers keep freed memory for a while and record each allocation: there, bounds of memory say nothing."""


def binary(variable: str) -> pathlib.Path:
    """The program that an environment variable names; skips without it."""
    value = os.environ.get(variable)
    if not value:
        pytest.skip(f"{variable} is not set: set it to the path of the program to test it end to end")
    return pathlib.Path(value)


def samples(server: LocalServer) -> dict[str, float]:
    """What /metrics says now: values by name with labels, and those of short and long lanes together without."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"http://{server.metrics_address}/metrics", timeout=10) as page:
        text = page.read().decode()
    found = re.findall(r"^([a-z_]+(?:\{.*\})?) (\S+)$", text, re.MULTILINE)
    values = {name: float(value) for name, value in found}
    for total in ("corank_lanes", "corank_lanes_busy"):
        values[total] = sum(value for name, value in values.items() if name.startswith(f"{total}{{"))
    return values


def busy(server: LocalServer) -> bool:
    """Whether a lane works."""
    return samples(server)["corank_lanes_busy"] > 0


def wait_until(condition: Callable[[], bool], what: str, seconds: float = 30) -> None:
    """Returns once the condition holds; fails the test if it does not in time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds:g} s: {what}"
        time.sleep(0.005)


def wait_until_idle(server: LocalServer) -> None:
    """Returns once nothing waits, runs or is streamed; fails the test if something stays."""
    gauges = ("corank_queue_requests", "corank_queue_bytes", "corank_lanes_busy")

    def idle() -> bool:
        now = samples(server)
        return all(now[name] == 0 for name in gauges)

    wait_until(idle, "nothing waits or runs any more")


def held_bytes(now: dict[str, float], *budgets: str) -> float:
    """Bytes of memory budgets, by default of all, that are in use."""
    return sum(now[f'corank_memory_used_bytes{{budget="{name}"}}'] for name in budgets or _BUDGETS)


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


def code_of(call: Callable[[], object]) -> tuple[str, str]:
    """(status, details) of a call; ("OK", "") if it does not fail."""
    try:
        call()
    except grpc.RpcError as error:
        call_error: Any = error
        return call_error.code().name, call_error.details() or ""
    return "OK", ""


def health(channel: grpc.Channel, service: str) -> int:
    """grpc.health.v1's answer for a service."""
    check: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary("/grpc.health.v1.Health/Check")
    answer = check(health_pb2.HealthCheckRequest(service=service).SerializeToString(), timeout=10)
    return health_pb2.HealthCheckResponse.FromString(answer).status


def watch_health(channel: grpc.Channel, service: str) -> Iterator[int]:
    """grpc.health.v1's answers for a service, each time it changes."""
    watch: grpc.UnaryStreamMultiCallable[bytes, bytes] = channel.unary_stream("/grpc.health.v1.Health/Watch")
    for answer in watch(health_pb2.HealthCheckRequest(service=service).SerializeToString(), timeout=60):
        yield health_pb2.HealthCheckResponse.FromString(answer).status
