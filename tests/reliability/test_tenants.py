"""Tenants and priorities share a server: a flood delays only its own tenant, and slow readers delay nobody.

The tests judge order and counters. Only the long form measures times, and prints them.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import corank
import grpc
import numpy as np
import pytest
from corank._options import Place
from corank.testing import LocalServer
from corank.v1 import array_pb2 as a
from corank.v1 import operators_pb2 as o
from e2e_support import samples
from held_calls import CHUNK, METHOD, OPTIONS, StreamCall, UnaryCall, Work, random_keys
from phases import slow_keys
from reliability_support import LONG, PREFIX, wait_until_empty
from tcp_proxy import TcpProxy
from waiting import wait_until

KEYS = random_keys(1 << 17)
RIGHT = np.sort(KEYS)
PRIORITIES = {"low": o.PRIORITY_LOW, "normal": o.PRIORITY_NORMAL, "high": o.PRIORITY_HIGH}
Serve = Callable[..., LocalServer]


@pytest.fixture(name="serve")
def fixture_serve(corankd: pathlib.Path, tmp_path: pathlib.Path) -> Iterator[Serve]:
    """serve(*flags) starts a server with one lane of each kind and three tenants; it must exit with 0."""
    tokens = tmp_path / "tokens"
    lines = [f"{name} {hashlib.sha256(name.encode()).hexdigest()} all\n" for name in ("one", "two", "holder")]
    tokens.write_text("".join(lines))
    with contextlib.ExitStack() as stack:

        def start(*flags: str) -> LocalServer:
            options = ["--engine=cpu", "--lanes=1", "--cpu-threads=1", "--slow-request=1ns", f"--tokens-file={tokens}"]
            server = LocalServer(corankd, [*options, *flags])
            server.start()
            stack.callback(server.kill)
            stack.callback(lambda: check(server))
            return server

        def check(server: LocalServer) -> None:
            wait_until_empty(server)
            assert server.stop() == 0

        yield start


def replied(server: LocalServer) -> dict[str, float]:
    """When the lanes finished each answered request, by id, in seconds of the server's clock."""
    found = {}
    for text in server.log_path.read_text().splitlines():
        line = json.loads(text)
        if line["event"] == "request_slow":
            written = datetime.datetime.fromisoformat(line["time"].replace("Z", "+00:00"))
            found[line["request_id"]] = written.timestamp() - line["respond"]
    return found


class Line:
    """Calls that wait behind a slow one, and the order in which the server runs them.

    The order comes from the server's log, because on a busy machine answers overtake one another.
    """

    def __init__(self, server: LocalServer) -> None:
        self.server = server
        self.ended: list[str] = []
        """The names of the answered calls."""
        self.refused: list[str] = []
        self._calls: list[Any] = []
        self._channel = grpc.insecure_channel(server.address, OPTIONS)
        self._sort: Any = self._channel.unary_unary(METHOD + "Sort", response_deserializer=o.SortResponse.FromString)
        self._lock = threading.Lock()

    def hold(self, keys: Any) -> None:
        """Occupies the lane for a while."""
        self._send("holder", "holder", keys, o.SORT_ALGORITHM_ODD_EVEN_MERGESORT)
        wait_until(lambda: samples(self.server)["corank_lanes_busy"] == 1, "the lane is taken")

    def send(self, name: str, count: int, tenant: str, priority: str = "normal") -> None:
        """Starts `count` sorts of KEYS."""
        for _ in range(count):
            self._send(name, tenant, KEYS, o.SORT_ALGORITHM_AUTO, priority)

    def _send(self, name: str, tenant: str, keys: Any, algorithm: Any, priority: str = "normal") -> None:
        array = a.Array(type=a.ELEMENT_TYPE_UINT32, inline_data=keys.tobytes())
        options = o.RequestOptions(priority=PRIORITIES[priority])
        request = o.SortRequest(keys=array, algorithm=algorithm, options=options, limit=1).SerializeToString()
        metadata = (("authorization", f"Bearer {tenant}"), ("x-request-id", f"{name}-{len(self._calls)}"))
        call = self._sort.future(request, timeout=120, metadata=metadata)

        def done(ended: Any) -> None:
            with self._lock:
                (self.ended if ended.code() is grpc.StatusCode.OK else self.refused).append(name)

        call.add_done_callback(done)
        self._calls.append(call)

    def wait_until_queued(self, count: int) -> None:
        """Returns once that many calls wait while the lane is still busy; fails the test if the lane was too fast."""
        wait_until(lambda: self.waiting() + len(self.refused) >= count or "holder" in self.ended, "calls wait")
        assert "holder" not in self.ended, "the lane was free before all had come"

    def waiting(self) -> int:
        """How many calls wait in the server's queue."""
        return int(samples(self.server)["corank_queue_requests"])

    def finish(self) -> list[str]:
        """Waits for all calls, whose answers must be right; returns their order without the call that held the lane."""
        for call in self._calls:
            if call.code() is grpc.StatusCode.OK and call is not self._calls[0]:
                assert call.result().keys.inline_data == RIGHT[:1].tobytes()
        wait_until(lambda: len(self.ended) + len(self.refused) == len(self._calls), "all have told")
        self._channel.close()
        wait_until(lambda: len(replied(self.server)) == len(self.ended), "the log tells of all")
        at = replied(self.server)
        order = [name.partition("-")[0] for name in sorted(at, key=at.__getitem__)]
        assert order[0] == "holder"
        return order[1:]


