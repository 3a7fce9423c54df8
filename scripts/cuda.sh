#!/usr/bin/env bash
# Puts a CUDA 13.0 compiler into .deps/cuda from NVIDIA's wheels on PyPI, unless an nvcc 13 is on the PATH, and the
# headers of a newer CCCL into .deps/cccl, for the references of kernel_bench that CUDA 13.0 lacks. Prints the path of
# the nvcc to use. No GPU or driver is needed.
set -euo pipefail
cd "$(dirname "$0")/.."

# corank requires driver 580, which CUDA 13.0 requires; the minor pins keep builds repeatable.
packages=(
  nvidia-cuda-nvcc==13.0.88 nvidia-cuda-crt==13.0.88 nvidia-nvvm==13.0.88
  nvidia-cuda-runtime==13.0.96 nvidia-cuda-cccl==13.0.85
)

cccl=nvidia-cuda-cccl==13.3.5.0.6
if [ "$(cat .deps/cccl/.package 2>/dev/null)" != "$cccl" ]; then
  rm -rf .deps/cccl .deps/cccl-wheel
  mkdir -p .deps
  .deps/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps \
    --target .deps/cccl-wheel "$cccl" >&2
  mv .deps/cccl-wheel/nvidia/cu13/include/cccl .deps/cccl
  rm -rf .deps/cccl-wheel
  echo "$cccl" > .deps/cccl/.package
fi

if command -v nvcc >/dev/null && nvcc --version | grep -q 'release 13\.'; then
  command -v nvcc
  exit 0
fi
root=$PWD/.deps/cuda
if [ ! -x "$root/bin/nvcc" ] || [ ! -d "$root/licenses" ] ||
  [ "$(cat "$root/.packages" 2>/dev/null)" != "${packages[*]}" ]; then
  echo "cuda: installing the CUDA 13.0 compiler from Python wheels into .deps/cuda" >&2
  rm -rf "$root" .deps/cuda-wheels
  mkdir -p .deps
  .deps/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps \
    --target .deps/cuda-wheels "${packages[@]}" >&2
  mv .deps/cuda-wheels/nvidia/cu13 "$root"
  mkdir "$root/licenses"  # scripts/notices.sh puts them into what is distributed
  for license in .deps/cuda-wheels/*.dist-info/licenses/License.txt; do
    cp "$license" "$root/licenses/$(basename "${license%%-[0-9]*}").txt"
  done
  rm -rf .deps/cuda-wheels
  ln -s lib "$root/lib64"
  chmod +x "$root"/bin/* "$root"/nvvm/bin/*
  echo "${packages[*]}" > "$root/.packages"
fi
echo "$root/bin/nvcc"
