"""scripts/contract.sh: a change of the contract that breaks callers of the last release fails."""

from __future__ import annotations

import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def tree(tmp_path: pathlib.Path) -> pathlib.Path:
    """A tree with the contract, the script and the tools, but without a release."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "contract.sh", tmp_path / "scripts")
    shutil.copytree(ROOT / "proto", tmp_path / "proto", ignore=shutil.ignore_patterns("released.binpb"))
    (tmp_path / ".deps").symlink_to(ROOT / ".deps")
    return tmp_path


def contract(tree: pathlib.Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(tree / "scripts" / "contract.sh"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def edit(tree: pathlib.Path, before: str, after: str) -> None:
    file = tree / "proto" / "corank" / "v1" / "array.proto"
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))


def test_before_the_first_release_anything_may_change(tree: pathlib.Path) -> None:
    edit(tree, "string region = 1;", "string region = 9;")
    done = contract(tree)
    assert (done.returncode, done.stdout.count("\n")) == (0, 1)
    assert "no release yet" in done.stdout


def test_a_change_that_breaks_callers_of_the_release_fails(tree: pathlib.Path) -> None:
    assert contract(tree, "--release").returncode == 0
    assert contract(tree).returncode == 0
    edit(tree, "string region = 1;", "string region = 1;\n  // A new field.\n  string more = 19;")
    assert contract(tree).returncode == 0
    edit(tree, "string region = 1;", "string region = 9;")
    done = contract(tree)
    assert done.returncode != 0
    assert "array.proto" in done.stdout + done.stderr
