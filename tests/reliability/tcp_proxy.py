"""A TCP proxy that delays, throttles, stalls and cuts connections, each direction separately."""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time
from collections.abc import Callable

_PIECE = 16 << 10
_PIECES = 16  # bytes read ahead; the limit makes a slow proxy slow for the sender
_LOOK_SECONDS = 0.05


_Pieces = queue.Queue[tuple[float, bytes]]


class Way:
    """One direction. Its attributes may change at any time."""

    def __init__(self) -> None:
        self.delay = 0.0
        """Extra delay in seconds."""
        self.bytes_per_second: float | None = None
        self.passed = 0
        """Bytes passed so far on all connections."""
        self._most: int | None = None
        self._changed = threading.Condition()

    def hold(self, after: int = 0) -> None:
        """Lets `after` more bytes pass, then stalls. With both directions stalled, the network is a black hole."""
        with self._changed:
            self._most = self.passed + after

    def release(self) -> None:
        """Passes everything again, including the stalled bytes."""
        with self._changed:
            self._most = None
            self._changed.notify_all()

    @property
    def is_stopped(self) -> bool:
        """Whether nothing passes any more."""
        with self._changed:
            return self._most is not None and self.passed >= self._most

    def wait_until_open(self, ended: threading.Event) -> None:
        """Waits while nothing may pass and the connection lasts."""
        while self.is_stopped and not ended.wait(_LOOK_SECONDS):
            pass

    def take(self, wanted: int, ended: threading.Event) -> int:
        """Waits until bytes may pass; returns how many, from 1 to `wanted`, or 0 once the connection has ended."""
        with self._changed:
            while not ended.is_set():
                may = wanted if self._most is None else min(wanted, self._most - self.passed)
                if may > 0:
                    self.passed += may
                    return may
                self._changed.wait(_LOOK_SECONDS)
        return 0


_Work = Callable[[socket.socket, Way, _Pieces], None]


class _Connection:
    """Two sockets, and the bytes between them."""

    def __init__(self, client: socket.socket, server: socket.socket, up: Way, down: Way) -> None:
        self.ended = threading.Event()
        self._at_work = 4
        self._lock = threading.Lock()
        self._sockets = (client, server)
        self._threads = []
        for source, target, way in ((client, server, up), (server, client, down)):
            pieces: _Pieces = queue.Queue(_PIECES)
            self._threads += [
                threading.Thread(target=self._run, args=(self._read, source, way, pieces), daemon=True),
                threading.Thread(target=self._run, args=(self._write, target, way, pieces), daemon=True),
            ]

    def start(self) -> None:
        """Lets bytes pass, until `end`."""
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Ends both sides as a crashed peer does, and drops waiting bytes; does not wait."""
        self.ended.set()
        for each in self._sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)  # wakes the threads; `close` would not

    def join(self) -> None:
        """Waits until its threads have ended."""
        for thread in self._threads:
            thread.join(10)

    def _run(self, work: _Work, side: socket.socket, way: Way, pieces: _Pieces) -> None:
        work(side, way, pieces)
        with self._lock:
            self._at_work -= 1
            is_last = self._at_work == 0
        if is_last:
            for each in self._sockets:
                each.close()

    def _read(self, source: socket.socket, way: Way, pieces: _Pieces) -> None:
        while not self.ended.is_set():
            try:
                data = source.recv(_PIECE)
            except OSError:
                data = b""
            due = time.monotonic() + way.delay
            while not self.ended.is_set():
                with contextlib.suppress(queue.Full):
                    pieces.put((due, data), timeout=_LOOK_SECONDS)
                    break
            if not data:
                break

    def _write(self, target: socket.socket, way: Way, pieces: _Pieces) -> None:
        target.settimeout(None)
        while not self.ended.is_set():
            try:
                due, data = pieces.get(timeout=_LOOK_SECONDS)
            except queue.Empty:
                continue
            self.ended.wait(max(0.0, due - time.monotonic()))
            if not data:  # gRPC never half-closes, so an end of one direction ends both
                way.wait_until_open(self.ended)
                self.end()
            while data and not self.ended.is_set():
                may = way.take(len(data), self.ended)
                try:
                    target.sendall(data[:may])
                except OSError:
                    self.end()
                    break
                data = data[may:]
                if way.bytes_per_second:
                    self.ended.wait(may / way.bytes_per_second)


class TcpProxy:
    """A context manager that listens on a free port of 127.0.0.1 and forwards to `target`, HOST:PORT.

    `up` is the direction to the server, `down` the way back. `listener` is a socket that listens already.
    """

    def __init__(self, target: str, listener: socket.socket | None = None) -> None:
        host, _, port = target.rpartition(":")
        self.target = (host, int(port))
        self.up, self.down = Way(), Way()
        self.accepted = 0
        """Connections accepted so far."""
        self._lock = threading.Lock()
        self._connections: list[_Connection] = []
        self._listener = listener or socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(_LOOK_SECONDS)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._accept, daemon=True)

    @property
    def address(self) -> str:
        """HOST:PORT for clients."""
        host, port = self._listener.getsockname()
        return f"{host}:{port}"

    def cut(self) -> None:
        """Ends all connections; accepts new ones."""
        with self._lock:
            connections, self._connections = self._connections, []
        for each in connections:
            each.end()
        for each in connections:
            each.join()

    def hold(self) -> None:
        """Becomes a black hole: nothing passes, and neither side notices."""
        self.up.hold()
        self.down.hold()

    def release(self) -> None:
        """Ends `hold`."""
        self.up.release()
        self.down.release()

    def _accept(self) -> None:
        while not self._ended.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:
                continue
            self.accepted += 1
            client.settimeout(None)
            try:
                server = socket.create_connection(self.target, 10)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            connection = _Connection(client, server, self.up, self.down)
            with self._lock:  # no byte passes on a connection that `cut` does not find
                self._connections.append(connection)
                connection.start()

    def __enter__(self) -> TcpProxy:
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._ended.set()
        self._thread.join()
        self._listener.close()
        self.cut()
