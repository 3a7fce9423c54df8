"""Callers that break HTTP/2 and gRPC on purpose: the server stays up, bounds its memory and serves other callers.

Each attack runs against one server beside a well-behaved caller. Afterwards the server's memory has grown by at most
the bound of that attack, and the server holds nothing of it.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import pathlib
import socket
import struct
import threading
import zlib
from collections.abc import Callable, Iterator

import corank
import grpc
import hostile_wire as h2
import numpy as np
import pytest
from corank.testing import LocalServer
from corank.v1 import array_pb2 as a
from corank.v1 import corank_service_pb2 as c
from corank.v1 import operators_pb2 as o
from e2e_support import MEMORY_SCALE, samples, wait_until_idle
from waiting import wait_until

MEBIBYTE = 1 << 20
SMALL_SORT = o.SortRequest(
    keys=a.Array(type=a.ELEMENT_TYPE_INT32, inline_data=struct.pack("<3i", 3, 1, 2))
).SerializeToString()
SMALL_MERGE = o.MergeRequest(
    keys=[a.Array(type=a.ELEMENT_TYPE_INT32, inline_data=struct.pack("<i", i)) for i in (2, 1)]
).SerializeToString()
METADATA_BYTES = 16 << 10
"""The default of --max-header-bytes."""


@pytest.fixture(scope="module")
def target(corankd: pathlib.Path) -> Iterator[LocalServer]:
    """A warm server with small limits that must exit with 0 after all attacks."""
    local = LocalServer(corankd, ["--max-request-bytes=1048576", "--log-level=error"])
    local.start()
    with local.connect() as client:
        for count in (10, 100_000):
            client.sort(np.arange(count, dtype=np.int32))
    yield local
    assert local.process.poll() is None, f"the server ended with {local.process.poll()}"
    assert local.stop() == 0


def status_bytes(server: LocalServer, name: str) -> int:
    """VmRSS, or VmHWM since the last reset, of the server in bytes."""
    text = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return 1024 * int(text.split(f"{name}:")[1].split()[0])


def open_files(server: LocalServer) -> int:
    """How many file descriptors the server has open."""
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


class Bystander:
    """A well-behaved caller that sorts all the time on its own connection."""

    def __init__(self, server: LocalServer) -> None:
        self.answers = 0
        self._server = server
        self._stop = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            with self._server.connect(deadline=30, retries=0) as client:
                while not self._stop.is_set():
                    np.testing.assert_array_equal(client.sort(np.array([3, 1, 2], np.int32)), [1, 2, 3])
                    self.answers += 1
                    self._stop.wait(0.005)
        except BaseException as error:  # `finish` reports it
            self._failure = error

    def finish(self) -> None:
        """Stops the caller. Every answer must have been right and in time, and one must have come after the attack."""
        seen = self.answers
        wait_until(lambda: self.answers > seen or self._failure is not None, "another caller is served")
        self._stop.set()
        self._thread.join()
        if self._failure is not None:
            raise self._failure


@pytest.fixture
def attack(target: LocalServer) -> Iterator[Callable[[int], LocalServer]]:
    """attack(bytes) returns the server, whose memory must not grow by more than that at any time of the test."""
    files = open_files(target)
    before = status_bytes(target, "VmRSS")
    pathlib.Path(f"/proc/{target.process.pid}/clear_refs").write_text("5")  # resets VmHWM
    bound: list[int] = []
    bystander = Bystander(target)
    wait_until(lambda: bystander.answers > 0, "the bystander is served")

    def begin(most: int) -> LocalServer:
        bound.append(most)
        return target

    yield begin
    bystander.finish()
    wait_until_idle(target)
    wait_until(lambda: open_files(target) <= files + 2, "the attack's connections are gone")
    grown = status_bytes(target, "VmHWM") - before
    assert grown <= bound[0] * MEMORY_SCALE, f"the server grew by {grown >> 10} KiB"


def connect(server: LocalServer, window: int | None = None) -> h2.Connection:
    """A connection that has exchanged its preface."""
    return h2.Connection(server.address, window=window)


GARBAGE = {
    "nothing like HTTP": bytes(range(256)) * 64,
    "HTTP/1.1": b"GET / HTTP/1.1\r\nHost: corank\r\n\r\n",
    "TLS": bytes.fromhex("16030100c8010000c40303") + bytes(190),
    "zeros": bytes(65536),
    "a preface and no frame": h2.PREFACE + bytes(range(255, -1, -1)) * 64,
    "half of a preface": h2.PREFACE[:12] + bytes(64),
    "a frame of 16 MiB": h2.PREFACE
    + h2.frame(h2.SETTINGS, 0, 0)
    + b"\xff\xff\xff\x00\x00\x00\x00\x00\x01"
    + bytes(1024),
}


@pytest.mark.parametrize("name", GARBAGE)
def test_garbage_on_the_port_closes_the_connection(name: str, attack: Callable[[int], LocalServer]) -> None:
    server = attack(8 * MEBIBYTE)
    with h2.Connection(server.address, preface=False) as connection:
        connection.send_patiently(GARBAGE[name])
        assert connection.is_closed()


BLOCK = h2.request_fields(h2.SORT)
BROKEN: dict[str, bytes] = {
    "data on stream 0": h2.frame(h2.DATA, 0, 0, b"x"),
    "data of a stream that nobody opened": h2.frame(h2.DATA, 0, 1, b"x") * 3,
    "headers on an even stream": h2.frame(h2.HEADERS, h2.END_HEADERS, 2, BLOCK),
    "settings of a wrong length": h2.frame(h2.SETTINGS, 0, 0, b"12345"),
    "settings with a window of 4 GiB": h2.frame(h2.SETTINGS, 0, 0, struct.pack(">HI", 4, 2**32 - 1)),
    "a ping of 7 bytes": h2.frame(h2.PING, 0, 0, b"1234567"),
    "a window that overflows": h2.frame(h2.WINDOW_UPDATE, 0, 0, struct.pack(">I", 2**31 - 1)) * 2,
    "a continuation of nothing": h2.frame(h2.CONTINUATION, h2.END_HEADERS, 1, BLOCK),
    "headers cut by another frame": h2.frame(h2.HEADERS, 0, 1, BLOCK[:20]) + h2.frame(h2.PING, 0, 0, bytes(8)),
    "a header block that ends within a field": h2.frame(h2.HEADERS, h2.END_HEADERS, 1, BLOCK[:-3]),
    "an index that no table has": h2.frame(h2.HEADERS, h2.END_HEADERS, 1, b"\xff\xff\xff\x7f"),
    "an integer without end": h2.frame(h2.HEADERS, h2.END_HEADERS, 1, b"\xff" * 64),
    "a table of 1 GiB": h2.frame(h2.HEADERS, h2.END_HEADERS, 1, h2.integer(1 << 30, 5, 0x20) + BLOCK),
    "a push promise": h2.frame(h2.PUSH_PROMISE, h2.END_HEADERS, 1, bytes(4) + BLOCK),
    "an unknown frame, often": h2.frame(0xBD, 0xFF, 0, b"x" * 100) * 1000,
}


@pytest.mark.parametrize("name", BROKEN)
def test_frames_against_the_protocol_hurt_nobody_else(name: str, attack: Callable[[int], LocalServer]) -> None:
    server = attack(8 * MEBIBYTE)
    with connect(server) as connection:
        connection.send_patiently(BROKEN[name])
        # A closed connection, a reset stream or an ignored frame: each is over soon.
        connection.send_patiently(h2.frame(h2.PING, 0, 0, b"hostile!"))
        for kind, _, _, payload in connection.frames(5):
            if kind == h2.GOAWAY or (kind == h2.PING and payload == b"hostile!"):
                break


CALLS: dict[str, tuple[bytes, bytes]] = {
    "another content type": (h2.request_fields(h2.SORT, content_type="text/html"), h2.message(SMALL_SORT)),
    "no such method": (h2.request_fields("/corank.v1.CorankService/Explode"), h2.message(SMALL_SORT)),
    "no path": (h2.field(b":method", b"POST") + h2.field(b":scheme", b"http"), h2.message(SMALL_SORT)),
    "GET": (BLOCK.replace(h2.field(b":method", b"POST"), h2.field(b":method", b"GET")), h2.message(SMALL_SORT)),
    "no message": (BLOCK, b""),
    "two messages": (BLOCK, h2.message(SMALL_SORT) * 2),
    "half of a message's head": (BLOCK, b"\0\0\0"),
    "a message that is cut off": (BLOCK, h2.message(SMALL_SORT)[:-2]),
    "a message of 4 GiB": (BLOCK, h2.message(SMALL_SORT, length=2**32 - 1)),
    "a message over the limit": (BLOCK, h2.message(b"", length=3 * MEBIBYTE)),
    "an unknown flag": (BLOCK, h2.message(SMALL_SORT, flag=2)),
    "compressed, it says, by nothing": (BLOCK, h2.message(SMALL_SORT, flag=1)),
    "compressed, it says, and is not": (
        h2.request_fields(h2.SORT, [("grpc-encoding", "gzip")]),
        h2.message(SMALL_SORT, flag=1),
    ),
    "an unknown compression": (
        h2.request_fields(h2.SORT, [("grpc-encoding", "zip")]),
        h2.message(SMALL_SORT, flag=1),
    ),
    "a timeout that is no number": (h2.request_fields(h2.SORT, [("grpc-timeout", "soon")]), h2.message(SMALL_SORT)),
    "a timeout in the past": (h2.request_fields(h2.SORT, [("grpc-timeout", "0n")]), h2.message(SMALL_SORT)),
    "a timeout of 99999999 hours": (h2.request_fields(h2.SORT, [("grpc-timeout", "99999999H")]), b""),
    "metadata with control bytes": (BLOCK + h2.field(b"x-id", b"a\r\nb\0c"), h2.message(SMALL_SORT)),
    "metadata in upper case": (BLOCK + h2.field(b"X-Id", b"a"), h2.message(SMALL_SORT)),
    "binary metadata that is none": (BLOCK + h2.field(b"x-bin", b"%%%"), h2.message(SMALL_SORT)),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_against_the_protocol_end_at_once(name: str, attack: Callable[[int], LocalServer]) -> None:
    server = attack(8 * MEBIBYTE)
    block, body = CALLS[name]
    with connect(server) as connection:
        stream = connection.open(block)
        connection.send_patiently(h2.frame(h2.DATA, h2.END_STREAM, stream, body))
        assert connection.ends(stream)


def merges(server: LocalServer) -> float:
    """How many calls of Merge the service counted, whatever their status. The bystander makes none."""
    counts = samples(server)
    return sum(counts[name] for name in counts if "corank_requests_total" in name and 'operator="merge"' in name)


def call_merge(connection: h2.Connection, metadata_bytes: int) -> int:
    """Starts a call with this much metadata and returns its stream."""
    stream = connection.open(h2.padded_fields(h2.MERGE, metadata_bytes))
    connection.send(h2.frame(h2.DATA, h2.END_STREAM, stream, h2.message(SMALL_MERGE)))
    return stream


def test_metadata_up_to_the_limit_is_served(attack: Callable[[int], LocalServer]) -> None:
    server = attack(16 * MEBIBYTE)
    before = merges(server)
    with connect(server) as connection:
        assert connection.exchange_settings()[h2.MAX_HEADER_LIST_SIZE] == METADATA_BYTES
        assert connection.status(call_merge(connection, METADATA_BYTES))["grpc-status"] == "0"
    wait_until(lambda: merges(server) == before + 1, "the call is counted")


@pytest.mark.parametrize("size", [METADATA_BYTES + 1, 20_000, 100_000])
def test_metadata_over_the_limit_is_refused(size: int, attack: Callable[[int], LocalServer]) -> None:
    """The wire refuses it with the reason before the service sees the call, and the connection stays open."""
    server = attack(16 * MEBIBYTE)
    before = merges(server)
    with connect(server) as connection:
        connection.exchange_settings()
        stream = call_merge(connection, size)
        status = connection.status(stream)
        assert status["grpc-status"] == str(grpc.StatusCode.RESOURCE_EXHAUSTED.value[0])
        assert status["grpc-message"] == f"the call's metadata have more than {METADATA_BYTES} bytes"
        assert connection.status(call_merge(connection, METADATA_BYTES))["grpc-status"] == "0"
    assert merges(server) == before + 1


@pytest.mark.parametrize("indexed", [False, True])
def test_headers_without_end_take_no_more_than_they_send(indexed: bool, attack: Callable[[int], LocalServer]) -> None:
    """Endless CONTINUATION frames (CVE-2024-27316), also with fields that enter HPACK's table."""
    block = h2.field(b"x-flood", b"v" * 4000, 0x40 if indexed else 0) * 4
    frames = 2000
    server = attack(2 * frames * len(block) + 16 * MEBIBYTE)
    with connect(server) as connection:
        stream = connection.open(BLOCK, flags=0)
        for _ in range(frames):
            if not connection.send_patiently(h2.frame(h2.CONTINUATION, 0, stream, block)):
                break


