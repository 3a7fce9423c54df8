"""Type checkers on right and wrong calls, which typing/calls.py has."""

from __future__ import annotations

import ast
import inspect
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

import corank
from corank._options import ChainOptions

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
    return {int(line): text for _, line, text in reversed(found)}  # the first of a line, which says the most


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


def test_mypy_names_the_option_that_a_typo_meant(tmp_path: pathlib.Path) -> None:
    lines = _CALLS.read_text(encoding="utf-8").splitlines()
    typos = [text for number, text in _mypy(tmp_path).items() if "descendng=" in lines[number - 1]]
    assert len(typos) == 2
    assert all(text.endswith('did you mean "descending"?  [call-overload]') for text in typos), typos


def _options(stub: ast.Module) -> dict[str, set[str]]:
    """The keys of each TypedDict of the stub."""
    found = {"ChainOptions": set(ChainOptions.__annotations__)}
    for node in stub.body:
        if isinstance(node, ast.ClassDef) and node.name.endswith("Options"):
            bases = [found[base.id] for base in node.bases if isinstance(base, ast.Name)]
            own = {each.target.id for each in node.body if isinstance(each, ast.AnnAssign)}  # type: ignore[union-attr]
            found[node.name] = own.union(*bases)
    return found


@pytest.mark.parametrize(
    ("stub_class", "owner"), [("ArrayOperators", corank.Client), ("PendingOperators", corank.Chain)]
)
def test_the_stub_has_the_arguments_that_operators_take(stub_class: str, owner: type) -> None:
    stub = ast.parse((_PACKAGE / "src" / "corank" / "_typed.pyi").read_text(encoding="utf-8"))
    options = _options(stub)
    (found,) = (node for node in stub.body if isinstance(node, ast.ClassDef) and node.name == stub_class)
    arguments: dict[str, set[str]] = {}
    for node in found.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            names = {each.arg for each in (*node.args.args, *node.args.kwonlyargs)}
            if node.args.kwarg is not None:
                annotation = ast.unparse(node.args.kwarg.annotation)  # type: ignore[arg-type]
                names |= options[annotation[len("Unpack[") : -1]]
            arguments.setdefault(node.name, set()).update(names)
    assert len(arguments) >= 11
    for name, names in arguments.items():
        assert names == set(inspect.signature(getattr(owner, name)).parameters), name
