"""A real network between two namespaces, with delay, loss and cuts: right answers, retryable errors, no leftovers."""

from __future__ import annotations

import contextlib
import json
import pathlib
import subprocess
import time
from collections import Counter
from collections.abc import Iterator

import pytest
from corank.testing import LocalServer
from e2e_support import samples
from lossy_link import ADDRESSES, LossyLink
from reliability_support import LONG, wait_until_none_left
from waiting import wait_until
from workload import RETRYABLE, Load, start

SECONDS = 20 if LONG else 3
FLAGS = [
    f"--listen={ADDRESSES['server']}:0",
    "--insecure",
    "--kept-bytes=64MiB",
    "--kept-expiry=10s",  # for clients that die
    "--stream-window-bytes=4MiB",
    "--keepalive-interval=500ms",
    "--keepalive-timeout=500ms",
]


@pytest.fixture(scope="module")
def between(corankd: pathlib.Path) -> Iterator[tuple[LossyLink, LocalServer]]:
    """The link, and a server behind it that must exit with 0."""
    link = LossyLink()
    try:
        link.__enter__()
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no network namespaces here (root and /dev/net/tun are needed): {error}")
    try:
        server = LocalServer(corankd, FLAGS)
        link.inside("server", server.start)
        yield link, server
        assert server.stop() == 0
    finally:
        link.__exit__()


def now(between: tuple[LossyLink, LocalServer]) -> dict[str, float]:
    """The server's metrics, scraped in its namespace."""
    link, server = between
    return link.inside("server", lambda: samples(server))


def start_clients(between: tuple[LossyLink, LocalServer], seconds: float) -> subprocess.Popen[str]:
    """A process of clients at the other end of the link."""
    link, server = between
    began = time.monotonic()
    load = Load(began, began + seconds, rate=200, seed=1, misbehaves=False, threads=4, most_owed=1)
    return link.inside("client", lambda: start(server.address, load))


def outcomes(process: subprocess.Popen[str]) -> Counter[str]:
    """The counts of the clients; no answer may be wrong, and every failure must be retryable."""
    counts: Counter[str] = Counter()
    text, _ = process.communicate(timeout=120)
    for line in text.splitlines():
        told = json.loads(line)
        assert "wrong" not in told, told
        counts.update(told)
    assert process.returncode == 0
    assert set(counts) <= {"OK", "reconnects", *RETRYABLE}, counts
    return counts


def wait_until_left(between: tuple[LossyLink, LocalServer]) -> None:
    """Returns once the server holds nothing of its clients, not even a connection.

    Arrays of a client that is cut off or dead stay until they expire and housekeeping runs, once a minute.
    """
    wait_until_none_left(lambda: now(between), "corank_connections", seconds=90)


@contextlib.contextmanager
def cut(link: LossyLink) -> Iterator[None]:
    """A context manager in which nothing passes the link."""
    link.is_cut = True
    try:
        yield
    finally:
        link.is_cut = False


@pytest.mark.parametrize(
    ("delay", "loss"), [(0.0, 0.0), (0.05, 0.0), (0.0, 0.02), (0.02, 0.01)], ids=["good", "far", "lossy", "both"]
)
def test_delay_and_loss(between: tuple[LossyLink, LocalServer], delay: float, loss: float) -> None:
    link, _ = between
    link.delay, link.loss, link.lost = delay, loss, 0
    try:
        counts = outcomes(start_clients(between, SECONDS))
        print(f"\nnetwork, delay {delay} s, loss {loss}: {dict(counts)}, {link.lost} packets lost")
        assert counts["OK"] > 0
        assert loss == 0 or link.lost > 0
    finally:
        link.delay = link.loss = 0.0
    wait_until_left(between)


def test_cuts_that_heal(between: tuple[LossyLink, LocalServer]) -> None:
    """The network disappears repeatedly, each time for longer than the server's keepalive allows."""
    link, _ = between
    clients = start_clients(between, 3600)
    try:
        wait_until(lambda: now(between)["corank_connections"] > 0, "clients are there")
        for _ in range(10 if LONG else 2):
            before = link.passed
            wait_until(lambda before=before: link.passed > before + 100, "traffic flows")  # type: ignore[misc]
            with cut(link):
                wait_until_left(between)
        time.sleep(SECONDS)  # after the network has recovered
    finally:
        clients.terminate()
    counts = outcomes(clients)
    print(f"\nnetwork, cuts: {dict(counts)}")
    assert counts["OK"] > 0
    wait_until_left(between)


def test_client_that_dies_behind_a_cut_is_found(between: tuple[LossyLink, LocalServer]) -> None:
    """The server gets no packet that tells of the client's death."""
    link, _ = between
    clients = start_clients(between, 60)
    wait_until(lambda: now(between)["corank_connections"] > 0, "clients are there")
    with cut(link):
        clients.kill()
        clients.communicate()
        began = time.monotonic()
        wait_until_left(between)
    print(f"\nnetwork: a dead client's connections were found after {time.monotonic() - began:.1f} s")
