#!/usr/bin/env bash
# Builds the manager for musl, linked statically, and runs it.
#   hack/build-static.sh OUTPUT
set -euo pipefail

output=$1
root=$(cd "$(dirname "$0")/.." && pwd)
target=$(uname -m)-unknown-linux-musl
cd "$root"

if ! command -v musl-gcc >/dev/null; then
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "musl-gcc is missing, and with it the C library to link with. Install it: apt-get install musl-tools" >&2
    exit 1
  fi
  echo "Installing musl-tools: musl-gcc is missing."
  apt-get update -qq
  apt-get install -y -qq musl-tools >/dev/null
fi
if ! rustup target list --installed | grep -qx "$target"; then
  echo "Adding the Rust target $target."
  rustup --quiet target add "$target"
fi

echo "Building $output for $target."
cargo build --release --locked --package pe-app --bin manager --target "$target"
install -D "${CARGO_TARGET_DIR:-target}/$target/release/manager" "$output"

# A binary with an interpreter would look for a loader that an image from scratch does not have.
if LC_ALL=C grep -q --text --max-count=1 -e '/lib/ld-musl-' -e '/lib64/ld-linux-' "$output"; then
  echo "$output is linked dynamically; it would not start in the image." >&2
  exit 1
fi
"$output" --version
