"""Lets the suite import the certificates and the TCP proxy of the repository's tests."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / name) for name in ("e2e", "reliability")]
