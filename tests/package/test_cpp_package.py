"""The installed C++ client in projects of others: by find_package, by pkg-config, and from sources by FetchContent.

CORANKD names the server's binary, inside a finished build folder.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "client" / "python"), str(ROOT / "client" / "python" / "src")]

import generate  # noqa: E402

generate.ensure()

from corank.testing import LocalServer  # noqa: E402

EXAMPLE = ROOT / "examples" / "cpp"
CONFIGURE = ("-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
PACKAGES = {"prometheus", "hwy", "highway", "tbb", "tcmalloc", "gtest", "benchmark", "cuda"}


def run(command: Sequence[str | pathlib.Path], *, fails: bool = False, **environment: str) -> str:
    """What the command prints. It must succeed, or fail."""
    done = subprocess.run(
        [os.fspath(word) for word in command],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=900,
        check=False,
    )
    assert (done.returncode != 0) == fails, f"{' '.join(map(str, command))}\n{done.stdout[-8000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def corankd() -> pathlib.Path:
    """The server's binary."""
    path = os.environ.get("CORANKD")
    if not path:
        pytest.fail("CORANKD must name the server's binary")
    return pathlib.Path(path).resolve()


@pytest.fixture(scope="module")
def server(corankd: pathlib.Path) -> Iterator[LocalServer]:
    """A server of its own."""
    with LocalServer(corankd, ["--engine=cpu"]) as local:
        yield local


