#!/usr/bin/env bash
# Generates the stubs that are checked in, all by one `buf generate` (proto/buf.gen.yaml).
#
#   scripts/stubs.sh            rewrites them
#   scripts/stubs.sh --check    fails if one is not what the contract says
#
# Tool chains are optional: a check says which plugins are missing, and leaves their stubs out.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH=$PWD/.deps/venv/bin:$PATH
folders=(client/go/corankpb client/node/src/pb)  # each holds stubs only

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
mkdir "$fresh/out"
missing=()
drop='^$'
while read -r plugin; do
  [ -x "$plugin" ] || { missing+=("$plugin") && drop+="|$plugin\$"; }
done < <(sed -n 's/^ *- local: *//p' proto/buf.gen.yaml)
if [ ${#missing[@]} -gt 0 ]; then
  echo "stubs: not installed: ${missing[*]} (scripts/setup.sh test, client/*/check.sh)"
  [ "${1:-}" = --check ] || exit 1
fi

# The rows of the plugins that are there: a row begins with "- local" and ends before the next one.
awk -v drop="$drop" '/^ *- local:/ { skip = $NF ~ drop } !skip' proto/buf.gen.yaml >"$fresh/buf.gen.yaml"
if ! grep -q '^ *- local:' "$fresh/buf.gen.yaml"; then
  echo "stubs: skipped"
  exit 0
fi
buf generate --template "$fresh/buf.gen.yaml" --output "$fresh/out"
checked=0
for folder in "${folders[@]}"; do
  [ -d "$fresh/out/$folder" ] || continue
  checked=$((checked + 1))
  if [ "${1:-}" = --check ]; then
    diff -r -q "$folder" "$fresh/out/$folder" || { echo "stubs: run scripts/stubs.sh and commit $folder" >&2; exit 1; }
  else
    rm -rf "$folder"
    mkdir -p "$(dirname "$folder")"
    cp -r "$fresh/out/$folder" "$folder"
  fi
done
# Rust's have a generator of their own, which client/rust/check.sh checks with.
if [ "${1:-}" != --check ] && command -v cargo >/dev/null; then client/rust/stubs.sh; fi
echo "stubs: $checked folders are current"
