"""`corank health`, as operators, Docker and Kubernetes call it."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
from collections.abc import Callable, Sequence

import pytest
from certificates import Authority
from corank.testing import LocalServer
from e2e_support import samples, unused_address
from held_calls import CHUNK, StreamCall, Work, random_keys
from waiting import wait_until

Health = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(name="health")
def fixture_health(cli: pathlib.Path) -> Health:
    """health(address, words..., environment={}) runs `corank health` until it exits."""

    def run(address: str, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("CORANK_")}
        return subprocess.run(
            [cli, "health", "--server", address, *words],
            env={**clean, **environment},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


def one_line(text: str) -> bool:
    """Whether the text is exactly one line."""
    return text.endswith("\n") and text.count("\n") == 1


@pytest.mark.parametrize(
    "words", [(), ("--service", "live"), ("--service", "corank.v1.CorankService"), ("--service=",)]
)
def test_a_healthy_server_is_serving(server: LocalServer, health: Health, words: Sequence[str]) -> None:
    done = health(server.address, *words)
    assert (done.returncode, done.stdout, done.stderr) == (0, "SERVING\n", "")


def test_json_names_server_service_and_status(server: LocalServer, health: Health) -> None:
    done = health(server.address, "--json", "--service", "live")
    assert done.returncode == 0
    assert json.loads(done.stdout) == {"server": server.address, "service": "live", "status": "SERVING"}
    quiet = health(server.address, "--quiet")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")


@pytest.mark.parametrize("wait", [(), ("--wait", "200ms")])
def test_a_service_that_does_not_exist_is_said_to(server: LocalServer, health: Health, wait: Sequence[str]) -> None:
    done = health(server.address, "--service", "engine.cuda.99", *wait)
    assert (done.returncode, done.stdout) == (1, "")
    assert "SERVICE_UNKNOWN: the server knows no service 'engine.cuda.99'; it has ready, live" in done.stderr
    assert one_line(done.stderr)


@pytest.mark.parametrize("wait", [(), ("--wait", "300ms")])
def test_no_server_is_exit_code_4(health: Health, wait: Sequence[str]) -> None:
    address = unused_address()
    done = health(address, *wait)
    assert (done.returncode, done.stdout) == (4, "")
    assert f"corank health: no corank server answers at {address} (Connection refused)" in done.stderr
    assert one_line(done.stderr)


def test_a_server_that_hangs_is_exit_code_4_within_the_deadline(corankd: pathlib.Path, health: Health) -> None:
    with LocalServer(corankd) as server:
        server.process.send_signal(signal.SIGSTOP)
        try:
            done = health(server.address, "--deadline", "300ms")
        finally:
            server.process.send_signal(signal.SIGCONT)
        assert (done.returncode, done.stdout) == (4, "")
        assert "the deadline passed" in done.stderr
        assert one_line(done.stderr)


def test_a_server_that_drains_is_live_but_not_ready(corankd: pathlib.Path, health: Health) -> None:
    # The health port stays open until the process ends, and a stream whose caller has not sent all holds it.
    patient = ["--drain-timeout=10m", "--stream-idle-timeout=10m"]
    with LocalServer(corankd, [*patient, f"--health-listen={(probes := unused_address())}"]) as server:
        assert health(probes, "--plaintext").returncode == 0
        stream = StreamCall(server.address, Work(random_keys(2 * CHUNK), timeout=600, send=1))
        wait_until(lambda: samples(server)["corank_stream_jobs"] > 0, "the stream has begun")
        server.process.send_signal(signal.SIGTERM)
        wait_until(lambda: health(probes).returncode == 1, "the server is not ready")
        for wait in [(), ("--wait", "400ms")]:
            done = health(probes, *wait)
            assert (done.returncode, done.stdout) == (1, "")
            assert "corank health: NOT_SERVING: the server accepts no requests: it is shutting down" in done.stderr
            assert one_line(done.stderr)
        assert json.loads(health(probes, "--json").stdout)["status"] == "NOT_SERVING"
        assert health(probes, "--service", "live").returncode == 0
        stream.go_on()
        assert stream.code() == "OK"
        assert server.process.wait(60) == 0
        assert health(probes).returncode == 4


def test_wait_waits_for_a_server_that_comes_up(corankd: pathlib.Path, cli: pathlib.Path, server: LocalServer) -> None:
    address = unused_address()
    with subprocess.Popen(
        [cli, "health", "--server", address, "--wait", "60s"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as waiting:
        with LocalServer(corankd, [f"--listen={address}"]):
            out, err = waiting.communicate(timeout=60)
        assert (waiting.returncode, out, err) == (0, "SERVING\n", "")


def test_tls_and_the_plaintext_port_beside_it(corankd: pathlib.Path, health: Health, tmp_path: pathlib.Path) -> None:
    authority = Authority()
    files = authority.issue("server", "127.0.0.1").save(tmp_path)
    (tmp_path / "tokens").write_text(f"tenant {'0' * 64} all\n")
    probes = unused_address()
    flags = [
        f"--tls-certificate={files.certificate}",
        f"--tls-key={files.key}",
        f"--tokens-file={tmp_path / 'tokens'}",
        f"--health-listen={probes}",
    ]
    ca = str(authority.save(tmp_path))
    with LocalServer(corankd, flags) as server:
        assert health(server.address, "--tls-ca", ca).stdout == "SERVING\n"
        assert health(server.address, CORANK_SERVER_CA=ca).stdout == "SERVING\n"
        assert health(server.address, "--tls-ca", ca, "--wait", "60s").stdout == "SERVING\n"
        assert health(probes).stdout == "SERVING\n"
        assert health(probes, "--plaintext", CORANK_SERVER_CA=ca).stdout == "SERVING\n"
        # Waiting cannot help here, so the command fails at once.
        for words in ((), ("--wait", "1h")):
            untrusted = health(server.address, "--tls", *words)
            assert (untrusted.returncode, untrusted.stdout) == (4, "")
            assert "is not trusted" in untrusted.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--wait", "soon"), "--wait must be a positive time"),
        (("--wait", "1s", "--deadline", "1s"), "give --wait or --deadline"),
        (("--plaintext", "--tls"), "--plaintext does not go together with --tls"),
        (("ready",), "unexpected argument 'ready'"),
        (("--token-file", "x"), "unknown option --token-file"),
    ],
)
def test_wrong_usage_is_exit_code_2(health: Health, words: Sequence[str], message: str) -> None:
    done = health("127.0.0.1:1", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert one_line(done.stderr)
