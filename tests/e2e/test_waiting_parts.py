"""What parts of a job hold while the others have not come: it counts in a budget, and each tenant has a share."""

from __future__ import annotations

import base64
import pathlib
import struct
from collections.abc import Iterator

import grpc
import hostile_wire as h2
import pytest
from corank.testing import LocalServer
from corank.v1 import array_pb2 as a
from corank.v1 import corank_service_pb2 as c
from corank.v1 import operators_pb2 as o
from e2e_support import MEMORY_SCALE, held_bytes, samples
from waiting import wait_until

MEBIBYTE = 1 << 20
INITIAL_WINDOW_SIZE = 4
UNREAD_BYTES = 256 << 10
"""What any caller may send before the server asks for it."""
CONNECTION_WINDOW = 16 << 20
"""The same for all calls of a connection together."""
BUDGETS = ("host_pool", "messages")


@pytest.fixture
def server(corankd: pathlib.Path) -> Iterator[LocalServer]:
    """A server that takes messages of 4 MiB, and for which `messages` has 256 MiB."""
    with LocalServer(corankd, ["--max-request-bytes=4MiB", "--host-pool-bytes=256MiB", "--log-level=error"]) as local:
        yield local


def part(job: str, number: int, parts: int, inline_bytes: int, unknown_bytes: int) -> bytes:
    """The first message of a part: a sort of a stream, and a sort of an array in the message."""
    inline = a.Array(type=a.ELEMENT_TYPE_UINT8, inline_data=bytes(inline_bytes))
    streamed = a.Array(type=a.ELEMENT_TYPE_INT32, count=1000, stream=a.StreamPlace(stream_id=0))
    to_stream = a.Destination(stream=a.StreamPlace(stream_id=0))
    plan = c.Plan(
        operations=[
            c.Operation(sort=o.SortRequest(keys=streamed, keys_destination=to_stream)),
            c.Operation(sort=o.SortRequest(keys=inline)),
        ],
        job_id=job,
        part=number,
        parts=parts,
    ).SerializeToString()
    if unknown_bytes > 0:
        plan += b"\xc2\x3e" + varint(unknown_bytes) + bytes(unknown_bytes)  # of field 1000
    return b"\x0a" + varint(len(plan)) + plan


def varint(value: int) -> bytes:
    """An integer as Protobuf writes it."""
    encoded = bytearray()
    while value >= 128:
        encoded.append(value & 127 | 128)
        value >>= 7
    return bytes((*encoded, value))


class Sender:
    """Sends messages on one connection, as far as the server's windows allow."""

    def __init__(self, connection: h2.Connection) -> None:
        self.connection = connection
        self.window = connection.exchange_settings()[INITIAL_WINDOW_SIZE]
        self.left: dict[int, int] = {0: CONNECTION_WINDOW}

    def open(self) -> int:
        """A new call of Execute."""
        stream = self.connection.open(h2.request_fields(h2.EXECUTE))
        self.left[stream] = self.window
        return stream

    def look(self, seconds: float) -> bool:
        """Takes what the server has sent; False: nothing for this long."""
        for kind, _, stream, payload in self.connection.frames(seconds):
            if kind == h2.WINDOW_UPDATE and stream in self.left:
                self.left[stream] += struct.unpack(">I", payload)[0]
                return True
        return False

    def send(self, stream: int, data: bytes, patience: float = 10) -> int:
        """Sends as much of this as the server takes, until it takes nothing for so long. Returns how much that was."""
        sent = 0
        while sent < len(data):
            size = min(h2.FRAME_BYTES, len(data) - sent, self.left[stream], self.left[0])
            if size == 0:
                if not self.look(patience):
                    break
                continue
            self.connection.send(h2.frame(h2.DATA, 0, stream, data[sent : sent + size]))
            sent += size
            self.left[stream] -= size
            self.left[0] -= size
        return sent


def resident(server: LocalServer) -> int:
    """VmRSS of the server in bytes."""
    text = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return 1024 * int(text.split("VmRSS:")[1].split()[0])


def test_what_waiting_parts_send_ahead_is_in_a_budget(server: LocalServer) -> None:
    parts = 48
    base, before = resident(server), held_bytes(samples(server), *BUDGETS)
    with h2.Connection(server.address) as connection:
        sender = Sender(connection)
        ahead = 0
        for number in range(parts):
            stream = sender.open()
            plan = h2.message(part("job", number, parts + 1, 1, 3 * MEBIBYTE))
            assert sender.send(stream, plan) == len(plan)
            ahead += sender.send(stream, h2.message(bytes(8 * MEBIBYTE)), patience=0.1)
        assert ahead >= parts * UNREAD_BYTES, "every caller may send something"
        held = held_bytes(samples(server), *BUDGETS) - before
        print(
            f"{ahead >> 10} KiB sent ahead, {held / 1024:.0f} KiB in budgets, {resident(server) - base >> 10} KiB more"
        )
        assert held >= ahead, "budgets count it"
        assert held <= 160 * MEBIBYTE, "half of the budget stays free for messages"
        assert resident(server) - base <= (held + 64 * MEBIBYTE) * MEMORY_SCALE
    wait_until(lambda: held_bytes(samples(server), *BUDGETS) == before, "the budgets are free again")


@pytest.mark.parametrize(("inline", "unknown"), [(3 * MEBIBYTE, 0), (0, 3 * MEBIBYTE)], ids=["arrays", "the rest"])
def test_a_tenant_has_a_share_of_what_waiting_jobs_hold(server: LocalServer, inline: int, unknown: int) -> None:
    before = held_bytes(samples(server), *BUDGETS)
    refused = 0
    with h2.Connection(server.address) as connection:
        sender = Sender(connection)
        for number in range(40):
            stream = sender.open()
            sender.send(stream, h2.message(part(f"job{number}", 0, 2, inline, unknown)))
        for kind, _, _, _ in connection.frames(1):
            refused += kind == h2.HEADERS
        held = held_bytes(samples(server), *BUDGETS) - before
    assert refused > 0, "40 jobs hold more than a quarter of 256 MiB"
    assert held <= 2 * 64 * MEBIBYTE, "a quarter of either budget"
    wait_until(lambda: held_bytes(samples(server), *BUDGETS) == before, "the budgets are free again")


def test_a_stream_without_room_for_what_it_may_send_is_refused(corankd: pathlib.Path) -> None:
    with (
        LocalServer(corankd, ["--max-request-bytes=256KiB", "--max-buffered-bytes=1MiB"]) as server,
        h2.Connection(server.address) as connection,
    ):
        sender = Sender(connection)
        body = h2.message(part("job", 0, 2, 1, 0))
        streams = [sender.open() for _ in range(5)]
        for stream in streams:
            sender.send(stream, body.replace(b"job", b"%03d" % stream))
        status = connection.status(streams[-1])
        assert status["grpc-status"] == str(grpc.StatusCode.RESOURCE_EXHAUSTED.value[0])
        assert b"RetryInfo" in base64.b64decode(status["grpc-status-details-bin"] + "==")
        assert "--max-buffered-bytes" in status["grpc-message"]
