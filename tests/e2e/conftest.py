"""Fixtures for tests of the real programs over loopback. CORANKD and CORANK name the binaries; set both."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterator

import e2e_paths  # noqa: F401

# isort: split
import corank
import numpy as np
import pytest
from corank.testing import LocalServer
from e2e_support import binary, wait_until_empty
from numpy.typing import NDArray


@pytest.fixture(scope="session")
def corankd() -> pathlib.Path:
    """The server's binary."""
    return binary("CORANKD")


@pytest.fixture(scope="session")
def cli() -> pathlib.Path:
    """The command line's binary."""
    return binary("CORANK")


@pytest.fixture(scope="session")
def server(corankd: pathlib.Path) -> Iterator[LocalServer]:
    """A server shared by all tests that leave it unchanged. It must still run, and exit with 0, after the last test."""
    local = LocalServer(corankd)
    local.start()
    yield local
    assert local.process.poll() is None, f"the server ended with {local.process.poll()} during the tests"
    assert local.stop() == 0


@pytest.fixture
def client(server: LocalServer) -> Iterator[corank.Client]:
    """A client of the shared server."""
    with server.connect() as connected:
        yield connected


@pytest.fixture(scope="session")
def slow_keys(corankd: pathlib.Path) -> NDArray[np.uint32]:
    """Keys that the CPU engine needs a second or more to sort with the odd-even mergesort, at most 32 MiB of them. A
    GPU is too fast for a test to observe such a call; servers that must be observed run with `--engine=cpu`."""
    rng = np.random.default_rng(17)
    with LocalServer(corankd, ["--engine=cpu"]) as slow, slow.connect() as client:
        for count in (2**16, 2**18, 2**20, 2**21, 2**22):
            keys = rng.integers(0, 2**32, count, dtype=np.uint32)
            stats: list[corank.Stats] = []
            client.sort(keys, algorithm="odd-even-mergesort", on_stats=stats.append)
            if stats[0].kernel_ns > 1_000_000_000:
                return keys
    return rng.integers(0, 2**32, 2**23, dtype=np.uint32)


SHARED_PREFIX = "/corank-e2e-"


@pytest.fixture(scope="session")
def placed_server(corankd: pathlib.Path) -> Iterator[LocalServer]:
    """A shared server with every place of arrays that needs no GPU."""
    local = LocalServer(corankd, [f"--shared-memory={SHARED_PREFIX}", f"--kept-bytes={256 << 20}"])
    local.start()
    yield local
    assert local.process.poll() is None, f"the server ended with {local.process.poll()} during the tests"
    assert local.stop() == 0


@pytest.fixture
def placed(placed_server: LocalServer) -> Iterator[corank.Client]:
    """A client of `placed_server`. After each test that uses it the server must hold nothing."""
    with placed_server.connect() as connected:
        yield connected
    wait_until_empty(placed_server)


@pytest.fixture
def needs(placed: corank.Client) -> Callable[[str], None]:
    """needs(place) skips the test if the server does not have that place."""

    def skip(place: str) -> None:
        if place not in placed.info().places:
            pytest.skip(f"this server has no place {place!r}")

    return skip
