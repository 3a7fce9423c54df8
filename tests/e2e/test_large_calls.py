"""Calls with large messages come in turn, and one that stands still keeps the others waiting for a moment only."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
import hostile_wire as h2
import numpy as np
import pytest
from corank.testing import LocalServer
from corank.v1 import array_pb2 as a
from corank.v1 import operators_pb2 as o

KEYS = 1 << 18  # 1 MiB, four times HTTP/2's first window
CALLERS = 48  # many times the turns of a server on this many cores, and fewer than may wait


@pytest.fixture
def server(corankd: pathlib.Path) -> Iterator[LocalServer]:
    local = LocalServer(corankd, ["--log-level=error"])
    local.start()
    yield local
    assert local.stop() == 0


def request(seed: int) -> bytes:
    keys = np.random.default_rng(seed).integers(0, 1 << 31, KEYS, dtype=np.uint32)
    return o.SortRequest(keys=a.Array(type=a.ELEMENT_TYPE_UINT32, inline_data=keys.tobytes())).SerializeToString()


def sort(address: str, message: bytes, timeout: float) -> None:
    options = [("grpc.max_receive_message_length", -1), ("grpc.use_local_subchannel_pool", 1)]
    with grpc.insecure_channel(address, options=options) as channel:
        call: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary("/corank.v1.CorankService/Sort")
        answer = o.SortResponse.FromString(call(message, timeout=timeout))
    sent = np.frombuffer(o.SortRequest.FromString(message).keys.inline_data, np.uint32)
    assert np.array_equal(np.frombuffer(answer.keys.inline_data, np.uint32), np.sort(sent))


def test_more_calls_than_turns_are_all_answered(server: LocalServer) -> None:
    messages = [request(seed) for seed in range(CALLERS)]
    with ThreadPoolExecutor(CALLERS) as pool:
        for done in [pool.submit(sort, server.address, message, 60) for message in messages]:
            done.result()


def test_calls_that_stand_still_keep_nobody_waiting(server: LocalServer) -> None:
    message = request(0)
    with contextlib.ExitStack() as stack:
        for _ in range(CALLERS):
            connection = stack.enter_context(h2.Connection(server.address))
            connection.exchange_settings()
            stream = connection.open(h2.request_fields("/corank.v1.CorankService/Sort"))
            half = h2.message(message)[: 1 << 14]
            assert connection.send(h2.frame(h2.DATA, 0, stream, half))
        for _ in range(4):
            sort(server.address, message, timeout=20)
