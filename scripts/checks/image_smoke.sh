#!/usr/bin/env bash
# Checks a built image: its configuration, its size, and that it contains no shell and no build tools. Then starts its
# server as the image says, sorts with it, and stops it by SIGTERM.
#
#   scripts/checks/image_smoke.sh IMAGE
set -euo pipefail

MAX_MB=120
image=$1
export BUILDAH_ISOLATION=${BUILDAH_ISOLATION:-chroot}

fail() {
  echo "image_smoke: $*" >&2
  exit 1
}
config() { buildah inspect --type image --format "{{.OCIv1.Config.$1}}" "$image"; }

shared=$(mktemp -d)
container=$(buildah from --pull-never "$image")
server=
cleanup() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  wait 2>/dev/null || true
  buildah rm "$container" >/dev/null
  rm -rf "$shared"
}
trap cleanup EXIT
root=$(buildah mount "$container")

[ "$(config User)" = 65532:65532 ] || fail "runs as user '$(config User)', not 65532:65532"
[ "$(config StopSignal)" = SIGTERM ] || fail "stop signal is '$(config StopSignal)'"
for program in sh bash dash busybox apt dpkg gcc cc g++ c++ nvcc cmake ninja python3 git; do
  found=$(find "$root" -name "$program" -print -quit)
  [ -z "$found" ] || fail "holds $program (${found#"$root"})"
done
for file in LICENSE NOTICE THIRD_PARTY_NOTICES.txt sbom.spdx.json; do
  [ -s "$root/opt/corank/share/doc/corank/$file" ] || fail "has no /opt/corank/share/doc/corank/$file"
done
all=$(du -sm --exclude=proc "$root" | cut -f 1)
[ "$all" -lt $MAX_MB ] || fail "$all MB; the limit is $MAX_MB MB"

python3 - "$shared" <<'PYTHON'
import random, struct, sys
keys = random.Random(2).sample(range(-(2**31), 2**31), 1000)
for name, values in (("keys.bin", keys), ("expected.bin", sorted(keys))):
    with open(f"{sys.argv[1]}/{name}", "wb") as file:
        file.write(struct.pack("<1000i", *values))
PYTHON
chmod 777 "$shared"

in_image() { buildah run --volume "$shared:/shared" "$container" -- "$@"; }
# The image's own entry point, with free ports.
read -r -a entrypoint <<<"$(config Entrypoint | tr -d '[]')"
in_image "${entrypoint[@]}" --listen=127.0.0.1:0 --metrics-listen=127.0.0.1:0 \
  --health-listen=127.0.0.1:0 --ports-file=/shared/ports.json \
  2>"$shared/log" &
server=$!
for _ in $(seq 200); do
  if [ -e "$shared/ports.json" ] || ! kill -0 "$server" 2>/dev/null; then break; fi
  sleep 0.1
done
[ -e "$shared/ports.json" ] || { cat "$shared/log" >&2; fail "corankd did not start"; }
port() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$shared/ports.json" "$1"; }

in_image corank sort --server="$(port grpc)" --type=int32 /shared/keys.bin -o /shared/sorted.bin
cmp "$shared/sorted.bin" "$shared/expected.bin" || fail "the sort's answer is wrong"
owner=$(stat -c %u "$shared/sorted.bin")
[ "$owner" = 65532 ] || fail "worked as user $owner"
engine=$(port engine)
# buildah's own processes have the same arguments.
for each in $(pgrep -f -x ".*corankd .*--ports-file=/shared/ports.json"); do
  [ "$(cat "/proc/$each/comm")" != corankd ] || kill -TERM "$each"
done
wait "$server" || fail "corankd ended with $? on SIGTERM"
server=
echo "image_smoke: $image sorts with the $engine engine as user 65532; $all MB"
