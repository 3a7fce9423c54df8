"""TLS, tokens, limits and the rule for plain text, with real processes."""

from __future__ import annotations

import contextlib
import hashlib
import json
import pathlib
import socket
import struct
import subprocess
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import corank
import grpc
import hostile_wire as h2
import numpy as np
import pytest
from certificates import Authority, Pair
from corank.testing import LocalServer
from e2e_support import MEMORY_SCALE, SERVING, code_of, health, samples
from waiting import wait_until

X = np.array([3, 1, 2], dtype=np.int32)

Serve = Callable[[Sequence[str]], LocalServer]


@pytest.fixture(name="serve")
def fixture_serve(corankd: pathlib.Path) -> Iterator[Serve]:
    """serve(flags) starts a server that stops with the test and must exit with 0."""
    with contextlib.ExitStack() as servers:

        def start(flags: Sequence[str]) -> LocalServer:
            server = LocalServer(corankd, flags)
            server.start()

            def stop() -> None:
                assert server.stop() == 0

            servers.callback(stop)
            return server

        yield start


def line(tenant: str, token: str, permissions: str) -> str:
    """A line of a tokens file."""
    return f"{tenant} {hashlib.sha256(token.encode()).hexdigest()} {permissions}\n"


def replace(path: pathlib.Path, data: bytes | str) -> pathlib.Path:
    """Replaces the file in one step."""
    new = path.with_suffix(".new")
    new.write_bytes(data.encode() if isinstance(data, str) else data)
    new.rename(path)
    return path


def tls_flags(folder: pathlib.Path, pair: Pair, client_ca: bytes = b"") -> list[str]:
    """Writes the files and returns the flags that name them."""
    flags = [
        f"--tls-certificate={replace(folder / 'tls.crt', pair.certificate)}",
        f"--tls-key={replace(folder / 'tls.key', pair.key)}",
    ]
    if client_ca:
        flags.append(f"--tls-client-ca={replace(folder / 'ca.crt', client_ca)}")
    return flags


def log_of(server: LocalServer, event: str) -> list[dict[str, Any]]:
    """The lines of the server's log with this event."""
    lines = [json.loads(text) for text in server.log_path.read_text().splitlines()]
    return [found for found in lines if found["event"] == event]


def connect(server: LocalServer, **security: Any) -> corank.Client:
    """A client that does not retry."""
    return corank.Client(server.address, deadline=20, retries=0, **security)


def status_of(server: LocalServer, **security: Any) -> str:
    """The status of a sort."""
    with connect(server, **security) as client:
        return code_of_client(client)


def code_of_client(client: corank.Client) -> str:
    """The name of the error of a sort, or "OK"."""
    try:
        client.sort(X)
    except corank.CorankError as error:
        return type(error).__name__
    return "OK"


def test_tls_and_tokens_from_python(serve: Serve, tmp_path: pathlib.Path) -> None:
    authority, stranger = Authority(), Authority("stranger")
    ca = replace(tmp_path / "authority.crt", authority.certificate)
    other = replace(tmp_path / "stranger.crt", stranger.certificate)
    tokens = replace(tmp_path / "tokens", line("left", "l-token", "all"))
    server = serve([*tls_flags(tmp_path, authority.issue_server()), f"--tokens-file={tokens}"])
    with connect(server, tls_ca=ca, token="l-token") as client:
        np.testing.assert_array_equal(client.sort(X), [1, 2, 3])
        big = np.arange(1 << 20, dtype=np.uint32)[::-1].copy()
        np.testing.assert_array_equal(client.sort(big), big[::-1])
    assert status_of(server, tls_ca=ca, token="wrong") == "PermissionDenied"
    assert status_of(server, tls_ca=ca) == "PermissionDenied"
    assert status_of(server, tls_ca=other, token="l-token") == "Unavailable"
    assert status_of(server) == "Unavailable"
    replace(tokens, line("left", "l-token-2", "all"))
    wait_until(lambda: status_of(server, tls_ca=ca, token="l-token") == "PermissionDenied", "the old token is void")
    assert status_of(server, tls_ca=ca, token="l-token-2") == "OK"
    now = samples(server)
    assert now['corank_refused_total{reason="unauthenticated"}'] >= 3
    assert now["corank_handshakes_failed_total"] >= 1
    current = 'corank_credentials_current{credentials="tokens"}'
    assert now[current] == 1
    replace(tokens, "no tokens\n")
    wait_until(lambda: samples(server)[current] == 0, "the broken file shows")
    assert status_of(server, tls_ca=ca, token="l-token-2") == "OK"
    replace(tokens, line("left", "l-token-3", "all"))
    wait_until(lambda: samples(server)[current] == 1, "the next one is taken")


