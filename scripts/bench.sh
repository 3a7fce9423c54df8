#!/usr/bin/env bash
# Runs one benchmark and writes its table and plots to bench/results/MACHINE. MACHINE is the short name of the GPU
# ("h200"), or "cpu" without a GPU.
#
#   scripts/bench.sh kernels|shards|service|clients|places|sizes|tables|overload|ray|engine [OPTION OF THE BENCHMARK...]
#
# BUILD   the build folder (build)
set -euo pipefail
cd "$(dirname "$0")/.."

subject=${1:?usage: scripts/bench.sh kernels|shards|service|clients|places|sizes|tables|overload|ray|engine [option...]}
shift
case $subject in
  kernels) program=("${BUILD:-build}/bin/kernel_bench") ;;
  shards) program=("${BUILD:-build}/bin/shards_bench") ;;
  service) program=("${BUILD:-build}/bin/service_bench") ;;
  clients) program=(.deps/venv/bin/python bench/clients/clients_bench.py "--corankd=${BUILD:-build}/bin/corankd") ;;
  places) program=(.deps/venv/bin/python bench/places/places_bench.py "--corankd=${BUILD:-build}/bin/corankd") ;;
  sizes) program=(.deps/venv/bin/python bench/places/sizes_bench.py "--corankd=${BUILD:-build}/bin/corankd") ;;
  tables) program=(.deps/venv/bin/python bench/places/tables_bench.py "--corankd=${BUILD:-build}/bin/corankd") ;;
  overload) program=("${BUILD:-build}/bin/overload_bench") ;;
  ray) program=(scripts/ray.sh bench/clusters/ray_bench.py "--corankd=${BUILD:-build}/bin/corankd") ;;
  engine) program=("${BUILD:-build}/bin/engine_bench") ;;
  *)
    echo "bench: no benchmark '$subject'; one of" \
      "kernels shards engine service clients places sizes tables overload ray" >&2
    exit 2
    ;;
esac

machine=cpu
if [ "$subject" != engine ] && gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1) &&
  [ -n "$gpu" ]; then
  machine=$(grep -oiE '\b[a-z]*[0-9]+[a-z]*\b' <<<"$gpu" | head -n 1 | tr '[:upper:]' '[:lower:]')
elif [ "$subject" = kernels ] || [ "$subject" = shards ]; then
  echo "bench: this benchmark needs NVIDIA GPUs; none is on this machine" >&2
  exit 1
fi
results=bench/results/$machine
mkdir -p "$results"
outcome=0
"${program[@]}" --out="$results/$subject.json" "$@" || outcome=$?
.deps/venv/bin/python bench/report/report.py "$results"
exit $outcome
