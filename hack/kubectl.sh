#!/usr/bin/env bash
# kubectl: the user's own where there is one, else the one of the local control plane.
set -euo pipefail

if command -v kubectl >/dev/null; then
  exec kubectl "$@"
fi
root=$(cd "$(dirname "$0")/.." && pwd)
assets=$("${CARGO_TARGET_DIR:-$root/target}/debug/cluster" assets)
exec "$assets/kubectl" "$@"
