#!/usr/bin/env bash
# Lints, builds and tests the Go client, and lets two programs outside the tree use it: the example, and the blocks of
# the guide. Without a Go tool chain it prints one line and exits with 0.
#
# CORANKD   the server of these programs (build/bin/corankd)
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
tools=$(scripts/go.sh)
echo "$tools"
case $tools in *skipped*) exit 0 ;; esac
export GOTOOLCHAIN=local GOFLAGS=-p=2 PATH=$root/.deps/go/bin:$PATH
cd client/go

unformatted=$(gofmt -l . "$root/examples/go")
[ -z "$unformatted" ] || { echo "gofmt -w: $unformatted" >&2; exit 1; }
go vet ./...
staticcheck ./...
go build -o "$root/build/conformance/go" ./conformance
mkdir -p "$root/.deps/clients"
go build -o "$root/.deps/clients/go-bench" ./bench
go test -count=1 ./...

version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' "$root/client/python/src/corank/__init__.py")
grep -q "^const Version = \"$version\"$" corank.go || { echo "corank.go: Version is not $version" >&2; exit 1; }

# A module of somebody else, with nothing but the files that git has.
outside=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$outside"' EXIT
git ls-files --cached --others --exclude-standard -z . | xargs -0 cp --parents -t "$outside"
mkdir "$outside/program"
cp "$root/examples/go/main.go" "$outside/program"
mkdir "$outside/program/guide"
"$root/scripts/checks/guide_code.py" "$root/scripts/checks/guides/guide.go" docs/guides/go.md \
  >"$outside/program/guide/main.go"
cd "$outside/program"
go mod init example.org/program 2>/dev/null
go mod edit -replace github.com/corank/corank/client/go=..
go mod tidy 2>/dev/null
go build -o bin/ . ./guide
corankd=${CORANKD:-$root/build/bin/corankd}
if [ ! -x "$corankd" ]; then
  echo "Go client: the programs outside the tree were not run, because there is no $corankd"
  exit 0
fi
CORANK_ENGINE=cpu "$corankd" --listen=127.0.0.1:0 --metrics-listen=127.0.0.1:0 --kept-bytes=64MiB >server.log 2>&1 &
server=$!
address=
for _ in $(seq 200); do
  address=$(grep -o '"grpc":"[^"]*"' server.log | cut -d '"' -f 4 || true)
  [ -z "$address" ] || break
  sleep 0.05
done
export CORANK_SERVER=$address
bin/guide
bin/program | tee output.txt
printf 'sorted: true\nthe worst delays are the greatest: true\n[Bonn Ulm Ulm] [9 7 3]\n' | diff output.txt -
