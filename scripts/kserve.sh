#!/usr/bin/env bash
# Tests the server with Triton's own client, in a Python environment of its own: .deps/triton-venv.
#
#   scripts/kserve.sh [PYTEST_ARGUMENT...]
#
# CORANKD: the server's binary.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=.deps/triton-venv
key=$(sha256sum <scripts/requirements-kserve.txt)
if [ "$(cat "$venv/.requirements" 2>/dev/null)" != "$key" ]; then
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r scripts/requirements-kserve.txt
  echo "$key" >"$venv/.requirements"
fi
PYTHONPATH=client/python .deps/venv/bin/python -c 'import generate; generate.ensure()' # the messages of corank.testing
exec "$venv/bin/python" -m pytest -q -p no:cacheprovider tests/kserve "$@"
