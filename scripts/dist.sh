#!/usr/bin/env bash
# Makes dist/corank-VERSION-linux-x86_64.tar.xz from a finished build: server, command line, GPU tests and benchmarks,
# with every library except glibc's, the licenses of all of them, and the documentation site.
#
#   scripts/dist.sh [BUILD_FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."

MAX_MB=40
build=${1:-build}
version=$(sed -n 's/^project(corank VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
name=corank-$version-linux-x86_64
tree=dist/$name
archive=$tree.tar.xz

# The paths of the test binaries with a ctest label, one a line. With a second argument: those of the programs that they
# start (PROGRAMS of corank_test).
tests_labelled() {
  ctest --test-dir "$build" --show-only=json-v1 -L "^($1)\$" |
    python3 -c '
import json, sys
for test in json.load(sys.stdin)["tests"]:
    properties = {entry["name"]: entry["value"] for entry in test["properties"]}
    print(*(properties.get("REQUIRED_FILES", []) if sys.argv[1:] else test["command"][:1]), sep="\n")' "${@:2}" |
    sed '/^$/d' | sort -u
}

mapfile -t gpu_tests < <(tests_labelled gpu)
mapfile -t large_tests < <(tests_labelled large)
mapfile -t started < <(tests_labelled 'gpu|large' programs)
mapfile -t benchmarks < <(find "$build/bin" -maxdepth 1 -type f -executable \
  \( -name '*_bench' -o -name '*echo_server' \) | sort)
[ ${#gpu_tests[@]} -gt 0 ] ||
  { echo "dist: $build has no test labelled gpu: build it with CORANK_CUDA=ON" >&2; exit 1; }

rm -rf "$tree" "$archive"
scripts/bundle.sh "$tree" "$build/bin/corankd" "$build/bin/corank" "${gpu_tests[@]}" "${large_tests[@]}" \
  "${started[@]}" "${benchmarks[@]}"
printf '%s\n' "${gpu_tests[@]##*/}" | sort -u >"$tree/gpu-tests.txt"
printf '%s\n' "${large_tests[@]##*/}" | sed '/^$/d' | sort -u >"$tree/large-tests.txt"
install -m 755 scripts/run-gpu-tests.sh "$tree/run-gpu-tests.sh"
install -m 644 CHANGELOG.md "$tree/"
# The README leads to the pages of the site.
scripts/setup.sh docs
scripts/docs.sh
cp -r build-docs "$tree/docs"
install -m 644 .deps/venv/lib/python3*/site-packages/mkdocs_material-*.dist-info/licenses/LICENSE \
  "$tree/docs/assets/LICENSE"
sed -E 's,\]\((docs/[^)#]*)\.md,](\1.html,g' README.md >"$tree/README.md"
# The program itself prints them.
install -d "$tree/share/man/man1" "$tree/share/bash-completion/completions"
"$build/bin/corank" help --man >"$tree/share/man/man1/corank.1"
"$build/bin/corank" completion bash >"$tree/share/bash-completion/completions/corank"
install -D -m 644 -t "$tree/systemd" deploy/systemd/corankd.service deploy/systemd/corankd.conf
mapfile -t programs < <(find "$tree/bin" -type f -printf '%f\n' | sort)
scripts/notices.sh "$tree" "$build" "${programs[@]}"

# The test programs contain the same kernels: a dictionary that spans several of them finds each copy.
tar --sort=name --owner=0 --group=0 --numeric-owner -C dist -I 'xz --lzma2=preset=1,dict=128MiB' -cf "$archive" "$name"
scripts/checks/dist_runs.sh "$tree"
size=$(du -m "$archive" | cut -f 1)
echo "dist: $archive, $size MB (limit $MAX_MB MB)"
[ "$size" -lt "$MAX_MB" ] || { echo "dist: the archive is too large" >&2; exit 1; }
