#!/usr/bin/env bash
# The long tests of reliability against a server: SOAK_MINUTES at 0.8 of its capacity with clients that crash, stall and
# reconnect, then every fault in every phase and place, and figures of how tenants share. Figures and a plot go to
# tests/reliability/results.
#
# CORANKD             the server to test, also one with a GPU; where it is not given, one for the CPU is built
# SOAK_MINUTES        60
# RELIABILITY_ROUNDS  how often each fault is tried (3)
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
