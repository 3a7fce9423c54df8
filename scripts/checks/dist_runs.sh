#!/usr/bin/env bash
# Checks that a bundle has the licenses of all its libraries and the pages that its README names. Then sorts with its
# programs in a root folder that contains only glibc.
#
#   scripts/checks/dist_runs.sh TREE      (made by scripts/bundle.sh)
#
# Needs root for chroot, and /proc, without which the loader cannot resolve $ORIGIN. Without them it says so and passes.
set -euo pipefail

tree=$(realpath "$1")
for file in LICENSE NOTICE THIRD_PARTY_NOTICES.txt; do
  [ -s "$tree/$file" ] || { echo "dist_runs: $tree has no $file" >&2; exit 1; }
done
for library in "$tree"/lib/*; do
  grep -qF "$(basename "$library")" "$tree/THIRD_PARTY_NOTICES.txt" ||
    { echo "dist_runs: THIRD_PARTY_NOTICES.txt does not name $(basename "$library")" >&2; exit 1; }
done
grep -o '](docs/[^)#]*' "$tree/README.md" | cut -c 3- | while read -r page; do
  [ -s "$tree/$page" ] || { echo "dist_runs: README.md names $page, which is not there" >&2; exit 1; }
done
if [ "$(id -u)" != 0 ]; then
  echo "dist_runs: not root, so no empty root folder to try $1 in: skipped"
  exit 0
fi
root=$(mktemp -d)
server=
cleanup() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  wait 2>/dev/null || true
  umount "$root/proc" 2>/dev/null || true
  rm -rf --one-file-system "$root"
}
trap cleanup EXIT

mkdir -p "$root/lib64" "$root/lib" "$root/tmp" "$root/proc"
mount -t proc proc "$root/proc" || { echo "dist_runs: cannot mount /proc here: skipped"; exit 0; }
cp -r "$tree" "$root/corank"
loader=$(realpath /lib64/ld-linux-x86-64.so.2)
cp "$loader" "$root/lib64/ld-linux-x86-64.so.2"
for library in libc libm libdl libpthread librt libresolv; do
  cp "$(dirname "$loader")/$library".so.? "$root/lib/"
done
# 1000 little-endian int32 keys, and the expected result.
python3 - "$root/tmp" <<'PYTHON'
import random, struct, sys
keys = random.Random(2).sample(range(-(2**31), 2**31), 1000)
for name, values in (("keys.bin", keys), ("expected.bin", sorted(keys))):
    with open(f"{sys.argv[1]}/{name}", "wb") as file:
        file.write(struct.pack("<1000i", *values))
PYTHON

chroot "$root" /corank/bin/corankd --engine=cpu --listen=127.0.0.1:0 --metrics-listen=127.0.0.1:0 \
  --ports-file=/tmp/ports.json 2>"$root/tmp/log" &
server=$!
for _ in $(seq 100); do
  if [ -e "$root/tmp/ports.json" ] || ! kill -0 "$server" 2>/dev/null; then break; fi
  sleep 0.1
done
[ -e "$root/tmp/ports.json" ] || { cat "$root/tmp/log" >&2; echo "dist_runs: corankd did not start" >&2; exit 1; }
address=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["grpc"])' "$root/tmp/ports.json")
chroot "$root" /corank/bin/corank sort --server="$address" --type=int32 /tmp/keys.bin -o /tmp/sorted.bin
cmp "$root/tmp/sorted.bin" "$root/tmp/expected.bin"
kill -TERM "$server"
wait "$server"
server=
echo "dist_runs: corankd started, sorted and stopped in a root folder with glibc alone"
