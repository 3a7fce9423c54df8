"""scripts/release.sh: what a release publishes has one version."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def found(file: str, pattern: str) -> str:
    match = re.search(pattern, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
    assert match is not None, f"{file} does not state its version"
    return match[1]


def test_all_packages_have_the_version_of_the_project() -> None:
    version = found("CMakeLists.txt", r"^project\(corank VERSION ([0-9.]+)")
    assert found("client/python/pyproject.toml", r'^version = "([^"]+)"') == version
    assert found("Dockerfile", r"^ARG VERSION=(\S+)") == version
    assert found("CHANGELOG.md", r"^## \[([^\]]+)\]") == version


def test_release_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "release.sh", tmp_path / "scripts")
    shutil.copy(ROOT / "CMakeLists.txt", tmp_path)
    result = subprocess.run([str(tmp_path / "scripts" / "release.sh")], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "linux-x86_64.tar.xz is missing: run make dist first" in result.stderr
