#!/usr/bin/env bash
# Installs the Go programs of one list into .deps. The go.mod of the list pins them. Without a Go tool chain it prints
# one line and exits with 0.
#
#   scripts/go.sh [go|chart|cluster]
#
#   go       plugins that make stubs, staticcheck and grpcurl, into .deps/go/bin (scripts/go-tools)
#   chart    helm and helm-unittest, into .deps/chart/bin (scripts/chart-tools); some minutes of compiling
#   cluster  a control plane of Kubernetes and KWOK, into .deps/cluster/bin (scripts/cluster-tools); some ten minutes
set -euo pipefail
cd "$(dirname "$0")/.."

list=${1:-go}
tools=scripts/$list-tools
needed=$(sed -n 's/^go //p' "$tools/go.mod")
found=$(GOTOOLCHAIN=local go env GOVERSION 2>/dev/null || true)
found=${found#go}
if [ -z "$found" ] || [ "$(printf '%s\n' "$needed" "$found" | sort -V | head -n 1)" != "$needed" ]; then
  echo "Go programs: skipped; found ${found:-no go}, install Go $needed or newer from https://go.dev/dl"
  exit 0
fi

bin=$PWD/.deps/$list/bin
key=$(cat "$tools/go.mod" "$tools/go.sum"; echo "$found")
if [ "$(cat ".deps/$list/.tools" 2>/dev/null)" = "$key" ]; then
  echo "Go programs: there"
  exit 0
fi
echo "Go programs: compiling into .deps/$list/bin"
mkdir -p "$bin"
flags=(-p 2)
if [ "$list" = cluster ]; then
  # Kubernetes' own build sets its version by these flags; Helm and the API's clients read it.
  version=$(GOTOOLCHAIN=local go -C "$tools" list -m -f '{{.Version}}' k8s.io/kubernetes)
  IFS=. read -r major minor _ <<<"${version#v}"
  package=k8s.io/component-base/version
  export CGO_ENABLED=0
  flags=(-p 1 -trimpath -ldflags
    "-s -w -X $package.gitVersion=$version -X $package.gitMajor=$major -X $package.gitMinor=$minor")
fi
GOBIN=$bin GOTOOLCHAIN=local nice -n 19 go -C "$tools" install "${flags[@]}" tool
echo "$key" >".deps/$list/.tools"
