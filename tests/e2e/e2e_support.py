"""Shared helpers of the end-to-end tests: metrics, health, and waiting for conditions."""

from __future__ import annotations

import os
import pathlib
import re
import socket
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import grpc
import pytest
from corank.testing import LocalServer
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_health.v1 import health_pb2
from waiting import wait_until

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
"""Gauges that are 0 on an idle server, without those of memory and connections."""
_BUDGETS = ("host_pool", "messages", "device_work", "kept_arrays")
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
MEMORY_SCALE = 64 if os.environ.get("CORANKD_SANITIZED") else 1
"""Factor on memory bounds: sanitized servers hold freed memory and record each allocation, so bounds mean little."""

UNLENT_HOST = "127.0.0.2"
"""A local host whose ports no outgoing connection takes as its own: they start from 127.0.0.1."""


def binary(variable: str) -> pathlib.Path:
    """The program that an environment variable names; skips the test if the variable is not set."""
    value = os.environ.get(variable)
    if not value:
        pytest.skip(f"{variable} is not set: set it to the path of the program to test it end to end")
    return pathlib.Path(value)


def unused_address() -> str:
    """HOST:PORT where nobody listens."""
    with socket.socket() as probe:
        probe.bind((UNLENT_HOST, 0))
        return f"{UNLENT_HOST}:{probe.getsockname()[1]}"


def metrics_page(server: LocalServer) -> str:
    """What /metrics shows."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"http://{server.metrics_address}/metrics", timeout=10) as page:
        return str(page.read().decode())


def samples(server: LocalServer) -> dict[str, float]:
    """The samples of /metrics by name with labels; lane gauges also without labels, as the sum of short and long."""
    found = re.findall(r"^([a-z_]+(?:\{.*\})?) (\S+)$", metrics_page(server), re.MULTILINE)
    values = {name: float(value) for name, value in found}
    for total in ("corank_lanes", "corank_lanes_busy"):
        values[total] = sum(value for name, value in values.items() if name.startswith(f"{total}{{"))
    return values


def busy(server: LocalServer) -> bool:
    """Whether any lane is busy."""
    return samples(server)["corank_lanes_busy"] > 0


def wait_until_idle(server: LocalServer) -> None:
    """Returns once no call waits or runs; fails the test if one stays."""
    gauges = ("corank_queue_requests", "corank_queue_bytes", "corank_lanes_busy")

    def idle() -> bool:
        now = samples(server)
        return all(now[name] == 0 for name in gauges)

    wait_until(idle, "nothing waits or runs any more")


def held_bytes(now: dict[str, float], *budgets: str) -> float:
    """Bytes in use of the given memory budgets, by default of all."""
    return sum(now[f'corank_memory_used_bytes{{budget="{name}"}}'] for name in budgets or _BUDGETS)


def cancelled_before(now: dict[str, float], stage: str) -> float:
    """How many requests the server dropped before this stage."""
    return now[f'corank_cancelled_total{{stage="{stage}"}}']


def is_empty(now: dict[str, float]) -> bool:
    """Whether the server is idle and holds nothing except connections."""
    return all(now[name] == 0 for name in STATE_GAUGES) and held_bytes(now) == 0


def wait_until_empty(server: LocalServer, seconds: float = 30) -> None:
    """Returns once all state gauges are zero; otherwise fails the test and names those that are not."""
    wait_until_none_left(lambda: samples(server), seconds=seconds)


def wait_until_none_left(look: Callable[[], dict[str, float]], *gauges: str, seconds: float = 30) -> None:
    """Returns once `look` finds all state gauges and these gauges at zero; otherwise fails the test and names the rest.

    A connection ends before its calls do: they free lanes and memory when they notice.
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


class Details(NamedTuple):
    """What the trailer `grpc-status-details-bin` of a failed call holds; empty if there is none."""

    code: str
    info: error_details_pb2.ErrorInfo
    violations: list[str]
    """Fields."""
    has_retry_delay: bool


def details_of(error: Any) -> Details:
    """The details of an error of gRPC, or of one whose attribute `raw_details` holds them."""
    raw = getattr(error, "raw_details", None)
    if raw is None:
        raw = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin", b"")
    status = status_pb2.Status.FromString(raw)
    info, bad, retry = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest(), error_details_pb2.RetryInfo()
    has_retry_delay = False
    for detail in status.details:
        known = detail.Unpack(info) or detail.Unpack(bad)
        has_retry_delay |= not known and detail.Unpack(retry)
    name = code_pb2.Code.Name(status.code)
    return Details(name, info, [each.field for each in bad.field_violations], has_retry_delay)


def code_of(call: Callable[[], object]) -> tuple[str, str]:
    """(status, details) of a call; ("OK", "") if it does not fail."""
    try:
        call()
    except grpc.RpcError as error:
        call_error: Any = error
        return call_error.code().name, call_error.details() or ""
    return "OK", ""


def health(channel: grpc.Channel, service: str) -> int:
    """The grpc.health.v1 status of a service."""
    check: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary("/grpc.health.v1.Health/Check")
    answer = check(health_pb2.HealthCheckRequest(service=service).SerializeToString(), timeout=10)
    return health_pb2.HealthCheckResponse.FromString(answer).status


def watch_health(channel: grpc.Channel, service: str) -> Iterator[int]:
    """The grpc.health.v1 status of a service, each time it changes."""
    watch: grpc.UnaryStreamMultiCallable[bytes, bytes] = channel.unary_stream("/grpc.health.v1.Health/Watch")
    for answer in watch(health_pb2.HealthCheckRequest(service=service).SerializeToString(), timeout=60):
        yield health_pb2.HealthCheckResponse.FromString(answer).status
