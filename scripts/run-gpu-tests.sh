#!/usr/bin/env bash
# Runs the GPU tests of this archive, one binary after the other, and prints a summary.
#
#   ./run-gpu-tests.sh [--sanitize[=TOOL]] [--every N] [--jobs N] [--large] [--without-links] [--filter PATTERN]
#
#   --sanitize  under compute-sanitizer (on the PATH, or named by COMPUTE_SANITIZER): memcheck, or TOOL,
#               racecheck, initcheck or synccheck
#   --every     about one in N cases of tests that have many; racecheck makes some hundreds of times slower
#   --jobs      run each binary's tests in N processes at a time (1)
#   --large     also run the tests of more than 2^31 elements, which need tens of GB of GPU memory
#   --without-links
#               only the tests of several GPUs that need no access to each other's memory, and without it
#   --filter    GoogleTest's --gtest_filter, for every binary
#
# Leaves a log of each process in gpu-test-logs/. Exits with 1 if a test failed or every test was skipped.
set -uo pipefail
cd "$(dirname "$0")" || exit 1

tool='' filter='*' jobs=1
lists=(gpu-tests.txt)
usage() {
  sed -n '2,16s/^# \{0,1\}//p' "$0" >&2
  exit 2
}
number() { [[ ${1:-} =~ ^[1-9][0-9]*$ ]] || usage; }
while [ $# -gt 0 ]; do
  case $1 in
    --sanitize) tool=memcheck ;;
    --sanitize=memcheck | --sanitize=racecheck | --sanitize=initcheck | --sanitize=synccheck) tool=${1#*=} ;;
    --every)
      number "${2:-}"
      export CORANK_TEST_EVERY=$2
      shift
      ;;
    --jobs)
      number "${2:-}"
      jobs=$2
      shift
      ;;
    --large) lists+=(large-tests.txt) ;;
    --without-links)
      export CORANK_PEER_ACCESS=off
      filter='*/Sharded.*:*ShardedFromHost*:ShardedTables*:SharedSegments*'  # as in tests/CMakeLists.txt
      ;;
    --filter)
      filter=${2:?--filter needs a pattern}
      shift
      ;;
    *) usage ;;
  esac
  shift
done

command=()
if [ -n "$tool" ]; then
  sanitizer=${COMPUTE_SANITIZER:-$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)}
  [ -x "$sanitizer" ] || { echo "compute-sanitizer not found; name it with COMPUTE_SANITIZER" >&2; exit 2; }
  # Keeps GoogleTest's exit code; errors found by the tool give 99. A process without a test, or without one that
  # reaches the GPU, is no error.
  command=("$sanitizer" --tool "$tool" --error-exitcode 99 --require-cuda-init no)
fi

# Sums the numbers after a GoogleTest tag, as in "[  PASSED  ] 12 tests.", in all logs of a binary.
count() {
  local tag=$1
  shift
  cat "$@" | sed -n "s/^\[ *$tag *\] \([0-9][0-9]*\) tests\{0,1\}[,.].*/\1/p" | awk '{ n += $1 } END { print n + 0 }'
}

rm -rf gpu-test-logs
mkdir gpu-test-logs
passed=0 failed=0 skipped=0 bad_binaries=()
mapfile -t tests < <(sort -u "${lists[@]}")
for test in "${tests[@]}"; do
  SECONDS=0
  logs=() processes=() bad_logs=() code=0
  # Each of its tests hangs the GPU or ruins a context, which the others would see.
  [ "$test" = gpu_device_lost_test ] && shards=1 || shards=$jobs
  for ((shard = 0; shard < shards; ++shard)); do
    logs+=("gpu-test-logs/$test.$shard.log")
    GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$shard \
      "${command[@]}" "bin/$test" --gtest_filter="$filter" >"${logs[shard]}" 2>&1 &
    processes+=($!)
  done
  for ((shard = 0; shard < shards; ++shard)); do
    wait "${processes[shard]}" || { code=$? bad_logs+=("${logs[shard]}"); }
  done
  ok=$(count PASSED "${logs[@]}") no=$(count FAILED "${logs[@]}") skip=$(count SKIPPED "${logs[@]}")
  passed=$((passed + ok)) failed=$((failed + no)) skipped=$((skipped + skip))
  printf '%-40s %4d passed %4d failed %4d skipped %5d s' "$test" "$ok" "$no" "$skip" "$SECONDS"
  if [ $code -ne 0 ]; then
    printf '   exit code %d, see %s\n' $code "${bad_logs[*]}"
    grep -h -E -m 5 '^\[  FAILED  \]|Failure$|^========= [^ ]' "${bad_logs[@]}"
    bad_binaries+=("$test")
  else
    printf '\n'
  fi
done
if [ ${#bad_binaries[@]} -gt 0 ]; then
  echo "failed: ${bad_binaries[*]}"
elif [ $passed -eq 0 ]; then
  echo "no test ran: $(grep -h -m 1 -i 'skipped$' -A 1 gpu-test-logs/*.log | sed -n 2p)"
fi
# A crashed binary prints no count of failures.
[ $failed -gt 0 ] || failed=${#bad_binaries[@]}
[ "${CORANK_TEST_EVERY:-1}" = 1 ] || echo "of tests with many cases, about one in $CORANK_TEST_EVERY ran"
echo "$passed passed, $failed failed, $skipped skipped"
[ ${#bad_binaries[@]} -eq 0 ] && [ $passed -gt 0 ]
