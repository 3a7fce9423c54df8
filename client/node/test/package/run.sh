#!/usr/bin/env bash
# Packs the client, installs the package in a project outside the tree, and uses it there against a real server: as an
# ES module, as a CommonJS module, and from TypeScript with both module systems.
#
# CORANKD   the server
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -x "$CORANKD" ] || { echo "no server at $CORANKD; build one, or set CORANKD" >&2; exit 1; }

folder=$(mktemp -d)
server=
cleanup() {
  [ -z "$server" ] || kill "$server"
  rm -rf "$folder"
}
trap cleanup EXIT

cp ../../LICENSE ../../NOTICE .
npm pack --ignore-scripts --silent --pack-destination "$folder" >/dev/null
rm LICENSE NOTICE
cp test/package/{million.mjs,million.cjs,typed.mts,typed.cts,tsconfig.json} "$folder"
client=$PWD
node_modules=$PWD/node_modules
cd "$folder"
cat >package.json <<<'{ "private": true }'
npm install --prefer-offline --no-audit --no-fund --ignore-scripts --loglevel=error ./corank-*.tgz >/dev/null
mkdir -p node_modules/@types
ln -s "$node_modules/@types/node" node_modules/@types/node
"$node_modules/.bin/tsc" -p tsconfig.json

"$CORANKD" --engine=cpu --listen=127.0.0.1:0 --metrics-listen= --kept-bytes=64MiB --ports-file=ports.json \
  >server.log 2>&1 &
server=$!
for _ in $(seq 300); do
  [ ! -s ports.json ] || break
  sleep 0.1
done
CORANK_SERVER=$(node -p 'JSON.parse(fs.readFileSync("ports.json")).grpc')
export CORANK_SERVER
node million.mjs
node million.cjs
node out/typed.mjs
node out/typed.cjs
for page in README.md ../../docs/guides/node.md; do
  node "$client/test/package/page.mjs" "$client/$page" page.mjs
done
cp "$client"/../../examples/node/*.mjs .
for example in "$client"/../../examples/node/*.mjs; do
  node "$(basename "$example")"
done
echo "package: works as an ES module, as a CommonJS module and from TypeScript; pages and examples run"
