"""Calls through nginx, HAProxy and Envoy, each with its configuration in deploy/proxies; see `make test-peers`."""

from __future__ import annotations

import contextlib
import pathlib
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from proxies import PROXIES, Nginx, Proxy, corankd, tls_flags

# isort: split
import corank
import grpc
import numpy as np
import pytest
from certificates import Authority
from corank.testing import LocalServer
from corank.v1 import array_pb2 as a
from corank.v1 import operators_pb2 as o
from e2e_support import (
    NOT_SERVING,
    SERVING,
    UNLENT_HOST,
    details_of,
    health,
    samples,
    unused_address,
    wait_until_empty,
    watch_health,
)
from held_calls import CHUNK, OPTIONS, StreamCall, Work, random_keys
from tcp_proxy import TcpProxy
from test_rollout import Load, calls, replace, sort_message, sort_stream
from waiting import wait_until

FLAGS = ["--engine=cpu", f"--listen={UNLENT_HOST}:0"]
SORT = "/corank.v1.CorankService/Sort"
LEAST_ENDED = 20
"""How many connections of a proxy end while calls go on."""


@pytest.fixture(scope="module", name="corankd")
def corankd_path() -> pathlib.Path:
    """The server's binary."""
    return corankd()


@dataclass
class Path:
    """A server, what leads to it, and a client that takes this way and repeats no call."""

    server: LocalServer
    proxy: Proxy
    client: corank.Client
    channel: grpc.Channel
    authority: Authority | None

    def stream(self, work: Work) -> StreamCall:
        """A sort by a stream."""
        return StreamCall(self.proxy.address, work, opened(self.proxy, self.authority))


def opened(proxy: Proxy, authority: Authority | None) -> grpc.Channel:
    """A channel to a proxy."""
    if authority is None:
        return grpc.insecure_channel(proxy.address, OPTIONS)
    host = [("grpc.ssl_target_name_override", "localhost")]
    return grpc.secure_channel(proxy.address, grpc.ssl_channel_credentials(authority.certificate), [*OPTIONS, *host])


@contextlib.contextmanager
def path_by(
    kind: type[Proxy], folder: pathlib.Path, corankd: pathlib.Path, authority: Authority | None, *flags: str
) -> Iterator[Path]:
    """The way through a proxy of this kind."""
    tls: Any = {}
    if authority is not None:
        flags = (*flags, *tls_flags(folder, authority))
        tls = {"tls_ca": authority.save(folder), "tls_server_name": "localhost"}
    with (
        LocalServer(corankd, [*FLAGS, "--kept-bytes=1MiB", "--kept-quota-bytes=4MiB", *flags]) as server,
        kind(folder / "proxy", [server.address] * 2, authority) as proxy,
        corank.connect(proxy.address, retries=0, **tls) as client,
        opened(proxy, authority) as channel,
    ):
        wait_until(lambda: serves(channel), "the proxy finds the server")
        yield Path(server, proxy, client, channel, authority)


def serves(channel: grpc.Channel) -> bool:
    """Whether a proxy has a server that serves."""
    try:
        return health(channel, "ready") == SERVING
    except grpc.RpcError:
        return False


@pytest.fixture(
    scope="module",
    params=[(kind, tls) for kind in PROXIES for tls in (False, True)],
    ids=lambda each: f"{each[0].name}{'-tls' if each[1] else ''}",
)
def path(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, corankd: pathlib.Path
) -> Iterator[Path]:
    kind, has_tls = request.param
    with path_by(kind, tmp_path_factory.mktemp("path"), corankd, Authority() if has_tls else None) as made:
        yield made
        wait_until_empty(made.server)


@pytest.mark.parametrize("count", [1, 1000, 25_000_000])
def test_sort_in_messages(path: Path, count: int) -> None:
    keys = random_keys(count)
    np.testing.assert_array_equal(path.client.sort(keys, place="inline"), np.sort(keys))


def test_sort_by_a_stream(path: Path) -> None:
    keys = random_keys(16 << 20)
    np.testing.assert_array_equal(path.client.sort(keys, place="stream", connections=1), np.sort(keys))


