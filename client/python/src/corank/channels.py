"""Connections to a server: channels, methods, and what the server is."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Any, Literal

import grpc

from corank import errors
from corank.call import attempts, unary
from corank.results import ServerInfo, server_info
from corank.v1 import corank_service_pb2 as service

if TYPE_CHECKING:
    from typing_extensions import Self

DEFAULT_ADDRESS = "127.0.0.1:50051"
_SERVICES = {"corank": "/corank.v1.CorankService/", "memory": "/corank.v1.MemoryService/"}
_COMPRESSION = {"none": grpc.Compression.NoCompression, "gzip": grpc.Compression.Gzip}
_LOOPBACK = ("127.", "localhost:", "[::1]:", "unix:", "unix-abstract:")
_MEMORY_SECONDS = 60.0
_RELEASE_SECONDS = 1.0


class Channels:
    """The channels of one client, made when they are first used. Thread-safe."""

    def __init__(self, address: str | None, max_message_bytes: int, compression: Literal["none", "gzip"]) -> None:
        if compression not in _COMPRESSION:
            raise errors.InvalidArgument(f"compression: {compression!r} is none of 'none', 'gzip'", field="compression")
        self._address = address
        self._max_message_bytes = max_message_bytes
        self._compression = _COMPRESSION[compression]
        self._lock = threading.Lock()
        self._channels: list[grpc.Channel] = []
        self._methods: dict[tuple[str, str, int], Any] = {}
        self._closed = False
        self._info: ServerInfo | None = None

    @property
    def address(self) -> str:
        """HOST:PORT of the server."""
        return self._address or os.environ.get("CORANK_SERVER") or DEFAULT_ADDRESS

    @property
    def is_local(self) -> bool:
        """Whether the address is of this host."""
        return self.address.startswith(_LOOPBACK)

    def close(self) -> None:
        """Ends the connections; calls in flight are cancelled. The client cannot be used again."""
        with self._lock:
            self._closed = True
            channels, self._channels = self._channels, []
        for channel in channels:
            channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.address!r})"

    def _channel(self, connection: int) -> grpc.Channel:
        if self._closed:
            raise RuntimeError("the client is closed")
        while len(self._channels) <= connection:
            options: list[tuple[str, Any]] = [
                ("grpc.max_send_message_length", self._max_message_bytes),
                ("grpc.max_receive_message_length", self._max_message_bytes),
                # Retries are this client's own: it honours RetryInfo.
                ("grpc.enable_retries", 0),
            ]
            if self._channels:
                # Else gRPC would share one connection among channels of one address.
                options.append(("grpc.use_local_subchannel_pool", 1))
            if self.is_local:
                options.append(("grpc.enable_http_proxy", 0))
            self._channels.append(grpc.insecure_channel(self.address, options, compression=self._compression))
        return self._channels[connection]

    def method(self, name: str, kind: str = "unary_unary", of: str = "corank", connection: int = 0) -> Any:
        """A method as gRPC calls it, whose requests and responses are bytes.

        Args:
            name: of the method.
            kind: "unary_unary", "unary_stream", "stream_unary" or "stream_stream".
            of: the service, "corank" or "memory".
            connection: over which connection it goes, from 0.
        """
        key = (of, name, connection)
        with self._lock:
            channel = self._channel(connection)
            if key not in self._methods:
                # No serializers: messages are put together and taken apart by corank.wire.
                self._methods[key] = getattr(channel, kind)(_SERVICES[of] + name)
            return self._methods[key]

    def server(self) -> ServerInfo:
        """What the server is, asked once and again after it could not be reached."""
        if self._info is None:
            self._info = self.ask(_MEMORY_SECONDS, 5)[0]
        return self._info

    def forget_server(self) -> None:
        """It may be another server from now on."""
        self._info = None

    def ask(self, deadline: float | None, retries: int) -> tuple[ServerInfo, str]:
        """What the server is now, and the request id."""
        method = self.method("GetServerInfo")
        request = service.GetServerInfoRequest().SerializeToString()
        (response, request_id), _ = attempts(
            lambda remaining: unary(
                method,
                request,
                operator="GetServerInfo",
                address=self.address,
                deadline=deadline,
                remaining=remaining,
            ),
            deadline=deadline,
            retries=retries,
        )
        return server_info(service.GetServerInfoResponse.FromString(response)), request_id

    def memory_call(self, name: str, request: Any, response: type[Any]) -> Any:
        """Calls a unary method of MemoryService."""
        method = self.method(name, of="memory")
        data, _ = unary(
            method,
            request.SerializeToString(),
            operator=name,
            address=self.address,
            deadline=_MEMORY_SECONDS,
            remaining=_MEMORY_SECONDS,
        )
        return response.FromString(data)

    def memory_release(self, name: str, request: Any, response: type[Any]) -> None:
        """memory_call of what gives memory back: a request that has answered may still use it for a moment."""
        end, pause = time.monotonic() + _RELEASE_SECONDS, 0.001
        while True:
            try:
                self.memory_call(name, request, response)
                return
            except errors.CorankError as error:
                if error.code != "FAILED_PRECONDITION" or time.monotonic() > end:
                    raise
            time.sleep(pause)
            pause *= 2

    def memory_stream(self, name: str) -> Any:
        """A method of MemoryService that answers with a stream."""
        return self.method(name, "unary_stream", "memory")

    def memory_upload(self, name: str) -> Any:
        """A method of MemoryService that takes a stream."""
        return self.method(name, "stream_unary", "memory")