def test_client_certificates_and_renewal(serve: Serve, tmp_path: pathlib.Path) -> None:
    authority, next_authority = Authority(), Authority("next")
    ca = replace(tmp_path / "authority.crt", authority.certificate)
    next_ca = replace(tmp_path / "next.crt", next_authority.certificate)
    own = authority.issue("node", "node.example")
    mine = {
        "tls_certificate": replace(tmp_path / "own.crt", own.certificate),
        "tls_key": replace(tmp_path / "own.key", own.key),
    }
    server = serve(tls_flags(tmp_path, authority.issue_server(), authority.certificate))
    assert status_of(server, tls_ca=ca, **mine) == "OK"
    assert status_of(server, tls_ca=ca) == "Unavailable"
    with connect(server, tls_ca=ca, **mine) as before:
        before.sort(X)
        replace(tmp_path / "tls.crt", b"broken")
        wait_until(lambda: bool(log_of(server, "tls_kept")), "the broken file is logged")
        assert samples(server)['corank_credentials_current{credentials="tls"}'] == 0
        assert status_of(server, tls_ca=ca, **mine) == "OK"
        tls_flags(tmp_path, next_authority.issue_server())
        wait_until(lambda: status_of(server, tls_ca=next_ca, **mine) == "OK", "the new certificate is served")
        assert code_of_client(before) == "OK"
    assert samples(server)['corank_credentials_current{credentials="tls"}'] == 1
    assert log_of(server, "tls_read")[-1]["valid_until"]


def test_health_port_beside_tls(serve: Serve, tmp_path: pathlib.Path) -> None:
    server = serve([*tls_flags(tmp_path, Authority().issue_server()), "--health-listen=127.0.0.1:0"])
    wait_until(lambda: bool(log_of(server, "ready")), "the server says that it is ready")  # it may serve before
    ready = log_of(server, "ready")[-1]
    with grpc.insecure_channel(ready["health"]) as channel:
        assert health(channel, "") == SERVING
        assert health(channel, "corank.v1.CorankService") == SERVING
        sort: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary("/corank.v1.CorankService/Sort")
        assert code_of(lambda: sort(b"", timeout=10))[0] == "UNIMPLEMENTED"
    with grpc.insecure_channel(server.address) as channel:
        assert code_of(lambda: health(channel, ""))[0] == "UNAVAILABLE"


