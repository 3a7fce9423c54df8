#!/usr/bin/env bash
# Installs the npm packages of the Node.js client, with which its stubs are made, into client/node/node_modules.
# client/node/package-lock.json pins them. Without Node.js 18.18 or newer it prints one line and exits with 0.
set -euo pipefail
cd "$(dirname "$0")/../client/node"

needed=18.18.0
found=$(node --version 2>/dev/null || true)
found=${found#v}
if [ -z "$found" ] || ! command -v npm >/dev/null ||
  [ "$(printf '%s\n' "$needed" "$found" | sort -V | head -n 1)" != "$needed" ]; then
  echo "npm packages: skipped; found Node.js ${found:-none}, install $needed or newer with npm from https://nodejs.org"
  exit 0
fi

key=$(sha256sum package-lock.json)
if [ "$(cat node_modules/.key 2>/dev/null)" = "$key" ]; then
  echo "npm packages: there"
  exit 0
fi
echo "npm packages: installing into client/node/node_modules"
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
echo "$key" >node_modules/.key