def test_a_bomb_in_hpacks_table_does_not_unfold(attack: Callable[[int], LocalServer]) -> None:
    """One large field enters the table, then 16,000 one-byte references follow: 64 MB of metadata per call."""
    server = attack(32 * MEBIBYTE)
    with connect(server) as connection:
        connection.open(BLOCK + h2.field(b"x-bomb", b"v" * 3900, 0x40))
        for _ in range(20):
            stream = connection.open(BLOCK + b"\xbe" * 16000)
            if not connection.ends(stream, 10):
                break


def test_a_compressed_bomb_is_refused_before_it_unfolds(attack: Callable[[int], LocalServer]) -> None:
    """128 KiB that inflate to 128 MiB."""
    server = attack(24 * MEBIBYTE)
    zeros = bytes(128 * MEBIBYTE)
    for encoding, data in (("gzip", gzip.compress(zeros, 9)), ("deflate", zlib.compress(zeros, 9))):
        assert len(data) < MEBIBYTE
        with connect(server) as connection:
            stream = connection.open(h2.request_fields(h2.SORT, [("grpc-encoding", encoding)]))
            body = h2.message(data, flag=1)
            for at in range(0, len(body), 16384):
                connection.send_patiently(h2.frame(h2.DATA, 0, stream, body[at : at + 16384]))
            connection.send_patiently(h2.frame(h2.DATA, h2.END_STREAM, stream))
            assert connection.ends(stream)


