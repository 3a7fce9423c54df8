#!/usr/bin/env bash
# Runs Python in an environment with Ray and Dask: .deps/ray-venv, which the first run makes.
#
#   scripts/ray.sh [PYTHON_ARGUMENT...]
#
# CORANKD: the server's binary.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=.deps/ray-venv
key=$(sha256sum <scripts/requirements-ray.txt)
if [ "$(cat "$venv/.requirements" 2>/dev/null)" != "$key" ]; then
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r scripts/requirements-ray.txt
  echo "$key" >"$venv/.requirements"
fi
PYTHONPATH=client/python .deps/venv/bin/python -c 'import generate; generate.ensure()' # the messages of the client
# Workers of Ray find the client by this too.
export PYTHONPATH=$PWD/client/python/src RAY_USAGE_STATS_ENABLED=0 RAY_DEDUP_LOGS=0
exec "$venv/bin/python" "$@"
