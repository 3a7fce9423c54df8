"""Programs of others against the wire: gRPC's interoperability client (grpc-go) and h2spec; see `make test-peers`.

Needs Go, which builds them, pinned, into .deps/peers; and the program interop_server of the build folder.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
from collections.abc import Iterator

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAMS = ROOT / ".deps" / "peers"
MODULES = {
    "client": "google.golang.org/grpc/interop/client@v1.85.0",
    "grpc-health-probe": "github.com/grpc-ecosystem/grpc-health-probe@v0.4.63",
    "h2spec": "github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible",
}
# All cases but those of compression, which the server refuses, of credentials and of load reports.
CASES = [
    "empty_unary",
    "large_unary",
    "client_streaming",
    "server_streaming",
    "ping_pong",
    "empty_stream",
    "timeout_on_sleeping_server",
    "cancel_after_begin",
    "cancel_after_first_response",
    "custom_metadata",
    "special_status_message",
    "status_code_and_message",
    "unimplemented_method",
    "unimplemented_service",
    "rpc_soak",
    "channel_soak",
]


def program(name: str) -> pathlib.Path:
    """The program, built if it is not there."""
    path = PROGRAMS / name
    if path.exists():
        return path
    if shutil.which("go") is None:
        pytest.skip("needs Go 1.24 or newer")
    subprocess.run(["go", "install", MODULES[name]], env={**os.environ, "GOBIN": str(PROGRAMS)}, check=True)
    return path


def serve(*arguments: str) -> Iterator[int]:
    """Runs interop_server; yields its port."""
    server = pathlib.Path(os.environ.get("INTEROP_SERVER", ROOT / "build" / "bin" / "interop_server"))
    process = subprocess.Popen([server, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    yield int(process.stdout.readline())
    process.stdin.close()
    assert process.wait(timeout=10) == 0


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    yield from serve()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A certificate for localhost that signs itself, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    paths = str(folder / "certificate.pem"), str(folder / "key.pem")
    options = "-x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=localhost"
    command = ["openssl", "req", *options.split(), "-addext", "subjectAltName=DNS:localhost"]
    subprocess.run([*command, "-out", paths[0], "-keyout", paths[1]], check=True, capture_output=True)
    return paths


@pytest.fixture(scope="module")
def tls_port(certificate: tuple[str, str]) -> Iterator[int]:
    yield from serve(*certificate)


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def interop(case: str, port: int, *flags: str) -> subprocess.CompletedProcess[str]:
    return run(str(program("client")), "-server_host=127.0.0.1", f"-server_port={port}", f"-test_case={case}", *flags)


@pytest.mark.parametrize("case", CASES)
def test_interop_client(case: str, port: int) -> None:
    done = interop(case, port, "-soak_iterations=50", "-soak_max_failures=0")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("case", ["large_unary", "ping_pong", "custom_metadata"])
def test_interop_client_by_tls(case: str, tls_port: int, certificate: tuple[str, str]) -> None:
    trust = ["-use_tls", "-use_test_ca", f"-ca_file={certificate[0]}", "-server_host_override=localhost"]
    done = interop(case, tls_port, *trust)
    assert done.returncode == 0, done.stdout + done.stderr


def test_h2spec(port: int) -> None:
    path = "/grpc.testing.TestService/EmptyCall"
    done = run(str(program("h2spec")), "-h", "127.0.0.1", "-p", str(port), "--path", path, "-o", "5")
    counts = re.search(r"(\d+) tests, (\d+) passed, (\d+) skipped, (\d+) failed", done.stdout)
    assert counts is not None, done.stdout
    assert int(counts[1]) >= 145, done.stdout
    assert counts[1] == counts[2], done.stdout
