"""One control plane for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from control_plane import ControlPlane, missing


@pytest.fixture(scope="session")
def plane() -> Iterator[ControlPlane]:
    assert not missing(), f"scripts/cluster.sh installs {', '.join(missing())}"
    with ControlPlane() as started:
        yield started
