"""Runs echo_server, which sends messages back unchanged."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_START_SECONDS = 60.0


@contextmanager
def echo_server(binary: Path, *flags: str) -> Iterator[str]:
    """Runs it for as long as the context lasts, and yields its address.

    Args:
        binary: path of echo_server.
        flags: `--hold`: it answers a stream when all of it has come, as a sort must; `--copy`: it copies messages.

    Raises:
        RuntimeError: it does not serve, or ended before the context did.
    """
    with tempfile.TemporaryDirectory() as folder:
        ports = Path(folder) / "ports"
        process = subprocess.Popen([binary, f"--ports_file={ports}", *flags])
        try:
            end = time.monotonic() + _START_SECONDS
            while not ports.exists():
                if process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(f"{binary} does not serve")
                time.sleep(0.02)
            yield str(json.loads(ports.read_text(encoding="utf-8"))["grpc"])
            if process.poll() is not None:
                raise RuntimeError(f"{binary} ended with {process.returncode}")
        finally:
            process.terminate()
            process.wait()
