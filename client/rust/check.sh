#!/usr/bin/env bash
# Lints, builds and tests the Rust client, packs it, and lets programs outside the tree use the package. Without Rust
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
root=$PWD
CORANKD=$(realpath "${CORANKD:-build/bin/corankd}")
export CORANKD CARGO_BUILD_JOBS=${CARGO_BUILD_JOBS:-2} RUSTDOCFLAGS="-D warnings"
cd client/rust

if [ "${1:-}" = --bench ]; then
  cargo build --locked --release --package corank-bench
  install -D target/release/corank-bench "$root/.deps/clients/rust-bench"
  exit
fi
cargo fmt --all --check
rustfmt --check --edition 2021 --config-path rustfmt.toml "$root/examples/rust/src/main.rs"
./stubs.sh --check
cargo clippy --locked --workspace --all-targets --quiet -- -D warnings
cargo build --locked --quiet --package corank-conformance
install -D target/debug/corank-conformance "$root/build/conformance/rust"
cargo test --locked --quiet --package corank --features half
cargo doc --locked --quiet --no-deps --package corank

# The package, as crates.io would have it, and programs that know nothing else: the example, the one of README, and the
# blocks of the guide.
outside=$(mktemp -d)
trap 'rm -rf "$outside"' EXIT
cargo package --locked --quiet --allow-dirty --no-verify --package corank
tar -xzf target/package/corank-*.crate -C "$outside"
mv "$outside"/corank-* "$outside/corank"
cp -r "$root/examples/rust" "$outside/program"
cp Cargo.lock "$outside/program/"
sed -i 's|"../../client/rust"|"../corank"|' "$outside/program/Cargo.toml"
mkdir "$outside/program/src/bin"
# shellcheck disable=SC2016  # fences, not expressions
sed -n '/^```rust$/,/^```$/{/^```/!p}' README.md | sed 's/"127.0.0.1:50051"/""/' > "$outside/program/src/bin/readme.rs"
"$root/scripts/checks/guide_code.py" "$root/scripts/checks/guides/guide.rs" docs/guides/rust.md \
  >"$outside/program/src/bin/guide.rs"
export CARGO_TARGET_DIR=$root/client/rust/target/outside
(cd "$outside/program" && cargo build --quiet)
for program in example readme guide; do
  "$root/.deps/venv/bin/python" with_server.py "$CARGO_TARGET_DIR/debug/$program"
done
echo "Rust client: checked"
