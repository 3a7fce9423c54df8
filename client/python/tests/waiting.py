"""Waits of all Python tests."""

from __future__ import annotations

import time
from typing import Callable


def wait_until(condition: Callable[[], bool], what: str = "what the test waits for", seconds: float = 30) -> None:
    """Returns once the condition holds; fails the test if it does not in time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds:g} s: {what}"
        time.sleep(0.005)
