"""A network that delays, throttles, cuts and swallows: right answers or retryable errors within the deadline, and no
leftovers on the server.

The network is a proxy, which runs everywhere; `test_lossy_link.py` loses packets.
"""

from __future__ import annotations

import pathlib
import random
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import corank
import numpy as np
import pytest
from corank._options import Place
from corank.testing import LocalServer
from e2e_support import samples
from held_calls import CHUNK, HeldCall, StreamCall, UnaryCall, Work, random_keys
from reliability_support import LONG, PREFIX, wait_until_empty
from tcp_proxy import TcpProxy
from waiting import wait_until

FLAGS = [
    f"--shared-memory={PREFIX}",
    "--stream-window-bytes=4MiB",
    "--keepalive-interval=500ms",
    "--keepalive-timeout=500ms",
]
RETRYABLE = {"UNAVAILABLE", "RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED"}
KEYS = random_keys(1 << 20)
SORTED = np.sort(KEYS)
REMOTE: tuple[Place, ...] = ("inline", "stream")
CUTS = 40 if LONG else 6


@pytest.fixture(scope="module")
def server(corankd: pathlib.Path) -> Iterator[LocalServer]:
    """A server that soon notices that a client is gone. It must exit with 0."""
    with LocalServer(corankd, FLAGS) as local:
        yield local
        assert local.process.poll() is None, f"the server ended with {local.process.poll()}"
        assert local.stop() == 0


@pytest.fixture
def proxy(server: LocalServer) -> Iterator[TcpProxy]:
    """A proxy to that server. After each test the server must hold nothing, not even a connection."""
    with TcpProxy(server.address) as between:
        yield between
    wait_until_empty(server)
    wait_until(lambda: samples(server)["corank_connections"] == 0, "no connection is left")


def connect(proxy: TcpProxy, deadline: float = 60, retries: int = 20) -> corank.Client:
    """A client of the proxy."""
    return corank.Client(proxy.address, deadline=deadline, retries=retries, progress=False)


def sort_in(client: corank.Client, place: Place, **options: Any) -> None:
    """One sort; its answer must be right."""
    np.testing.assert_array_equal(client.sort(KEYS, place=place, **options), SORTED)