@pytest.fixture(scope="session", name="slow")
def fixture_slow(corankd: pathlib.Path) -> Any:
    """Keys that occupy the lane long enough for a queue to form."""
    with LocalServer(corankd, ["--engine=cpu", "--lanes=1", "--cpu-threads=1"]) as server:
        return slow_keys(server)


def test_flood_of_one_tenant_waits_for_itself(serve: Serve, slow: Any) -> None:
    server = serve()
    line = Line(server)
    line.hold(slow)
    line.send("flood", 24, "one")
    line.wait_until_queued(24)
    line.send("other", 4, "two")
    line.wait_until_queued(28)
    order = line.finish()
    assert len(order) == 28
    # Tenants alternate: the last of four calls comes eighth, or ninth if a call of the flood was about to begin.
    assert max(at for at, name in enumerate(order) if name == "other") < 12, order


def test_weights_share_the_lane(serve: Serve, slow: Any) -> None:
    line = Line(serve("--tenant-weights=two=3"))
    line.hold(slow)
    line.send("light", 16, "one")
    line.send("heavy", 16, "two")
    line.wait_until_queued(32)
    first = line.finish()[:16]
    assert 10 <= first.count("heavy") <= 14, first


def test_priorities_hold(serve: Serve, slow: Any) -> None:
    line = Line(serve())
    line.hold(slow)
    line.send("low", 12, "one", "low")
    line.send("normal", 8, "one", "normal")
    line.wait_until_queued(20)
    line.send("high", 4, "one", "high")
    line.wait_until_queued(24)
    order = line.finish()
    assert max(at for at, name in enumerate(order) if name == "high") < 6, order
    assert order[-10:].count("low") >= 9, order


def test_flood_is_refused_and_others_are_not(serve: Serve, slow: Any) -> None:
    server = serve("--max-queued-requests=32", "--tenant-max-queued-requests=8")
    line = Line(server)
    line.hold(slow)
    line.send("flood", 40, "one")
    line.wait_until_queued(40)
    line.send("other", 4, "two")
    line.wait_until_queued(44)
    assert line.waiting() == 8 + 4
    order = line.finish()
    assert line.refused == ["flood"] * 32
    assert order.count("other") == 4
    assert samples(server)['corank_refused_total{reason="tenant_requests"}'] == 32


def test_slow_readers_delay_nobody(corankd: pathlib.Path) -> None:
    """One reader stalls in a stream, another before an answer: calls and streams of others continue."""
    patient = ["--keepalive-timeout=1h", "--stream-idle-timeout=1h"]  # a slow machine takes longer than the defaults
    with LocalServer(corankd, ["--lanes=1", "--long-lanes=2", "--stream-window-bytes=4MiB", *patient]) as server:
        with TcpProxy(server.address) as proxy, server.connect(retries=0) as client:
            stream = StreamCall(server.address, Work(random_keys(32 * CHUNK), read=1))
            proxy.down.hold(after=1 << 16)
            answer = UnaryCall(proxy.address, Work(random_keys(8 * CHUNK)))
            wait_until(lambda: stream.chunks == 1 and proxy.down.is_stopped, "both stand still")
            places: tuple[Place, ...] = ("inline", "stream")
            for place in places * 5:
                np.testing.assert_array_equal(client.sort(KEYS, place=place), RIGHT)
            assert stream.chunks == 1
            assert not stream.is_over
            assert not answer.is_over
            stream.go_on()
            proxy.release()
            assert (stream.code(), answer.code()) == ("OK", "OK")
        wait_until_empty(server)


