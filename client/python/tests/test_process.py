"""Forks of this process, and calls that Ctrl-C interrupts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest
from fake_memory import Call
from fake_server import GRPC, FakeServer

import corank

KEYS = np.random.default_rng(11).integers(0, 2**32, 100_000, dtype=np.uint32)

# Newer versions let a child use gRPC without being asked.
OLD_GRPC = {"GRPC_ENABLE_FORK_SUPPORT": "1"} if GRPC < (1, 85) else {}
FORKING = """
import os, sys, threading
import numpy as np
import corank

client = corank.connect(sys.argv[1], deadline=20, place="shared_memory", progress=False)
keys = np.random.default_rng(0).integers(0, 2**32, 100_000, dtype=np.uint32)


def check(**options):
    for place in ("shared_memory", "inline", "stream"):
        found = client.sort(keys, place=place, request_id=str(os.getpid()), **options)
        np.testing.assert_array_equal(found, np.sort(keys))


check()
shared = client.empty_shared(keys.size, np.uint32)
shared[:] = keys
children = []
connection = client._connection
locks = (connection._lock, connection._uploads._lock, connection.retrier.budget._lock, connection.regions._lock)
for end in ("close", "exit", "drop"):
    for lock in locks:
        lock.acquire()  # as another thread may have
    pid = os.fork()
    if pid == 0:
        check()
        out = client.empty_shared(keys.size, np.uint32)
        client.sort(shared, out=out, request_id=str(os.getpid()))  # which is not this process's to say where it is
        np.testing.assert_array_equal(out, np.sort(keys))
        del shared, out
        if end == "close":
            client.close()
        elif end == "drop":
            del client
        sys.exit(0)
    for lock in locks:
        lock.release()
    children.append(pid)
    check()
codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
check()
client.sort(shared, out=shared, place="auto", request_id=str(os.getpid()))
np.testing.assert_array_equal(shared, np.sort(keys))
client.close()
print(codes)
"""


@pytest.mark.skipif(not hasattr(os, "waitstatus_to_exitcode"), reason="needs Python 3.9 on a system with fork")
def test_children_of_a_fork_have_their_own_memory_and_connections(fake: FakeServer) -> None:
    used: set[tuple[str, str]] = set()

    def note(request: Any) -> None:
        for place in (request.keys, request.keys_destination):
            if place.HasField("shared_memory"):
                used.add((request.options.request_id, place.shared_memory.region.split("-")[1]))

    fake.on_request = note
    done = subprocess.run(
        [sys.executable, "-c", FORKING, fake.address],
        env={**os.environ, "PYTHONPATH": ":".join(sys.path), **OLD_GRPC},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "[0, 0, 0]\n", done.stderr
    assert len(used) == 4
    assert all(process == owner for process, owner in used), used


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.sort(KEYS[:100]),
        lambda client: client.sort(KEYS, place="inline"),
        lambda client: client.sort(KEYS, place="stream"),
        lambda client: client.sort(KEYS, place="shared_memory"),
    ],
    ids=["small", "inline", "stream", "shared_memory"],
)
def test_client_goes_on_after_calls_that_ctrl_c_broke_off(
    fake: FakeServer, fake_client: corank.Client, call: Any
) -> None:
    others: list[bool] = []
    done = threading.Event()

    def other() -> None:
        while not done.is_set():
            others.append(bool((fake_client.sort(KEYS[:100], deadline=10) == np.sort(KEYS[:100])).all()))

    call(fake_client)
    thread = threading.Thread(target=other)
    thread.start()
    bring = fake.places.bring

    def interrupt(message: Any, call: Call) -> None:
        if interrupts:
            interrupts.pop()()
        bring(message, call)

    fake.places.bring = interrupt  # type: ignore[method-assign]
    for _ in range(5):
        # The answer comes just after, while the exception still waits to be raised.
        interrupts = [lambda: os.kill(os.getpid(), signal.SIGINT)]
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012
            while True:
                call(fake_client)
        np.testing.assert_array_equal(fake_client.sort(KEYS[:100], deadline=5), np.sort(KEYS[:100]))
        call(fake_client)
    done.set()
    thread.join(20)
    assert not thread.is_alive()
    assert all(others)
    assert others


def test_client_closes_after_a_call_that_ctrl_c_broke_off(fake: FakeServer) -> None:
    client = corank.connect(fake.address)
    fake.on_request = lambda _: os.kill(os.getpid(), signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        client.sort(KEYS[:100])
    for thread in (threading.Thread(target=client.close, daemon=True), threading.Thread(target=client.close)):
        thread.start()
        thread.join(10)
        assert not thread.is_alive()
    with pytest.raises(RuntimeError, match="closed"):
        client.sort(KEYS[:100])
