#!/usr/bin/env bash
# Collects all that a release publishes in dist/, after `make dist`:
#
#   corank-VERSION-linux-x86_64.tar.xz     server, command line, GPU tests and benchmarks (scripts/dist.sh makes it)
#   corank-VERSION-py3-none-any.whl        the Python client
#   corank-VERSION.tar.gz                  its source distribution
#   corank-VERSION-image.tar               the container image, for `docker load`, `podman load` and skopeo
#   SHA256SUMS                             check with `sha256sum -c SHA256SUMS`
#
# It also writes proto/released.binpb, with which `make test` compares later contracts.
#
#   scripts/release.sh [BUILD_FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(sed -n 's/^project(corank VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
archive=corank-$version-linux-x86_64.tar.xz
wheel=corank-$version-py3-none-any.whl
sdist=corank-$version.tar.gz
image=corank-$version-image.tar
build=${1:-build}

fail() {
  echo "release: $*" >&2
  exit 1
}

[ -s "dist/$archive" ] || fail "dist/$archive is missing: run make dist first"
rm -f "dist/$wheel" "dist/$sdist" "dist/$image" dist/SHA256SUMS
.deps/venv/bin/python -m build --outdir dist client/python >dist/python-build.log 2>&1 ||
  { tail -n 30 dist/python-build.log >&2; fail "the Python package does not build"; }
rm dist/python-build.log
for file in "$wheel" "$sdist"; do
  [ -s "dist/$file" ] || fail "python -m build made no $file; the versions of CMakeLists.txt and pyproject.toml differ?"
done
# From the same build as the archive, so that both hold the same programs.
scripts/image_archive.sh "$build"
scripts/checks/image_smoke.sh "$(buildah pull -q "docker-archive:dist/$image")"
scripts/contract.sh --release

(cd dist && sha256sum "$archive" "$wheel" "$sdist" "$image" >SHA256SUMS && sha256sum --quiet -c SHA256SUMS)
cat dist/SHA256SUMS