def run(corankd: pathlib.Path, *flags: str) -> tuple[int, str]:
    """Exit code and stderr of a server that does not start."""
    ended = subprocess.run(
        [corankd, "--metrics-listen=", *flags], capture_output=True, text=True, check=False, timeout=60
    )
    return ended.returncode, ended.stderr


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--listen=0.0.0.0:0"], ["--listen", "--tls-certificate", "--insecure"]),
        (["--listen=[::]:0"], ["--insecure"]),
        (["--listen=127.0.0.1:0", "--tls-key=k"], ["--tls-certificate"]),
        (["--listen=127.0.0.1:0", "--tls-certificate=/no/such", "--tls-key=/no/such"], ["/no/such", "No such file"]),
        (["--listen=127.0.0.1:0", "--tokens-file={folder}/tokens"], ["--tokens-file", "line 2", "2 words"]),
        (["--listen=127.0.0.1:0", "--max-connections=0"], ["--max-connections"]),
        (["--listen=127.0.0.1:0", "--max-buffered-bytes=1MiB"], ["--max-buffered-bytes"]),
        (["--listen=127.0.0.1:0", "--health-listen=nowhere"], ["--health-listen"]),
    ],
    ids=[
        "all addresses",
        "all of IPv6",
        "half of TLS",
        "no file",
        "a broken line",
        "no connections",
        "few bytes",
        "no port",
    ],
)
def test_what_is_not_safe_does_not_start(
    corankd: pathlib.Path, tmp_path: pathlib.Path, flags: list[str], words: list[str]
) -> None:
    (tmp_path / "tokens").write_text(line("left", "l-token", "all") + "left broken\n")
    code, said = run(corankd, *(flag.format(folder=tmp_path) for flag in flags))
    assert code == 2, said
    for word in words:
        assert word in said


def test_insecure_is_for_those_who_say_so(corankd: pathlib.Path) -> None:
    server = LocalServer(corankd, ["--listen=0.0.0.0:0", "--insecure"])
    server.start()
    port = server.address.rpartition(":")[2]
    with corank.Client(f"127.0.0.1:{port}") as client:
        np.testing.assert_array_equal(client.sort(X), [1, 2, 3])
    assert server.stop() == 0


def test_settings_say_nothing_of_where_secrets_are(serve: Serve, tmp_path: pathlib.Path) -> None:
    tokens = replace(tmp_path / "tokens", line("left", "l-token", "all"))
    server = serve([f"--tokens-file={tokens}"])
    with connect(server, token="l-token") as client:
        assert str(tmp_path) not in str(client.info())


def test_a_connection_that_says_nothing_is_closed(serve: Serve) -> None:
    server = serve(["--handshake-timeout=200ms"])
    with h2.Connection(server.address, preface=False) as silent:
        assert silent.is_closed()


def test_streams_of_a_connection_and_metadata_are_limited(serve: Serve) -> None:
    server = serve(["--max-streams=3", "--max-header-bytes=2KiB"])
    with h2.Connection(server.address) as connection:
        first = next(payload for kind, _, _, payload in connection.frames() if kind == h2.SETTINGS)
        settings = dict(struct.iter_unpack(">HI", first))
        assert settings[3] == 3  # SETTINGS_MAX_CONCURRENT_STREAMS
        assert settings[6] == 2048  # SETTINGS_MAX_HEADER_LIST_SIZE
        connection.send(h2.frame(h2.SETTINGS, h2.ACK, 0))
        for _ in range(3):
            connection.open(h2.request_fields(h2.EXECUTE))
        over = connection.open(h2.request_fields(h2.EXECUTE))
        assert connection.ends(over)
    # By hand, because a gRPC client may find the connection closed before it reads the reason (test_hostile_wire.py).
    for size, code in ((2048, "0"), (2049, "8")):
        with h2.Connection(server.address) as connection:
            connection.exchange_settings()
            info = connection.open(h2.padded_fields("/corank.v1.CorankService/GetServerInfo", size))
            connection.send(h2.frame(h2.DATA, h2.END_STREAM, info, h2.message(b"")))
            assert connection.status(info)["grpc-status"] == code


def test_who_pings_too_often_is_hung_up_on(serve: Serve) -> None:
    server = serve(["--min-ping-interval=10m"])
    with h2.Connection(server.address) as connection:
        connection.open(h2.request_fields(h2.EXECUTE))
        for _ in range(10):
            connection.send(h2.frame(h2.PING, 0, 0, bytes(8)))
        goaway = next((payload for kind, _, _, payload in connection.frames() if kind == h2.GOAWAY), b"")
        assert b"too_many_pings" in goaway


