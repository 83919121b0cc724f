#!/usr/bin/env bash
# Prints the kustomization CONFIG (config/default, config/namespaced) with IMAGE as the manager's image.
#   hack/render.sh IMAGE CONFIG SCRATCH_DIR KUBECTL...
# The image is put in as one string: names with a port, a tag and a digest all pass. No tracked file changes.
set -euo pipefail

image=$1 config=$2 scratch=$3
shift 3
root=$(cd "$(dirname "$0")/.." && pwd)

mkdir -p "$scratch"
overlay=$(mktemp -d "$scratch/overlay.XXXXXX")
trap 'rm -rf "$overlay"' EXIT

# kustomize takes relative paths alone.
cat > "$overlay/kustomization.yaml" <<YAML
resources:
- $(realpath --relative-to="$(realpath "$overlay")" "$root/$config")
patches:
- target:
    kind: Deployment
    name: pe-app-controller-manager
  patch: |-
    - op: test
      path: /spec/template/spec/containers/0/name
      value: manager
    - op: replace
      path: /spec/template/spec/containers/0/image
      value: "$image"
YAML
"$@" kustomize "$overlay"
