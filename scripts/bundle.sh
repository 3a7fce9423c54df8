#!/usr/bin/env bash
# Copies binaries into a tree that runs on any machine with glibc:
#
#   scripts/bundle.sh PREFIX BINARY...
#
#   PREFIX/bin   the binaries, stripped
#   PREFIX/lib   the shared libraries they load, without glibc's; each finds the others beside itself
#
# Fails if a library is missing or comes from outside the tree, or if a file needs a glibc newer than GLIBC_MAX.
set -euo pipefail

GLIBC_MAX=2.36
glibc='^(linux-vdso|ld-linux-x86-64|libc|libm|libdl|libpthread|librt|libresolv|libutil|libanl|libmvec)\.so'

[ $# -ge 2 ] || { echo "usage: scripts/bundle.sh PREFIX BINARY..." >&2; exit 2; }
prefix=$1
shift
mkdir -p "$prefix/bin" "$prefix/lib"

# "NAME PATH" of each shared library that a file loads, without glibc's; PATH is "not" if the library is missing.
libraries_of() { ldd "$1" | awk '$2 == "=>" { print $1, $3 }' | grep -v -E "$glibc" || true; }

for binary in "$@"; do
  while read -r name path; do
    [ "$path" != not ] || { echo "bundle: $binary needs $name, which is not on this machine" >&2; exit 1; }
    [ -e "$prefix/lib/$name" ] || install -m 644 "$path" "$prefix/lib/$name"
  done < <(libraries_of "$binary")
  install -m 755 "$binary" "$prefix/bin/"
  target=$prefix/bin/$(basename "$binary")
  strip "$target"
  patchelf --set-rpath "\$ORIGIN/../lib" "$target"
done
for library in "$prefix"/lib/*; do
  [ -e "$library" ] || continue
  strip --strip-unneeded "$library"
  patchelf --set-rpath "\$ORIGIN" "$library"
done

inside=$(realpath "$prefix")/lib
status=0
for file in "$prefix"/bin/* "$prefix"/lib/*; do
  [ -e "$file" ] || continue
  while read -r name path; do
    case $(realpath -m "$path") in
      "$inside"/*) ;;
      *)
        echo "bundle: $file finds $name at '$path', not in the bundle" >&2
        status=1
        ;;
    esac
  done < <(libraries_of "$file")
  newest=$(objdump -T "$file" | sed -n 's/.*GLIBC_\([0-9.]*\).*/\1/p' | sort -V -u | tail -n 1)
  if [ "$(printf '%s\n' "$GLIBC_MAX" "${newest:-0}" | sort -V | tail -n 1)" != "$GLIBC_MAX" ]; then
    echo "bundle: $file needs glibc $newest, newer than $GLIBC_MAX" >&2
    status=1
  fi
done
echo "bundle: $(find "$prefix/bin" -type f | wc -l) binaries and $(find "$prefix/lib" -type f | wc -l) libraries," \
  "$(du -sm "$prefix" | cut -f 1) MB in $prefix"
exit $status
