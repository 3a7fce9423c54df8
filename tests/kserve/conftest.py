"""Fixtures for the tests with Triton's own client. CORANKD names the server's binary."""

from __future__ import annotations

import os
import pathlib
import sys
from collections.abc import Iterator

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "client" / "python" / "src")]

from corank.testing import LocalServer  # noqa: E402
from kserve_support import SHARED_MEMORY_PREFIX  # noqa: E402
from tritonclient import grpc as triton  # noqa: E402


@pytest.fixture(scope="session")
def corankd() -> pathlib.Path:
    """The server's binary."""
    return pathlib.Path(os.environ["CORANKD"])


@pytest.fixture(scope="session")
def server(corankd: pathlib.Path) -> Iterator[LocalServer]:
    """A server shared by all tests. It must still run, and exit with 0, after the last test."""
    local = LocalServer(corankd, ["--engine=cpu", f"--shared-memory={SHARED_MEMORY_PREFIX}"])
    local.start()
    yield local
    assert local.process.poll() is None, f"the server ended with {local.process.poll()} during the tests"
    assert local.stop() == 0


@pytest.fixture
def client(server: LocalServer) -> Iterator[triton.InferenceServerClient]:
    """Triton's client, unmodified."""
    with triton.InferenceServerClient(server.address) as connected:
        yield connected
