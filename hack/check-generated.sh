#!/usr/bin/env bash
# Fails when a generated file is not what the code makes. Writes nothing.
#   hack/check-generated.sh SCRATCH_DIR KUBECTL...
set -euo pipefail
cd "$(dirname "$0")/.."

"${CARGO_TARGET_DIR:-target}/debug/manifests" --check
if ! hack/plugin-reference.sh "${CARGO_TARGET_DIR:-target}/debug/kubectl-egapp" | cmp --silent - docs/reference/kubectl-egapp.md; then
  echo "docs/reference/kubectl-egapp.md is out of date: run make generate and commit it" >&2
  exit 1
fi
if ! hack/render.sh controller:latest config/default "$@" | cmp --silent - dist/install.yaml; then
  echo "dist/install.yaml is out of date: run make generate and commit it" >&2
  exit 1
fi
