"""A corankd of one's own, for tests and demonstrations."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from corank._client import Client
from corank._options import ConnectOptions, connect_options

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

__all__ = ["LocalServer"]

_DEFAULTS: ConnectOptions = {"deadline": 60.0, "progress": False}
_POLL_SECONDS = 0.02


class LocalServer:
    """A corankd process on free ports of 127.0.0.1.

        with LocalServer("build/bin/corankd") as server, server.connect() as client:
            client.sort(x)

    Entering waits until it serves; leaving stops it as SIGTERM does, by force only if it does not end. Its log is in
    the file `log_path`, deleted when it is left.

    Args:
        binary: path of corankd.
        arguments: further flags.
        start_seconds: how long to wait until it serves.
        stop_seconds: how long to wait until it ends.
    """

    def __init__(
        self,
        binary: str | os.PathLike[str],
        arguments: Sequence[str] = (),
        *,
        start_seconds: float = 60.0,
        stop_seconds: float = 60.0,
    ) -> None:
        self._command = [os.fspath(binary), "--listen=127.0.0.1:0", "--metrics-listen=127.0.0.1:0", *arguments]
        self._start_seconds, self._stop_seconds = start_seconds, stop_seconds
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self.address = ""
        """HOST:PORT of gRPC."""
        self.metrics_address = ""
        """HOST:PORT of the metrics."""
        self.engine = ""
        """"cuda" or "cpu"."""

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The running process."""
        if self._process is None:
            raise RuntimeError("the server is not started")
        return self._process

    @property
    def log_path(self) -> pathlib.Path:
        """The server's log: one JSON object a line."""
        if self._folder is None:
            raise RuntimeError("the server is not started")
        return pathlib.Path(self._folder.name) / "log"

    @connect_options
    def connect(self, **options: Unpack[ConnectOptions]) -> Client:
        """Makes a client of this server. Unless told otherwise, calls may take 60 seconds and show no progress.

        Args:
            **options: see ConnectOptions.
        """
        given: ConnectOptions = {**_DEFAULTS, **options}
        return Client(self.address, **given)

    def start(self) -> None:
        """Starts the process and waits until it serves.

        Raises:
            RuntimeError: it ended or did not serve in time; the message has the end of its log.
        """
        self._folder = tempfile.TemporaryDirectory(prefix="corankd-")
        ports = pathlib.Path(self._folder.name) / "ports.json"
        with self.log_path.open("wb") as log:
            self._process = subprocess.Popen(
                [*self._command, f"--ports-file={ports}"], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        end = time.monotonic() + self._start_seconds
        while not ports.exists():
            if self._process.poll() is not None or time.monotonic() > end:
                code, log_end = self._process.poll(), self.log_path.read_text(errors="replace")[-2000:]
                self.kill()
                what = f"ended with {code}" if code is not None else f"did not serve within {self._start_seconds:g} s"
                raise RuntimeError(f"{self._command[0]} {what}; the end of its log:\n{log_end}")
            time.sleep(_POLL_SECONDS)
        found = json.loads(ports.read_text())
        self.address, self.metrics_address, self.engine = found["grpc"], found["metrics"], found["engine"]

    def stop(self) -> int:
        """Asks it to drain and end (SIGTERM), waits, and returns its exit code; kills it if it does not end."""
        if self._process is None:
            return 0
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            code = self._process.wait(self._stop_seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self._forget()
        return code

    def kill(self) -> None:
        """Ends it at once, as a crash does (SIGKILL)."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._forget()

    def _forget(self) -> None:
        self._process = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stop()
