#!/usr/bin/env bash
# Checks formats and lints everything: C++ and CUDA, Python, the contract, shell scripts, and the project's own rules.
# Runs all checks, then exits with 1 if one failed.
#
#   scripts/lint.sh [--fix]     --fix rewrites what a formatter can
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
PATH=$PWD/.deps/venv/bin:$PATH

files() { git ls-files --cached --others --exclude-standard -- "$@" | while read -r name; do
  [ ! -f "$name" ] || echo "$name"
done; }
mapfile -t cpp < <(files '*.cc' '*.h' '*.cu' '*.cuh')
mapfile -t shell < <(files '*.sh' .ci/run 'client/*/conformance/run')

if [ "${1:-}" = --fix ]; then
  clang-format -i "${cpp[@]}"
  ruff format .
  ruff check --fix .
  exit
fi

failed=()
check() {
  local name=$1
  shift
  if "$@"; then
    echo "lint: $name: ok"
  else
    echo "lint: $name: FAILED"
    failed+=("$name")
  fi
}

check "clang-format, ${#cpp[@]} files" clang-format --dry-run -Werror "${cpp[@]}"
check "ruff format" ruff format --check --quiet .
check "ruff check" ruff check --quiet .
check "messages of client/python" python client/python/generate.py
# Every run uses the package's strict settings. There are several runs because mypy rejects two conftest.py in one.
mypy=(mypy --config-file client/python/pyproject.toml)
mapfile -t scripts < <(files 'scripts/*.py' 'tests/*.py' 'bench/*.py' 'examples/*.py' 'client/*conformance/*.py' \
  ':!tests/reliability' ':!tests/kserve' ':!tests/clusters' ':!tests/kubernetes' \
  ':!bench/clients/triton_program.py')
folders=(client/{python,python/tests,conformance} tests/{reliability,e2e,deploy,hostile,peers,site}
  bench/{report,places,clients,clusters} scripts/{checks,docs})
mapfile -t reliability < <(files 'tests/reliability/*.py')
check "mypy --strict, client/python" "${mypy[@]}" client/python/src client/python/tests
check "mypy --strict, ${#scripts[@]} other files" env MYPYPATH="$(IFS=:; echo "${folders[*]}")" \
  "${mypy[@]}" "${scripts[@]}"
check "mypy --strict, tests/reliability" env MYPYPATH=client/python:client/python/tests:tests/reliability \
  "${mypy[@]}" "${reliability[@]}"
check "mypy --strict, tests/clusters" env MYPYPATH=client/python/src:tests/clusters "${mypy[@]}" tests/clusters
check "mypy --strict, tests/kubernetes" env MYPYPATH=tests/kubernetes "${mypy[@]}" tests/kubernetes
# tritonclient has no types, and is in an environment of its own.
check "mypy --strict, tests/kserve" env MYPYPATH=client/python/src:tests/kserve:bench/clients \
  "${mypy[@]}" --ignore-missing-imports tests/kserve bench/clients/triton_program.py
check "buf lint" buf lint proto
check "buf breaking" scripts/contract.sh
check "stubs" scripts/stubs.sh --check
check "shellcheck, ${#shell[@]} files" shellcheck "${shell[@]}"
check "include direction" scripts/checks/include_direction.py
check "server rules" scripts/checks/server_rules.py
check "operator files" scripts/checks/operator_files.py
check "import circles" scripts/checks/import_circles.py
check "files" scripts/checks/files.py
[ ${#failed[@]} -eq 0 ] || { echo "lint: failed: ${failed[*]}" >&2; exit 1; }
