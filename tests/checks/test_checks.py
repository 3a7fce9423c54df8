"""The checks that `make test` runs catch what they should."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHECKS = ROOT / "scripts" / "checks"
MOST_FILES: dict[str, int] = runpy.run_path(str(CHECKS / "operator_files.py"))["MOST_FILES"]


def run_check(name: str, root: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(CHECKS / name), str(root)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def write(root: Path, name: str, text: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


WRONG_INCLUDES = [
    ("kernels/common/a.h", "kernels/engine/engine.h"),
    ("kernels/engine/a.h", "kernels/cpu/cpu_engine.h"),
    ("kernels/cpu/a.cc", "kernels/cuda/cuda_engine.h"),
    ("kernels/cuda/a.cu", "server/schedule/queue.h"),
    ("kernels/cuda/a.cuh", "corank/v1/array.pb.h"),
    ("kernels/cpu/a.cc", "grpcpp/grpcpp.h"),
    ("kernels/cpu/a.cc", "prometheus/registry.h"),
    ("server/plan/a.cc", "server/rpc/service.h"),
    ("server/model/a.cc", "server/run/lane.h"),
    ("server/base/a.cc", "server/model/operand.h"),
    ("server/wire/a.cc", "server/model/operand.h"),
    ("server/plan/a.cc", "server/wire/call.h"),
    ("server/observe/a.cc", "server/rpc/service.h"),
    ("server/schedule/a.cc", "corank/v1/array.pb.h"),
    ("server/schedule/a.cc", "prometheus/histogram.h"),
    ("server/rpc/a.cc", "kernels/cuda/cuda_engine.h"),
    ("server/rpc/a.cc", "client/cpp/client.h"),
    ("client/cpp/a.cc", "server/base/errors.h"),
    ("client/cli/a.cc", "kernels/cpu/cpu_engine.h"),
    ("kernels/cpu/a.cc", "proto/wire_enums.h"),
    ("server/schedule/a.cc", "proto/wire_enums.h"),
    ("proto/a.cc", "kernels/engine/engine.h"),
    ("proto/a.cc", "server/base/errors.h"),
    ("proto/a.cc", "corank/element.h"),
    ("kernels/common/a.h", "corank/element.h"),
    ("kernels/common/a.h", "absl/strings/str_cat.h"),
    ("kernels/cuda/sort/a.cu", "absl/status/status.h"),
    ("kernels/cpu/a.h", "absl/numeric/bits.h"),
    ("kernels/cuda/sort/a.cu", "corank/cuda.h"),
    ("kernels/include/corank/cuda.h", "corank/client.h"),
    ("kernels/include/corank/cuda.h", "absl/types/span.h"),
    ("kernels/include/corank/cuda.h", "server/base/errors.h"),
    ("server/rpc/a.cc", "corank/client.h"),
    ("server/schedule/a.cc", "corank/wire/v1/rpc_status.pb.h"),
    ("server/rpc/a.cc", "grpcpp/server_context.h"),
    ("server/a.cc", "grpc/grpc.h"),
    ("server/kserve/a.cc", "inference/grpc_service.grpc.pb.h"),
    ("server/run/a.cc", "server/wire/call.h"),
    ("include/corank/a.h", "corank/v1/array.pb.h"),
    ("include/corank/a.h", "grpcpp/grpcpp.h"),
    ("include/corank/a.h", "client/cpp/job.h"),
    ("include/corank/a.h", "kernels/common/types.h"),
    ("spelling/a.cc", "client/cli/options.h"),
    ("version/a.cc", "server/base/clock.h"),
]

RIGHT_INCLUDES = [
    ("kernels/cuda/a.cu", "kernels/common/types.h"),
    ("kernels/cpu/a.cc", "kernels/engine/engine.h"),
    ("kernels/common/a.h", "corank/types.h"),
    ("kernels/cpu/engine/a.cc", "absl/status/status.h"),
    ("kernels/engine/a.h", "absl/status/status.h"),
    ("kernels/cuda/cuda_engine.h", "absl/status/statusor.h"),
    ("kernels/include/corank/cuda.h", "kernels/cuda/sort/sort.h"),
    ("kernels/include/corank/cuda.h", "corank/types.h"),
    ("server/rpc/a.cc", "server/run/lane.h"),
    ("server/schedule/a.cc", "server/base/errors.h"),
    ("server/schedule/a.cc", "server/observe/metrics.h"),
    ("server/plan/a.h", "corank/v1/array.pb.h"),
    ("server/observe/a.cc", "prometheus/registry.h"),
    ("server/run/a.cc", "kernels/cuda/cuda_engine.h"),
    ("server/main.cc", "server/rpc/service.h"),
    ("server/rpc/a.cc", "grpc/health/v1/health.pb.h"),
    ("server/rpc/a.cc", "server/wire/call.h"),
    ("client/cpp/a.cc", "kernels/common/types.h"),
    ("tests/e2e/a.cc", "server/rpc/service.h"),
    ("bench/a.cc", "kernels/cuda/cuda_engine.h"),
    ("proto/a.cc", "kernels/common/types.h"),
    ("server/run/a.cc", "proto/wire_enums.h"),
    ("client/cpp/a.cc", "corank/client.h"),
    ("include/corank/a.h", "corank/internal/a.h"),
    ("include/corank/a.h", "absl/status/status.h"),
    ("spelling/a.cc", "spelling/a.h"),
    ("client/cli/a.cc", "spelling/a.h"),
]


@pytest.mark.parametrize(("path", "include"), WRONG_INCLUDES)
@pytest.mark.parametrize("form", ['#include "{}"', "#include <{}>", '  #  include "{}"  // why'])
def test_wrong_include_is_named_with_file_line_and_rule(tmp_path: Path, path: str, include: str, form: str) -> None:
    write(tmp_path, path, f"// a file\n#include <vector>\n{form.format(include)}\n")
    result = run_check("include_direction.py", tmp_path)
    assert result.returncode == 1
    assert f'{path}:3: includes "{include}": ' in result.stderr


@pytest.mark.parametrize(("path", "include"), RIGHT_INCLUDES)
def test_right_include_passes(tmp_path: Path, path: str, include: str) -> None:
    write(tmp_path, "kernels/common/types.h", "#include <cstdint>\n")
    write(tmp_path, path, f'#include "{include}"\n')
    result = run_check("include_direction.py", tmp_path)
    assert result.returncode == 0, result.stderr


def test_a_tree_without_sources_fails(tmp_path: Path) -> None:
    assert run_check("include_direction.py", tmp_path).returncode == 1


def repository(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    return tmp_path


def test_files_accepts_a_clean_tree(tmp_path: Path) -> None:
    root = repository(tmp_path)
    write(root, "a.cc", "int main() {}\n" * 500)
    write(root, "run.sh", "#!/bin/sh\n").chmod(0o755)
    result = run_check("files.py", root)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("long.cu", "\n" * 501, "long.cu:501: 501 lines"),
        ("a.py", "x = 1\n# " + "TO" + "DO: later\n", "a.py:2: leftover"),
        ("wide.proto", "//" + "a" * 119 + "\n", "wide.proto:1: 121 columns"),
        ("a.h", "<<<<" + "<<< HEAD\n", "a.h:1: leftover"),
        ("run.sh", "#!/bin/sh\n", "run.sh:1: starts with #! but is not executable"),
    ],
)
def test_files_names_what_is_wrong(tmp_path: Path, name: str, text: str, message: str) -> None:
    root = repository(tmp_path)
    write(root, name, text)
    result = run_check("files.py", root)
    assert result.returncode == 1
    assert message in result.stderr


def test_this_tree_passes_the_include_check() -> None:
    result = run_check("include_direction.py", ROOT)
    assert result.returncode == 0, result.stderr


CIRCLES = {
    "at the top": ("from corank._b import b\n", "from corank import _a as a\n"),
    "in a function": ("import corank._b\n", "def b():\n    from corank._a import a\n"),
    "for types": ("from . import _b\n", "if TYPE_CHECKING:\n    from ._a import A\n"),
    "of the package": ("from corank import Client\n", ""),
}


@pytest.mark.parametrize("form", CIRCLES)
def test_a_circle_of_imports_is_named_with_file_line_and_module(tmp_path: Path, form: str) -> None:
    write(tmp_path, "client/python/src/corank/__init__.py", "from corank._a import a\n")
    write(tmp_path, "client/python/src/corank/_a.py", CIRCLES[form][0])
    write(tmp_path, "client/python/src/corank/_b.py", CIRCLES[form][1])
    result = run_check("import_circles.py", tmp_path)
    assert result.returncode == 1
    other = "corank" if form == "of the package" else "corank._b"
    assert f"client/python/src/corank/_a.py:1: imports {other}\n" in result.stderr


def test_imports_in_one_direction_pass(tmp_path: Path) -> None:
    write(tmp_path, "client/python/src/corank/__init__.py", "from corank._a import a\n")
    write(tmp_path, "client/python/src/corank/_a.py", "import os\nfrom corank import _b as b\n")
    write(tmp_path, "client/python/src/corank/_b.py", "from corank.v1 import array_pb2\n")
    result = run_check("import_circles.py", tmp_path)
    assert result.returncode == 0, result.stderr


def test_a_client_without_modules_fails(tmp_path: Path) -> None:
    assert run_check("import_circles.py", tmp_path).returncode == 1


def test_the_text_of_every_mutation_stands_in_the_code() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "mutate.py"), "list"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


OPERATOR_ROWS = """
#define CORANK_OPERATORS(ROW) \\
  ROW(Sort, sort)             \\
  ROW(Search, search)
