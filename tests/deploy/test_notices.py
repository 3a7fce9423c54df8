"""scripts/notices.sh: every library that a program links has its notice beside the program."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")


@pytest.fixture(name="build")
def fixture_build(tmp_path: Path) -> Path:
    """A build folder with one program, which links zlib's archive and loads libtbb and libstdc++."""
    build = tmp_path / "build"
    (build / "bin").mkdir(parents=True)
    source = build / "program.cc"
    source.write_text(
        "#include <tbb/parallel_for.h>\n#include <zlib.h>\n"
        "int main(int n, char**) { tbb::parallel_for(0, n, [](int) {}); return zlibVersion()[0] == 0; }\n",
        encoding="utf-8",
    )
    archives = [str(LIBRARIES / "libz.a"), str(LIBRARIES / "libtbb.so")]
    subprocess.run(["c++", "-o", str(build / "bin" / "program"), str(source), *archives], check=True)
    write_link_statement(build, " ".join(archives))
    return build


def write_link_statement(build: Path, libraries: str) -> None:
    (build / "build.ninja").write_text(
        "build bin/other: CXX_LINKER other.o\n  LINK_LIBRARIES = /usr/lib/libother.a\n\n"
        "build bin/program program.1 | other.1: CXX_LINKER program.o\n  FLAGS = -O3\n"
        f"  LINK_LIBRARIES = -Wl,--start-group,{libraries}\n",
        encoding="utf-8",
    )


def notices(folder: Path, build: Path) -> subprocess.CompletedProcess[str]:
    command = [str(ROOT / "scripts" / "notices.sh"), str(folder), str(build), "program"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_notices_name_archives_and_shared_libraries_and_hold_their_licenses(tmp_path: Path, build: Path) -> None:
    result = notices(tmp_path / "doc", build)
    assert result.returncode == 0, result.stderr
    text = (tmp_path / "doc" / "THIRD_PARTY_NOTICES.txt").read_text("utf-8")
    for library in ("libz.a", "libtbb.so.12", "libstdc++.so.6", "libgcc_s.so.1"):
        assert library in text
    assert "Jean-loup Gailly" in text  # zlib's own notice
    assert "Version 2.0, January 2004" in text  # oneTBB's copyright file only refers to the Apache License
    assert "libother" not in text
    assert (tmp_path / "doc" / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert (tmp_path / "doc" / "NOTICE").is_file()


def test_notices_fail_for_a_library_of_no_package(tmp_path: Path, build: Path) -> None:
    write_link_statement(build, "/usr/local/lib/libunknown.a")
    result = notices(tmp_path / "doc", build)
    assert result.returncode == 1
    assert "no Debian package holds /usr/local/lib/libunknown.a" in result.stderr
    assert not (tmp_path / "doc").exists()


def test_notices_fail_for_a_program_that_the_build_does_not_link(tmp_path: Path, build: Path) -> None:
    (build / "build.ninja").write_text("build bin/other: CXX_LINKER other.o\n", encoding="utf-8")
    result = notices(tmp_path / "doc", build)
    assert result.returncode == 1
    assert "does not say how bin/program is linked" in result.stderr


def test_the_license_is_apache_2() -> None:
    text = (ROOT / "LICENSE").read_text("utf-8")
    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text
