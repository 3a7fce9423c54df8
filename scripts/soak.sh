#!/usr/bin/env bash
# Runs the long reliability tests: SOAK_MINUTES at 0.8 of a server's capacity with clients that crash, stall and
# reconnect, then every fault in every phase and place, and measurements of how tenants share. Writes figures and a plot
# to tests/reliability/results.
#
# CORANKD             the server to test, with or without a GPU; by default the script builds one for the CPU
# SOAK_MINUTES        60
# RELIABILITY_ROUNDS  how often to try each fault (3)
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
python=.deps/venv/bin/python

if [ -z "${CORANKD:-}" ]; then
  scripts/build.sh build-soak -DCORANK_CUDA=OFF -DCORANK_TESTS=OFF -DCORANK_BENCH=OFF || exit 1
  export CORANKD=$PWD/build-soak/bin/corankd
fi
status=0
"$python" tests/reliability/soak.py || status=1
RELIABILITY_LONG=1 RELIABILITY_ROUNDS=${RELIABILITY_ROUNDS:-3} "$python" -m pytest -q -s -p no:cacheprovider \
  tests/reliability || status=1
exit $status
