#!/usr/bin/env bash
# All that `make test` does: set-up, lint, build, and the tests of every language. Every step runs, also after one that
# failed (but nothing after a failed set-up or build); the summary comes last, with what failed, and the exit code is 1
# if a step failed.
#
# BUILD   the build folder (build)
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
build=${BUILD:-build}
python=.deps/venv/bin/python

results=()
failures=0
told=$(mktemp)
trap 'rm -f "$told"' EXIT
# What a failed step printed of its failures is printed again below the summary: its own place is far above.
excerpts=
failure_lines='FAILED|: Failure|^E  |[Ee]rror:|^ +[0-9]+:[0-9]+ +error|^not ok|✖|says something else'
step() {
  local name=$1 began=$SECONDS outcome=passed
  shift
  printf '\n=== %s\n' "$name"
  "$@" 2>&1 | tee "$told" || outcome=FAILED
  if [ $outcome = FAILED ]; then
    failures=$((failures + 1))
    excerpts+=$(printf '\n--- %s\n' "$name"
      grep -a -A 6 -E "$failure_lines" "$told" | tail -n 60)
  fi
  results+=("$(printf '%-42s %-7s %5d s' "$name" $outcome $((SECONDS - began)))")
  [ $outcome = passed ]
}
summary() {
  printf '\n=== summary, %d s in all\n' "$SECONDS"
  printf '  %s\n' "${results[@]}"
  printf '%s\n' "$excerpts"
  echo "steps: $((${#results[@]} - failures)) passed, $failures failed"
  exit $((failures > 0))
}
# All ctest tests but the large ones; then what GoogleTest skipped, with one of the reasons, because ctest shows a test
# binary that skipped everything as passed.
# shellcheck disable=SC2317  # called through step
run_ctest() {
  local code=0 log=$build/Testing/Temporary/LastTest.log skipped
  ctest --test-dir "$build" --output-on-failure --no-tests=error -LE '^large$' -j "$(nproc)" || code=$?
  skipped=$(grep -c -E '^\[  SKIPPED \] .* ms\)$' "$log")
  [ "$skipped" = 0 ] || echo "skipped: $skipped GoogleTest cases: $(grep -m 1 -A 1 ': Skipped$' "$log" | tail -n 1)"
  return "$code"
}
# pytest ends with 5 when it found no test, which must not pass for success here.
# shellcheck disable=SC2317  # called through step
run_pytest() { "$python" -m pytest -q -p no:cacheprovider "$@"; }

# Links and lines of Markdown, the pages that programs print, and the code blocks of the pages.
# shellcheck disable=SC2317  # called through step
check_documents() {
  local code=0
  scripts/checks/markdown.py || code=1
  "$python" scripts/docs/programs.py --check --bin "$build/bin" || code=1
  PATH=$PATH:$PWD/.deps/go/bin "$python" scripts/checks/doc_blocks.py --bin "$build/bin" || code=1  # grpcurl
  return "$code"
}
# Only MkDocs finds a page that the navigation leaves out, and a docstring that does not render.
# shellcheck disable=SC2317  # called through step
build_site() { scripts/setup.sh docs && scripts/docs.sh; }

step "set-up" scripts/setup.sh test || summary
step "lint" scripts/lint.sh
step "build" scripts/build.sh "$build" -DCORANK_CUDA=ON -DCORANK_TESTS=ON -DCORANK_BENCH=ON || summary

step "clang-tidy" scripts/tidy.py "$build"

export CORANKD=$PWD/$build/bin/corankd CORANK=$PWD/$build/bin/corank
step "ctest" run_ctest
step "the checks' own tests" run_pytest tests/checks
step "documents" check_documents
step "documentation site" build_site
step "deployment" run_pytest tests/deploy
step "Python client" run_pytest client/python/tests
step "Go client" client/go/check.sh
step "Java client" client/java/check.sh
step "Node.js client" client/node/check.sh
step "Rust client" client/rust/check.sh
step "packages" run_pytest tests/package
step "end to end" run_pytest tests/e2e
step "Triton's client" scripts/kserve.sh
step "conformance vectors" client/conformance/make_vectors.py --check
step "conformance of the clients" client/conformance/run.py --quick
step "reliability" run_pytest tests/reliability
summary