def test_many_calls_at_once(path: Path) -> None:
    """More than HTTP/2 has by default on one connection, or the server on one."""
    keys = random_keys(1000)
    array = a.Array(type=a.ELEMENT_TYPE_UINT32, inline_data=keys.tobytes())
    sort: Any = path.channel.unary_unary(SORT, response_deserializer=o.SortResponse.FromString)
    message = o.SortRequest(keys=array).SerializeToString()
    for answer in [sort.future(message, timeout=60) for _ in range(1000)]:
        np.testing.assert_array_equal(np.frombuffer(answer.result().keys.inline_data, np.uint32), np.sort(keys))


def test_cancel_reaches_the_server(path: Path) -> None:
    held = path.stream(Work(random_keys(2 * CHUNK), send=1))
    wait_until(lambda: samples(path.server)["corank_stream_jobs"] == 1, "the server has the call")
    held.cancel()
    assert held.code() == "CANCELLED"
    wait_until_empty(path.server)


def test_deadline_ends_a_call_on_both_sides(path: Path) -> None:
    held = path.stream(Work(random_keys(2 * CHUNK), send=1, timeout=1))
    assert held.code() == "DEADLINE_EXCEEDED"
    wait_until_empty(path.server)


def test_faults_name_their_fields(path: Path) -> None:
    unsorted = a.Array(type=a.ELEMENT_TYPE_UINT32, inline_data=np.array([2, 1], np.uint32).tobytes())
    merge: Any = path.channel.unary_unary("/corank.v1.CorankService/Merge")
    with pytest.raises(grpc.RpcError) as caught:
        merge(o.MergeRequest(keys=[unsorted, unsorted]).SerializeToString(), timeout=60)
    details = details_of(caught.value)
    assert (details.code, details.info.reason, details.violations) == (
        "INVALID_ARGUMENT",
        "KEYS_NOT_SORTED",
        ["keys[0]"],
    )


def test_refusals_say_when_to_retry(path: Path) -> None:
    """All of the request is there when the server refuses to keep its result."""
    array = np.zeros(600_000, np.uint8)
    first = path.client.store("first", array)
    try:
        with pytest.raises(corank.ResourceExhausted) as caught:
            path.client.sort(array, place="inline", keep="second")
    finally:
        first.delete()
    assert caught.value.retry_after is not None
    assert caught.value.retry_after > 0


def test_refusal_comes_before_the_whole_message(path: Path) -> None:
    """The server answers at the head of a message and drops the rest."""
    keys = a.Array(type=a.ELEMENT_TYPE_UINT32, inline_data=bytes(300 << 20))
    sort: Any = path.channel.unary_unary(SORT)
    with pytest.raises(grpc.RpcError) as caught:
        sort(o.SortRequest(keys=keys).SerializeToString(), timeout=60)
    assert details_of(caught.value).info.reason == "REQUEST_TOO_LARGE", caught.value


def test_health_can_be_watched(path: Path) -> None:
    states = watch_health(path.channel, "ready")
    assert next(states) == SERVING


