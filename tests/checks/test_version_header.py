"""cmake/Version.cmake: the header names the commit of this tree, and only a new answer rewrites it."""

from __future__ import annotations

import pathlib
import subprocess

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "cmake" / "Version.cmake"


def _git(folder: pathlib.Path, *words: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", "-C", str(folder), *identity, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def _header(source: pathlib.Path, output: pathlib.Path) -> str:
    definitions = [f"SOURCE={source}", f"OUTPUT={output}", "VERSION=1.2.3", "BUILD=Release"]
    command = ["cmake", *(word for d in definitions for word in ("-D", d)), "-P", str(SCRIPT)]
    subprocess.run(command, check=True, capture_output=True)
    return output.read_text()


def _repository(folder: pathlib.Path) -> pathlib.Path:
    folder.mkdir()
    _git(folder, "init", "-q")
    (folder / "file").write_text("one")
    _git(folder, "add", "file")
    _git(folder, "commit", "-q", "-m", "One")
    return folder


def test_names_version_commit_and_build(tmp_path: pathlib.Path) -> None:
    source = _repository(tmp_path / "source")
    commit = _git(source, "rev-parse", "--short=12", "HEAD")
    _git(source, "tag", "v9")  # a tag must not take the commit's place
    text = _header(source, tmp_path / "version.h")
    assert f'COMMIT "{commit}"' in text
    assert 'VERSION "1.2.3"' in text
    assert 'TYPE "Release"' in text


def test_names_uncommitted_changes(tmp_path: pathlib.Path) -> None:
    source = _repository(tmp_path / "source")
    (source / "file").write_text("two")
    assert '-dirty"' in _header(source, tmp_path / "version.h")


def test_leaves_the_header_alone_until_the_answer_changes(tmp_path: pathlib.Path) -> None:
    source, output = _repository(tmp_path / "source"), tmp_path / "version.h"
    before = _header(source, output)
    made = output.stat().st_mtime_ns
    assert _header(source, output) == before
    assert output.stat().st_mtime_ns == made
    _git(source, "commit", "-q", "--allow-empty", "-m", "Two")
    assert _header(source, output) != before


def test_has_no_commit_without_git(tmp_path: pathlib.Path) -> None:
    assert 'COMMIT ""' in _header(tmp_path, tmp_path / "version.h")


def test_takes_no_commit_of_a_repository_around_it(tmp_path: pathlib.Path) -> None:
    unpacked = _repository(tmp_path / "other") / "corank-1.2.3"
    unpacked.mkdir()
    assert 'COMMIT ""' in _header(unpacked, tmp_path / "version.h")