@pytest.mark.parametrize("flag", ["keepalive-interval", "keepalive-timeout"])
def test_keepalive_that_makes_no_sense_is_refused(corankd: pathlib.Path, flag: str) -> None:
    command = [str(corankd), "--listen=127.0.0.1:0", "--metrics-listen=", f"--{flag}=1ms"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 2
    assert flag in ended.stderr


@pytest.mark.parametrize("place", REMOTE)
def test_far_and_slow(proxy: TcpProxy, place: Place) -> None:
    proxy.up.delay = proxy.down.delay = 0.05
    proxy.up.bytes_per_second = proxy.down.bytes_per_second = 16 << 20
    with connect(proxy, retries=0) as client:
        began = time.monotonic()
        sort_in(client, place)
        assert time.monotonic() - began > 0.1


@pytest.mark.parametrize("place", REMOTE)
def test_cuts_in_the_middle_are_tried_again(server: LocalServer, proxy: TcpProxy, place: Place) -> None:
    """Each cut comes after a different number of bytes of the request or the answer."""
    chance = random.Random(7)
    with connect(proxy) as client, ThreadPoolExecutor(1) as pool:
        sort_in(client, place)  # the client has connected
        for number in range(CUTS):
            way = proxy.up if number % 2 == 0 else proxy.down
            way.hold(after=chance.randrange(KEYS.nbytes))
            call = pool.submit(sort_in, client, place)
            wait_until(lambda way=way: way.is_stopped, "the middle is reached")  # type: ignore[misc]
            assert not call.done()
            proxy.cut()
            proxy.release()
            call.result(timeout=60)
            client._connection.retrier.budget.__init__()  # type: ignore[misc]  # that of another client: budgets have their tests


@pytest.mark.parametrize("place", REMOTE)
def test_cut_without_retries_is_unavailable(proxy: TcpProxy, place: Place) -> None:
    with connect(proxy, retries=0) as client, ThreadPoolExecutor(1) as pool:
        client.info()
        proxy.down.hold(after=KEYS.nbytes // 2)
        call = pool.submit(sort_in, client, place)
        wait_until(lambda: proxy.down.is_stopped, "half of the answer is through")
        proxy.cut()
        with pytest.raises(corank.Unavailable):
            call.result(timeout=60)
        proxy.release()


@pytest.mark.parametrize("after", [0, 1 << 20])
@pytest.mark.parametrize("place", REMOTE)
def test_black_hole_ends_with_the_deadline(proxy: TcpProxy, place: Place, after: int) -> None:
    """From the start, and in the middle of an upload that fills all buffers between client and server."""
    keys = random_keys(1 << 23)
    with connect(proxy, deadline=1) as client, ThreadPoolExecutor(1) as pool:
        sort_in(client, place, deadline=30)
        proxy.up.hold(after)
        proxy.down.hold()
        call = pool.submit(client.sort, keys, place=place)
        with pytest.raises(corank.DeadlineExceeded):
            call.result(timeout=60)
        proxy.release()
        proxy.cut()
        sort_in(client, place, deadline=30)


@pytest.mark.parametrize("place", REMOTE)
def test_asking_what_the_server_is_counts_for_the_deadline(proxy: TcpProxy, place: Place) -> None:
    with connect(proxy, deadline=1) as client, ThreadPoolExecutor(1) as pool:
        proxy.hold()
        call = pool.submit(sort_in, client, place)
        with pytest.raises(corank.DeadlineExceeded):
            call.result(timeout=60)
        proxy.release()


def half_open(server: LocalServer, proxy: TcpProxy, call: HeldCall) -> None:
    """A client without a deadline stays silent behind a black hole: the server gives the call up."""
    wait_until(lambda: samples(server)["corank_calls"] > 0, "the server has the call")
    proxy.hold()
    wait_until_empty(server)
    assert not call.is_over, "the client cannot know"
    proxy.cut()
    proxy.release()
    assert call.code() in RETRYABLE


def test_upload_that_falls_silent_is_found_by_keepalive(server: LocalServer, proxy: TcpProxy) -> None:
    call = StreamCall(proxy.address, Work(random_keys(8 * CHUNK), timeout=600, send=4))
    wait_until(lambda: samples(server)["corank_stream_job_bytes"] > 0, "chunks have come")
    half_open(server, proxy, call)


def test_answer_that_nobody_takes_is_given_up(server: LocalServer, proxy: TcpProxy) -> None:
    proxy.down.hold(after=1 << 20)
    call = UnaryCall(proxy.address, Work(random_keys(8 * CHUNK), timeout=600))
    wait_until(lambda: proxy.down.is_stopped, "the answer has begun")
    half_open(server, proxy, call)


def test_cuts_under_many_callers(server: LocalServer, proxy: TcpProxy) -> None:
    """Connections break all the time while callers retry: every answer is right, every failure retryable."""
    stop = threading.Event()
    outcomes: list[str] = []

    def caller(place: Place) -> None:
        with connect(proxy, deadline=20, retries=10) as client:
            while not stop.is_set():
                try:
                    sort_in(client, place)
                    outcomes.append("OK")
                except corank.CorankError as error:
                    outcomes.append(error.code)

    threads = [threading.Thread(target=caller, args=(place,)) for place in (*REMOTE, *REMOTE)]
    for thread in threads:
        thread.start()
    for _ in range(CUTS):
        # More answers than there are callers: one of them came through a connection that was made after the last cut.
        enough = outcomes.count("OK") + len(threads) + 1
        wait_until(lambda enough=enough: outcomes.count("OK") >= enough, "callers are served between cuts")  # type: ignore[misc]
        proxy.cut()
    stop.set()
    for thread in threads:
        thread.join(60)
    print(
        f"\nnetwork, {CUTS} cuts under {len(threads)} callers: {dict(Counter(outcomes))}, {proxy.accepted} connections"
    )
    assert set(outcomes) <= {"OK", *RETRYABLE}, set(outcomes)
    assert proxy.accepted >= CUTS, "each cut was of another connection, which the callers may share"
