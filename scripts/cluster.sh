#!/usr/bin/env bash
# Runs tests/kubernetes: the chart and the manifests against a control plane of Kubernetes on this host. The first run
# compiles Kubernetes, etcd, KWOK and Helm into .deps, which takes a quarter of an hour on two cores; needs Go, but no
# container runtime.
#
#   scripts/cluster.sh [PYTEST_ARGUMENT...]
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/go.sh chart
scripts/go.sh cluster

# The custom resources that the chart and the manifests use: MODULE@VERSION CHECKSUM FILES, one a line.
list=scripts/cluster-tools/crds.txt
crds=.deps/cluster/crds
if ! cmp -s "$list" "$crds.txt"; then
  echo "custom resources: copying into $crds"
  rm -rf "$crds" "$crds.txt"
  mkdir -p "$crds"
  while read -r module sum files; do
    found=$(cd / && go mod download -json "$module")
    grep -qF "\"Sum\": \"$sum\"" <<<"$found" || { echo "cluster: $module has another checksum" >&2; exit 1; }
    # shellcheck disable=SC2086  # a pattern
    (cd "$(sed -n 's/.*"Dir": "\(.*\)",/\1/p' <<<"$found")" && install -m 644 -t "$OLDPWD/$crds" $files)
  done <"$list"
  cp "$list" "$crds.txt"
fi

# The tests end with this script, also where it is killed.
exec setpriv --pdeathsig TERM .deps/venv/bin/python -m pytest -q -p no:cacheprovider tests/kubernetes "$@"
