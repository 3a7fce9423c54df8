"""grpc_health_probe, which many probes of Kubernetes still are, against both ports; see `make test-peers`."""

from __future__ import annotations

import pathlib
import signal
from collections.abc import Iterator

import proxies  # noqa: F401

# isort: split
import pytest
from certificates import Authority
from corank.testing import LocalServer
from e2e_support import samples, unused_address
from held_calls import CHUNK, StreamCall, Work, random_keys
from proxies import corankd, tls_flags
from test_peers import program, run
from waiting import wait_until

UNHEALTHY, RPC_FAILURE, CONNECTION_FAILURE = 4, 3, 2
"""Exit codes of the probe."""


def probe(address: str, *flags: str) -> int:
    """The exit code; 0 means SERVING."""
    done = run(str(program("grpc-health-probe")), f"-addr={address}", "-connect-timeout=5s", "-rpc-timeout=5s", *flags)
    return done.returncode


def flags_of(security: str, folder: pathlib.Path) -> tuple[list[str], list[str]]:
    """Flags of the server and of the probe."""
    if security == "plaintext":
        return [], []
    authority = Authority()
    ca = authority.save(folder)
    server, client = tls_flags(folder, authority), ["-tls", f"-tls-ca-cert={ca}", "-tls-server-name=localhost"]
    if security == "mutual":
        own = authority.issue("probe").save(folder, "probe")
        server.append(f"--tls-client-ca={ca}")
        client += [f"-tls-client-cert={own.certificate}", f"-tls-client-key={own.key}"]
    return server, client


@pytest.fixture(params=["plaintext", "tls", "mutual"])
def probed(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Iterator[tuple[LocalServer, str, list[str]]]:
    """A server, the address of its health port, and the probe's flags for the main port."""
    for_server, for_probe = flags_of(request.param, tmp_path)
    health = unused_address()
    flags = ["--engine=cpu", f"--health-listen={health}", "--drain-timeout=10m", "--stream-idle-timeout=10m"]
    with LocalServer(corankd(), [*flags, *for_server]) as server:
        yield server, health, for_probe


def test_probe_finds_a_server_that_serves(probed: tuple[LocalServer, str, list[str]]) -> None:
    server, health, secure = probed
    for address, flags in ((server.address, secure), (health, [])):
        assert probe(address, *flags) == 0
        for service in ("live", "ready", "engine.cpu.0"):
            assert probe(address, f"-service={service}", *flags) == 0
        assert probe(address, "-service=none", *flags) == RPC_FAILURE
    assert probe(unused_address()) == CONNECTION_FAILURE


def test_probe_without_the_right_credentials_fails(probed: tuple[LocalServer, str, list[str]]) -> None:
    server, _, secure = probed
    if not secure:
        assert probe(server.address, "-tls", "-tls-no-verify") == CONNECTION_FAILURE
        return
    assert probe(server.address) != 0
    without = [flag for flag in secure if not flag.startswith("-tls-client-")]
    if without != secure:
        assert probe(server.address, *without) != 0


@pytest.mark.parametrize("probed", ["plaintext"], indirect=True)
def test_probe_finds_a_server_that_drains(probed: tuple[LocalServer, str, list[str]]) -> None:
    server, health, _ = probed
    stream = StreamCall(server.address, Work(random_keys(2 * CHUNK), timeout=600, send=1))
    wait_until(lambda: samples(server)["corank_stream_jobs"] > 0, "a stream keeps the server")
    server.process.send_signal(signal.SIGTERM)
    wait_until(lambda: probe(health) == UNHEALTHY, "it drains")
    for address in (server.address, health):
        assert probe(address, "-service=ready") == UNHEALTHY
        assert probe(address, "-service=live") == 0
    stream.go_on()
    assert stream.code() == "OK"
    assert server.process.wait(60) == 0
