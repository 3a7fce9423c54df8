"""nginx, HAProxy and Envoy with the configurations of deploy/proxies, in front of servers of a test."""

from __future__ import annotations

import os
import pathlib
import re
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "tests" / "e2e"))

import e2e_paths  # noqa: E402, F401

# isort: split
from certificates import Authority  # noqa: E402
from e2e_support import unused_address  # noqa: E402
from waiting import wait_until  # noqa: E402

PROGRAMS = ROOT / ".deps" / "proxies" / "usr"
# What the configurations name: servers by default and where they listen.
BACKENDS = ("127.0.0.1:50051", "127.0.0.1:50061")


def corankd() -> pathlib.Path:
    """The server's binary."""
    return pathlib.Path(os.environ.get("CORANKD", ROOT / "build" / "bin" / "corankd"))


def tls_flags(folder: pathlib.Path, authority: Authority) -> list[str]:
    """Flags of a server whose certificate the proxies trust."""
    files = authority.issue_server().save(folder, "server")
    return [f"--tls-certificate={files.certificate}", f"--tls-key={files.key}"]


class Proxy:
    """A context manager that runs a proxy in front of servers.

    Args:
        folder: for its files.
        servers: HOST:PORT of two servers, which may be the same.
        authority: of its certificate and those of the servers; None: no TLS on either side.
        changes: texts of its configuration, and what stands there instead.
    """

    name = ""
    balances_calls = True
    """Otherwise it balances connections."""
    health_connections = 0
    """How many connections to a server stay open for checks of its health."""

    def __init__(
        self,
        folder: pathlib.Path,
        servers: Sequence[str],
        authority: Authority | None = None,
        changes: Mapping[str, str] | None = None,
    ) -> None:
        self.folder, self.address = folder, unused_address()
        self._servers, self._authority = servers, authority
        self._changes = dict(changes or {})
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Proxy:
        program = PROGRAMS / "sbin" / self.name
        if not program.exists():
            pytest.skip("needs the proxies: scripts/proxies.sh unpacks them")
        self.folder.mkdir(exist_ok=True)
        text = (ROOT / "deploy" / "proxies" / self._file()).read_text()
        for old, new in self._changes.items():
            assert old in text, old
            text = text.replace(old, new)
        config = self.folder / self._file()
        config.write_text(self._configure(text))
        libraries = {**os.environ, "LD_LIBRARY_PATH": str(PROGRAMS / "lib" / "x86_64-linux-gnu")}
        with (self.folder / "log").open("wb") as log:
            command = [str(program), *self._arguments(config)]
            self._process = subprocess.Popen(command, env=libraries, stdout=log, stderr=log, cwd=self.folder)
        wait_until(self._serves, f"{self.name} serves")
        return self

    def __exit__(self, *exc_info: object) -> None:
        assert self._process is not None
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _serves(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.folder / "log").read_text()
        host, _, port = self.address.rpartition(":")
        try:
            socket.create_connection((host, int(port)), 1).close()
        except OSError:
            return False
        return True

    def _save_certificates(self) -> None:
        """Writes the files that the configuration names."""
        assert self._authority is not None
        own = self._authority.issue_server()
        (self.folder / "corank.pem").write_bytes(own.certificate)
        (self.folder / "corank.key").write_bytes(own.key)
        (self.folder / "corank-ca.pem").write_bytes(self._authority.certificate)

    def _file(self) -> str:
        raise NotImplementedError

    def _arguments(self, config: pathlib.Path) -> list[str]:
        raise NotImplementedError

    def _configure(self, text: str) -> str:
        raise NotImplementedError


class Nginx(Proxy):
    """nginx, as one process in the foreground."""

    name = "nginx"

    def _file(self) -> str:
        return "nginx.conf"

    def _arguments(self, config: pathlib.Path) -> list[str]:
        return ["-p", str(self.folder), "-c", str(config), "-e", "stderr"]

    def _configure(self, text: str) -> str:
        for backend, server in zip(BACKENDS, self._servers, strict=True):
            text = text.replace(backend, server)
        text = text.replace("listen 443", f"listen {self.address}").replace("/etc/nginx", str(self.folder))
        if self._authority is None:
            text = text.replace(" ssl http2", " http2").replace("grpcs://", "grpc://")
            text = re.sub(r"^ *(grpc_)?ssl_.*\n", "", text, flags=re.MULTILINE)
        else:
            self._save_certificates()
        paths = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        own = "".join(f"  {path}_temp_path {self.folder}/{path};\n" for path in paths)
        text = text.replace("http {\n", f"http {{\n  access_log off;\n{own}")
        return f"daemon off;\nmaster_process off;\npid {self.folder}/pid;\nerror_log stderr info;\n{text}"


class Haproxy(Proxy):
    """HAProxy in the foreground."""

    name = "haproxy"
    balances_calls = False

    def _file(self) -> str:
        return "haproxy.cfg"

    def _arguments(self, config: pathlib.Path) -> list[str]:
        return ["-db", "-f", str(config)]

    def _configure(self, text: str) -> str:
        for backend, server in zip(BACKENDS, self._servers, strict=True):
            text = text.replace(backend, server)
        text = text.replace("0.0.0.0:443", self.address).replace("/etc/haproxy", str(self.folder))
        if self._authority is None:
            return re.sub(r"^ *default-server check-ssl.*\n", "", text, flags=re.MULTILINE)
        (self.folder / "corank-ca.pem").write_bytes(self._authority.certificate)
        return text


class Envoy(Proxy):
    """Envoy with two threads."""

    name = "envoy"
    health_connections = 1

    def _file(self) -> str:
        return "envoy.yaml"

    def _arguments(self, config: pathlib.Path) -> list[str]:
        return ["-c", str(config), "--use-dynamic-base-id", "--concurrency", "2", "--log-level", "warning"]

    def _configure(self, text: str) -> str:
        tree: Any = yaml.safe_load(text.replace("/etc/envoy", str(self.folder)))
        (listener,), (cluster,) = tree["static_resources"]["listeners"], tree["static_resources"]["clusters"]
        self._move(listener["address"], self.address)
        endpoints = cluster["load_assignment"]["endpoints"][0]["lb_endpoints"]
        for endpoint, server in zip(endpoints, self._servers, strict=True):
            self._move(endpoint["endpoint"]["address"], server)
        if self._authority is None:
            del listener["filter_chains"][0]["transport_socket"], cluster["transport_socket"]
        else:
            self._save_certificates()
        return yaml.safe_dump(tree)

    @staticmethod
    def _move(address: Any, to: str) -> None:
        host, _, port = to.rpartition(":")
        address["socket_address"].update(address=host, port_value=int(port))


PROXIES: list[type[Proxy]] = [Nginx, Haproxy, Envoy]
