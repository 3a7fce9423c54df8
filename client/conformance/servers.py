"""The real servers that the vectors need, each started when a vector first needs it."""

from __future__ import annotations

import hashlib
import os
import re
import socket
import tempfile
from pathlib import Path

from paths import ROOT

# isort: split
from certificates import Authority
from corank.testing import LocalServer
from faults import FaultServer
from strangers import Strangers

TOKEN = "a-token-of-the-conformance-suite"
LIMITED_BYTES = 64 << 10
_PLACES = ("--kept-bytes=256MiB", "--shared-memory=/corank-")


class Servers:
    """The servers and files of one run."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="corank-conformance-")
        self.folder = Path(self._folder.name)
        self._running: dict[str, LocalServer] = {}
        self._faults: FaultServer | None = None
        # Bound, so that nobody else takes the port, but nobody listens there.
        self._silent = socket.socket()
        self._silent.bind(("127.0.0.1", 0))
        self._authority = Authority()
        self._strangers = Strangers()
        self._write_files()

    def _write_files(self) -> None:
        stranger = Authority("stranger")
        pairs = {
            "server": self._authority.issue_server(),
            "client": self._authority.issue("client"),
            "stranger": stranger.issue("stranger"),
        }
        for name, pair in pairs.items():
            pair.save(self.folder, name)
        (self.folder / "token").write_text(TOKEN + "\n")
        (self.folder / "wrong-token").write_text("another-token\n")
        (self.folder / "ca.pem").write_bytes(self._authority.certificate)
        (self.folder / "stranger-ca.pem").write_bytes(stranger.certificate)
        digest = hashlib.sha256(TOKEN.encode()).hexdigest()
        (self.folder / "tokens").write_text(f"analytics {digest} operators\nnode certificate:client all\n")

    def named(self, text: str) -> str:
        """A text of a vector with what its words after "$" mean: the token, a file, or the address of a server."""
        return re.sub(r"\$([a-z_]+(?::[\w.-]+)?)", lambda match: self._meaning(match[1]), text)

    def _meaning(self, name: str) -> str:
        if name == "token":
            return TOKEN
        if name.startswith("none:"):
            return self._strangers.address(name.removeprefix("none:"))
        if name.startswith("file:"):
            return str(self.folder / name.removeprefix("file:"))
        if name == "faults":
            return self.faults().address
        if name == "late":
            return self.faults().late_address
        if name == "nobody":
            return f"127.0.0.1:{self._silent.getsockname()[1]}"
        return self.corankd(name).address

    def corankd(self, name: str) -> LocalServer:
        """The server of this name."""
        if name not in self._running:
            binary = os.environ.get("CORANKD", str(ROOT / "build" / "bin" / "corankd"))
            if not Path(binary).exists():
                raise RuntimeError(f"there is no {binary}; run `make build`, or set CORANKD")
            started = LocalServer(binary, ["--engine=cpu", "--host-pool-bytes=1GiB", *self._flags(name)])
            started.start()
            self._running[name] = started
        return self._running[name]

    def _flags(self, name: str) -> tuple[str, ...]:
        tls = (f"--tls-certificate={self.folder / 'server.pem'}", f"--tls-key={self.folder / 'server.key'}")
        tokens = f"--tokens-file={self.folder / 'tokens'}"
        return {
            "plain": _PLACES,
            "kept": ("--kept-bytes=256MiB",),
            "listed": ("--kept-bytes=64MiB",),
            "bare": (),
            "limited": (
                f"--max-request-bytes={LIMITED_BYTES}",
                "--kept-bytes=1MiB",
                f"--kept-quota-bytes={LIMITED_BYTES}",
            ),
            "unix": (f"--listen=unix:{self.folder / 'socket'}",),
            "tls": tls,
            "mtls": (*tls, f"--tls-client-ca={self.folder / 'ca.pem'}"),
            "tokens": (*_PLACES, tokens),
            "tls_token": (*tls, *_PLACES, tokens),
        }[name]

    def faults(self) -> FaultServer:
        """The fault server, before a server without shared memory."""
        if self._faults is None:
            self._faults = FaultServer(self.corankd("kept").address)
        return self._faults

    def stop(self) -> None:
        """Ends all of them."""
        if self._faults is not None:
            self._faults.stop()
        for server in self._running.values():
            server.kill()
        self._silent.close()
        self._strangers.stop()
        self._folder.cleanup()
