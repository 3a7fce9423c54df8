#!/usr/bin/env bash
# Compares the contract in proto/ with the one of the last release, proto/released.binpb.
#
#   scripts/contract.sh              fails if a change breaks callers of the last release
#   scripts/contract.sh --release    writes proto/released.binpb, which the commit of a release holds
#
# Before the first release there is nothing to break: the check says so and passes.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH=$PWD/.deps/venv/bin:$PATH
released=proto/released.binpb

if [ "${1:-}" = --release ]; then
  buf build proto --exclude-source-info --output "$released"
  echo "contract: commit $released with the release"
elif [ -e "$released" ]; then
  buf breaking proto --against "$released"
else
  echo "contract: no release yet, so there is nothing to compare with ($released)"
fi
