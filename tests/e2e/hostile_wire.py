"""HTTP/2 by hand, for misbehaving callers that no library produces: any frames, in any order, over a plain socket.

Sources: RFC 9113 (HTTP/2), RFC 7541 (HPACK; this module writes only literals without indexing, which need no table),
and the gRPC wire format (a flag, four bytes of length, the message).
"""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import time
from collections.abc import Iterable

import hpack

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, ACK, END_HEADERS = 1, 1, 4
MAX_HEADER_LIST_SIZE = 6
"""A setting."""
FRAME_BYTES = 16_384
"""The longest payload that a server takes unless it says more."""
SORT = "/corank.v1.CorankService/Sort"
MERGE = "/corank.v1.CorankService/Merge"
EXECUTE = "/corank.v1.CorankService/Execute"


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """One frame; the payload may exceed the legal length."""
    return struct.pack(">I", len(payload))[1:] + bytes((kind, flags)) + struct.pack(">I", stream) + payload


def integer(value: int, prefix_bits: int, first: int = 0) -> bytes:
    """An integer in HPACK encoding."""
    most = (1 << prefix_bits) - 1
    if value < most:
        return bytes((first | value,))
    encoded, value = bytearray((first | most,)), value - most
    while value >= 128:
        encoded.append(value & 127 | 128)
        value >>= 7
    return bytes((*encoded, value))


def field(name: bytes, value: bytes, first: int = 0x00) -> bytes:
    """A header field; `first` 0x40 also adds it to the receiver's table."""
    return bytes((first,)) + integer(len(name), 7) + name + integer(len(value), 7) + value


def request_fields(path: str, more: Iterable[tuple[str, str]] = (), content_type: str = "application/grpc") -> bytes:
    """The header block of a call."""
    fields = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", path),
        (":authority", "corank"),
        ("te", "trailers"),
        ("content-type", content_type),
        *more,
    ]
    return b"".join(field(name.encode(), value.encode()) for name, value in fields)


def message(body: bytes, flag: int = 0, length: int | None = None) -> bytes:
    """A gRPC message; `length` is a false length to announce."""
    return struct.pack(">BI", flag, len(body) if length is None else length) + body


def literal_fields(block: bytes) -> list[tuple[str, str]]:
    """The fields of a header block as `field` writes them: all text in full."""
    fields, at = [], 0

    def text() -> str:
        nonlocal at
        size, at = block[at], at + 1
        if size >= 128:
            raise ValueError("a text in Huffman's code")
        if size == 127:
            for shift in range(0, 28, 7):
                byte, at = block[at], at + 1
                size += (byte & 127) << shift
                if byte < 128:
                    break
        at += size
        return block[at - size : at].decode()

    while at < len(block):
        if block[at] not in (0x00, 0x40):
            raise ValueError("a field whose name is in a table")
        at += 1
        name = text()
        fields.append((name, text()))
    return fields


def padded_fields(path: str, size: int) -> bytes:
    """The header block of a call with fields of `size` bytes in total, 1 KiB or more, as RFC 9113 counts them."""
    block = request_fields(path)
    left = size - sum(len(name) + len(value) + 32 for name, value in literal_fields(block))
    while left > 0:
        take = left if left < 2000 else 1000  # leaves enough for one more field
        block += field(b"x-pad", b"v" * (take - len(b"x-pad") - 32))
        left -= take
    return block