class HalfSent:
    """A connection with a call whose message stops half-way; counts the bytes that the server let it send."""

    def __init__(self, server: LocalServer, size: int) -> None:
        self.connection = h2.Connection(server.address)
        stream = self.connection.open(h2.request_fields(h2.SORT))
        head = struct.pack(">BI", 0, size)
        self.connection.send(h2.frame(h2.DATA, 0, stream, head))
        self.left, self.sent, self.ended = size // 2, 0, False
        self._stream, self._windows = stream, {0: 65535 - len(head), stream: 65535 - len(head)}
        self._initial = 65535

    def push(self) -> bool:
        """Sends as much as the windows allow. False once nothing is left to do."""
        if self.ended or self.left == 0:
            return False
        room = min(*self._windows.values(), self.left, 16384)
        if room > 0:
            self.ended = not self.connection.send_patiently(h2.frame(h2.DATA, 0, self._stream, bytes(room)), seconds=5)
            for of in self._windows:
                self._windows[of] -= room
            self.left, self.sent = self.left - room, self.sent + room
        else:
            self._read()
        return True

    def _read(self) -> None:
        for kind, flags, of, payload in self.connection.frames(seconds=0.02):
            if kind == h2.WINDOW_UPDATE and of in self._windows:
                self._windows[of] += int.from_bytes(payload, "big")
            elif kind == h2.SETTINGS and not flags & h2.ACK:
                initial = dict(struct.iter_unpack(">HI", payload)).get(4, self._initial)
                self._windows[self._stream] += initial - self._initial
                self._initial = initial
                self.connection.send(h2.frame(h2.SETTINGS, h2.ACK, 0))
            elif kind in (h2.GOAWAY, h2.RST_STREAM) or (kind == h2.HEADERS and of == self._stream):
                self.ended = True
            if min(self._windows.values()) > 0 or self.ended:
                return


def resident(server: LocalServer) -> int:
    """Resident bytes of the server."""
    text = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return 1024 * int(text.split("VmRSS:")[1].split()[0])


def test_half_sent_messages_of_many_connections_are_bounded(serve: Serve) -> None:
    server = serve(["--max-request-bytes=16MiB", "--max-buffered-bytes=64MiB"])
    with server.connect() as client:
        client.sort(X)
    before = resident(server)
    with contextlib.ExitStack() as all_of_them:
        attackers = [HalfSent(server, 24 << 20) for _ in range(40)]
        for attacker in attackers:
            all_of_them.enter_context(attacker.connection)
        idle_rounds, most = 0, 0
        while idle_rounds < 10:
            sent = sum(attacker.sent for attacker in attackers)
            for attacker in attackers:
                attacker.push()
            most = max(most, resident(server) - before)
            idle_rounds = idle_rounds + 1 if sent == sum(attacker.sent for attacker in attackers) else 0
        offered = sum(attacker.sent + attacker.left for attacker in attackers)
        assert offered == 40 * (12 << 20)
        assert most < (128 << 20) * MEMORY_SCALE, f"{most >> 20} MiB for {offered >> 20} MiB offered"
    with server.connect() as client:
        np.testing.assert_array_equal(client.sort(X), [1, 2, 3])


def test_connections_over_the_limit_are_closed(serve: Serve) -> None:
    server = serve(["--max-connections=5"])
    with contextlib.ExitStack() as connections:
        for _ in range(5):
            connections.enter_context(h2.Connection(server.address))
        host, _, port = server.address.rpartition(":")
        sixth = connections.enter_context(socket.create_connection((host, int(port)), timeout=20))
        with contextlib.suppress(ConnectionResetError):
            assert sixth.recv(1) == b""
        wait_until(lambda: bool(log_of(server, "connections_refused")), "the refusal is logged")
        now = samples(server)
        assert now['corank_connections_refused_total{port="main"}'] == 1
        assert now['corank_connections_limit{port="main"}'] == 5
    with server.connect() as client:
        np.testing.assert_array_equal(client.sort(X), [1, 2, 3])
