"""The command line on files, through a real server, against NumPy."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
from typing import Any

import numpy as np
import pytest
from corank.testing import LocalServer
from numpy.typing import NDArray


class Shell:
    """Runs `corank` in a folder."""

    def __init__(self, cli: pathlib.Path, server: LocalServer, folder: pathlib.Path) -> None:
        self.cli, self.server, self.folder = cli.resolve(), server, folder

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs a command; the caller looks at its exit code."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith("CORANK_")}
        return subprocess.run(
            [str(self.cli), *arguments],
            cwd=self.folder,
            env={**clean, "CORANK_SERVER": self.server.address},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def report(self, *arguments: str) -> dict[str, Any]:
        """Runs a command that must succeed, with --json."""
        done = self.run(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        assert isinstance(report, dict)
        return report

    def save(self, name: str, array: NDArray[Any]) -> None:
        """Writes a .npy file."""
        np.save(self.folder / name, array)

    def load(self, name: str) -> NDArray[Any]:
        """Reads a .npy file."""
        return np.asarray(np.load(self.folder / name))


@pytest.fixture
def shell(cli: pathlib.Path, server: LocalServer, tmp_path: pathlib.Path) -> Shell:
    """A shell in a folder of its own."""
    return Shell(cli, server, tmp_path)


def test_sort_raw_file(shell: Shell) -> None:
    keys = np.random.default_rng(1).integers(0, 2**32, 100_000, dtype=np.uint32)
    keys.tofile(shell.folder / "keys.bin")
    report = shell.report("sort", "keys.bin", "--type", "uint32", "-o", "sorted.bin")
    np.testing.assert_array_equal(np.fromfile(shell.folder / "sorted.bin", np.uint32), np.sort(keys))
    assert report["elements"] == 100_000
    assert report["engine"] in ("cpu", "cuda")


def test_sort_argsort_and_merge_npy_files(shell: Shell) -> None:
    keys = np.random.default_rng(2).normal(size=10_000).astype(np.float32)
    shell.save("keys.npy", keys)
    shell.report("sort", "keys.npy", "--descending", "-o", "down.npy")
    np.testing.assert_array_equal(shell.load("down.npy"), np.sort(keys)[::-1])
    shell.report("argsort", "keys.npy", "-o", "order.npy")
    np.testing.assert_array_equal(shell.load("order.npy"), np.argsort(keys, kind="stable"))
    shell.save("a.npy", np.sort(keys[:3000]))
    shell.save("b.npy", np.sort(keys[3000:]))
    shell.report("merge", "a.npy", "b.npy", "-o", "merged.npy")
    np.testing.assert_array_equal(shell.load("merged.npy"), np.sort(keys))


def test_failure_is_in_words_and_leaves_no_output(shell: Shell) -> None:
    shell.save("a.npy", np.array([1, 2, 3]))
    shell.save("b.npy", np.array([3, 2, 1]))
    done = shell.run("merge", "a.npy", "b.npy", "-o", "merged.npy")
    assert done.returncode != 0
    assert "b.npy" in done.stderr or "keys[1]" in done.stderr
    assert sorted(path.name for path in shell.folder.iterdir()) == ["a.npy", "b.npy"]


def test_info_says_the_engine(shell: Shell) -> None:
    report = shell.report("info")
    assert report["engine"] == shell.server.engine


def test_info_is_json_whatever_is_in_a_name(corankd: pathlib.Path, cli: pathlib.Path, tmp_path: pathlib.Path) -> None:
    name = '/say-"corank"-\\'
    with LocalServer(corankd, [f"--shared-memory={name}"]) as server:
        report = Shell(cli, server, tmp_path).report("info")
    assert report["shared_memory_prefixes"] == [name]


def test_no_server_is_said_in_words(shell: Shell) -> None:
    shell.save("a.npy", np.array([2, 1]))
    done = shell.run("sort", "a.npy", "-o", "b.npy", "--server", "127.0.0.1:1")
    assert done.returncode != 0
    assert "127.0.0.1:1" in done.stderr
    assert not (shell.folder / "b.npy").exists()