class Connection:
    """One connection, after the preface unless told otherwise. It reads only what a test asks for."""

    def __init__(self, address: str, preface: bool = True, window: int | None = None) -> None:
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host.strip("[]"), int(port)), timeout=20)
        self.next_stream = 1
        self.is_over = False
        """Whether `frames` reached the end of the connection."""
        self._buffer = b""
        self._decoder = hpack.Decoder()
        self._fields: dict[int, dict[str, str]] = {}
        if preface:
            settings = b"" if window is None else struct.pack(">HI", 4, window)
            self.send(PREFACE + frame(SETTINGS, 0, 0, settings))

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> bool:
        """False once the server has closed the connection."""
        self.socket.settimeout(20)  # `frames` sets its own timeout
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            return False
        return True

    def send_patiently(self, data: bytes, seconds: float = 20) -> bool:
        """Sends, and keeps incoming bytes for `frames`. False once the server closed or reads no more."""
        self.socket.setblocking(False)
        end = time.monotonic() + seconds
        try:
            while data and time.monotonic() < end:
                readable, writable, _ = select.select([self.socket], [self.socket], [], 1)
                if readable:
                    more = self.socket.recv(1 << 16)
                    if not more:
                        return False
                    self._buffer += more
                if writable:
                    data = data[self.socket.send(data) :]
        except (BrokenPipeError, ConnectionResetError):
            return False
        finally:
            self.socket.settimeout(20)
        return not data

    def open(self, block: bytes, flags: int = END_HEADERS) -> int:
        """Sends HEADERS on a new stream, with CONTINUATION where the block takes more, and returns its number."""
        stream, self.next_stream = self.next_stream, self.next_stream + 2
        parts = [block[at : at + FRAME_BYTES] for at in range(0, len(block), FRAME_BYTES)] or [b""]
        for number, part in enumerate(parts):
            kind, first_only = (HEADERS, flags & ~END_HEADERS) if number == 0 else (CONTINUATION, 0)
            last_only = flags & END_HEADERS if number == len(parts) - 1 else 0
            self.send(frame(kind, first_only | last_only, stream, part))
        return stream

    def frames(self, seconds: float = 10) -> Iterable[tuple[int, int, int, bytes]]:
        """Yields (kind, flags, stream, payload) until the connection ends or stays silent for this long."""
        self.socket.settimeout(seconds)
        while True:
            while len(self._buffer) < 9 or len(self._buffer) < 9 + int.from_bytes(self._buffer[:3], "big"):
                try:
                    more = self.socket.recv(1 << 16)
                except TimeoutError:
                    return
                except ConnectionResetError:
                    more = b""
                if not more:
                    self.is_over = True
                    return
                self._buffer += more
            size = int.from_bytes(self._buffer[:3], "big")
            kind, flags = self._buffer[3], self._buffer[4]
            stream = int.from_bytes(self._buffer[5:9], "big")
            payload, self._buffer = self._buffer[9 : 9 + size], self._buffer[9 + size :]
            if kind == HEADERS:  # all of them, because each changes the decoder's table
                self._fields[stream] = {str(name): str(value) for name, value in self._decoder.decode(payload)}
            yield kind, flags, stream, payload

    def exchange_settings(self) -> dict[int, int]:
        """Returns and acknowledges the server's settings, and waits until the server has acknowledged ours."""
        settings: dict[int, int] = {}
        acknowledged = False
        for kind, flags, _, payload in self.frames():
            if kind == SETTINGS and flags & ACK:
                acknowledged = True
            elif kind == SETTINGS:
                settings |= dict(struct.iter_unpack(">HI", payload))
                self.send(frame(SETTINGS, ACK, 0))
            if settings and acknowledged:
                return settings
        raise AssertionError("the server has sent no settings, or acknowledged none")

    def status(self, stream: int) -> dict[str, str]:
        """The trailers of a call, whether they come alone or after an answer."""
        for kind, flags, of, _ in self.frames():
            if of == stream and kind == HEADERS and flags & END_STREAM:
                return self._fields[stream]
        raise AssertionError("the call has no status")

    def ends(self, stream: int, seconds: float = 20) -> bool:
        """Whether the server ends the stream, or the whole connection, within this time."""
        began = time.monotonic()
        for kind, flags, of, _ in self.frames(seconds):
            if kind == GOAWAY or (
                of == stream and (kind == RST_STREAM or (flags & END_STREAM and kind in (HEADERS, DATA)))
            ):
                return True
        return time.monotonic() - began < seconds

    def is_closed(self, seconds: float = 20) -> bool:
        """Whether the server closes the connection within this time."""
        end = time.monotonic() + seconds
        with contextlib.suppress(ConnectionResetError):
            while time.monotonic() < end:
                self.socket.settimeout(max(0.01, end - time.monotonic()))
                try:
                    if not self.socket.recv(1 << 16):
                        return True
                except TimeoutError:
                    return False
            return False
        return True
