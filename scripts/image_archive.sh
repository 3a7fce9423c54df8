#!/usr/bin/env bash
# Writes dist/corank-VERSION-image.tar: the container image from a finished build, without a container engine.
#
#   scripts/image_archive.sh [BUILD_FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."

MAX_MB=120
build=${1:-build}
version=$(sed -n 's/^project(corank VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
archive=dist/corank-$version-image.tar
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

revision=$(git rev-parse HEAD 2>/dev/null || true)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH
scripts/image_root.sh "$work/root" "$build"
size=$(du -sm "$work/root" | cut -f 1)
[ "$size" -lt $MAX_MB ] || { echo "image_archive: the image has $size MB; the limit is $MAX_MB MB" >&2; exit 1; }
mkdir -p dist
scripts/image_archive.py "$work/root" "$archive" --version "$version" --revision "$revision"
echo "image_archive: $archive, $(du -m "$archive" | cut -f 1) MB, $size MB unpacked"
