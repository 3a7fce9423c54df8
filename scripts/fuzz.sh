#!/usr/bin/env bash
# Builds the fuzz targets of tests/fuzz with Clang, AddressSanitizer and UndefinedBehaviorSanitizer, and runs each for a
# number of inputs. Exits with 1 if one finds a crash, a leak, a hang or too much memory; the input is then in
# build-fuzz/found/TARGET: fix the fault and move the file to tests/fuzz/corpus/TARGET, where `make test` replays it.
#
#   scripts/fuzz.sh [TARGET...]       all targets by default
#
# RUNS    inputs for each target (1000000)
# JOBS    compilers at a time (all cores); targets run one after the other
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

build="build-fuzz"
runs=${RUNS:-1000000}
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
  mapfile -t targets < <(basename -s _fuzz.cc -a tests/fuzz/*_fuzz.cc)
fi
binaries=()
for target in "${targets[@]}"; do binaries+=("fuzz_$target" "fuzz_${target}_replay"); done
scripts/build.sh "$build" -DCMAKE_CXX_COMPILER=clang++-14 -DCORANK_FUZZ=ON -DCORANK_WERROR=OFF -DCORANK_CUDA=OFF \
  -DCORANK_TESTS=ON \
  -DCORANK_BENCH=OFF -- "${binaries[@]}" || exit 1

# Without the entropic weighting of rare features, which takes three quarters of the time, libFuzzer runs several times
# as many inputs. The limit of one allocation is the same as in tests/fuzz/replay.cc.
export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:allocator_may_return_null=0
export LSAN_OPTIONS=suppressions=$PWD/tests/sanitize/leaks.supp:print_suppressions=0
export UBSAN_OPTIONS=print_stacktrace=1
status=0
for target in "${targets[@]}"; do
  work=$build/corpus/$target found=$build/found/$target
  mkdir -p "$work" "$found" "tests/fuzz/corpus/$target"
  "$build/bin/fuzz_${target}_replay" --write-seeds="$build/seeds/$target" || exit 1
  options=()
  [ ! -f "tests/fuzz/$target.dict" ] || options+=("-dict=tests/fuzz/$target.dict")
  if "$build/bin/fuzz_$target" -runs="$runs" -entropic=0 -timeout=20 -rss_limit_mb=2048 -malloc_limit_mb=64 \
    -max_len=8192 -print_final_stats=1 -artifact_prefix="$found/" "${options[@]}" \
    "$work" "tests/fuzz/corpus/$target" "$build/seeds/$target" >"$build/$target.log" 2>&1; then
    runs=$(grep -o 'number_of_executed_units: *[0-9]*' "$build/$target.log" | grep -o '[0-9]*$' || true)
    echo "fuzz: $target: $runs runs, nothing found"
  else
    echo "fuzz: $target: FOUND something, see $build/$target.log and $found" >&2
    tail -n 40 "$build/$target.log" >&2
    status=1
  fi
done
exit $status
