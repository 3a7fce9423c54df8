"""What callers see when the server crashes, drains, is full or is too slow."""

from __future__ import annotations

import os
import pathlib
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import corank
import grpc
import numpy as np
import pytest
from corank.testing import LocalServer
from e2e_support import NOT_SERVING, SERVING, busy, cancelled_before, samples, wait_until_none_left, watch_health
from numpy.typing import NDArray
from waiting import wait_until

Keys = NDArray[np.uint32]
X = np.array([3, 1, 2], dtype=np.int32)
# For servers whose work must be observed while it runs: a GPU finishes too fast.
SLOW_ENGINE = "--engine=cpu"
# Keys that keep a lane busy for a while, but not longer than a client retries.
BUSY_KEYS = 2**14 if os.environ.get("CORANKD_SANITIZED") == "thread" else 2**18


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


def test_sigterm_finishes_what_runs_refuses_what_comes_and_exits_with_0(corankd: pathlib.Path, slow_keys: Keys) -> None:
    server = LocalServer(corankd, [SLOW_ENGINE])
    server.start()
    with server.connect() as client, ThreadPoolExecutor(1) as pool:
        client.info()
        call = pool.submit(sort_slowly, client, slow_keys)
        wait_until(lambda: busy(server), "the sort works")
        server.process.send_signal(signal.SIGTERM)

        def refused() -> corank.Unavailable | None:
            try:
                client.sort(X, retries=0)
            except corank.Unavailable as error:
                return error
            return None

        wait_until(lambda: refused() is not None, "new calls are refused")
        assert not call.done(), "the slow sort was too fast to see the drain"
        np.testing.assert_array_equal(call.result(timeout=60), np.sort(slow_keys))
    assert server.process.wait(30) == 0
    server.stop()


def test_health_says_not_serving_while_draining(corankd: pathlib.Path, slow_keys: Keys) -> None:
    server = LocalServer(corankd, [SLOW_ENGINE])
    server.start()
    with server.connect() as client, grpc.insecure_channel(server.address) as channel, ThreadPoolExecutor(1) as pool:
        states = watch_health(channel, "corank.v1.CorankService")
        assert next(states) == SERVING
        call = pool.submit(sort_slowly, client, slow_keys)
        wait_until(lambda: busy(server), "the sort works")
        server.process.send_signal(signal.SIGTERM)
        assert next(states) == NOT_SERVING
        call.result(timeout=60)
    assert server.process.wait(30) == 0
    server.stop()


def test_full_queue_refuses_with_a_delay_and_retries_get_through(corankd: pathlib.Path) -> None:
    keys = np.random.default_rng(3).integers(0, 2**32, BUSY_KEYS, dtype=np.uint32)
    expected = np.sort(keys)
    arguments = [SLOW_ENGINE, "--lanes=1", "--max-queued-requests=1"]

    def outcome(client: corank.Client, retries: int) -> corank.CorankError | None:
        try:
            got = client.sort(keys, algorithm="odd-even-mergesort", retries=retries)
        except corank.CorankError as error:
            return error
        assert (got == expected).all()
        return None

    def patient(server: LocalServer) -> corank.CorankError | None:
        with server.connect() as own:  # the retry budget of one client is too small for six callers
            return outcome(own, 100)

    with LocalServer(corankd, arguments) as server, server.connect() as client, ThreadPoolExecutor(12) as pool:
        outcomes = list(pool.map(lambda _: outcome(client, 0), range(12)))
        refused = [error for error in outcomes if error is not None]
        assert any(error is None for error in outcomes)
        assert refused, "12 calls at once did not fill a queue of 1"
        for error in refused:
            assert isinstance(error, corank.ResourceExhausted), error
            assert error.retry_after is not None
            assert error.retry_after > 0
        assert list(pool.map(lambda _: patient(server), range(6))) == [None] * 6


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
