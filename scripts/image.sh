#!/usr/bin/env bash
# Builds the container image with buildah and tests it with a sort.
#
#   scripts/image.sh [NAME[:TAG]]
#
# BASE_IMAGE   a Debian 12 image. By default the script pulls debian:12-slim; if it reaches no registry, it makes a
#              minimal Debian with debootstrap from the mirror in this machine's apt sources.
# CORANK_CUDA  ON (default) or OFF
#
# The build uses this machine's package mirrors: apt's proxy, pip's settings and the CA certificates. They are mounted
# during the build steps and do not end up in the image.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(sed -n 's/^project(corank VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
image=${1:-corank:$version}
base_tag=localhost/corank-base:bookworm
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

export BUILDAH_ISOLATION=${BUILDAH_ISOLATION:-chroot}

# A sources.list for Debian 12 with this machine's mirrors.
sources() {
  # shellcheck disable=SC2016  # apt's own placeholders
  apt-get indextargets --format '$(CREATED_BY) $(REPO_URI) $(RELEASE)' 2>/dev/null |
    awk '$1 == "Packages" && $3 ~ /^bookworm(-updates|-security)?$/ { print "deb", $2, $3, "main" }' | sort -u
}

# --- base ------------------------------------------------------------------------------------------------------------
base=${BASE_IMAGE:-}
if [ -z "$base" ] && buildah inspect --type image "$base_tag" >/dev/null 2>&1; then
  base=$base_tag
fi
if [ -z "$base" ]; then
  echo "image: trying to pull debian:12-slim"
  if timeout 60 buildah pull -q debian:12-slim >"$work/pull.log" 2>&1; then
    base=debian:12-slim
  else
    from=$(sources | awk '$3 == "bookworm" { print $2; exit }')
    echo "image: no image registry reachable; making a Debian base from ${from:-the default mirror of debootstrap}"
    debootstrap --variant=minbase bookworm "$work/base" ${from:+"$from"} >"$work/debootstrap.log" 2>&1 ||
      { tail -n 20 "$work/debootstrap.log" >&2; exit 1; }
    sources >"$work/sources.list"
    [ ! -s "$work/sources.list" ] || cp "$work/sources.list" "$work/base/etc/apt/sources.list"
    rm -f "$work/base/etc/hostname" "$work/base/etc/resolv.conf"
    rm -rf "$work"/base/var/cache/apt/archives/*.deb "$work"/base/var/lib/apt/lists/* \
      "$work"/base/usr/share/{man,locale,info}/*
    # Copyright files stay: the licenses require them, and scripts/notices.sh reads them.
    find "$work/base/usr/share/doc" -type f ! -name copyright -delete
    tar -C "$work/base" -cf "$work/base.tar" .
    container=$(buildah from scratch)
    buildah add -q "$container" "$work/base.tar" / >/dev/null
    buildah config --cmd bash --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$container"
    buildah commit -q --rm "$container" "$base_tag" >/dev/null
    rm -rf "$work/base" "$work/base.tar"
    base=$base_tag
  fi
fi
echo "image: base $base"

# --- build -----------------------------------------------------------------------------------------------------------
options=(--network host)
for file in /etc/hosts /etc/resolv.conf; do
  options+=(--volume "$file:$file:ro")
done
apt-config dump | grep -E '^Acquire::(https?::|ftp::|Check-(Valid-Until|Date) )' >"$work/apt.conf" || true
options+=(--volume "$work/apt.conf:/etc/apt/apt.conf.d/99build-host:ro")
{
  echo '[global]'
  for setting in index-url extra-index-url trusted-host proxy; do
    value=$(python3 -m pip config list 2>/dev/null | sed -n "s/^[^.]*\.$setting='\(.*\)'\$/\1/p" | tail -n 1)
    [ -z "$value" ] || echo "$setting = $value"
  done
  for certificates in "${PIP_CERT:-}" "${SSL_CERT_FILE:-}" /etc/ssl/certs/ca-certificates.crt; do
    if [ -r "$certificates" ]; then
      options+=(--volume "$certificates:/run/build-host-ca.crt:ro")
      echo "cert = /run/build-host-ca.crt"
      break
    fi
  done
} >"$work/pip.conf"
options+=(--volume "$work/pip.conf:/etc/pip.conf:ro")
if command -v ccache >/dev/null; then
  mkdir -p "$(ccache -k cache_dir)"
  options+=(--volume "$(ccache -k cache_dir):/root/.cache/ccache")
fi

echo "image: building $image"
# Docker's format, because the OCI format has no HEALTHCHECK.
buildah bud --format docker --layers -t "$image" --build-arg "BASE_IMAGE=$base" --build-arg "VERSION=$version" \
  --build-arg "REVISION=$(git rev-parse HEAD 2>/dev/null || true)" --build-arg "CORANK_CUDA=${CORANK_CUDA:-ON}" \
  "${options[@]}" -f Dockerfile .

scripts/checks/image_smoke.sh "$image"
