"""The server reuses memory for incoming bytes, because clearing new pages takes longer than copying the bytes."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable

import corank
import numpy as np
import pytest
from corank.testing import LocalServer
from numpy.typing import NDArray

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")

pytestmark = pytest.mark.skipif("CORANKD_SANITIZED" in os.environ, reason="sanitizers have allocators of their own")


def page_faults(server: LocalServer) -> int:
    """Minor page faults of the server so far."""
    fields = pathlib.Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[7])


def move_by_stream(client: corank.Client, array: NDArray[np.uint32]) -> None:
    """Sends the array and receives it back with its two halves swapped."""
    half = len(array) // 2
    result = client.move(array, [0, half], [half, 0], [half, half], destination=len(array), place="stream")
    np.testing.assert_array_equal(result, np.concatenate([array[half:], array[:half]]))


def sort_in_messages(client: corank.Client, array: NDArray[np.uint32]) -> None:
    """Sends the array in sorted pieces of 8 MiB, one message each."""
    for piece in np.array_split(array, array.nbytes >> 23):
        client.sort(piece, place="inline")


@pytest.mark.parametrize("call", [move_by_stream, sort_in_messages])
def test_arrays_come_into_memory_that_was_used_before(
    corankd: pathlib.Path, call: Callable[[corank.Client, NDArray[np.uint32]], None]
) -> None:
    array = np.arange(2**24, dtype=np.uint32)
    with LocalServer(corankd, ["--engine=cpu"]) as server, server.connect() as client:
        faults = []
        for _ in range(8):
            before = page_faults(server)
            call(client, array)
            faults.append(page_faults(server) - before)
    pages = array.nbytes // PAGE_BYTES
    # Summed over all calls: a call with more bytes in flight than any before it needs new memory for them.
    assert min(faults) < pages / 16, f"{faults} page faults for {pages} pages of arrays in each call"
