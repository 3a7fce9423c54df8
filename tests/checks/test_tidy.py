"""scripts/tidy.py finds the sources that a change touches, also where the build compiles several as one file."""

from __future__ import annotations

import importlib.util
import json
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def tidy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, for a project in tmp_path."""
    spec = importlib.util.spec_from_file_location("tidy", ROOT / "scripts" / "tidy.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(__import__("sys").modules, "tidy", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    return module


def make_build(root: Path) -> Path:
    """A build that compiles a.cc and b.cc as one file, c.cc alone, and a source that it generated."""
    build = root / "build"
    unity = build / "lib" / "Unity" / "unity_0_cxx.cxx"
    unity.parent.mkdir(parents=True)
    unity.write_text(f'#include "{root}/server/a.cc"\n#include "{root}/server/b.cc"\n', encoding="utf-8")
    entries = [
        {"directory": str(build), "file": str(unity), "output": "unity.o"},
        {"directory": str(build), "file": str(root / "server/c.cc"), "output": "c.o"},
        {"directory": str(build), "file": str(build / "gen/messages.pb.cc"), "output": "messages.o"},
    ]
    (build / "compile_commands.json").write_text(json.dumps(entries), encoding="utf-8")
    return build


def names(units: list[object]) -> list[str]:
    return sorted(source.name for unit in units for source in unit.sources)  # type: ignore[attr-defined]


def test_all_sources_but_generated_ones_are_found(tidy: ModuleType, tmp_path: Path) -> None:
    assert names(tidy.units(make_build(tmp_path))) == ["a.cc", "b.cc", "c.cc"]


@pytest.mark.parametrize(
    ("changed", "chosen"),
    [
        ("server/b.cc", ["a.cc", "b.cc"]),
        ("server/c.cc", ["c.cc"]),
        ("server/shared.h", ["a.cc", "b.cc"]),
        ("README.md", []),
    ],
)
def test_a_change_chooses_its_users(tidy: ModuleType, tmp_path: Path, changed: str, chosen: list[str]) -> None:
    every = tidy.units(make_build(tmp_path))
    read = {"unity.o": {tmp_path / "server/shared.h"}, "c.o": {tmp_path / "server/c.h"}}
    assert names(tidy.choose(every, {tmp_path / changed}, read)) == chosen


def test_a_source_without_known_includes_is_chosen(tidy: ModuleType, tmp_path: Path) -> None:
    every = tidy.units(make_build(tmp_path))
    assert names(tidy.choose(every, set(), {"unity.o": set()})) == ["c.cc"]


def test_changes_count_from_the_last_commit_that_is_three_days_older(tidy: ModuleType, tmp_path: Path) -> None:
    def commit(day: int) -> str:
        when = f"2026-01-{day:02}T12:00:00Z"
        identity = {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when, "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
        name = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(
            ["git", *name, "commit", "-q", "--allow-empty", "-m", str(day)], cwd=tmp_path, env=identity, check=True
        )
        return str(tidy.git("rev-parse", "HEAD"))

    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    commit(1)
    assert tidy.base_revision() == "", "the history is too short"
    old = commit(2)
    commit(8)
    commit(10)
    assert tidy.base_revision() == old
