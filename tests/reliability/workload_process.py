"""Runs workload.py as a process of its own."""

from __future__ import annotations

import sys

import conftest  # noqa: F401
from workload import main

if __name__ == "__main__":
    sys.exit(main())
