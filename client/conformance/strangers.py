"""Servers that are no corank: they answer HTTP or nonsense, say nothing, or speak gRPC without corank's services."""

from __future__ import annotations

import contextlib
import socket
import threading
from concurrent import futures

import grpc

_ANSWERS = {
    "http": b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    "random": bytes(at * 89 % 256 for at in range(1000)),
    "close": b"",
}


class Strangers:
    """The servers, each started when it is first needed."""

    def __init__(self) -> None:
        self._listeners: dict[str, socket.socket] = {}
        self._held: list[socket.socket] = []
        self._grpc: grpc.Server | None = None
        self._port = 0

    def address(self, kind: str) -> str:
        """HOST:PORT of the server of this kind."""
        if kind == "grpc":
            if self._grpc is None:
                self._grpc = grpc.server(futures.ThreadPoolExecutor(4))
                self._port = self._grpc.add_insecure_port("127.0.0.1:0")
                self._grpc.start()
            return f"127.0.0.1:{self._port}"
        if kind not in self._listeners:
            listener = self._listeners[kind] = socket.create_server(("127.0.0.1", 0))
            threading.Thread(target=self._serve, args=(kind, listener), daemon=True).start()
        return f"127.0.0.1:{self._listeners[kind].getsockname()[1]}"

    def _serve(self, kind: str, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            if kind == "silent":
                self._held.append(connection)
                continue
            with connection, contextlib.suppress(OSError):
                connection.settimeout(2)
                connection.recv(1)  # a client that is answered before it asks may miss the answer
                connection.sendall(_ANSWERS[kind])

    def stop(self) -> None:
        """Ends them."""
        for listener in self._listeners.values():
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)  # wakes the thread; `close` would not
            listener.close()
        for held in self._held:
            held.close()
        if self._grpc is not None:
            self._grpc.stop(None)
