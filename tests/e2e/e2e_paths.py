"""Makes the Python client of this tree and helpers of other tests importable. Import it before corank."""

from __future__ import annotations

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = ROOT / "client" / "python"
sys.path[:0] = [str(PYTHON), str(PYTHON / "src"), str(PYTHON / "tests"), str(ROOT / "tests" / "deploy")]
sys.path.append(str(ROOT / "tests" / "reliability"))

import generate  # noqa: E402

generate.ensure()
