#!/usr/bin/env bash
# Fails when generated files are not what the code makes now, and leaves them made anew.
set -euo pipefail
cd "$(dirname "$0")/.."

generated=(config/crd/bases/*.yaml config/rbac/role.yaml dist/install.yaml)

sums() { sha256sum "${generated[@]}" 2>&1 || true; }

before=$(sums)
make generate IMG=controller:latest >/dev/null
stale=$(comm -13 <(sort <<<"$before") <(sums | sort) | awk '{ print $2 }')
if [ -n "$stale" ]; then
  printf 'generated files were out of date and have been made anew; commit them:\n%s\n' "$stale" >&2
  exit 1
fi
