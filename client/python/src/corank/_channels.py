"""Connections to a server: channels, methods, and what the server is."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import Any, Callable

import grpc

from corank import _aside as aside
from corank import _errors as errors
from corank import _forks as forks
from corank._address import checked, is_this_host, may_be_several, target
from corank._call import Caller, Name, Uploads, unary
from corank._credentials import Credentials
from corank._options import MAX_DEADLINE_SECONDS, CallOptions, Settings
from corank._options import settings as resolved
from corank._results import ServerInfo, server_info
from corank._retry import Limit, Repeat, Retrier
from corank._stream import CHUNK_BYTES
from corank.v1 import corank_service_pb2 as service

DEFAULT_ADDRESS = "127.0.0.1:50051"
DEADLINE_SECONDS = 60.0
"""The deadline of a call that sets none and moves no arrays."""
_DEADLINE_BYTES_PER_SECOND = 16 << 20
_SERVICES = {
    "corank": "/corank.v1.CorankService/",
    "memory": "/corank.v1.MemoryService/",
    "health": "/grpc.health.v1.Health/",
}
# gRPC itself waits a second first: all tries of a call would then meet the failure of the first connection.
_RECONNECT_MS = (100, 5000)
_KEEPALIVE_MS = (20_000, 10_000)
_RELEASE_SECONDS = 1.0
_CLOSE_SECONDS = 1.0
# The channel of the main thread's blocking calls. After a signal interrupted it, nobody uses it again, and no other
# thread waits for its lock. It shares the TCP connection of channel 0.
_MAIN = -1


# grpc.health.v1 has one field in each message; its package would be one more for every user to install.
def _health_request(service: str) -> bytes:
    name = service.encode()
    if len(name) > 127:
        raise errors.InvalidArgument(f"service: a name of {len(name)} bytes; at most 127 are allowed", field="service")
    return b"\x0a" + bytes([len(name)]) + name


def _health_status(response: bytes) -> str:
    known = {b"": "UNKNOWN", b"\x08\x00": "UNKNOWN", b"\x08\x01": "SERVING", b"\x08\x02": "NOT_SERVING"}
    if response not in known:
        raise errors.Internal(f"Health: the server answered {response[:16]!r}, which is no state")
    return known[response]


class Channels:
    """The channels of one client, made when they are first used. Thread-safe."""

    def __init__(self, address: str | None, max_message_bytes: int, defaults: CallOptions, **security: Any) -> None:
        """`defaults`: the options of calls that say nothing else. `security`: the arguments of Credentials."""
        self._address = address if address is None or address == "" else checked(address)
        self._security = security
        self._credentials: Credentials | None = None
        if address is not None or any(security.values()):
            self._credentials = Credentials(self.address, **security)  # what cannot be used is said now
        self._defaults = defaults
        given = self._plain = resolved({}, defaults)
        self._retries, self._deadline, self._traceparent = given.retries, self.deadline(given, 0), given.traceparent
        self.retrier = Retrier()
        """Tries the calls of this client."""
        self._max_message_bytes = max_message_bytes
        self._closed = False
        self._info: ServerInfo | None = None
        self._begin()

    def _begin(self) -> None:
        """Forgets all channels: this process has none yet."""
        self._uploads = Uploads()
        self._lock = threading.Lock()
        self._channels: dict[int, grpc.Channel] = {}
        self._methods: dict[tuple[str, str, int], Any] = {}
        self._main_is_inside = False

    def forked(self) -> None:
        """In a child of a fork: leaves the channels to the parent and makes its own when it needs them."""
        forks.forever((self._channels, self._methods))
        self._begin()
        self.retrier.forked()
        if self._credentials is not None:
            self._credentials.forked()

    @property
    def address(self) -> str:
        """HOST:PORT of the server."""
        return self._address or checked(os.environ.get("CORANK_SERVER") or DEFAULT_ADDRESS)

    @property
    def is_local(self) -> bool:
        """Whether the address is of this host."""
        return is_this_host(self.address)

    @property
    def may_be_several(self) -> bool:
        """Whether calls may reach several servers in turn."""
        return may_be_several(self.address)

    @property
    def credentials(self) -> Credentials:
        """TLS and token of this client. It reads the environment once, at the first call."""
        if self._credentials is None:
            self._credentials = Credentials(self.address, **self._security)
        return self._credentials

    def settings(self, options: Any) -> Settings:
        """The options of a call (a TypedDict) with this client's defaults."""
        return resolved(options, self._defaults) if options else self._plain

    @staticmethod
    def deadline(settings: Settings, nbytes: int) -> float | None:
        """Seconds that a call may take whose arrays have this many bytes."""
        if settings.deadline == "auto":
            return min(DEADLINE_SECONDS + nbytes // _DEADLINE_BYTES_PER_SECOND, MAX_DEADLINE_SECONDS)
        return settings.deadline

    def caller(self, operator: str, deadline: float | None, traceparent: str | None = None) -> Caller:
        """The state that all tries of one call share."""
        known = self.credentials
        peer = errors.Peer(self.address, known.channel is not None, known.ca)
        return Caller(operator, peer, known, deadline, self._uploads, traceparent or self._traceparent)

    def close(self) -> None:
        """Ends the connections; calls in flight are cancelled. The client cannot be used again."""
        self._leave_main()
        with self._lock:
            self._closed = True
            channels, self._channels, self._methods = self._channels, {}, {}
        for connection, channel in channels.items():
            if connection == _MAIN and self._main_is_inside:
                # A signal may have interrupted it just now; then it never closes.
                closing = threading.Thread(target=channel.close, name="corank-close", daemon=True)
                closing.start()
                closing.join(_CLOSE_SECONDS)
            else:
                channel.close()

    @property
    def is_closed(self) -> bool:
        """Whether the client was closed."""
        return self._closed

    def channel_options(self) -> list[tuple[str, Any]]:
        """The gRPC options of every channel."""
        if self._closed:
            raise RuntimeError("the client is closed")
        options: list[tuple[str, Any]] = [
            ("grpc.max_send_message_length", self._max_message_bytes),
            ("grpc.max_receive_message_length", self._max_message_bytes),
            # Retrier repeats calls, because it knows which are safe. gRPC's retries, also of a service config, would
            # multiply them.
            ("grpc.enable_retries", 0),
            ("grpc.initial_reconnect_backoff_ms", _RECONNECT_MS[0]),
            ("grpc.max_reconnect_backoff_ms", _RECONNECT_MS[1]),
            # While calls run: a network that drops every packet reports no error.
            ("grpc.keepalive_time_ms", _KEEPALIVE_MS[0]),
            ("grpc.keepalive_timeout_ms", _KEEPALIVE_MS[1]),
            # gRPC stops pinging after two answers without data between them, but a result may take longer.
            ("grpc.http2.max_pings_without_data", 0),
        ]
        if self.is_local:
            options.append(("grpc.enable_http_proxy", 0))
        if self.may_be_several:
            options.append(("grpc.lb_policy_name", "round_robin"))
        if self.credentials.server_name:
            options.append(("grpc.ssl_target_name_override", self.credentials.server_name))
        return options

    def _channel(self, connection: int) -> grpc.Channel:
        if self._closed:
            raise RuntimeError("the client is closed")
        if connection not in self._channels:
            options = self.channel_options()
            if connection > 0:
                # Otherwise gRPC would share one connection among channels of one address.
                options.append(("grpc.use_local_subchannel_pool", 1))
            if self.credentials.channel is None:
                made = grpc.insecure_channel(target(self.address), options)
            else:
                made = grpc.secure_channel(target(self.address), self.credentials.channel, options)
            self._channels[connection] = made
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
        known = self._methods.get(key)
        if known is not None:
            return known
        with self._lock:
            channel = self._channel(connection)
            if key not in self._methods:
                # No serializers: messages are put together and taken apart by `corank._wire`.
                self._methods[key] = getattr(channel, kind)(_SERVICES[of] + name)
            return self._methods[key]

    def blocking(self, name: Name, request: bytes, timeout: float | None, metadata: Any) -> tuple[bytes, Any]:
        """Calls a unary method and waits in this thread: the response and the call."""
        if not aside.on_main_thread():
            result: tuple[bytes, Any] = self.method(name.method, of=name.service).with_call(
                request, timeout=timeout, metadata=metadata
            )
            return result
        self._leave_main()
        method = self.method(name.method, of=name.service, connection=_MAIN)
        # No try/finally: an exception could interrupt that too.
        self._main_is_inside = True
        try:
            result = method.with_call(request, timeout=timeout, metadata=metadata)
        except grpc.RpcError:
            self._main_is_inside = False
            raise
        self._main_is_inside = False
        return result

    def _leave_main(self) -> None:
        """Drops the main thread's channel, on that thread, if a signal may have interrupted it."""
        if not self._main_is_inside or not aside.on_main_thread():
            return
        with self._lock:
            forks.forever(self._channels.pop(_MAIN, None))
            for key in [key for key in self._methods if key[2] == _MAIN]:
                forks.forever(self._methods.pop(key))
        self._main_is_inside = False

    def limit(self) -> Limit:
        """The client's deadline, from now on, for work that has none of its own."""
        return Limit(self.retrier.clock, self._deadline)

    def server(self, limit: Limit | None = None) -> ServerInfo:
        """Information about the server. Asks once, and again after the server was unreachable, until `limit`."""
        info = self._info
        if info is None:
            info = self._info = self.ask(limit or self.limit(), self._retries)[0]
        return info

    @property
    def knows_server(self) -> bool:
        """Whether `server` need not ask."""
        return self._info is not None

    def forget_server(self) -> None:
        """Forgets the server's information: another server may answer from now on."""
        self._info = None

    def ask(self, limit: Limit, retries: int, traceparent: str | None = None) -> tuple[ServerInfo, str]:
        """Asks for information about the server: the answer and the request id."""
        caller = self.caller("GetServerInfo", limit.seconds, traceparent)
        request = service.GetServerInfoRequest().SerializeToString()
        (response, request_id), _ = self.retrier.run(
            lambda remaining: unary(self, Name("GetServerInfo"), request, caller, remaining),
            deadline=limit.left(),
            retries=retries,
            repeat=Repeat.ALWAYS,
            reload=caller.reload,
        )
        return server_info(service.GetServerInfoResponse.FromString(response)), request_id

    def health(self, service: str, limit: Limit, retries: int, traceparent: str | None) -> str:
        """Asks for the state of a service: "SERVING", "NOT_SERVING", or "UNKNOWN" where the server does not know it."""
        caller = self.caller("Health", limit.seconds, traceparent)
        try:
            (response, _), _ = self.retrier.run(
                lambda remaining: unary(self, Name("Check", "health"), _health_request(service), caller, remaining),
                deadline=limit.left(),
                retries=retries,
                repeat=Repeat.ALWAYS,
                reload=caller.reload,
            )
        except errors.NotFound:
            return "UNKNOWN"
        return _health_status(response)

    def chunk_bytes(self, limit: Limit) -> int:
        """Bytes to put into a chunk; the server is asked until `limit` if it is not known."""
        return min(CHUNK_BYTES, self.server(limit).limits.max_chunk_bytes or CHUNK_BYTES)

    def memory_call(
        self,
        name: str,
        request: Any,
        response: type[Any],
        repeat: Repeat = Repeat.ALWAYS,
        limit: Limit | None = None,
        retries: int | None = None,
    ) -> Any:
        """Calls a unary method of MemoryService, with as many tries as `repeat` and `retries` allow.

        Args:
            name: of the method.
            request: the message.
            response: the type of the answer.
            repeat: what the call may do twice.
            limit: the deadline; None: the client's.
            retries: how many tries may follow the first; None: the client's.
        """
        return self.memory_tries(name, lambda: (request, response), repeat, limit, retries)

    def memory_tries(
        self,
        name: str,
        prepare: Callable[[], tuple[Any, type[Any]]],
        repeat: Repeat,
        limit: Limit | None = None,
        retries: int | None = None,
    ) -> Any:
        """Like memory_call, but `prepare` makes a request and its type of response for each try."""
        limit = limit or self.limit()
        caller = self.caller(name, limit.seconds)

        def once(remaining: float | None) -> Any:
            request, response = prepare()
            data, _ = unary(self, Name(name, "memory"), request.SerializeToString(), caller, remaining)
            return response.FromString(data)

        return self.retrier.run(
            once,
            deadline=limit.left(),
            retries=self._retries if retries is None else retries,
            repeat=repeat,
            reload=caller.reload,
        )[0]

    def memory_pages(self, name: str, request: Any, response: type[Any], limit: Limit | None = None) -> Iterator[Any]:
        """The pages of a list, each as its response. The deadline is for all of them."""
        limit = limit or self.limit()
        while True:
            page = self.memory_call(name, request, response, Repeat.ALWAYS, limit)
            yield page
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def memory_release(self, name: str, request: Any, response: type[Any], repeat: Repeat = Repeat.ALWAYS) -> None:
        """A memory_call that releases memory. It repeats briefly, for an answered request may still hold the memory."""
        clock, limit = self.retrier.clock, self.limit()
        end, pause = clock.now() + _RELEASE_SECONDS, 0.001
        while True:
            try:
                self.memory_call(name, request, response, repeat, limit)
                return
            except errors.CorankError as error:
                if error.code != "FAILED_PRECONDITION" or clock.now() > end:
                    raise
            clock.sleep(pause)
            pause *= 2

    def memory_stream(self, name: str) -> Any:
        """A method of MemoryService that answers with a stream."""
        return self.method(name, "unary_stream", "memory")

    def memory_upload(self, name: str) -> Any:
        """A method of MemoryService that takes a stream."""
        return self.method(name, "stream_unary", "memory")
