#!/usr/bin/env bash
# Runs the GPU tests of this archive one after the other and prints a summary.
#
#   ./run-gpu-tests.sh [--sanitize] [--large] [--filter PATTERN]
#
#   --sanitize  under compute-sanitizer's memcheck (on the PATH, or named by COMPUTE_SANITIZER)
#   --large     the tests of more than 2^31 elements too; they need tens of GB of GPU memory
#   --filter    GoogleTest's --gtest_filter, for every binary
#
# A log of each binary is left in gpu-test-logs/. Exits with 1 if a test failed or nothing but skips was seen.
set -uo pipefail
cd "$(dirname "$0")" || exit 1

sanitize=no
filter='*'
lists=(gpu-tests.txt)
while [ $# -gt 0 ]; do
  case $1 in
    --sanitize) sanitize=yes ;;
    --large) lists+=(large-tests.txt) ;;
    --filter)
      filter=${2:?--filter needs a pattern}
      shift
      ;;
    *)
      sed -n '2,11s/^# \{0,1\}//p' "$0"
      exit 2
      ;;
  esac
  shift
done

command=()
if [ "$sanitize" = yes ]; then
  sanitizer=${COMPUTE_SANITIZER:-$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)}
  [ -x "$sanitizer" ] || { echo "compute-sanitizer not found; name it with COMPUTE_SANITIZER" >&2; exit 2; }
  # GoogleTest's exit code is kept; errors found by the tool give 99.
  command=("$sanitizer" --tool memcheck --error-exitcode 99)
fi

# Sums the numbers that follow a GoogleTest tag, "[  PASSED  ] 12 tests.".
count() { sed -n "s/^\[ *$1 *\] \([0-9][0-9]*\) tests\{0,1\}[,.].*/\1/p" "$2" | awk '{ n += $1 } END { print n + 0 }'; }

mkdir -p gpu-test-logs
passed=0 failed=0 skipped=0 bad_binaries=()
mapfile -t tests < <(sort -u "${lists[@]}")
for test in "${tests[@]}"; do
  log=gpu-test-logs/$test.log
  SECONDS=0
  "${command[@]}" "bin/$test" --gtest_filter="$filter" >"$log" 2>&1
  code=$?
  ok=$(count PASSED "$log") no=$(count FAILED "$log") skip=$(count SKIPPED "$log")
  passed=$((passed + ok)) failed=$((failed + no)) skipped=$((skipped + skip))
  printf '%-40s %4d passed %4d failed %4d skipped %5d s' "$test" "$ok" "$no" "$skip" "$SECONDS"
  if [ $code -ne 0 ]; then
    printf '   exit code %d, see %s\n' $code "$log"
    grep -E -m 5 '^\[  FAILED  \]|Failure$|^========= [^ ]' "$log"
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
# A binary that crashed printed no count of failures.
[ $failed -gt 0 ] || failed=${#bad_binaries[@]}
echo "$passed passed, $failed failed, $skipped skipped"
[ ${#bad_binaries[@]} -eq 0 ] && [ $passed -gt 0 ]
