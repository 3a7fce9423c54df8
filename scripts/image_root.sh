#!/usr/bin/env bash
# Lays out the file system of the container image: corankd and corank with their libraries in /opt/corank, the C library
# of this machine, a user, and nothing else: no shell, no package manager.
#
#   scripts/image_root.sh FOLDER [BUILD_FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -ge 1 ] || { echo "usage: scripts/image_root.sh FOLDER [BUILD_FOLDER]" >&2; exit 2; }
root=$1
build=${2:-build}
version=$(sed -n 's/^project(corank VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)

mkdir -p "$root"/{etc,tmp,dev/shm}
chmod 1777 "$root/tmp" "$root/dev/shm"
scripts/bundle.sh "$root/opt/corank" "$build/bin/corankd" "$build/bin/corank"
scripts/notices.sh "$root/opt/corank/share/doc/corank" "$build" corankd corank

# The loader at the path that the programs name, and the C library beside it. NVIDIA's driver, which the container
# runtime adds, loads some libraries of glibc that corankd does not name.
loader=$(patchelf --print-interpreter "$build/bin/corankd")
install -D -m 755 "$(realpath "$loader")" "$root$loader"
triplet=$(gcc -print-multiarch)
for name in libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1 libresolv.so.2 libutil.so.1 libanl.so.1; do
  file=$(gcc -print-file-name="$name")
  [ -e "$file" ] || { echo "image_root: this machine has no $name" >&2; exit 1; }
  install -D -m 755 "$(realpath "$file")" "$root/lib/$triplet/$name"
done
mkdir -p "$root/usr/share/doc/libc6"
install -m 644 /usr/share/doc/libc6/copyright "$root/usr/share/doc/libc6/copyright"

cat >"$root/etc/passwd" <<'END'
root:x:0:0:root:/:/nonexistent
corank:x:65532:65532:corank:/:/nonexistent
END
printf 'root:x:0:\ncorank:x:65532:\n' >"$root/etc/group"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
glibc=$(dpkg-query -W -f='${source:Version}' libc6)
scripts/sbom.py "$root/opt/corank/share/doc/corank" --version "$version" --package "glibc=$glibc"
echo "image_root: $(du -sm "$root" | cut -f 1) MB in $root"
