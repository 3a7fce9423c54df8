"""Lets the suite import the certificates and the TCP proxy of the repository's tests, from the project's Python."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_VENV = ROOT / ".deps" / "venv"
sys.path[:0] = [str(ROOT / name) for name in ("client/python/src", "client/python/tests", "tests/reliability")]


def use_environment() -> None:
    """Starts the program again with the Python of .deps/venv, unless it runs there or there is none."""
    python = _VENV / "bin" / "python"
    if python.exists() and Path(sys.prefix).resolve() != _VENV.resolve():
        os.execv(python, [str(python), *sys.argv])
