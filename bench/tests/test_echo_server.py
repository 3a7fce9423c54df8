"""The echo server sends back what it can, and outlives calls whose messages are empty or incomplete."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests" / "e2e"), str(ROOT / "bench" / "places")]
import hostile_wire as h2  # noqa: E402
from echo_server import echo_server  # noqa: E402

PAYLOAD = b"\x0a\x04keys"
AS_CHUNK = b"\x0a\x04keys"
"""Field 1 of ExecuteResponse is the chunk."""


@pytest.fixture(params=[[], ["--copy", "--hold"]], ids=["plain", "copy and hold"], name="address")
def fixture_address(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a running echo server, which must still run when the test ends."""
    folder = os.environ.get("CORANK_BENCH_BIN")
    if not folder or not (Path(folder) / "echo_server").exists():
        pytest.skip("CORANK_BENCH_BIN has no echo_server")
    with echo_server(Path(folder) / "echo_server", *request.param) as address:
        yield address
        assert sort(address, PAYLOAD) == PAYLOAD


def sort(address: str, message: bytes) -> bytes:
    """One unary call with raw bytes."""
    with grpc.insecure_channel(address) as channel:
        call: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(h2.SORT)
        return call(message, timeout=30)


def execute(address: str, messages: list[bytes]) -> list[bytes]:
    """One streaming call with raw bytes."""
    with grpc.insecure_channel(address) as channel:
        call: grpc.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(h2.EXECUTE)
        return list(call(iter(messages), timeout=30))


def test_messages_come_back(address: str) -> None:
    assert sort(address, PAYLOAD) == PAYLOAD
    assert sort(address, b"") == b""
    assert execute(address, [b"plan", PAYLOAD, b"", b"\x12x"]) == [AS_CHUNK, b"", b"\x0ax"]
    assert execute(address, []) == []


@pytest.mark.parametrize("path", [h2.SORT, h2.EXECUTE])
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0",
        b"\0\0\0\0\x05",
        h2.message(b"abc", length=5),
        h2.message(b"") + b"\0\0",
        h2.message(b"a", length=2**31),
    ],
    ids=["none", "half a head", "a head", "half a message", "a message and half a head", "a huge message's begin"],
)
def test_incomplete_messages_end_their_call_alone(address: str, path: str, data: bytes) -> None:
    for flags, ending in ((h2.END_STREAM, b""), (0, h2.frame(h2.RST_STREAM, 0, 1, b"\0\0\0\x08"))):
        with h2.Connection(address) as connection:
            head = h2.frame(h2.HEADERS, h2.END_HEADERS, 1, h2.request_fields(path))
            assert connection.send(head + h2.frame(h2.DATA, flags, 1, data) + ending)
            connection.send(h2.frame(h2.PING, 0, 0, bytes(8)))
            connection.socket.settimeout(30)
            assert connection.socket.recv(1), "the server answers, or says goodbye"