@pytest.mark.parametrize("kind", PROXIES, ids=lambda kind: kind.name)
@pytest.mark.parametrize("shows", [True, False], ids=["shown", "missing"])
def test_servers_may_ask_the_proxy_for_a_certificate(
    kind: type[Proxy], shows: bool, tmp_path: pathlib.Path, corankd: pathlib.Path
) -> None:
    commented = {
        "nginx": ["# grpc_ssl_certificate"],
        "haproxy": ["# default-server"],
        "envoy": ["# tls_certificates", "# - certificate_chain", "#   private_key"],
    }[kind.name]
    changes = {line: line.replace("# ", "", 1) for line in commented} if shows else None
    authority, callers = Authority(), Authority("callers")
    folder = tmp_path / "proxy"
    folder.mkdir()
    files = callers.issue("proxy").save(folder, "proxy")
    if kind.name == "haproxy":
        files.certificate.write_bytes(files.certificate.read_bytes() + files.key.read_bytes())
    own = callers.issue("caller").save(tmp_path, "caller")
    identity: Any = {} if kind.balances_calls else {"tls_certificate": own.certificate, "tls_key": own.key}
    flags = [*FLAGS, *tls_flags(tmp_path, authority), f"--tls-client-ca={callers.save(tmp_path)}"]
    tls: Any = {"tls_ca": authority.save(tmp_path), "tls_server_name": "localhost", **identity}
    with (
        LocalServer(corankd, flags) as server,
        kind(folder, [server.address] * 2, authority, changes) as proxy,
    ):

        def goes_well() -> bool:
            """On a connection of its own: HAProxy leaves those alone that it made before its first check."""
            try:
                with corank.connect(proxy.address, retries=0, **tls) as client:
                    return bool((client.sort([3, 1, 2]) == [1, 2, 3]).all())
            except corank.Unavailable:
                return False

        if shows:
            wait_until(goes_well, "the proxy finds the server")
        else:
            wait_until(lambda: not goes_well(), "the proxy finds no server")


@pytest.mark.parametrize("kind", PROXIES, ids=lambda kind: kind.name)
@pytest.mark.parametrize("call", [sort_message, sort_stream])
def test_no_call_fails_when_the_server_ends_connections(
    kind: type[Proxy], call: Any, tmp_path: pathlib.Path, corankd: pathlib.Path
) -> None:
    """GOAWAY in the middle of traffic, again and again. The client repeats nothing."""
    flags = [*FLAGS, "--max-connection-age=1s", "--max-connection-age-grace=1m"]
    with (
        LocalServer(corankd, flags) as server,
        TcpProxy(server.address) as counted,
        kind(tmp_path / "proxy", [counted.address] * 2) as proxy,
        opened(proxy, None) as channel,
    ):
        wait_until(lambda: serves(channel), "the proxy finds the server")
        with Load(call, proxy.address, callers=4, retries=0) as load:
            wait_until(lambda: counted.accepted >= LEAST_ENDED or bool(load.failures), "connections have ended", 120)
        assert not load.failures, load.failures
        assert load.done > 0


@pytest.mark.parametrize("kind", PROXIES, ids=lambda kind: kind.name)
@pytest.mark.parametrize("call", [sort_message, sort_stream])
def test_restart_of_servers_loses_no_call(
    kind: type[Proxy], call: Any, tmp_path: pathlib.Path, corankd: pathlib.Path
) -> None:
    flags = [*FLAGS, "--drain-timeout=20s"]
    servers = [LocalServer(corankd, flags) for _ in range(2)]
    with contextlib.ExitStack() as stack:
        for server in servers:
            server.start()
        stack.callback(lambda: [server.stop() for server in servers])
        proxy = stack.enter_context(kind(tmp_path / "proxy", [server.address for server in servers]))
        channel = stack.enter_context(opened(proxy, None))
        wait_until(lambda: serves(channel), "the proxy finds a server")

        def has_load(load: Load, server: LocalServer) -> bool:
            """One connection has only one server where the proxy balances connections."""
            return bool(load.failures) or calls(server if kind.balances_calls else max(servers, key=calls)) > 0

        with Load(call, proxy.address, callers=4) as load:
            for place in range(2):
                wait_until(lambda: has_load(load, servers[place]), "the server has load")  # noqa: B023
                replace(corankd, servers, place, flags)
                wait_until(lambda: has_load(load, servers[place]), "the next one has load")  # noqa: B023
        assert not load.failures, load.failures
        assert load.done > 0


@pytest.mark.parametrize("kind", PROXIES, ids=lambda kind: kind.name)
def test_stream_ends_well_while_its_server_drains(
    kind: type[Proxy], tmp_path: pathlib.Path, corankd: pathlib.Path
) -> None:
    with path_by(kind, tmp_path, corankd, None, "--drain-timeout=10m", "--stream-idle-timeout=10m") as path:
        stream = path.stream(Work(random_keys(2 * CHUNK), timeout=600, send=1))
        states = watch_health(path.channel, "ready")
        assert next(states) == SERVING
        wait_until(lambda: samples(path.server)["corank_stream_jobs"] > 0, "the stream has begun")
        path.server.process.send_signal(signal.SIGTERM)
        assert next(states) == NOT_SERVING
        stream.go_on()
        assert stream.code() == "OK"
        assert path.server.process.wait(60) == 0


