"""The package as users install it: what the wheel and the source archive hold, and which libraries it runs beside."""

from __future__ import annotations

import email.message
import email.parser
import os
import pathlib
import subprocess
import sys
import tarfile
import zipfile
from typing import NamedTuple

import matrix
import pytest

import corank

pytestmark = pytest.mark.skipif(
    "CORANK_TEST_INSTALLED" in os.environ, reason="needs the source tree, and builds what is tested here"
)


class Built(NamedTuple):
    """Archives of the package."""

    archive: pathlib.Path
    wheel: pathlib.Path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The source archive, and the wheel that was built from it."""
    return Built(*matrix.build(tmp_path_factory.mktemp("dist")))


def _metadata(wheel: pathlib.Path) -> email.message.Message:
    with zipfile.ZipFile(wheel) as opened:
        (name,) = (name for name in opened.namelist() if name.endswith(".dist-info/METADATA"))
        return email.parser.Parser().parsestr(opened.read(name).decode())


def test_one_wheel_serves_every_system(built: Built) -> None:
    assert built.wheel.name == f"corank-{corank.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(built.wheel) as opened:
        names = set(opened.namelist())
    stubs = {"corank/_typed.pyi", "corank/_typed_aio.pyi", "corank/v1/array_pb2.pyi"}
    assert {"corank/py.typed", "corank/v1/descriptors.binpb", *stubs} <= names
    assert f"corank-{corank.__version__}.dist-info/licenses/LICENSE" in names
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"corank"}


def test_metadata_is_complete(built: Built) -> None:
    metadata = _metadata(built.wheel)
    assert metadata["Version"] == corank.__version__
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Author"] == "corank authors"
    assert metadata["Requires-Python"] == ">=3.9"
    assert metadata["Description-Content-Type"] == "text/markdown"
    for field in ("Summary", "Keywords", "Classifier"):
        assert metadata[field], field
    required = {each for each in metadata.get_all("Requires-Dist", []) if "extra" not in each}
    assert required == {"numpy>=1.22", "grpcio>=1.60", "protobuf>=4.25"}


def test_source_archive_needs_no_protoc(built: Built) -> None:
    with tarfile.open(built.archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    assert {"LICENSE", "README.md", "generate.py", "setup.py", "src/corank/v1/descriptors.binpb"} <= names
    with zipfile.ZipFile(built.wheel) as opened:
        assert b"corank.v1" in opened.read("corank/v1/descriptors.binpb")


def test_wheel_installs_without_an_index(built: Built, tmp_path: pathlib.Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path)], check=True)
    python = str(tmp_path / "bin" / "python")
    install = ["install", "--quiet", "--no-index", "--no-deps", "--disable-pip-version-check", str(built.wheel)]
    subprocess.run([sys.executable, "-m", "pip", f"--python={python}", *install], check=True)
    libraries = str(pathlib.Path(pytest.__file__).parent.parent)
    done = subprocess.run(
        [python, "-P", "-W", "error", "-c", "import corank; print(corank.__version__, corank.__file__)"],
        # The libraries of this environment, after those of the new one.
        env={"PYTHONPATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "No module named 'numpy'" in done.stderr
    code = f"import sys; sys.path.append({libraries!r}); import corank; print(corank.__version__, corank.__file__)"
    done = subprocess.run([python, "-W", "error", "-c", code], env={}, capture_output=True, text=True, check=False)
    assert done.stdout.startswith(f"{corank.__version__} {tmp_path}"), done.stderr


def test_oldest_libraries_serve(built: Built) -> None:
    oldest = matrix.combinations()[0]
    assert matrix.run(oldest, built.wheel, ["test_operators.py", "test_errors.py", "test_streams.py"]) == 0
