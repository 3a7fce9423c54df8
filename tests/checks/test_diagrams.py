"""The committed diagrams are what their script draws."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_committed_diagrams_are_what_the_script_draws(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(ROOT / "scripts" / "docs" / "sequence.py"), str(tmp_path)], check=True)
    drawn = sorted(tmp_path.iterdir())
    assert [path.name for path in drawn] == ["streamed-sort.svg", "unary-call.svg"]
    for path in drawn:
        assert path.read_text("utf-8") == (ROOT / "docs" / "images" / path.name).read_text("utf-8"), path.name
