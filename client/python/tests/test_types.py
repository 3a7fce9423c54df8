"""Type checkers on right and wrong calls, which typing/calls.py has."""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

_PACKAGE = pathlib.Path(__file__).resolve().parent.parent
_CALLS = pathlib.Path(__file__).resolve().parent / "typing" / "calls.py"

pytestmark = pytest.mark.skipif("CORANK_TEST_INSTALLED" in os.environ, reason="its checkers are not installed")


def _mypy(folder: pathlib.Path) -> dict[int, str]:
    command = [
        sys.executable,
        "-m",
        "mypy",
        f"--config-file={_PACKAGE / 'pyproject.toml'}",
        f"--cache-dir={folder}",
        str(_CALLS),
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    found = re.findall(r"^(.*?):(\d+): error: (.*)$", done.stdout, re.MULTILINE)
    assert {pathlib.Path(name).name for name, _, _ in found} <= {_CALLS.name}
    return {int(line): text for _, line, text in found}


def _pyright(folder: pathlib.Path) -> dict[int, str]:
    settings = {
        "typeCheckingMode": "standard",
        "extraPaths": [str(_PACKAGE / "src")],
        "include": [str(_CALLS)],
        "pythonVersion": "3.9",
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "--outputjson", f"--project={folder}"]
    command.append(f"--pythonpath={sys.executable}")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] == 1, done.stdout
    return {
        each["range"]["start"]["line"] + 1: each["message"]
        for each in report["generalDiagnostics"]
        if each["severity"] == "error"
    }


@pytest.mark.parametrize("checker", [_mypy, _pyright], ids=["mypy", "pyright"])
def test_checkers_take_right_calls_and_refuse_wrong_ones(checker: object, tmp_path: pathlib.Path) -> None:
    assert callable(checker)
    found: dict[int, str] = checker(tmp_path)
    lines = _CALLS.read_text(encoding="utf-8").splitlines()
    wrong = {number for number, line in enumerate(lines, 1) if line.endswith("# wrong")}
    assert len(wrong) > 20
    assert not {lines[number - 1].strip() for number in wrong - found.keys()}, "nothing found in these"
    assert not {f"{lines[number - 1].strip()}: {found[number]}" for number in found.keys() - wrong}