@pytest.mark.parametrize("kind", PROXIES, ids=lambda kind: kind.name)
@pytest.mark.parametrize("place", ["inline", "stream"])
def test_without_a_server_calls_are_unavailable(kind: type[Proxy], place: Any, tmp_path: pathlib.Path) -> None:
    with (
        kind(tmp_path / "proxy", [unused_address(), unused_address()]) as proxy,
        corank.connect(proxy.address, retries=0) as client,
    ):
        for _ in range(20):
            with pytest.raises(corank.Unavailable):
                client.sort(random_keys(10_000), place=place)


@pytest.mark.parametrize("kind", PROXIES, ids=lambda kind: kind.name)
def test_proxy_calls_only_servers_that_serve(kind: type[Proxy], tmp_path: pathlib.Path, corankd: pathlib.Path) -> None:
    """Its own checks find that a server drains, and that it serves again. nginx has none."""
    if kind is Nginx:
        pytest.skip("nginx checks no server by itself")
    flags = [*FLAGS, "--drain-timeout=10m", "--stream-idle-timeout=10m"]
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(LocalServer(corankd, flags)) for _ in range(2)]
        proxy = stack.enter_context(kind(tmp_path / "proxy", [server.address for server in servers]))
        channel = stack.enter_context(opened(proxy, None))

        def call() -> bool:
            """On a connection of its own, because HAProxy balances connections."""
            try:
                with corank.connect(proxy.address, retries=0) as client:
                    client.sort(np.array([3, 1, 2]))
            except corank.Unavailable:
                return False
            return True

        def called(server: LocalServer) -> bool:
            call()
            return calls(server) > 0

        wait_until(lambda: called(servers[0]) and called(servers[1]), "both have calls")
        stream = StreamCall(servers[0].address, Work(random_keys(2 * CHUNK), timeout=600, send=1))
        wait_until(lambda: samples(servers[0])["corank_stream_jobs"] > 0, "a stream keeps the server")
        servers[0].process.send_signal(signal.SIGTERM)
        in_turn = 0

        def goes_well() -> bool:
            nonlocal in_turn
            in_turn = in_turn + 1 if call() else 0
            return in_turn >= 100

        wait_until(goes_well, "all calls go to the other server")
        assert serves(channel)
        stream.go_on()
        assert stream.code() == "OK"


@pytest.mark.parametrize("kind", PROXIES, ids=lambda kind: kind.name)
@pytest.mark.parametrize("closer", ["server", "proxy"])
def test_idle_connections_end_and_the_next_call_has_another(
    kind: type[Proxy], closer: str, tmp_path: pathlib.Path, corankd: pathlib.Path
) -> None:
    idle = {
        "nginx": {"keepalive_timeout 5m;": "keepalive_timeout 1s;"},
        "haproxy": {"timeout client 1h": "timeout client 1s"},
        "envoy": {"idle_timeout: 300s": "idle_timeout: 1s"},
    }[kind.name]
    flags = [*FLAGS, "--connection-idle-timeout=1s"] if closer == "server" else FLAGS
    changes = idle if closer == "proxy" else None
    with (
        LocalServer(corankd, flags) as server,
        kind(tmp_path / "proxy", [server.address] * 2, None, changes) as proxy,
        opened(proxy, None) as channel,
        corank.connect(proxy.address, retries=0) as client,
    ):
        wait_until(lambda: serves(channel), "the proxy finds the server")
        for _ in range(3):
            np.testing.assert_array_equal(client.sort(np.array([3, 1, 2])), [1, 2, 3])
            most = 2 * proxy.health_connections
            wait_until(lambda: samples(server)["corank_connections"] <= most, "idle connections end")  # noqa: B023
