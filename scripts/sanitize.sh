#!/usr/bin/env bash
# Builds the C++ suite and corankd for a sanitizer, on the CPU engine, and runs all tests against them: the C++ suite,
# the Python client's, tests/e2e and tests/reliability, and for `address` the attacks of tests/hostile.
#
#   scripts/sanitize.sh address|thread [CTEST_ARGUMENT...]     with arguments: only the ctest tests that they select
#   scripts/sanitize.sh address|thread --python [PYTEST_ARGUMENT...]     only the Python tests, or those selected
#
# JOBS    compilers and tests at a time (all cores)
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

kind=${1:?usage: scripts/sanitize.sh address|thread [CTEST_ARGUMENT...]}
shift
what=all targets=()
if [ "${1:-}" = --python ]; then
  what=python targets=(-- corankd corankd_faulty corank)
  shift
elif [ $# -gt 0 ]; then
  what=ctest
fi
folders=(client/python/tests tests/e2e tests/reliability)
# Allocations beyond the machine's memory fail as they do without a sanitizer: tests make them.
common=allocator_may_return_null=1:print_stacktrace=1:halt_on_error=1:abort_on_error=0:exitcode=99
case $kind in
  address)
    build="build-asan"
    folders+=(tests/hostile)
    ASAN_OPTIONS=$common:detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1
    export ASAN_OPTIONS=$ASAN_OPTIONS:check_initialization_order=1
    export LSAN_OPTIONS=suppressions=$PWD/tests/sanitize/leaks.supp:print_suppressions=0
    export UBSAN_OPTIONS=$common
    ;;
  thread)
    build="build-tsan"
    scripts/tsan_grpc.sh || exit 1
    # A case of the engine conformance tests takes a hundred times as long, and threads interact alike in all of them.
    export CORANK_TEST_EVERY=${CORANK_TEST_EVERY:-10}
    # By default a process sleeps for a second before it exits; the tests start hundreds.
    TSAN_OPTIONS=$common:halt_on_error=0:second_deadlock_stack=1:atexit_sleep_ms=50
    export TSAN_OPTIONS=$TSAN_OPTIONS:suppressions=$PWD/tests/sanitize/races.supp
    ;;
  *)
    echo "sanitize: 'address' or 'thread', not '$kind'" >&2
    exit 2
    ;;
esac
# With too much address randomisation, ThreadSanitizer finds its own addresses taken.
run=()
setarch -R true 2>/dev/null && run=(setarch -R)

scripts/build.sh "$build" -DCORANK_SANITIZE="$kind" -DCORANK_WERROR=OFF -DCORANK_CUDA=OFF -DCORANK_TESTS=ON \
  -DCORANK_BENCH=OFF "${targets[@]}" || exit 1
# Under a sanitizer, tests do not judge bounds of memory and time.
export CORANKD_SANITIZED=$kind
status=0
if [ $what != python ]; then
  "${run[@]}" ctest --test-dir "$build" --output-on-failure --no-tests=error -LE '^(large|gpu)$' \
    -j "${JOBS:-$(nproc)}" "$@" || status=1
fi
if [ $what != ctest ]; then
  export CORANKD=$PWD/$build/bin/corankd CORANK=$PWD/$build/bin/corank CORANKD_FAULTY=$PWD/$build/bin/corankd_faulty
  # Most of these tests do not check their server's exit code, so sanitizers report to files. Warnings about allocations
  # beyond the machine's memory are expected there.
  reports=$PWD/$build/reports
  rm -rf "$reports"
  mkdir -p "$reports"
  for options in ASAN_OPTIONS UBSAN_OPTIONS TSAN_OPTIONS; do
    export "$options=${!options:-}:log_path=$reports/report"
  done
  pytest=("${run[@]}" .deps/venv/bin/python -m pytest -q -p no:cacheprovider)
  if [ $# -gt 0 ]; then
    "${pytest[@]}" "$@" || status=1
  else
    for folder in "${folders[@]}"; do "${pytest[@]}" "$folder" || status=1; done
  fi
  if grep -rE 'ERROR: |WARNING: ThreadSanitizer: |runtime error: ' "$reports"; then
    echo "sanitize: see $reports" >&2
    status=1
  fi
fi
exit $status