def p99(client: corank.Client, seconds: float) -> tuple[float, int]:
    """The 99th percentile of a sort's seconds, and the number of sorts."""
    times = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.monotonic()
        np.testing.assert_array_equal(client.sort(KEYS, place="inline"), RIGHT)
        times.append(time.monotonic() - began)
    return float(np.percentile(times, 99)), len(times)


@dataclass(frozen=True)
class Flood:
    """Sorts of another tenant, eight at a time, and the metric by which a server with the CPU engine shows them."""

    place: str
    count: int
    gauge: str
    least: int
    flags: tuple[str, ...] = (
        "--lanes=4",
        "--cpu-threads=0",
        f"--shared-memory={PREFIX}",
        "--kept-bytes=1GiB",
    )


FLOODS = {
    "small calls, one lane": Flood("inline", KEYS.size, "corank_queue_requests", 4, ()),
    "large messages": Flood("inline", 4 << 20, 'corank_lanes_busy{lane="short"}', 3),
    "streams": Flood("stream", 8 << 20, 'corank_lanes_busy{lane="long"}', 2),
    "kept arrays": Flood("kept", 4 << 20, 'corank_lanes_busy{lane="short"}', 2),
    "shared memory": Flood("shared_memory", 10 << 20, 'corank_lanes_busy{lane="long"}', 2),
}


@pytest.fixture(scope="session", name="has_gpu")
def fixture_has_gpu(corankd: pathlib.Path) -> bool:
    """Whether the server finds a usable GPU."""
    with LocalServer(corankd) as server:
        return server.engine == "cuda"


def forget_kept(server: LocalServer, tenant: str) -> None:
    """Deletes the arrays that a departed tenant kept on the server."""
    wait_until(lambda: samples(server)["corank_calls"] == 0, "calls of clients that are gone have ended")
    with corank.Client(server.address, token=tenant, progress=False) as client:
        for array in client.arrays().arrays:
            array.delete()


@pytest.mark.skipif(not LONG, reason="measures time: part of make soak")
@pytest.mark.parametrize("engine", ["cpu", "cuda"])
@pytest.mark.parametrize("kind", FLOODS)
def test_p99_beside_a_flood(serve: Serve, has_gpu: bool, kind: str, engine: str) -> None:
    """Prints by how much another tenant's flood raises the 99th percentile. It is judged only if clients have their own
    cores."""
    if engine == "cuda" and not has_gpu:
        pytest.skip("no GPU that this server can use")
    flood = FLOODS[kind]
    server = serve(*flood.flags, f"--engine={engine}")

    def flood_bytes() -> float:
        return samples(server).get('corank_tenant_bytes_total{tenant="one"}', 0)

    def has_come() -> bool:
        return flood_bytes() > 0 and samples(server)[flood.gauge] >= (flood.least if engine == "cpu" else 0)

    with corank.Client(server.address, token="two", retries=0, progress=False) as client:
        p99(client, 2)
        alone, count = p99(client, 20)
        script = pathlib.Path(__file__).with_name("client_process.py")
        command = [sys.executable, str(script), "flood", server.address, "one", flood.place, str(flood.count)]
        process = subprocess.Popen(command)
        try:
            wait_until(has_come, "the flood has come")
            before, began = flood_bytes(), time.monotonic()
            beside, count_beside = p99(client, 20)
            rate = (flood_bytes() - before) / (time.monotonic() - began)
            assert process.poll() is None, "the flood ended"
        finally:
            process.kill()
            process.wait()
            if flood.place == "kept":
                forget_kept(server, "one")
    assert rate > 0, "the flood stood still"
    cores = os.cpu_count() or 1
    result = {
        "flood": kind,
        "engine": server.engine,
        "cores": cores,
        "alone_p99_ms": 1e3 * alone,
        "alone_calls": count,
        "beside_flood_p99_ms": 1e3 * beside,
        "beside_flood_calls": count_beside,
        "flood_mb_per_second": rate / 1e6,
        "ratio": beside / alone,
    }
    print(f"\ntenants: {json.dumps(result)}")
    if cores >= 8:
        assert beside <= 2 * alone, result
