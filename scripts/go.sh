#!/usr/bin/env bash
# Installs the Go programs that the project uses into .deps/go/bin: the plugins that make stubs, staticcheck, grpcurl.
# scripts/go-tools/go.mod pins them. Without a Go tool chain it prints one line and exits with 0.
set -euo pipefail
cd "$(dirname "$0")/.."

tools=scripts/go-tools
needed=$(sed -n 's/^go //p' $tools/go.mod)
found=$(GOTOOLCHAIN=local go env GOVERSION 2>/dev/null || true)
found=${found#go}
if [ -z "$found" ] || [ "$(printf '%s\n' "$needed" "$found" | sort -V | head -n 1)" != "$needed" ]; then
  echo "Go programs: skipped; found ${found:-no go}, install Go $needed or newer from https://go.dev/dl"
  exit 0
fi

bin=$PWD/.deps/go/bin
key=$(cat $tools/go.mod $tools/go.sum; echo "$found")
if [ "$(cat .deps/go/.tools 2>/dev/null)" = "$key" ]; then
  echo "Go programs: there"
  exit 0
fi
echo "Go programs: compiling into .deps/go/bin"
mkdir -p "$bin"
GOBIN=$bin GOTOOLCHAIN=local go -C $tools install -p 2 tool
echo "$key" >.deps/go/.tools
