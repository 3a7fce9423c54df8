"""Runs the tests against the installed wheel, beside the oldest libraries and beside each major version of protobuf.

    python client/python/tests/matrix.py [NAME...]

NAME is a combination, such as "protobuf-5"; without one, all of them run. Virtual environments stay in
.deps/python-matrix, so that only the first run needs a package index. Other Pythons run one combination each, if PATH
has them.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import NamedTuple

_TESTS = pathlib.Path(__file__).resolve().parent
_PACKAGE = _TESTS.parent
_ENVIRONMENTS = _PACKAGE.parent.parent / ".deps" / "python-matrix"
# The tests need these beside the package. pip finds the googleapis-common-protos that suits the protobuf.
_TEST_REQUIREMENTS = ("pytest>=8", "cryptography", "googleapis-common-protos>=1.60")
# The first NumPy with wheels for a Python, where that is later than the oldest that the package takes.
_OLDEST_NUMPY = {(3, 9): "1.22.0", (3, 10): "1.22.0", (3, 11): "1.23.2", (3, 12): "1.26.0", (3, 13): "2.1.0"}
_OTHER_PYTHONS = ("3.9", "3.10", "3.11", "3.12", "3.13")


class Combination(NamedTuple):
    """Libraries to test beside."""

    name: str
    requirements: tuple[str, ...]
    python: str = sys.executable
    tests: tuple[str, ...] = (".",)


def combinations() -> list[Combination]:
    """The oldest libraries first."""
    numpy = _OLDEST_NUMPY.get(sys.version_info[:2])
    oldest_numpy = (f"numpy=={numpy}",) if numpy else ()
    found = [
        Combination("oldest", ("protobuf==4.25.0", "grpcio==1.60.0", *oldest_numpy)),
        Combination("protobuf-4", ("protobuf>=4.25,<5", "grpcio", "numpy")),
        Combination("protobuf-5", ("protobuf>=5,<6", "grpcio", "numpy")),
        Combination("protobuf-6", ("protobuf>=6,<7", "grpcio", "numpy")),
        Combination("protobuf-7", ("protobuf>=7,<8", "grpcio", "numpy")),
        Combination("dask-ray", ("protobuf", "grpcio", "numpy", "distributed", "ray"), tests=("test_carriers.py",)),
        Combination(
            "tables",
            ("protobuf", "grpcio", "numpy<2", "pyarrow==20.0.0", "pandas==2.2.3", "polars==1.30.0"),
            tests=("test_table_libraries.py",),
        ),
    ]
    for version in _OTHER_PYTHONS:
        python = shutil.which(f"python{version}")
        if python is not None and version != "{}.{}".format(*sys.version_info[:2]) and _starts(python):
            found.append(Combination(f"python-{version}", ("protobuf", "grpcio", "numpy"), python))
    return found


def _starts(python: str) -> bool:
    return subprocess.run([python, "-c", "import venv"], capture_output=True, check=False).returncode == 0


def build(folder: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
    """Builds the source archive, and the wheel from that, into `folder` with the tools of this Python."""
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", f"--outdir={folder}", str(_PACKAGE)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    (archive,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return archive, wheel


def _pip(python: pathlib.Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "pip", f"--python={python}", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*command, *arguments], check=True)


def environment(combination: Combination) -> pathlib.Path:
    """The Python of a virtual environment that holds the libraries of a combination."""
    key = hashlib.sha256(repr((combination, _TEST_REQUIREMENTS)).encode()).hexdigest()[:12]
    folder = _ENVIRONMENTS / f"{combination.name}-{key}"
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([combination.python, "-m", "venv", "--without-pip", str(folder)], check=True)
        _pip(python, "--only-binary=:all:", *combination.requirements, *_TEST_REQUIREMENTS)
        (folder / "complete").touch()
    return python


def run(combination: Combination, wheel: pathlib.Path, tests: Sequence[str] = ()) -> int:
    """Installs the wheel beside a combination and runs `tests`, or all; the exit code of pytest."""
    python = environment(combination)
    # No index: the libraries that are there must do.
    _pip(python, "--no-index", "--force-reinstall", "--no-deps", str(wheel))
    subprocess.run([sys.executable, "-m", "pip", f"--python={python}", "--quiet", "check"], check=True)
    arguments = ["-q", "-p", "no:cacheprovider", *(str(_TESTS / name) for name in tests or combination.tests)]
    done = subprocess.run(
        [str(python), "-m", "pytest", *arguments],
        cwd=_PACKAGE,
        env={**os.environ, "CORANK_TEST_INSTALLED": "1"},
        check=False,
    )
    return done.returncode


def main() -> int:
    """Runs what the command line names; 1 if a combination failed."""
    known = combinations()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(each.name for each in known))
    names = parser.parse_args().names
    unknown = set(names) - {each.name for each in known}
    if unknown:
        parser.error(f"no combination {min(unknown)}")
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        _, wheel = build(pathlib.Path(folder))
        for each in known:
            if names and each.name not in names:
                continue
            print(f"\n=== {each.name}: {', '.join(each.requirements)}", flush=True)
            if run(each, wheel) != 0:
                failed.append(each.name)
    print(f"\nmatrix: {'failed: ' + ', '.join(failed) if failed else 'all passed'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
