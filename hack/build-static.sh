#!/usr/bin/env bash
# Builds programs for musl, linked statically, as OUTPUT_DIR/NAME-static, and runs each.
#   hack/build-static.sh OUTPUT_DIR NAME...
set -euo pipefail

folder=$1
shift
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

echo "Building $* for $target."
cargo build --release --locked --package pe-app "${@/#/--bin=}" --target "$target"
for name; do
  output=$folder/$name-static
  install -D "${CARGO_TARGET_DIR:-target}/$target/release/$name" "$output"
  # A binary with an interpreter would look for a loader that an image from scratch does not have.
  if LC_ALL=C grep -q --text --max-count=1 -e '/lib/ld-musl-' -e '/lib64/ld-linux-' "$output"; then
    echo "$output is linked dynamically; it would not start in the image." >&2
    exit 1
  fi
  "$output" --version
done
