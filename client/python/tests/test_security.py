"""TLS, tokens and traces, and in which words what is wrong with them reaches the caller."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any

import grpc
import numpy as np
import pytest
from certificates import Authority, Files, Pair
from fake_server import GRPC, FakeServer
from virtual_clock import VirtualClock

import corank
import corank.__main__
from corank._address import is_this_host
from corank._credentials import Credentials, trace_id, traceparent

X = np.array([3, 1, 2], dtype=np.int32)
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """The one that everybody should trust."""
    return Authority("authority")


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """The other one."""
    return Authority("stranger")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The folder of the files."""
    return tmp_path_factory.mktemp("tls")


@pytest.fixture(scope="module")
def ca(authority: Authority, folder: pathlib.Path) -> pathlib.Path:
    """The certificate of the authority that everybody should trust."""
    return authority.save(folder)


@pytest.fixture(scope="module")
def own(authority: Authority) -> Pair:
    """The server's."""
    return authority.issue("server", "127.0.0.1")


@pytest.fixture(scope="module")
def files(own: Pair, folder: pathlib.Path) -> Files:
    """The same in files."""
    return own.save(folder)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the environment is taken but what a test sets."""
    for name in ("CORANK_TOKEN", "CORANK_SERVER_CA", "CORANK_CLIENT_CERTIFICATE", "CORANK_CLIENT_KEY"):
        monkeypatch.delenv(name, raising=False)


def server_credentials(own: Pair, clients: Authority | None = None) -> grpc.ServerCredentials:
    """The credentials of a server that takes every client, or only clients with a certificate of `clients`."""
    roots = None if clients is None else clients.certificate
    return grpc.ssl_server_credentials([(own.key, own.certificate)], roots, clients is not None)


@pytest.mark.parametrize(
    "target",
    [
        *("127.0.0.1:50051", "127.8.9.1:1", "localhost:50051", "LOCALHOST:1", "[::1]:50051", "::1", "localhost"),
        *("dns:///localhost:1", "dns:127.0.0.1:1", "ipv4:127.0.0.1:1,127.0.0.2:1", "unix:/run/x", "unix-abstract:x"),
    ],
)
def test_addresses_of_this_host(target: str) -> None:
    assert is_this_host(target)


@pytest.mark.parametrize(
    "target",
    [
        *("127.example.com:50051", "127.0.0.1.example.com:1", "localhost.example.com:1", "10.0.0.1:1", "gpu-host:1"),
        *("128.0.0.1:1", "[::2]:1", "ipv4:127.0.0.1:1,10.0.0.1:1", "dns://10.0.0.1/localhost:1", "0.0.0.0:1", ""),
    ],
)
def test_addresses_that_may_be_of_another_host(target: str) -> None:
    assert not is_this_host(target)


def test_traceparent_is_what_the_standard_says() -> None:
    assert traceparent(TRACE) == TRACE
    assert trace_id(TRACE) == TRACE[3:35]
    for text in ("", "00", TRACE[:-3], TRACE.upper(), TRACE + "\n", TRACE + "-x", "01" + TRACE[2:], f"00-{'0' * 32}-"):
        with pytest.raises(corank.InvalidArgument, match="traceparent"):
            traceparent(text)


@pytest.mark.parametrize("address", ["gpu-host:50051", "127.0.0.1.example.com:1", "10.1.2.3:50051"])
def test_token_does_not_leave_this_host_in_the_clear(address: str) -> None:
    with pytest.raises(corank.InvalidArgument, match=rf"anyone on the way to {address}.*tls_ca=") as caught:
        corank.connect(address, token="s3cret")
    assert "s3cret" not in str(caught.value)
    corank.connect(address, token="s3cret", tls=True).close()
    corank.connect("127.0.0.1:1", token="s3cret").close()


def test_token_of_the_environment_does_not_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CORANK_TOKEN", "s3cret")
    monkeypatch.setenv("CORANK_SERVER", "gpu-host:50051")
    with corank.connect() as client, pytest.raises(corank.InvalidArgument, match="anyone on the way to gpu-host"):
        client.sort(X)


def test_command_says_it_in_a_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("CORANK_TOKEN", "s3cret")
    assert corank.__main__.main(["--server", "gpu-host:50051"]) == 1
    assert capsys.readouterr().err.startswith("corank: token: anyone on the way to gpu-host:50051")


@pytest.mark.parametrize("token", ["two words", "line\nbreak", "été", " \n"])
def test_tokens_that_no_header_can_hold_are_refused_and_not_repeated(tmp_path: pathlib.Path, token: str) -> None:
    file = tmp_path / "token"
    file.write_text(token)
    with pytest.raises(corank.InvalidArgument, match="token_file: a token is one word") as caught:
        corank.connect("127.0.0.1:1", token_file=file)
    assert "words" not in str(caught.value)
    with pytest.raises(corank.InvalidArgument, match="not both"):
        corank.connect("127.0.0.1:1", token_file=file, token="a")
    with pytest.raises(corank.InvalidArgument, match="No such file"):
        corank.connect("127.0.0.1:1", token_file=tmp_path / "missing")


def test_files_of_tls_are_checked_at_once(tmp_path: pathlib.Path, ca: pathlib.Path, files: Files) -> None:
    with pytest.raises(corank.InvalidArgument, match="tls_ca: cannot read"):
        corank.connect("h:1", tls_ca=tmp_path / "missing")
    with pytest.raises(corank.InvalidArgument, match=r"tls_ca: .* must be PEM"):
        corank.connect("h:1", tls_ca=files.key)
    with pytest.raises(corank.InvalidArgument, match="give both, or none"):
        corank.connect("h:1", tls_ca=ca, tls_certificate=files.certificate)
    with pytest.raises(corank.InvalidArgument, match=r"tls_key: .* must be PEM"):
        corank.connect("h:1", tls_ca=ca, tls_certificate=files.certificate, tls_key=files.certificate)


def test_environment_stands_for_what_is_not_given(ca: pathlib.Path, files: Files) -> None:
    found = {
        "CORANK_SERVER_CA": str(ca),
        "CORANK_CLIENT_CERTIFICATE": str(files.certificate),
        "CORANK_CLIENT_KEY": str(files.key),
        "CORANK_TOKEN": "of-the-environment",
    }
    credentials = Credentials("gpu-host:1", environment=found)
    assert credentials.channel is not None
    assert credentials.authorization == "Bearer of-the-environment"
    assert Credentials("gpu-host:1", token="given", environment=found).authorization == "Bearer given"
    nothing = Credentials("gpu-host:1", environment={})
    assert (nothing.channel, nothing.authorization) == (None, "")


def test_either_side_knows_the_other(authority: Authority, own: Pair, ca: pathlib.Path, folder: pathlib.Path) -> None:
    client_own = authority.issue("client", "client").save(folder, "client")
    for clients in (None, authority):
        server = FakeServer(credentials=server_credentials(own, clients))
        with corank.connect(
            server.address,
            tls_ca=ca,
            tls_certificate=client_own.certificate,
            tls_key=client_own.key,
        ) as client:
            np.testing.assert_array_equal(client.sort(X), [1, 2, 3])
        server.stop()


def cases(
    authority: Authority, stranger: Authority, own: Pair, folder: pathlib.Path
) -> Iterator[tuple[Any, dict[str, Any], str, bool]]:
    """The server's credentials, the client's arguments, the words, and whether it is tried again."""
    ca = {"tls_ca": authority.save(folder)}
    strange = stranger.issue("client", "client").save(folder, "strange")
    client = authority.issue("another", "client").save(folder, "another")
    plain = server_credentials(own)
    mutual = server_credentials(own, authority)
    expired = server_credentials(authority.issue("expired", "127.0.0.1", days=-1))
    elsewhere = server_credentials(authority.issue("elsewhere", "gpu.example"))
    both = {"tls_certificate": client.certificate, "tls_key": strange.key}
    yield (
        plain,
        {"tls_ca": stranger.save(folder)},
        r"not signed by an authority in .*stranger.pem.*\(tls_ca=\)",
        False,
    )
    yield expired, ca, "it has expired; have it renewed" if GRPC >= (1, 71) else "or has expired", False
    yield elsewhere, ca, r"does not hold the name that was asked for; .*\(tls_server_name=\)", False
    yield plain, {}, r"closed the connection before any call: it may want TLS \(tls_ca=\)", True
    yield None, ca, "does not speak TLS on this port", False
    yield mutual, ca, r"it may want a certificate that it trusts \(tls_certificate=, tls_key=\)", True
    if GRPC >= (1, 71):  # older versions do not say why there is no connection
        yield mutual, {**ca, **both}, "tls_key is not the key of tls_certificate", False


def test_errors_of_tls_say_what_to_change(
    authority: Authority, stranger: Authority, own: Pair, folder: pathlib.Path
) -> None:
    for credentials, arguments, words, tried in cases(authority, stranger, own, folder):
        server = FakeServer(credentials=credentials)
        clock = VirtualClock(0.0)
        with corank.connect(server.address, **arguments) as client:
            client._connection.retrier.clock = clock
            with pytest.raises(corank.Unavailable, match=words):
                client.sort(X)
        assert len(clock.sleeps) == (5 if tried else 0), words
        server.stop()


def test_the_name_to_expect_may_be_another(authority: Authority, ca: pathlib.Path) -> None:
    server = FakeServer(credentials=server_credentials(authority.issue("named", "gpu.example")))
    with corank.connect(server.address, tls_ca=ca, tls_server_name="gpu.example") as client:
        np.testing.assert_array_equal(client.sort(X), [1, 2, 3])
    server.stop()


def test_token_and_trace_go_with_every_call(fake: FakeServer) -> None:
    with corank.connect(fake.address, token="s3cret", traceparent=TRACE, progress=False) as client:
        client.sort(X)
        client.sort(np.zeros(50_000, np.int32), place="stream")
        client.share(X).close()
        client.store("x", X).fetch()
        client.arrays()
        client.delete("x")
    assert len(fake.headers) >= 8
    for method, headers in fake.headers:
        assert headers.get("authorization") == "Bearer s3cret", method
        assert headers.get("traceparent") == TRACE, method
    called = {method.rpartition("/")[2] for method, _ in fake.headers}
    assert {"Sort", "Execute", "StoreArray", "FetchArray", "OpenLease", "DeleteArray", "ListArrays"} <= called
    with corank.connect(fake.address) as client, pytest.raises(corank.InvalidArgument, match="traceparent"):
        client.sort(X, traceparent="nonsense")


def test_error_names_request_and_trace(fake: FakeServer) -> None:
    fake.fail_next(grpc.StatusCode.INVALID_ARGUMENT, "must not be negative", field="limit")
    with corank.connect(fake.address, traceparent=TRACE) as client, pytest.raises(corank.InvalidArgument) as caught:
        client.sort(X, request_id="mine")
    assert str(caught.value).endswith("[request mine, trace 4bf92f3577b34da6a3ce929d0e0e4736]")
    assert caught.value.trace_id == TRACE[3:35]


def test_token_that_was_replaced_is_read_again(fake: FakeServer, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "token"
    file.write_text("old\n")
    with corank.connect(fake.address, token_file=file) as client:
        file.write_text("new")
        fake.fail_next(grpc.StatusCode.UNAUTHENTICATED, "the token is not known")
        np.testing.assert_array_equal(client.sort(X), [1, 2, 3])
        sent = [headers["authorization"] for _, headers in fake.headers]
        assert sent == ["Bearer old", "Bearer new"]
        fake.fail_next(grpc.StatusCode.UNAUTHENTICATED, "the token is not known", times=2)
        with pytest.raises(
            corank.PermissionDenied, match=r"give a token that the server knows \(token=, token_file=\)"
        ):
            client.sort(X)
        assert len(fake.headers) == 3


def test_callers_without_permission_are_told_whom_to_ask(fake: FakeServer, fake_client: corank.Client) -> None:
    fake.fail_next(grpc.StatusCode.PERMISSION_DENIED, "its words")
    with pytest.raises(corank.PermissionDenied, match="its words; the operator of the server can allow it"):
        fake_client.sort(X)