def test_a_flood_of_resets_leaves_nothing(attack: Callable[[int], LocalServer]) -> None:
    """4,000 calls opened and reset at once (CVE-2023-44487): they cost no more than waiting calls do."""
    server = attack(4000 * (24 << 10) + 16 * MEBIBYTE)
    with connect(server) as connection:
        for _ in range(20):
            burst = bytearray()
            for _ in range(200):
                stream, connection.next_stream = connection.next_stream, connection.next_stream + 2
                burst += h2.frame(h2.HEADERS, h2.END_HEADERS, stream, BLOCK)
                burst += h2.frame(h2.DATA, h2.END_STREAM, stream, h2.message(SMALL_SORT))
                burst += h2.frame(h2.RST_STREAM, 0, stream, struct.pack(">I", 8))
            if not connection.send_patiently(bytes(burst)):
                break


FLOODS: dict[str, bytes] = {
    "pings (CVE-2019-9512)": h2.frame(h2.PING, 0, 0, b"12345678"),
    "settings (CVE-2019-9515)": h2.frame(h2.SETTINGS, 0, 0, struct.pack(">HI", 3, 100)),
    "priorities (CVE-2019-9513)": h2.frame(h2.PRIORITY, 0, 5, struct.pack(">IB", 3, 7)),
    "window updates": h2.frame(h2.WINDOW_UPDATE, 0, 0, struct.pack(">I", 1)),
}


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_of_frames_that_nobody_reads(name: str, attack: Callable[[int], LocalServer]) -> None:
    """200,000 frames whose answers the caller never reads."""
    server = attack(192 * MEBIBYTE)
    with connect(server) as connection:
        connection.socket.settimeout(5)
        with contextlib.suppress(TimeoutError, BlockingIOError):
            for _ in range(200):
                if not connection.send(FLOODS[name] * 1000):
                    break


