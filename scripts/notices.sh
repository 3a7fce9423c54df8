#!/usr/bin/env bash
# Writes LICENSE, NOTICE and THIRD_PARTY_NOTICES.txt for a set of built programs into a folder:
#
#   scripts/notices.sh FOLDER BUILD_FOLDER PROGRAM...      (PROGRAM is a name in BUILD_FOLDER/bin)
#
# THIRD_PARTY_NOTICES.txt holds the copyright file of every Debian package that the programs link: static archives as
# build.ninja names them, shared libraries as ldd finds them. It also holds the terms of the CUDA runtime, and the
# full text of each license that a copyright file only refers to.
# Fails when a linked file belongs to no package or a package has no copyright file.
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -ge 3 ] || { echo "usage: scripts/notices.sh FOLDER BUILD_FOLDER PROGRAM..." >&2; exit 2; }
folder=$1
build=$2
shift 2
glibc='/(ld-linux-x86-64|libc|libm|libdl|libpthread|librt|libresolv|libutil|libanl|libmvec)\.so'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "notices: $*" >&2
  exit 1
}

# The words of the link command of bin/NAME in build.ninja. The same statement may make further files.
link_words() {
  awk -v program="bin/$1" '$1 == "build" && ($2 == program || $2 == program ":") { inside = 1; next }
    /^build / { inside = 0 }
    inside && /^ *LINK_(LIBRARIES|PATH) = /' "$build/build.ninja" | sed 's/[ ,]/\n/g'
}

for program in "$@"; do
  [ -x "$build/bin/$program" ] || fail "$build/bin/$program is not built"
  link_words "$program" >"$work/words"
  [ -s "$work/words" ] || fail "$build/build.ninja does not say how bin/$program is linked"
  grep -E '^/.*\.a$' "$work/words" | grep -v '/libcudart_static\.a$' >>"$work/files" || true
  ldd "$build/bin/$program" | awk '$2 == "=>" { print $3 }' | grep -v -E "$glibc" >>"$work/files" || true
  if grep -q cudart_static "$work/words"; then
    # -LROOT/lib64 -lcudart_static, or the path of the archive.
    sed -n -e 's/^-L\(.*\)\/lib\(64\)\?$/\1/p' -e 's/^\(\/.*\)\/lib\(64\)\?\/libcudart_static\.a$/\1/p' \
      "$work/words" >>"$work/cuda_roots"
    touch "$work/cuda"
  fi
done

# "SOURCE VERSION PACKAGE FILE" of each linked file. dpkg may know a file by its path with or without /usr.
sort -u "$work/files" | grep -v '^$' | while read -r file; do
  owner=
  for path in "$file" "$(realpath "$file")" "/usr$(realpath "$file")" "$(realpath "$file" | sed 's|^/usr||')"; do
    owner=$(dpkg-query -S "$path" 2>/dev/null | sed -n '1s/:.*//p') || true
    [ -z "$owner" ] || break
  done
  [ -n "$owner" ] || fail "no Debian package holds $file"
  # shellcheck disable=SC2016  # dpkg-query's own placeholders
  echo "$(dpkg-query -W -f='${source:Package} ${source:Version}\n' "$owner" | head -n 1) $owner $(basename "$file")"
done | sort -u >"$work/owners"
[ -s "$work/owners" ] || fail "the programs link nothing of any package"

title() { printf '\n%s\n%s\n%s\n\n' "$(printf '=%.0s' {1..118})" "$1" "$(printf '=%.0s' {1..118})"; }

{
  echo "Software of other authors in this distribution of corank, with its copyright notices and licenses."
  echo
  awk '!seen[$1]++ { print "  " $1 " " $2 }' "$work/owners"
  [ ! -e "$work/cuda" ] || echo "  NVIDIA CUDA runtime and CUDA C++ Core Libraries (CCCL)"
  awk '!seen[$1]++ { print $1, $2, $3 }' "$work/owners" | while read -r source version package; do
    copyright=/usr/share/doc/$package/copyright
    [ -r "$copyright" ] || fail "$copyright is missing"
    files=$(awk -v s="$source" '$1 == s { print $4 }' "$work/owners" | paste -s -d ' ' | fold -s -w 100 | sed 's, *$,,')
    title "$source $version ($files)"
    cat "$copyright"
  done
  if [ -e "$work/cuda" ]; then
    found=
    while read -r root; do
      for file in "$root"/licenses/*.txt "$root"/EULA.txt /usr/share/doc/cuda-cudart-dev-*/copyright; do
        if [ -r "$file" ] && [ -z "$found" ]; then found=$file; fi
      done
    done < <(sort -u "$work/cuda_roots")
    [ -n "$found" ] ||
      fail "no license of the CUDA runtime beside the toolkit in $(sort -u "$work/cuda_roots" | paste -s -d ' ')"
    title "NVIDIA CUDA runtime and CUDA C++ Core Libraries (libcudart_static.a, CUB, Thrust, libcu++)"
    cat "$found"
  fi
} >"$work/notices"

# Debian's copyright files refer to these by path.
{
  cat "$work/notices"
  named='/usr/share/common-licenses/[A-Za-z0-9.+-]*[A-Za-z0-9]'
  grep -o -E "$named" "$work/notices" | sort -u | while read -r license; do
    [ -r "$license" ] || fail "$license is missing"
    title "$license"
    cat "$license"
  done
} >"$work/all"

mkdir -p "$folder"
install -m 644 LICENSE NOTICE "$folder/"
install -m 644 "$work/all" "$folder/THIRD_PARTY_NOTICES.txt"
echo "notices: $(cut -d ' ' -f 1 "$work/owners" | sort -u | wc -l) packages in $folder/THIRD_PARTY_NOTICES.txt"
