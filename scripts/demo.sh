#!/usr/bin/env bash
# Installs what is missing, builds the server and the command line, and runs scripts/demo.py, which shows the server at
# work on real data.
#
# With an NVIDIA GPU, or if build/ already has the CUDA engine, the demo uses build/. Otherwise it builds without the
# CUDA engine into build-demo/, which saves minutes and the download of a CUDA compiler.
set -euo pipefail
cd "$(dirname "$0")/.."

targets=(corankd corank std_sort_time)
if grep -qs '^CORANK_CUDA:BOOL=ON' build/CMakeCache.txt || [ -e /dev/nvidiactl ] ||
  command -v nvidia-smi >/dev/null; then
  folder=build
  scripts/setup.sh build
  scripts/build.sh build -DCORANK_CUDA=ON -- "${targets[@]}"
else
  folder=build-demo
  scripts/setup.sh build --no-cuda
  scripts/build.sh build-demo -DCORANK_CUDA=OFF -DCORANK_TESTS=OFF -- "${targets[@]}"
fi
exec .deps/venv/bin/python scripts/demo.py --corankd "$folder/bin/corankd" --cli "$folder/bin/corank" \
  --std-sort "$folder/bin/std_sort_time" "$@"