def test_a_flood_of_empty_data_frames(attack: Callable[[int], LocalServer]) -> None:
    """200,000 empty DATA frames (CVE-2019-9518) on a call that never ends."""
    server = attack(32 * MEBIBYTE)
    with connect(server) as connection:
        stream = connection.open(BLOCK)
        for _ in range(200):
            if not connection.send_patiently(h2.frame(h2.DATA, 0, stream) * 1000):
                break


def test_connections_that_say_nothing(attack: Callable[[int], LocalServer]) -> None:
    """Half of the connections never start HTTP/2, the others never start a call."""
    server = attack(48 * MEBIBYTE)
    with contextlib.ExitStack() as stack:
        for i in range(200):
            stack.enter_context(h2.Connection(server.address, preface=i % 2 == 0))


def test_callers_that_send_a_byte_at_a_time(attack: Callable[[int], LocalServer]) -> None:
    """100 calls whose messages arrive byte by byte occupy neither lane nor queue."""
    server = attack(48 * MEBIBYTE)
    body = h2.message(SMALL_SORT)
    with contextlib.ExitStack() as stack:
        slow = []
        for _ in range(10):
            connection = stack.enter_context(connect(server))
            slow.append((connection, [connection.open(BLOCK) for _ in range(10)]))
        for byte in body[:-1]:
            for connection, streams in slow:
                connection.send(b"".join(h2.frame(h2.DATA, 0, stream, bytes((byte,))) for stream in streams))
        with server.connect(deadline=30) as client:
            assert client.sort(np.array([2, 1], np.int64)).tolist() == [1, 2]
        for connection, streams in slow:  # the slow calls are served in the end
            connection.send(b"".join(h2.frame(h2.DATA, h2.END_STREAM, stream, body[-1:]) for stream in streams))
            assert connection.ends(streams[-1])


