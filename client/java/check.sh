#!/usr/bin/env bash
# Lints, builds, tests and packages the Java client, and uses the package from a project outside the tree, which
# runs the example and the blocks of the guide. Without a Java tool chain it prints one line and exits with 0.
#
# CORANKD   the server for tests (build/bin/corankd)
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
java_version=$(java -version 2>&1 | sed -n '1s/[^"]*"\([0-9]*\).*/\1/p' || true)
if [ "${java_version:-0}" -lt 17 ] || ! command -v mvn >/dev/null || ! command -v javac >/dev/null; then
  echo "Java client: skipped; install a JDK of 17 or newer and Maven (apt-get install openjdk-17-jdk-headless maven)"
  exit 0
fi
corankd=$(realpath "${CORANKD:-build/bin/corankd}")
cd client/java

version=$(sed -n 's|^  <version>\(.*\)</version>|\1|p' pom.xml)
python_version=$(sed -n 's/^version = "\(.*\)"/\1/p' ../python/pyproject.toml)
if [ "$version" != "$python_version" ]; then
  echo "pom.xml has version $version, client/python/pyproject.toml has $python_version" >&2
  exit 1
fi

# The class path is for the programs that start without Maven: the conformance driver and the benchmark.
mvn -B -q spotless:check install dependency:build-classpath -Dmdep.outputFile=target/classpath

folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$folder"' EXIT
"$corankd" --engine=cpu --kept-bytes=64MiB --listen=127.0.0.1:0 --metrics-listen= >"$folder/log" 2>&1 &
server=$!
address=
for _ in $(seq 300); do
  address=$(sed -n 's/.*"event":"ready".*"grpc":"\([^"]*\)".*/\1/p' "$folder/log")
  [ -z "$address" ] || break
  sleep 0.1
done
[ -n "$address" ] || { cat "$folder/log" >&2; exit 1; }

cp -r "$root/examples/java" "$folder/consumer"
pages=(docs/guides/java.md client/java/README.md)
"$root/scripts/checks/guide_code.py" "$root/scripts/checks/guides/Guide.java" "${pages[@]}" \
  >"$folder/consumer/src/main/java/Guide.java"
cd "$folder/consumer"
mvn -B -q compile dependency:build-classpath -Dmdep.outputFile=target/classpath
export CORANK_SERVER=$address
for program in SortFloats Guide; do
  java -cp "target/classes:$(cat target/classpath)" "$program"
done
