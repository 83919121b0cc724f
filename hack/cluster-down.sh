#!/usr/bin/env bash
# Stops the control plane in DIR, and the manager that `make demo KEEP=1` left with it.
#   hack/cluster-down.sh DIR
set -euo pipefail

dir=$1
cd "$(dirname "$0")/.."
# shellcheck source=hack/lib.sh
source hack/lib.sh

stop_manager "$dir/manager.pid"
"$bin/cluster" down --dir "$dir"
