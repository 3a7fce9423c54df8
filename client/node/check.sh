#!/usr/bin/env bash
# Lints, builds and tests the Node.js client, and uses its package in projects outside the tree. Without Node.js it
# prints one line and exits with 0.
#
# CORANKD   the server for tests (build/bin/corankd)
set -euo pipefail
cd "$(dirname "$0")/../.."
export CORANKD=${CORANKD:-$PWD/build/bin/corankd}
tools=$(scripts/node.sh)
echo "$tools"
case $tools in *skipped*) exit 0 ;; esac
cd client/node

version=$(sed -n 's/^version = "\(.*\)"/\1/p' ../python/pyproject.toml)
for file in package.json src/version.ts; do
  grep -q "version.*\"$version\"" $file ||
    { echo "$file has another version than client/python, $version" >&2; exit 1; }
done
npm run --silent build
npm run --silent lint
npm run --silent test
test/package/run.sh
