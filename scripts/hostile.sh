#!/usr/bin/env bash
# Attacks the server's HTTP/2 in every way of tests/hostile/attacks.py beside a caller that behaves, and judges memory,
# probes and the caller's answers. Prints the figures as a table.
#
#   scripts/hostile.sh BUILD [PYTEST_ARGUMENT...]
#
# CORANKD                   the server to attack, with or without a GPU; by default that of the build folder
# CORANK_HOSTILE_SECONDS    how long each attack goes on (8)
# CORANK_HOSTILE_TABLE      a file for the table
set -euo pipefail
cd "$(dirname "$0")/.."

build=${1:?usage: scripts/hostile.sh BUILD [PYTEST_ARGUMENT...]}
shift
export CORANKD=${CORANKD:-$PWD/$build/bin/corankd}
exec .deps/venv/bin/python -m pytest -q -s -p no:cacheprovider tests/hostile "$@"
