"""The committed diagrams are what their script draws, and the way of a Sort names files of today."""

from __future__ import annotations

import re
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


def test_a_sort_passes_at_most_15_files_all_of_which_are_there() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    way = re.search(r"a Sort passes (.*?)engine's stream: (\d+) files", page, re.DOTALL)
    assert way is not None
    files = 1  # the engine's stream
    for names, folder in re.findall(r"((?:`[\w/]+`,?\s+)+)\((\w+)\)", way[1]):
        for name in re.findall(r"`([\w/]+)`", names):
            assert (ROOT / "server" / folder / f"{name}.cc").is_file(), f"{folder}/{name}"
            files += 1
    assert files == int(way[2]) <= 15
