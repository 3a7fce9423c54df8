"""Runs a program against a corankd of its own, whose address is in CORANK_SERVER. CORANKD names the server."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python" / "src"))

from corank.testing import LocalServer

with LocalServer(os.environ["CORANKD"], ["--engine=cpu", "--kept-bytes=64MiB"]) as server:
    environment = {**os.environ, "CORANK_SERVER": server.address}
    sys.exit(subprocess.run(sys.argv[1:], env=environment, timeout=300, check=False).returncode)
