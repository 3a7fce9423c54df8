#!/usr/bin/env bash
# Configures and builds a folder with every part of corank and, unless an option says otherwise, warnings as errors.
# Paths below the checkout do not count for the compiler cache, so that a fresh clone finds what another one compiled.
#
#   scripts/build.sh FOLDER [CMAKE_OPTION...] [-- TARGET...]
set -euo pipefail
cd "$(dirname "$0")/.."

# A precompiled header makes ccache miss without these sloppinesses. CCACHE_DEPEND: to make such a header anew, ccache
# would run the preprocessor, which takes the old one in its place, so that two different headers had one key.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1
folder=${1:?usage: scripts/build.sh FOLDER [CMAKE_OPTION...] [-- TARGET...]}
shift
options=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  options+=("$1")
  shift
done
[ $# -eq 0 ] || shift

if ! cmake -S . -B "$folder" -G Ninja -DCORANK_WERROR=ON "${options[@]}" >"$folder.configure.log" 2>&1; then
  cat "$folder.configure.log" >&2
  exit 1
fi
mkdir -p "$folder" && mv "$folder.configure.log" "$folder/configure.log"
# JOBS: how many compilers at a time; all cores by default.
NINJA_STATUS="[%f/%t %es] " ninja -C "$folder" -j "${JOBS:-$(nproc)}" "$@"
