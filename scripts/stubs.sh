#!/usr/bin/env bash
# Generates the stubs that are checked in, all by one `buf generate` (proto/buf.gen.yaml).
#
#   scripts/stubs.sh            rewrites them
#   scripts/stubs.sh --check    fails if one is not what the contract says
#
# A plugin that is missing ends a check with one line and 0, because its tool chain is optional.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH=$PWD/.deps/venv/bin:$PATH
folders=(client/go/corankpb client/node/src/pb)  # each holds stubs only

missing=()
while read -r plugin; do
  [ -x "$plugin" ] || missing+=("$plugin")
done < <(sed -n 's/^ *- local: *//p' proto/buf.gen.yaml)
if [ ${#missing[@]} -gt 0 ]; then
  echo "stubs: skipped; not installed: ${missing[*]} (scripts/setup.sh test says why)"
  [ "${1:-}" = --check ]
  exit
fi

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
buf generate --template proto/buf.gen.yaml --output "$fresh"
for folder in "${folders[@]}"; do
  if [ "${1:-}" = --check ]; then
    diff -r -q "$folder" "$fresh/$folder" || { echo "stubs: run scripts/stubs.sh and commit $folder" >&2; exit 1; }
  else
    rm -rf "$folder"
    mkdir -p "$(dirname "$folder")"
    cp -r "$fresh/$folder" "$folder"
  fi
done
# Rust's have a generator of their own, which client/rust/check.sh checks with.
if [ "${1:-}" != --check ] && command -v cargo >/dev/null; then client/rust/stubs.sh; fi
echo "stubs: ${#folders[@]} folders are current"
