#!/usr/bin/env bash
# Lints, builds and tests the Rust client, packs it, and lets a program outside the tree use the package. Without Rust
# 1.88 or newer it prints one line and exits with 0.
#
#   client/rust/check.sh [--bench]    --bench: builds the benchmark program, and does nothing else
#
# CORANKD   the server for tests (build/bin/corankd)
set -euo pipefail
cd "$(dirname "$0")/../.."
least=1.88
found=$(cargo --version 2>/dev/null | cut -d' ' -f2 || true)
if [ -z "$found" ] || [ "$(printf '%s\n' "$least" "$found" | sort -V | head -n 1)" != "$least" ]; then
  echo "Rust client: skipped; cargo ${found:-is absent}, and $least or newer is needed: https://rustup.rs"
  exit 0
fi
CORANKD=$(realpath "${CORANKD:-build/bin/corankd}")
export CORANKD CARGO_BUILD_JOBS=${CARGO_BUILD_JOBS:-2} RUSTFLAGS="-D warnings" RUSTDOCFLAGS="-D warnings"
root=$PWD
cd client/rust

if [ "${1:-}" = --bench ]; then
  cargo build --locked --release --package corank-bench
  install -D target/release/corank-bench "$root/.deps/clients/rust-bench"
  exit
fi
cargo fmt --all --check
./stubs.sh --check
cargo clippy --locked --workspace --all-targets --quiet
cargo build --locked --quiet --package corank-conformance
install -D target/debug/corank-conformance "$root/build/conformance/rust"
cargo test --locked --quiet --package corank --features half
cargo doc --locked --quiet --no-deps --package corank

# The package, as crates.io would have it, and a program that knows nothing else.
outside=$(mktemp -d)
trap 'rm -rf "$outside"' EXIT
cargo package --locked --quiet --allow-dirty --no-verify --package corank
tar -xzf target/package/corank-*.crate -C "$outside"
mv "$outside"/corank-* "$outside/corank"
cp -r consumer "$outside/consumer"
(cd "$outside/consumer" && CARGO_TARGET_DIR="$root/client/rust/target/outside" cargo build --quiet)
"$root/.deps/venv/bin/python" consumer/run.py "$root/client/rust/target/outside/debug/consumer"
echo "Rust client: checked"
