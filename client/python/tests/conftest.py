"""Fixtures: the test double, a real corankd where CORANKD names one, and a client of either."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import sys
from collections.abc import Iterator

import pytest

_ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(_ROOT / "tests"))
if "CORANK_TEST_INSTALLED" not in os.environ:  # matrix.py: the package is installed
    sys.path[:0] = [str(_ROOT), str(_ROOT / "src")]
    import generate

    generate.ensure()

from fake_server import FakeServer  # noqa: E402

import corank  # noqa: E402
from corank.testing import LocalServer  # noqa: E402


@pytest.fixture(scope="session", autouse=True)
def ctrl_c() -> Iterator[None]:
    """Ctrl-C interrupts this process and those that it starts, also where it was started with that ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def fake() -> Iterator[FakeServer]:
    """A fresh test double."""
    server = FakeServer()
    yield server
    server.stop()


@pytest.fixture
def fake_client(fake: FakeServer) -> Iterator[corank.Client]:
    """A client of the test double."""
    with corank.connect(fake.address, deadline=30) as client:
        yield client


@pytest.fixture(scope="session")
def corankd() -> Iterator[LocalServer]:
    """A running corankd; skips where CORANKD does not name the binary."""
    binary = os.environ.get("CORANKD")
    if not binary:
        pytest.skip("CORANKD is not set: set it to the path of corankd to run this against the real server")
    with LocalServer(binary) as server:
        yield server


@pytest.fixture(params=["double", "corankd"])
def client(request: pytest.FixtureRequest) -> Iterator[corank.Client]:
    """A client of the test double, and then of the real server."""
    server: FakeServer | LocalServer = request.getfixturevalue("fake" if request.param == "double" else "corankd")
    with corank.connect(server.address, deadline=60) as connected:
        yield connected


@pytest.fixture(scope="session")
def any_client() -> Iterator[corank.Client]:
    """A client of the real server where CORANKD names one, else of a double: for tests that call it often."""
    binary = os.environ.get("CORANKD")
    with contextlib.ExitStack() as stack:
        server: FakeServer | LocalServer
        if binary:
            server = stack.enter_context(LocalServer(binary))
        else:
            server = FakeServer()
            stack.callback(server.stop)
        yield stack.enter_context(corank.connect(server.address, deadline=60))


@pytest.fixture
def corankd_client(corankd: LocalServer) -> Iterator[corank.Client]:
    """A client of the real server."""
    with corankd.connect() as connected:
        yield connected
