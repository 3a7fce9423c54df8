"""Fixtures for tests of corankd under faults and load. CORANKD names the binary."""

from __future__ import annotations

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import e2e_paths  # noqa: F401
from e2e_support import binary


@pytest.fixture(scope="session")
def corankd() -> pathlib.Path:
    """The server's binary."""
    return binary("CORANKD")