def test_callers_that_do_not_read_their_answers(attack: Callable[[int], LocalServer]) -> None:
    """64 calls whose answers of 512 KiB stay on the server because the caller's window is closed."""
    count = MEBIBYTE // 8
    keys = a.Array(type=a.ELEMENT_TYPE_INT32, inline_data=np.arange(count, dtype=np.int32)[::-1].tobytes())
    body = h2.message(o.SortRequest(keys=keys).SerializeToString())
    server = attack(64 * (len(body) * 4) + 32 * MEBIBYTE)
    with connect(server, window=0) as connection:
        for _ in range(64):
            stream = connection.open(BLOCK)
            for at in range(0, len(body), 16384):
                last = at + 16384 >= len(body)
                data = body[at : at + 16384]
                if not connection.send_patiently(h2.frame(h2.DATA, h2.END_STREAM if last else 0, stream, data), 5):
                    return  # the server reads no more, which bounds it too
        with server.connect(deadline=30) as client:
            assert client.sort(np.array([2, 1], np.int64)).tolist() == [1, 2]


def test_streams_that_stand_still_delay_no_small_request(attack: Callable[[int], LocalServer]) -> None:
    """Plans whose chunks never arrive."""
    server = attack(64 * MEBIBYTE)
    plan = c.Plan(
        operations=[
            c.Operation(
                sort=o.SortRequest(
                    keys=a.Array(type=a.ELEMENT_TYPE_INT32, count=1000, stream=a.StreamPlace(stream_id=0)),
                    keys_destination=a.Destination(stream=a.StreamPlace(stream_id=0)),
                )
            )
        ]
    )
    body = h2.message(c.ExecuteRequest(plan=plan).SerializeToString())
    with connect(server) as connection:
        for _ in range(50):
            stream = connection.open(h2.request_fields(h2.EXECUTE))
            connection.send(h2.frame(h2.DATA, 0, stream, body))
        with server.connect(deadline=10, retries=0) as client:
            for _ in range(20):
                assert client.sort(np.array([2, 1], np.int64)).tolist() == [1, 2]


def test_a_connection_that_is_cut_anywhere(attack: Callable[[int], LocalServer]) -> None:
    """A whole conversation, cut by a reset after various numbers of bytes."""
    server = attack(16 * MEBIBYTE)
    talk = h2.PREFACE + h2.frame(h2.SETTINGS, 0, 0) + h2.frame(h2.HEADERS, h2.END_HEADERS, 1, BLOCK)
    talk += h2.frame(h2.DATA, h2.END_STREAM, 1, h2.message(SMALL_SORT))
    for size in range(0, len(talk), 3):
        with h2.Connection(server.address, preface=False) as connection:
            connection.send(talk[:size])
            connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def test_the_server_still_answers_right(target: LocalServer) -> None:
    with target.connect(deadline=30) as client:
        keys = np.random.default_rng(5).integers(-1000, 1000, 100_000)
        np.testing.assert_array_equal(client.sort(keys), np.sort(keys))
        assert isinstance(client.info(), corank.ServerInfo)
