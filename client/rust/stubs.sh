#!/usr/bin/env bash
# Generates client/rust/src/pb, the messages and stubs that are checked in, from what `buf build` makes of the protos.
#
#   client/rust/stubs.sh            rewrites them
#   client/rust/stubs.sh --check    fails if they are not what the contract says
set -euo pipefail
cd "$(dirname "$0")"
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
../../.deps/venv/bin/buf build ../../proto -o "$fresh/image.binpb"
cargo run --quiet --package corank-stubs -- "$fresh/image.binpb" "$fresh/pb"
if [ "${1:-}" = --check ]; then
  diff -r -q src/pb "$fresh/pb" || { echo "stubs: run client/rust/stubs.sh and commit client/rust/src/pb" >&2; exit 1; }
else
  rm -rf src/pb
  cp -r "$fresh/pb" src/pb
fi