"""


def test_operator_files_passes_on_corank() -> None:
    result = run_check("operator_files.py", ROOT)
    assert result.returncode == 0, result.stderr
    assert "13 operators" in result.stdout


def test_operator_files_counts_code_and_not_comments(tmp_path: Path) -> None:
    write(tmp_path, "server/model/operator.h", OPERATOR_ROWS)  # the first file
    for i in range(1, MOST_FILES["Search"]):
        write(tmp_path, f"server/run/a{i}.cc", "case Operator::kSearch:\n")
    for i in range(20):
        write(tmp_path, f"server/run/b{i}.cc", "// Search, as in SearchRequest\nint research = ResearchRequest;\n")
    result = run_check("operator_files.py", tmp_path)
    assert result.returncode == 0, result.stderr

    for line in ["SearchOperation search;", '#include "server/run/device_ops/search.h"', "v1::SearchRequest request;"]:
        write(tmp_path, "server/rpc/one_too_many.cc", line + "\n")
        result = run_check("operator_files.py", tmp_path)
        assert result.returncode == 1
        assert "server/rpc/one_too_many.cc" in result.stderr


def test_operator_files_wants_a_limit_for_a_new_operator(tmp_path: Path) -> None:
    write(tmp_path, "server/model/operator.h", OPERATOR_ROWS.replace("Search, search", "Reverse, reverse"))
    result = run_check("operator_files.py", tmp_path)
    assert result.returncode == 1
    assert "Reverse is in 1 files, more than 0" in result.stderr


def test_operator_files_tells_the_operator_group_from_groups_of_settings(tmp_path: Path) -> None:
    write(tmp_path, "server/model/operator.h", OPERATOR_ROWS.replace("Search, search", "Group, group"))
    for i in range(1, MOST_FILES["Group"]):
        write(tmp_path, f"server/run/a{i}.cc", "const v1::GroupRequest& request = operation.group();\n")
    write(tmp_path, "server/config/help.cc", "for (const Setting& setting : group.settings) Print(setting.group());\n")
    result = run_check("operator_files.py", tmp_path)
    assert result.returncode == 0, result.stderr
    write(tmp_path, "server/rpc/one_too_many.cc", "Read(plan.operations(0).group());\n")
    assert run_check("operator_files.py", tmp_path).returncode == 1


BROKEN_RULES = [
    ("server/rpc/a.cc", "const auto* sort = dynamic_cast<const SortOperation*>(&operation);"),
    ("server/plan/a.h", "  mutable absl::Mutex mutex_;"),
    ("server/memory/a.h", "  mutable int64_t bytes_ = 0;"),
    ("server/plan/a.h", '#include "grpcpp/support/slice.h"'),
    ("server/run/a.cc", "grpc::Slice slice;"),
    ("server/plan/a.cc", 'return absl::EndsWith(field, "counts");'),
    ("server/run/a.cc", "mutex_.AwaitWithTimeout(absl::Condition(&done_), timeout);"),
]


@pytest.mark.parametrize(("name", "line"), BROKEN_RULES)
def test_server_rules_finds_every_broken_rule(tmp_path: Path, name: str, line: str) -> None:
    write(tmp_path, name, f"int a;\n{line}\n")
    result = run_check("server_rules.py", tmp_path)
    assert result.returncode == 1
    assert f"{name}:2: " in result.stderr


def test_server_rules_leaves_comments_and_other_folders_alone(tmp_path: Path) -> None:
    write(tmp_path, "server/plan/a.cc", "// dynamic_cast would do\nint a;\n")
    write(tmp_path, "server/run/a.h", "  mutable absl::Mutex mutex_;\n")
    result = run_check("server_rules.py", tmp_path)
    assert result.returncode == 0, result.stderr


def test_server_rules_passes_on_corank() -> None:
    result = run_check("server_rules.py", ROOT)
    assert result.returncode == 0, result.stderr
