#!/usr/bin/env bash
# Writes the reference page of the kubectl plugin from its own help to standard output.
#   hack/plugin-reference.sh KUBECTL_EGAPP
set -euo pipefail

plugin=$1
export COLUMNS=100

cat <<'HEAD'
# kubectl egapp

The plugin's own help, written by `make manifests`. What it is for: [README](../../README.md#kubectl-egapp).
HEAD
for command in "" render diff explain restart completion; do
  # shellcheck disable=SC2086 # no argument where there is no command
  printf '\n## `kubectl egapp%s`\n\n```text\n%s\n```\n' "${command:+ $command}" "$("$plugin" $command --help | sed 's/[[:space:]]*$//')"
done
