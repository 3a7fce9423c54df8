"""scripts/tidy.py finds the sources that a change touches, also where the build compiles several as one file."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

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
    files = {"unity.o": unity, "c.o": root / "server/c.cc", "messages.o": build / "gen/messages.pb.cc"}
    entries = [
        {"directory": str(build), "file": str(file), "command": f"c++ -I{root} -o {made} -c {file} -std=c++17"}
        for made, file in files.items()
    ]
    (build / "compile_commands.json").write_text(json.dumps(entries), encoding="utf-8")
    return build


def test_flags_leave_a_precompiled_header_out(tidy: ModuleType) -> None:
    command = "c++ -I. -Winvalid-pch -include /b/cmake_pch.hxx -include own.h -fpch-preprocess -o c.o -c c.cc"
    assert tidy.parsed(command) == ("c.o", ("-I.", "-include", "own.h"), "/b/cmake_pch.hxx.gch")


def test_what_a_precompiled_header_includes_counts_as_read(
    tidy: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = (
        "c.o: #deps 1, VALID\n    ../c.cc\n\nx/cmake_pch.hxx.gch: #deps 2, VALID\n    x/cmake_pch.hxx\n    ../h.h\n"
    )
    monkeypatch.setattr(tidy.subprocess, "run", lambda *_, **__: SimpleNamespace(stdout=listed))
    build = tmp_path / "build"
    unit = tidy.Unit(tmp_path / "c.cc", (tmp_path / "c.cc",), "c.o", (), str(build / "x/cmake_pch.hxx.gch"))
    assert tidy.dependencies(build, [unit])["c.o"] == {tmp_path / "c.cc", tmp_path / "h.h"}


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


# A clang-tidy that finds a fault where a source, or one that it includes, says so; it writes down what it reads. It
# cannot read a precompiled header of GCC.
STAND_IN = """#!/bin/sh
[ "$1" != --version ] || { echo 1; exit; }
[ "$4" = -- ] && flags="$*" || flags=$(cat "$5/compile_commands.json")
case $flags in *cmake_pch*) echo "$3:1: error: not a PCH file"; exit 1 ;; esac
echo "$3" >> READ
cat "$3" $(sed -n 's/^#include "\\([^"]*\\)".*/\\1/p' "$3") | grep -q FAULT || exit 0
echo "$3:1: warning: a fault"
exit 1
"""


class Project:
    """Three sources, of which a stand-in of clang-tidy reads what tidy.py gives it."""

    def __init__(self, root: Path, tidy: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.tidy = root, tidy
        self._read = root / "read"
        self.build = root / "build"
        (root / "server").mkdir()
        (root / ".clang-tidy").write_text("Checks: a\n", encoding="utf-8")
        self.program = root / "clang-tidy"
        self.program.write_text(STAND_IN.replace("READ", str(self._read)), encoding="utf-8")
        self.program.chmod(0o755)
        monkeypatch.setattr(tidy, "TIDY", self.program)
        monkeypatch.setattr(tidy, "cache_folder", lambda: root / "cache")
        read = {f"{name}.o": {root / "all.h"} for name in "abc"}
        monkeypatch.setattr(tidy, "dependencies", lambda *_: read)
        self.write("all.h", "// a header\n")
        entries = []
        for name in "abc":
            file = self.write(f"server/{name}.cc", f"class {name.upper()} {{}};\n")
            command = f"c++ -include {self.build}/cmake_pch.hxx -o {name}.o -c {file}"
            entries.append({"directory": str(self.build), "file": str(file), "command": command})
        self.build.mkdir()
        (self.build / "compile_commands.json").write_text(json.dumps(entries), encoding="utf-8")

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.write_text(text, encoding="utf-8")
        return path

    def run(self) -> tuple[int, list[list[str]]]:
        """The exit code, and the sources that clang-tidy read each time."""
        self.tidy.digest.cache_clear()
        self._read.unlink(missing_ok=True)
        sys.argv = ["tidy.py", "--all", str(self.build)]
        code = self.tidy.main()
        read = self._read.read_text(encoding="utf-8").splitlines() if self._read.exists() else []
        return code, [[file[-4:] for file in self._sources(Path(path))] for path in read]

    @staticmethod
    def _sources(file: Path) -> list[str]:
        included = [line.split('"')[1] for line in file.read_text(encoding="utf-8").splitlines() if "#include" in line]
        return included or [str(file)]


@pytest.fixture
def project(tmp_path: Path, tidy: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setattr(sys, "argv", [])
    return Project(tmp_path, tidy, monkeypatch)


def test_sources_that_define_no_name_twice_are_read_together(project: Project) -> None:
    project.write("server/c.cc", "class A;\n")
    code, read = project.run()
    assert (code, sorted(read)) == (0, [["a.cc", "b.cc"], ["c.cc"]])  # in any order: they run side by side


def test_a_fault_is_found_in_the_one_source_that_has_it(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.write("server/b.cc", "// FAULT\n")
    assert project.run() == (1, [["a.cc", "b.cc", "c.cc"], ["a.cc"], ["b.cc", "c.cc"], ["b.cc"], ["c.cc"]])
    assert "server/b.cc:1: warning: a fault" in capsys.readouterr().out


def test_a_source_that_is_known_to_be_clean_is_not_read_again(project: Project) -> None:
    assert project.run()[0] == 0
    assert project.run() == (0, [])
    project.write("server/b.cc", "class B2 {};\n")
    assert project.run() == (0, [["b.cc"]])


@pytest.mark.parametrize("file", ["all.h", ".clang-tidy"])
def test_every_source_is_read_again_after_a_change_of_what_it_depends_on(project: Project, file: str) -> None:
    assert project.run()[0] == 0
    project.write(file, "// changed\n")
    assert project.run() == (0, [["a.cc", "b.cc", "c.cc"]])


def test_a_fault_is_found_each_time(project: Project) -> None:
    project.write("server/b.cc", "// FAULT\n")
    assert project.run()[0] == 1
    assert project.run() == (1, [["b.cc"]])


def test_results_are_of_another_checkout_too(tidy: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = set()
    for name in ("one", "two"):
        root = tmp_path / name
        root.mkdir()
        project = Project(root, tidy, monkeypatch)
        monkeypatch.setattr(tidy, "ROOT", root)
        project.program.write_text("#!/bin/sh\necho 1\n", encoding="utf-8")
        unit = tidy.units(project.build)[0]
        keys.add(tidy.Cache(tmp_path).key(unit, {root / "all.h"}))
    assert len(keys) == 1
