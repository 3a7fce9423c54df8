#!/usr/bin/env bash
# Installs what is missing to work on corank: Debian packages, a Python environment in .deps/venv and, unless --no-cuda
# is given, a CUDA 13 compiler (scripts/cuda.sh). Everything but the Debian packages goes into .deps. A run that finds
# all in place takes less than a second.
#
#   scripts/setup.sh [build|test|fuzz|deploy|docs|docs-check] [--no-cuda]
#
#   build        what the programs need to be compiled and the demo to run
#   test         build, and what `make test` checks with
#   fuzz         test, and the compiler with libFuzzer
#   deploy       test, and what builds and tries container images
#   docs         what builds the documentation site, and nothing else
#   docs-check   docs, and the browser that looks at its pages
set -euo pipefail
cd "$(dirname "$0")/.."

profile=build
cuda=yes
for argument in "$@"; do
  case $argument in
    build | test | fuzz | deploy | docs | docs-check) profile=$argument ;;
    --no-cuda) cuda=no ;;
    *)
      echo "usage: scripts/setup.sh [build|test|fuzz|deploy|docs|docs-check] [--no-cuda]" >&2
      exit 2
      ;;
  esac
done

say() { echo "setup: $*"; }
fail() {
  echo "setup: $*" >&2
  exit 1
}

packages=(
  build-essential cmake ninja-build ccache pkg-config git python3 python3-venv patchelf xz-utils
  libgrpc++-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc libabsl-dev libre2-dev libc-ares-dev
  libssl-dev libnghttp2-dev zlib1g-dev prometheus-cpp-dev libhwy-dev libtbb-dev libbenchmark-dev
  libgoogle-perftools-dev
)
requirements=(scripts/requirements-dev.txt)
docs=no
if [[ $profile == docs* ]]; then
  docs=yes
  packages=(python3 python3-venv)
  [ "$profile" = docs ] || packages+=(chromium)
  requirements+=(scripts/requirements-docs.txt)
  cuda=no
elif [ "$profile" != build ]; then
  packages+=(openssl libgtest-dev libgmock-dev clang-format shellcheck)
  requirements+=(scripts/requirements-tools.txt scripts/requirements-buf.txt)
fi
if [ "$profile" = fuzz ]; then
  packages+=(clang-14 libclang-rt-14-dev)
fi
if [ "$profile" = deploy ]; then
  packages+=(buildah debootstrap)
fi

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  else
    command -v sudo >/dev/null || fail "not root and no sudo; as root: apt-get install ${missing[*]}"
    sudo "$@"
  fi
}

# --- Debian packages -------------------------------------------------------------------------------------------------
command -v dpkg-query >/dev/null || fail "needs Debian 12 or newer; elsewhere, install the like of: ${packages[*]}"
installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null |
  sed -n 's/^installed //p' || true)
missing=()
for package in "${packages[@]}"; do
  grep -qxF "$package" <<<"$installed" || missing+=("$package")
done

install_missing() {
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -q --no-install-recommends "${missing[@]}" >.deps/apt.log 2>&1 &
  local pid=$! shown=0 lines
  while kill -0 "$pid" 2>/dev/null; do
    sleep 5
    lines=$(grep -c -E '^(Get:|Unpacking|Setting up)' .deps/apt.log || true)
    if [ "$lines" != "$shown" ]; then
      say "  $(grep -E '^(Get:|Unpacking|Setting up)' .deps/apt.log | tail -n 1 | cut -c 1-100)"
      shown=$lines
    fi
  done
  wait "$pid"
}

mkdir -p .deps
if [ ${#missing[@]} -gt 0 ]; then
  say "installing ${#missing[@]} of ${#packages[@]} Debian packages: ${missing[*]}"
  if ! compgen -G '/var/lib/apt/lists/*Packages*' >/dev/null || ! install_missing; then
    say "reading the package lists"
    as_root apt-get update -q >.deps/apt.log 2>&1 || { tail -n 20 .deps/apt.log >&2; fail "apt-get update failed"; }
    install_missing || { tail -n 30 .deps/apt.log >&2; fail "apt-get install failed"; }
  fi
else
  say "Debian packages: all ${#packages[@]} there"
fi

# --- Prometheus ------------------------------------------------------------------------------------------------------
# Only its programs, into .deps/prometheus: the package itself would start a daemon.
prometheus=.deps/prometheus/usr/bin/prometheus
if [ "$profile" = build ] || [ $docs = yes ]; then
  :
elif [ -x "$prometheus" ]; then
  say "Prometheus: there"
else
  say "Prometheus: unpacking into .deps/prometheus"
  download=$(mktemp -d)
  fetch() { (cd "$download" && apt-get download -q prometheus >apt.log 2>&1); }
  fetch || { as_root apt-get update -q >.deps/apt.log 2>&1 && fetch; } ||
    { tail -n 20 "$download/apt.log" >&2; fail "apt-get download prometheus failed"; }
  dpkg -x "$download"/prometheus_*.deb "$download/unpacked"
  mkdir -p "$(dirname "$prometheus")"
  mv "$download"/unpacked/usr/bin/{promtool,prometheus} "$(dirname "$prometheus")"
  rm -rf "$download"
fi

# --- Python environment ----------------------------------------------------------------------------------------------
stamp=.deps/venv/.requirements-$profile
key=$(cat "${requirements[@]}" | sha256sum)
if [ -x .deps/venv/bin/python ] && [ "$(cat "$stamp" 2>/dev/null)" = "$key" ]; then
  say "Python environment: there"
else
  say "Python environment: installing into .deps/venv"
  python=python3
  "$python" -c 'import ensurepip, venv' 2>/dev/null || python=/usr/bin/python3
  [ -x .deps/venv/bin/python ] || "$python" -m venv .deps/venv
  for file in "${requirements[@]}"; do
    .deps/venv/bin/python -m pip install --quiet --disable-pip-version-check -r "$file" || fail "pip failed on $file"
  done
  echo "$key" >"$stamp"
fi

# --- Go programs -----------------------------------------------------------------------------------------------------
if [ "$profile" != build ] && [ $docs = no ]; then
  say "$(scripts/go.sh)"
fi

# --- npm packages ----------------------------------------------------------------------------------------------------
if [ "$profile" != build ] && [ $docs = no ]; then
  say "$(scripts/node.sh)"
fi

# --- CUDA compiler ---------------------------------------------------------------------------------------------------
if [ "$cuda" = yes ]; then
  nvcc=$(scripts/cuda.sh)
  say "CUDA compiler: $nvcc"
fi
say "ready ($profile)"
