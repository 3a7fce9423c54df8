"""The scripts behind `make dist`: the bundle contains every library it needs, and its test runner reports failures."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def compile_c(output: Path, source: str, *options: str) -> None:
    file = output.with_suffix(".c")
    file.write_text(source, encoding="utf-8")
    subprocess.run(["cc", "-o", str(output), str(file), *options], check=True)


@pytest.fixture(name="program")
def fixture_program(tmp_path: Path) -> Path:
    """A program that loads libouter.so, which loads libinner.so."""
    build = tmp_path / "build"
    build.mkdir()
    search = (f"-L{build}", f"-Wl,-rpath,{build}")
    compile_c(build / "libinner.so", "int inner(void) { return 7; }", "-shared", "-fPIC")
    outer = "int inner(void); int outer(void) { return inner(); }"
    compile_c(build / "libouter.so", outer, "-shared", "-fPIC", *search, "-linner")
    compile_c(build / "program", "int outer(void); int main(void) { return outer(); }", *search, "-louter")
    return build / "program"


def bundle(prefix: Path, program: Path) -> subprocess.CompletedProcess[str]:
    command = [str(ROOT / "scripts" / "bundle.sh"), str(prefix), str(program)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_bundle_runs_after_the_build_folder_is_gone(tmp_path: Path, program: Path) -> None:
    result = bundle(tmp_path / "tree", program)
    assert result.returncode == 0, result.stderr
    assert {path.name for path in (tmp_path / "tree" / "lib").iterdir()} == {"libinner.so", "libouter.so"}
    shutil.rmtree(program.parent)
    assert subprocess.run([str(tmp_path / "tree" / "bin" / "program")], check=False).returncode == 7


def test_bundle_fails_for_a_library_that_is_not_there(tmp_path: Path, program: Path) -> None:
    (program.parent / "libinner.so").unlink()
    result = bundle(tmp_path / "tree", program)
    assert result.returncode == 1
    assert "libinner.so" in result.stderr


@pytest.fixture(name="archive")
def fixture_archive(tmp_path: Path) -> Path:
    """An unpacked archive without tests."""
    (tmp_path / "bin").mkdir()
    shutil.copy(ROOT / "scripts" / "run-gpu-tests.sh", tmp_path)
    (tmp_path / "gpu-tests.txt").touch()
    (tmp_path / "large-tests.txt").touch()
    return tmp_path


def add_test(archive: Path, name: str, output: str, code: int, kind: str = "gpu") -> None:
    """A stand-in for a GoogleTest binary."""
    file = archive / "bin" / name
    file.write_text(f"#!/bin/sh\ncat <<'END'\n{output}\nEND\nexit {code}\n", encoding="utf-8")
    file.chmod(0o755)
    with (archive / f"{kind}-tests.txt").open("a", encoding="utf-8") as listing:
        listing.write(f"{name}\n")


def run_tests(archive: Path, *options: str) -> tuple[int, str]:
    command = [str(archive / "run-gpu-tests.sh"), *options]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.returncode, result.stdout.splitlines()[-1]


PASSES = "[  PASSED  ] 3 tests."
SKIPS = "a.cc:1: Skipped\nno GPU\n[  PASSED  ] 0 tests.\n[  SKIPPED ] 2 tests, listed below:"
FAILS = "[  PASSED  ] 2 tests.\n[  FAILED  ] 1 test, listed below:\n[  FAILED  ] A.B"


def test_runner_adds_up_passes_and_skips(archive: Path) -> None:
    add_test(archive, "one", PASSES, 0)
    add_test(archive, "two", SKIPS, 0)
    assert run_tests(archive) == (0, "3 passed, 0 failed, 2 skipped")


def test_runner_fails_with_a_failed_test(archive: Path) -> None:
    add_test(archive, "one", FAILS, 1)
    add_test(archive, "two", PASSES, 0)
    assert run_tests(archive) == (1, "5 passed, 1 failed, 0 skipped")


def test_runner_fails_with_a_crash(archive: Path) -> None:
    add_test(archive, "one", "", 134)
    add_test(archive, "two", PASSES, 0)
    assert run_tests(archive) == (1, "3 passed, 1 failed, 0 skipped")


def test_runner_fails_where_everything_is_skipped(archive: Path) -> None:
    add_test(archive, "one", SKIPS, 0)
    assert run_tests(archive) == (1, "0 passed, 0 failed, 2 skipped")


def test_runner_leaves_large_tests_out_unless_asked(archive: Path) -> None:
    add_test(archive, "one", PASSES, 0)
    add_test(archive, "big", PASSES, 0, kind="large")
    assert run_tests(archive) == (0, "3 passed, 0 failed, 0 skipped")
    assert run_tests(archive, "--large") == (0, "6 passed, 0 failed, 0 skipped")


def test_runner_shares_tests_out_and_thins_them(archive: Path) -> None:
    words = "[  PASSED  ] $((GTEST_SHARD_INDEX + 1)) tests."
    add_test(archive, "one", PASSES, 0)
    told = 'echo "$GTEST_SHARD_INDEX of $GTEST_TOTAL_SHARDS, one in ${CORANK_TEST_EVERY:-1}"'
    (archive / "bin" / "one").write_text(f'#!/bin/sh\n{told}\necho "{words}"\n', encoding="utf-8")
    assert run_tests(archive, "--jobs", "3", "--every", "16") == (0, "6 passed, 0 failed, 0 skipped")
    logs = sorted((archive / "gpu-test-logs").iterdir())
    assert [log.read_text("utf-8").splitlines()[0] for log in logs] == [f"{i} of 3, one in 16" for i in range(3)]


def test_runner_takes_tests_without_links_as_ctest_does(archive: Path) -> None:
    add_test(archive, "one", PASSES, 0)
    told = 'echo "$CORANK_PEER_ACCESS $@"'
    (archive / "bin" / "one").write_text(f"#!/bin/sh\n{told}\necho '{PASSES}'\n", encoding="utf-8")
    assert run_tests(archive, "--without-links") == (0, "3 passed, 0 failed, 0 skipped")
    access, option = (archive / "gpu-test-logs" / "one.0.log").read_text("utf-8").splitlines()[0].split()
    assert access == "off"
    assert f"COMMAND ${{name}} {option})" in (ROOT / "tests" / "CMakeLists.txt").read_text("utf-8")


def test_runner_takes_each_tool_of_the_sanitizer(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_test(archive, "one", PASSES, 0)
    sanitizer = archive / "sanitizer"
    sanitizer.write_text('#!/bin/sh\necho "$@" >>"$0.calls"\n[ "$2" != racecheck ] || exit 99\n', encoding="utf-8")
    sanitizer.chmod(0o755)
    monkeypatch.setenv("COMPUTE_SANITIZER", str(sanitizer))
    assert run_tests(archive, "--sanitize=racecheck") == (1, "0 passed, 1 failed, 0 skipped")
    run_tests(archive, "--sanitize")
    calls = (archive / "sanitizer.calls").read_text("utf-8").splitlines()
    assert [call.split()[1] for call in calls] == ["racecheck", "memcheck"]


@pytest.mark.parametrize("options", [["--jobs", "0"], ["--jobs"], ["--every", "many"], ["--sanitize=valgrind"], ["-x"]])
def test_runner_explains_itself_where_it_is_asked_wrongly(archive: Path, options: list[str]) -> None:
    result = subprocess.run([str(archive / "run-gpu-tests.sh"), *options], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "--sanitize[=TOOL]" in result.stderr
