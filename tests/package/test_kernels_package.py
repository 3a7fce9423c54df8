"""The installed kernels in a project of others, without gRPC, protobuf and Abseil.

CORANKD names the server's binary, inside a finished build folder. Programs for a GPU are built where that build has
CUDA, and run where there is a GPU.
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
from collections.abc import Sequence

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "kernels"
CONFIGURE = ("-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
UNWANTED = re.compile(r"\b(absl|grpc|google::protobuf|upb_)")
NO_GPU = 77  # the exit status of an example that finds no GPU


def run(command: Sequence[str | pathlib.Path], *, status: Sequence[int] = (0,)) -> subprocess.CompletedProcess[str]:
    """The command's end, which must have one of these exit statuses."""
    done = subprocess.run(
        [os.fspath(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode in status, f"{' '.join(map(str, command))}\n{done.stdout[-8000:]}"
    return done


@pytest.fixture(scope="module")
def build() -> pathlib.Path:
    """The build folder."""
    path = os.environ.get("CORANKD")
    if not path:
        pytest.fail("CORANKD must name the server's binary")
    return pathlib.Path(path).resolve().parent.parent


@pytest.fixture(scope="module")
def nvcc(build: pathlib.Path) -> str | None:
    """The compiler of the build, or None if it has no CUDA."""
    cache = (build / "CMakeCache.txt").read_text(encoding="utf-8")
    if not re.search(r"^CORANK_CUDA:BOOL=(ON|1|TRUE|YES)$", cache, re.MULTILINE | re.IGNORECASE):
        return None
    found = re.search(r"^CMAKE_CUDA_COMPILER:\w+=(.+)$", cache, re.MULTILINE)
    return found[1] if found else os.fspath(ROOT / ".deps" / "cuda" / "bin" / "nvcc")


@pytest.fixture(scope="module")
def prefix(build: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A prefix that holds the installed kernels, moved after the installation."""
    first = tmp_path_factory.mktemp("install") / "first"
    run(["cmake", "--install", build, "--component", "kernels", "--prefix", first])
    return first.rename(first.with_name("moved"))


@pytest.fixture(scope="module")
def consumer(prefix: pathlib.Path, nvcc: str | None, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The build folder of the examples, as a project that finds the installed package."""
    folder = tmp_path_factory.mktemp("consumer")
    cuda = ["-DUSE_CUDA=OFF"]
    if nvcc:
        cuda = [
            f"-DCMAKE_CUDA_COMPILER={nvcc}",
            "-DCMAKE_CUDA_ARCHITECTURES=90",
            "-DCMAKE_CUDA_COMPILER_LAUNCHER=ccache",
        ]
    hidden = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in ("absl", "gRPC", "Protobuf", "PkgConfig")]
    run(["cmake", "-S", EXAMPLES, "-B", folder, *CONFIGURE, *cuda, *hidden, f"-DCMAKE_PREFIX_PATH={prefix}"])
    run(["cmake", "--build", folder])
    return folder


def programs(folder: pathlib.Path) -> list[pathlib.Path]:
    return [folder / path.stem for path in sorted(EXAMPLES.glob("*.c[cu]")) if (folder / path.stem).exists()]


def test_install_has_public_headers_and_what_they_include(prefix: pathlib.Path, nvcc: str | None) -> None:
    include = prefix / "include"
    headers = {os.fspath(path.relative_to(include)) for path in include.rglob("*") if path.is_file()}
    public = {
        os.fspath(path.relative_to(ROOT / "kernels/include")) for path in (ROOT / "kernels/include").rglob("*.*h")
    }
    if not nvcc:
        public = {name for name in public if not name.startswith("corank/cuda")}
    assert {name for name in headers if not name.startswith("corank/internal/")} == public | {"corank/types.h"}
    for name in headers:
        for included in re.findall(r'^#include "(.+)"', (include / name).read_text("utf-8"), re.MULTILINE):
            assert included in headers, f"{name} includes {included}"
    for path in prefix.rglob("*"):
        if path.is_file() and path.suffix != ".a":
            assert os.fspath(ROOT) not in path.read_text(encoding="utf-8"), path


def test_archives_refer_to_no_symbol_of_grpc_protobuf_or_abseil(prefix: pathlib.Path, nvcc: str | None) -> None:
    archives = sorted(path.name for path in prefix.rglob("*.a"))
    assert archives == (["libcorank_cpu.a", "libcorank_kernels.a"] if nvcc else ["libcorank_cpu.a"])
    for archive in prefix.rglob("*.a"):
        symbols = run(["nm", "-C", archive]).stdout
        assert "corank::" in symbols
        assert [line for line in symbols.splitlines() if UNWANTED.search(line)] == []


def test_headers_compile_alone(prefix: pathlib.Path, nvcc: str | None) -> None:
    flags = [
        "-std=c++17",
        "-fsyntax-only",
        "-xc++",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Werror",
        f"-I{prefix / 'include'}",
    ]
    if nvcc:
        flags.append(f"-isystem{pathlib.Path(nvcc).resolve().parent.parent / 'include'}")
    for header in sorted((prefix / "include" / "corank").rglob("*.h")):
        if "internal" not in header.parts:
            run(["c++", *flags, "-include", header, "/dev/null"])


def test_headers_for_device_code_compile_with_nvcc(
    prefix: pathlib.Path, nvcc: str | None, tmp_path: pathlib.Path
) -> None:
    if not nvcc:
        pytest.skip("this build has no CUDA")
    headers = sorted((prefix / "include" / "corank" / "cuda").glob("*.cuh"))
    assert len(headers) == 3
    source = tmp_path / "all.cu"
    source.write_text("".join(f'#include "corank/cuda/{header.name}"\n' for header in headers), encoding="utf-8")
    flags = ["-std=c++17", "-arch=sm_90", "--extended-lambda", "--expt-relaxed-constexpr", "-Werror=all-warnings"]
    run([nvcc, *flags, f"-I{prefix / 'include'}", "-c", source, "-o", tmp_path / "all.o"])


def test_consumer_reads_no_header_and_links_no_library_of_them(consumer: pathlib.Path, nvcc: str | None) -> None:
    read = run(["ninja", "-C", consumer, "-t", "deps"]).stdout
    assert "corank/cpu.h" in read
    assert re.findall(r"^.*/(?:absl|grpc|grpcpp|google)/.*$", read, re.MULTILINE) == []
    assert len(programs(consumer)) == (3 if nvcc else 1)
    for program in programs(consumer):
        assert not re.search("absl|grpc|protobuf", run(["ldd", program]).stdout)


def test_consumer_runs(consumer: pathlib.Path) -> None:
    without_gpu = []
    for program in programs(consumer):
        done = run([program], status=(0,) if program.name == "latency_quantiles" else (0, NO_GPU))
        if done.returncode == NO_GPU:
            without_gpu.append(program.name)
            assert re.search("no CUDA-capable device|driver version is insufficient", done.stdout), done.stdout
    if without_gpu:
        pytest.skip(f"no NVIDIA GPU or driver on this machine for {', '.join(without_gpu)}")


def test_kernels_alone_are_configured_without_grpc(tmp_path: pathlib.Path) -> None:
    others = [f"-DCORANK_{part}=OFF" for part in ("SERVER", "CLI", "CLIENT", "CUDA", "TESTS", "BENCH")]
    hidden = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in ("absl", "gRPC", "Protobuf", "PkgConfig")]
    run(["cmake", "-S", ROOT, "-B", tmp_path, *CONFIGURE, *others, *hidden, "-DCORANK_KERNELS=ON"])
    cache = (tmp_path / "CMakeCache.txt").read_text("utf-8")
    assert (
        re.findall(r"^(?!CMAKE_DISABLE).*(?:absl|grpc|protobuf|protoc).*$", cache, re.MULTILINE | re.IGNORECASE) == []
    )