@pytest.fixture(scope="module")
def prefix(corankd: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A prefix that holds the installed client, moved after the installation."""
    first = tmp_path_factory.mktemp("install") / "first"
    run(["cmake", "--install", corankd.parent.parent, "--component", "client", "--prefix", first])
    return first.rename(first.with_name("moved"))


def others_found(cache: str) -> set[str]:
    """The variables of a CMakeCache.txt that hold paths of packages which the client does not need."""
    paths = {line.split("=")[0] for line in cache.splitlines() if re.match(r"^[^/#].*=.*/", line)}
    return {name for name in paths if any(package in name.lower() for package in PACKAGES)}


def check_run(program: pathlib.Path, server: LocalServer) -> None:
    """The example sorts, and reads the error that it provokes."""
    lines = run([program, server.address]).splitlines()
    assert lines[0] == "sorted: 1 2 3"
    assert lines[1] == "refused: keys[1]"
    assert re.fullmatch(r"because: keys\[1\].*not sorted.*", lines[2]), lines


def test_install_has_the_client_and_nothing_else(prefix: pathlib.Path) -> None:
    installed = {os.fspath(path.relative_to(prefix)) for path in prefix.rglob("*") if path.is_file()}
    headers = {f"include/{path.relative_to(ROOT / 'include')}" for path in (ROOT / "include").rglob("*.h")}
    others = {re.sub(r"^lib/x86_64-linux-gnu/", "lib/", path) for path in installed - headers}
    assert headers <= installed
    assert others == {
        "lib/libcorank_client.a",
        "lib/cmake/corank/corankConfig.cmake",
        "lib/cmake/corank/corankConfigVersion.cmake",
        "lib/cmake/corank/corankGrpc.cmake",
        "lib/cmake/corank/corankTargets.cmake",
        "lib/cmake/corank/corankTargets-release.cmake",
        "lib/pkgconfig/corank.pc",
    }
    for path in installed:
        if not path.endswith(".a"):
            assert os.fspath(ROOT) not in (prefix / path).read_text(encoding="utf-8"), path


def test_find_package_builds_the_example(prefix: pathlib.Path, server: LocalServer, tmp_path: pathlib.Path) -> None:
    run(["cmake", "-S", EXAMPLE, "-B", tmp_path, *CONFIGURE, f"-DCMAKE_PREFIX_PATH={prefix}"])
    found = re.findall(r"^corank_DIR:PATH=(.*)$", (tmp_path / "CMakeCache.txt").read_text("utf-8"), re.MULTILINE)
    assert [pathlib.Path(folder).is_relative_to(prefix) for folder in found] == [True]
    run(["cmake", "--build", tmp_path])
    check_run(tmp_path / "sort_numbers", server)


def test_find_package_refuses_what_does_not_fit(prefix: pathlib.Path, tmp_path: pathlib.Path) -> None:
    project = tmp_path / "CMakeLists.txt"
    text = "cmake_minimum_required(VERSION 3.25)\nproject(other LANGUAGES CXX)\nfind_package(corank {} REQUIRED)\n"
    configure: list[str | pathlib.Path] = ["cmake", "-S", tmp_path, "-B", tmp_path / "build", *CONFIGURE]
    project.write_text(text.format("0.2"), encoding="utf-8")
    output = run([*configure, f"-DCMAKE_PREFIX_PATH={prefix}"], fails=True)
    assert 'compatible with requested version "0.2"' in " ".join(output.split())

    other = shutil.copytree(prefix, tmp_path / "prefix")
    [config] = other.rglob("corankConfig.cmake")
    changed = re.sub(r'(set\(corank_built_with ")[0-9.]+"', r'\g<1>3.6.1"', config.read_text("utf-8"))
    config.write_text(changed, encoding="utf-8")
    project.write_text(text.format("0.1"), encoding="utf-8")
    shutil.rmtree(tmp_path / "build")
    output = run([*configure, f"-DCMAKE_PREFIX_PATH={other}"], fails=True)
    assert "corank was built with protobuf 3.6.1" in " ".join(output.split())


def test_every_public_header_compiles_alone(prefix: pathlib.Path) -> None:
    flags = ["-fsyntax-only", "-xc++", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{prefix / 'include'}"]
    for header in sorted((prefix / "include").rglob("*.h")):
        run(["c++", "-std=c++17", *flags, "-include", header, "/dev/null"])
    run(["c++", "-std=c++20", *flags, "-include", "corank/client.h", "/dev/null"])


def test_pkg_config_builds_the_example(prefix: pathlib.Path, server: LocalServer, tmp_path: pathlib.Path) -> None:
    [folder] = [path.parent for path in prefix.rglob("corank.pc")]
    flags = run(["pkg-config", "--cflags", "--libs", "corank"], PKG_CONFIG_PATH=os.fspath(folder)).split()
    program = tmp_path / "sort_numbers"
    run(["c++", "-std=c++17", "-o", program, EXAMPLE / "sort_numbers.cc", *flags])
    check_run(program, server)


def test_the_client_alone_needs_grpc_protobuf_and_abseil(tmp_path: pathlib.Path) -> None:
    run(["cmake", "-S", ROOT, "-B", tmp_path, *CONFIGURE, "-DCORANK_SERVER=OFF", "-DCORANK_CLI=OFF"])
    assert others_found((tmp_path / "CMakeCache.txt").read_text("utf-8")) == set()


def test_fetch_content_builds_the_client_alone(server: LocalServer, tmp_path: pathlib.Path) -> None:
    settings = [f"-DFETCHCONTENT_SOURCE_DIR_CORANK={ROOT}", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]
    run(["cmake", "-S", EXAMPLE, "-B", tmp_path, *CONFIGURE, *settings])
    cache = (tmp_path / "CMakeCache.txt").read_text("utf-8")
    assert others_found(cache) == set()
    assert re.search(r"^CORANK_WERROR:BOOL=OFF$", cache, re.MULTILINE)
    commands = (tmp_path / "compile_commands.json").read_text("utf-8")
    assert "-Werror" not in commands
    assert f"{ROOT}/server/" not in commands
    assert "googleapis" not in commands
    # Relative paths, so that the compiler cache knows the sources again in the next run's folder.
    run(["cmake", "--build", tmp_path], CCACHE_BASEDIR=os.path.commonpath([ROOT, tmp_path]), CCACHE_NOHASHDIR="1")
    check_run(tmp_path / "sort_numbers", server)
