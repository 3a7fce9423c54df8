#!/usr/bin/env bash
# Runs Triton's perf_analyzer. Its binary needs a newer C library than Debian 12 has, so it runs under the loader and
# the libraries of Debian 13, which are unpacked into .deps/perf-analyzer and touch nothing else.
#
#   scripts/perf_analyzer.sh [ARGUMENT...]
#
# Without an argument it only makes sure that all is there. --shared-memory needs a CUDA runtime, even for system shared
# memory: that of the compiler in .deps/cuda, if there is one.
set -euo pipefail
cd "$(dirname "$0")/.."

version=2.60.0
folder=.deps/perf-analyzer
packages=(libc6 libgcc-s1 libstdc++6 libssl3t64 zlib1g libzstd1)
if [ "$(cat "$folder/.version" 2>/dev/null)" != "$version" ]; then
  rm -rf "$folder"
  mkdir -p "$folder/apt/lists/partial" "$folder/apt/cache/archives/partial" "$folder/debs" "$folder/root"
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
    --platform manylinux_2_38_x86_64 --dest "$folder" "perf-analyzer==$version"
  python3 -m zipfile -e "$folder"/perf_analyzer-*.whl "$folder/wheel"
  touch "$folder/apt/status"
  # The mirror that this machine uses has Debian 13 too.
  # shellcheck disable=SC2016  # apt-get expands it
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' |
    head -n 1)
  [ -n "$mirror" ] ||
    { echo "perf_analyzer: apt knows no mirror of Debian; run apt-get update on a machine with Debian" >&2; exit 1; }
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" >"$folder/apt/sources.list"
  apt=(apt-get -qq -o "Dir::State=$PWD/$folder/apt" -o "Dir::State::status=$PWD/$folder/apt/status"
    -o "Dir::Cache=$PWD/$folder/apt/cache" -o "Dir::Etc::sourcelist=$PWD/$folder/apt/sources.list"
    -o Dir::Etc::sourceparts=- -o APT::Sandbox::User=root)
  "${apt[@]}" update
  (cd "$folder/debs" && "${apt[@]}" download "${packages[@]}")
  for deb in "$folder"/debs/*.deb; do dpkg -x "$deb" "$folder/root"; done
  chmod +x "$folder/wheel/perf_analyzer/bin/perf_analyzer"
  rm -rf "$folder"/apt "$folder"/debs "$folder"/*.whl
  echo "$version" >"$folder/.version"
fi
[ $# -gt 0 ] || exit 0
runtime=$(compgen -G '.deps/cuda/lib/libcudart.so.*' | head -n 1 || true)
[ -z "$runtime" ] || ln -sf "$(realpath "$runtime")" "$folder/root/usr/lib/x86_64-linux-gnu/libcudart.so"
libraries=$PWD/$folder/root/usr/lib/x86_64-linux-gnu
exec "$libraries/ld-linux-x86-64.so.2" --library-path "$libraries" "$folder/wheel/perf_analyzer/bin/perf_analyzer" "$@"
