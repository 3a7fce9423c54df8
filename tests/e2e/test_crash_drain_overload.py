"""What callers see when the server crashes, drains, is full or is too slow."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import corank
import grpc
import numpy as np
import pytest
from corank.testing import LocalServer
from e2e_support import NOT_SERVING, SERVING, busy, cancelled_before, samples, wait_until_none_left, watch_health
from held_calls import CHUNK, StreamCall, Work, random_keys
from numpy.typing import NDArray
from waiting import wait_until

Keys = NDArray[np.uint32]
X = np.array([3, 1, 2], dtype=np.int32)
# For servers whose work must be observed while it runs: a GPU finishes too fast.
SLOW_ENGINE = "--engine=cpu"


def sort_slowly(client: corank.Client, keys: Keys) -> Keys:
    """A sort that takes a while."""
    return client.sort(keys, algorithm="odd-even-mergesort")


def test_crash_in_a_call_is_unavailable_and_a_new_server_serves_the_same_client(
    corankd: pathlib.Path, slow_keys: Keys
) -> None:
    server = LocalServer(corankd, [SLOW_ENGINE])
    server.start()
    port = server.address.rsplit(":", 1)[1]
    with server.connect() as client, ThreadPoolExecutor(1) as pool:
        call = pool.submit(sort_slowly, client, slow_keys)
        wait_until(lambda: busy(server), "the sort works")
        server.kill()
        with pytest.raises(corank.Unavailable):
            call.result(timeout=30)

        with LocalServer(corankd, [f"--listen=127.0.0.1:{port}"]) as again:
            assert again.address == server.address

            def served() -> bool:
                try:
                    return bool((client.sort(X) == [1, 2, 3]).all())
                except corank.Unavailable:
                    return False  # the channel waits before it connects again

            wait_until(served, "the client found the new server")


@contextlib.contextmanager
def held_by_a_stream(corankd: pathlib.Path) -> Iterator[tuple[LocalServer, StreamCall]]:
    """A server that cannot end before a stream goes on, which must then have its answer."""
    server = LocalServer(corankd, ["--drain-timeout=10m", "--stream-idle-timeout=10m"])
    server.start()
    stream = StreamCall(server.address, Work(random_keys(2 * CHUNK), timeout=600, send=1))
    wait_until(lambda: samples(server)["corank_stream_jobs"] > 0, "the stream has begun")
    yield server, stream
    stream.go_on()
    assert stream.code() == "OK"
    assert server.process.wait(60) == 0
    server.stop()


def test_sigterm_finishes_what_runs_refuses_what_comes_and_exits_with_0(corankd: pathlib.Path) -> None:
    with held_by_a_stream(corankd) as (server, stream), server.connect() as client:
        client.info()
        server.process.send_signal(signal.SIGTERM)

        def refused() -> corank.Unavailable | None:
            try:
                client.sort(X, retries=0)
            except corank.Unavailable as error:
                return error
            return None

        wait_until(lambda: refused() is not None, "new calls are refused")
        assert not stream.is_over


def test_health_says_not_serving_while_draining(corankd: pathlib.Path) -> None:
    with held_by_a_stream(corankd) as (server, _), grpc.insecure_channel(server.address) as channel:
        states = watch_health(channel, "corank.v1.CorankService")
        assert next(states) == SERVING
        server.process.send_signal(signal.SIGTERM)
        assert next(states) == NOT_SERVING


def test_full_queue_refuses_with_a_delay_and_retries_get_through(corankd: pathlib.Path) -> None:
    """One stream holds the only long lane, another one the only place in the queue."""
    arguments = ["--long-lanes=1", "--spare-lanes=0", "--max-queued-requests=1", "--stream-idle-timeout=10m"]
    keys = random_keys(2 * CHUNK)
    with (
        LocalServer(corankd, arguments) as server,
        server.connect(deadline=600) as client,
        ThreadPoolExecutor(1) as pool,
    ):
        held = StreamCall(server.address, Work(keys, timeout=600, send=1))
        wait_until(lambda: busy(server), "the first stream has the lane")
        waiting = StreamCall(server.address, Work(keys, timeout=600))
        wait_until(lambda: samples(server)["corank_queue_requests"] == 1, "the second stream waits")
        with pytest.raises(corank.ResourceExhausted) as refused:
            client.sort(keys, place="stream", retries=0)
        assert refused.value.retry_after is not None
        assert refused.value.retry_after > 0

        def refusals() -> float:
            return samples(server)['corank_refused_total{reason="queue_requests"}']

        before = refusals()
        retried = pool.submit(client.sort, keys, place="stream")
        wait_until(lambda: refusals() > before, "the queue is full for it too")
        held.go_on()
        assert held.code() == "OK"
        assert waiting.code() == "OK"
        np.testing.assert_array_equal(retried.result(timeout=600), np.sort(keys))


def test_tiny_deadline_is_exceeded_and_the_server_goes_on(corankd: pathlib.Path, slow_keys: Keys) -> None:
    with LocalServer(corankd, [SLOW_ENGINE]) as server, server.connect() as client:
        for deadline in (1e-6, 1e-3, 0.2):
            with pytest.raises(corank.DeadlineExceeded):
                client.sort(slow_keys, algorithm="odd-even-mergesort", deadline=deadline)
        np.testing.assert_array_equal(client.sort(X), [1, 2, 3])
        wait_until(lambda: not busy(server), "the work of late calls has stopped")


def test_deadline_in_the_middle_of_a_merge_leaves_nothing(corankd: pathlib.Path) -> None:
    each = 1 << (16 if os.environ.get("CORANKD_SANITIZED") == "thread" else 20)
    runs = [np.arange(i, 16 * each, 16, dtype=np.uint32) for i in range(16)]
    with LocalServer(corankd, [SLOW_ENGINE, "--kept-bytes=512MiB"]) as server, server.connect() as client:
        kept = [client.store(f"run-{i}", run) for i, run in enumerate(runs)]  # so that the call is the merge alone
        wait_until(lambda: samples(server)["corank_calls"] == 0, "all arrays are stored")
        before = samples(server)

        def since() -> dict[str, float]:
            return {name: value - before.get(name, 0) for name, value in samples(server).items()}

        # The first deadlines pass before the merge begins; one that passes in the middle is noticed after the kernel. A
        # merge that ends in time would teach the server its duration, and the server would refuse the next one at once.
        deadline = 0.001
        while (passed_in_merge := cancelled_before(since(), "copy_out")) == 0:
            with pytest.raises(corank.DeadlineExceeded):
                client.merge(kept, keep="merged", deadline=deadline)
            wait_until_none_left(since)
            assert [array.name for array in client.arrays().arrays] == sorted(array.name for array in kept)
            deadline *= 1.5
        assert passed_in_merge == 1
        merged: Any = client.merge(kept, keep="merged")
        np.testing.assert_array_equal(merged.fetch(), np.arange(16 * each, dtype=np.uint32))


def test_request_over_the_limit_names_the_limit(corankd: pathlib.Path) -> None:
    with LocalServer(corankd, ["--max-request-bytes=1048576"]) as server, server.connect() as client:
        assert client.info().limits.max_request_bytes == 1_048_576
        with pytest.raises(corank.InvalidArgument, match=r"max[-_]request[-_]bytes"):
            client.sort(np.zeros(1_048_577, np.uint8), place="inline")
        with pytest.raises(corank.CorankError) as caught:
            client.sort(np.zeros(64 << 20, np.uint8), place="inline")
        assert caught.value.code in ("INVALID_ARGUMENT", "RESOURCE_EXHAUSTED")
        assert client.sort(np.zeros(1_000_000, np.uint8)).size == 1_000_000
