"""Shared helpers of the reliability tests; includes those of e2e_support."""

from __future__ import annotations

import os
import pathlib

from corank.testing import LocalServer
from e2e_support import cancelled_before, held_bytes, wait_until_empty, wait_until_none_left

__all__ = [
    "LONG",
    "PREFIX",
    "cancelled_before",
    "held_bytes",
    "own_memory",
    "wait_until_empty",
    "wait_until_none_left",
]

LONG = bool(os.environ.get("RELIABILITY_LONG"))
"""Whether to run the long forms of the tests, as `make soak` does."""
PREFIX = "/corank-reliability-"
"""The prefix of the names of shared-memory objects."""


def own_memory(server: LocalServer) -> float:
    """Anonymous resident memory of the server, in bytes."""
    text = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return 1024.0 * int(text.split("RssAnon:")[1].split()[0])
