"""Every Python example runs against a real server and checks its own answer."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest
from corank.testing import LocalServer
from e2e_paths import PYTHON, ROOT

FOLDER = ROOT / "examples"
EXAMPLES = sorted((FOLDER / "python").glob("*.py"))
MAY_SKIP = {"torch_cuda_ipc.py"}
"""Examples that need a GPU, and skip without one."""


@pytest.fixture(name="address", scope="module")
def fixture_address(corankd: pathlib.Path) -> Iterator[str]:
    """The address of a server with every place that an example uses."""
    places = ["--shared-memory=/corank-examples-", "--cuda-ipc=true", "--kept-bytes=64MiB"]
    with LocalServer(corankd, places) as server:
        yield server.address


def run(example: pathlib.Path, address: str, folder: pathlib.Path) -> subprocess.CompletedProcess[str]:
    """Runs an example in an empty folder, as its docstring says."""
    environment = {**os.environ, "CORANK_SERVER": address, "PYTHONPATH": str(PYTHON / "src")}
    command = [sys.executable, str(example)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300, env=environment, cwd=folder
    )


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_example_runs_and_finds_its_answer_right(example: pathlib.Path, address: str, tmp_path: pathlib.Path) -> None:
    finished = run(example, address, tmp_path)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert finished.stdout.endswith("\n"), "it says what it found"
    assert finished.stderr == ""
    assert list(tmp_path.iterdir()) == [], "it leaves no files"
    if finished.stdout.startswith("skipped: "):
        assert example.name in MAY_SKIP
        pytest.skip(finished.stdout.removeprefix("skipped: ").strip())


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_example_names_its_command(example: pathlib.Path) -> None:
    assert f"\n    python examples/python/{example.name}\n" in example.read_text(encoding="utf-8")


def test_an_example_that_needs_more_of_the_server_says_what(corankd: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with LocalServer(corankd) as plain:
        finished = run(FOLDER / "python" / "chain_on_server.py", plain.address, tmp_path)
    assert (finished.returncode, finished.stdout) == (1, "")
    assert finished.stderr == "this server keeps no arrays: start it as `corankd --kept-bytes=1GiB`\n"


def test_readme_lists_every_example() -> None:
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| \[`(python/\w+\.py)`\]\(\1\) \|", readme, re.MULTILINE)
    assert listed == sorted(listed)
    assert {FOLDER / name for name in listed} == set(EXAMPLES)
