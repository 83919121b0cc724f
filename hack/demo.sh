#!/usr/bin/env bash
# The operator at work on a real control plane on this machine: `make demo`.
#   KEEP=1 leaves control plane and manager running, and prints how to use and how to stop them.
#   FAIL=imagepull (or another) shows instead what the user of an app sees that fails so.
# shellcheck disable=SC2317 # wait_until and trap call functions by their name
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck source=hack/demo-fail.sh
source hack/demo-fail.sh
check_failure "${FAIL:-}"
cargo build --workspace --bins
# shellcheck source=hack/lib.sh
source hack/lib.sh
assets=$("$bin/cluster" assets)

sample=config/samples/egplatform_v1alpha1_egapp.yaml
app=egapp-sample
dir=$PWD/.cluster
[ -n "${KEEP:-}" ] || dir=$(mktemp -d "${TMPDIR:-/tmp}/pe-app-demo.XXXXXX")
if [ -e "$dir/manager.pid" ] && kill -0 "$(cat "$dir/manager.pid")" 2>/dev/null; then
  echo "A demo is still running in $dir, with whatever you made of it. Stop it first: make cluster-down" >&2
  exit 1
fi
export KUBECONFIG=$dir/admin.kubeconfig PATH=$assets:$PATH

stop_all() {
  stop_manager "$dir/manager.pid"
  "$bin/cluster" down --dir "$dir" 2>/dev/null
}

finish() {
  local status=$?
  trap - EXIT
  [ "$status" = 0 ] || explain_failure "$dir" >&2
  if [ "$status" != 0 ] || [ -z "${KEEP:-}" ]; then
    stop_all
  fi
  exit "$status"
}
trap finish EXIT
trap 'fail "interrupted"' INT TERM

deployment() { kubectl get deployment "$app" --output jsonpath="$1"; }
pods() { kubectl get egapp "$app" --output jsonpath='{range .status.pods[*]}{@}{"\n"}{end}'; }
nothing_left() { [ -z "$(kubectl get egapps,deployments,replicasets,pods --output name)" ]; }
pods_are() { [ "$(pods | grep -c .)" = "$1" ]; }

# break_it COMMAND...: changes the Deployment by hand and waits until it is as it was.
break_it() {
  local before broken
  before=$(deployment "$fields")
  run "$@"
  broken=$(now)
  healed() { [ "$(deployment "$fields")" = "$before" ]; }
  wait_until 30 "the Deployment is healed after: $*" healed
  say "healed after $(since "$broken") s"
}
fields='{.spec.replicas} {.spec.template.spec.containers[*].image} {.metadata.labels}'

step "A control plane: etcd, kube-apiserver, controller manager, scheduler, simulated nodes"
# The CRD goes in before the controllers start: the garbage collector looks for new kinds every 30 s only,
# and the last step would wait for it.
output=$("$bin/cluster" up --dir "$dir" --apply config/crd 2>&1) || fail "$output"
run kubectl get nodes

step "The CRD, created as by make install"
run kubectl get crd egapps.egplatform.platform.evillgenius.com
run kubectl wait --for=condition=Established crd/egapps.egplatform.platform.evillgenius.com

step "The manager, on this host"
# A copy, to play with.
cp config/manager/platform.yaml "$dir/platform.yaml"
start_manager "$dir/manager.log" "$dir/manager.pid" --platform-config="$dir/platform.yaml"
say "ready, metrics on $metrics/metrics"

tour() {
  step "An EGApp becomes a Deployment with pods"
  run kubectl apply --filename "$sample"
  run kubectl wait --for=condition=Ready "egapp/$app" --timeout=60s
  run kubectl get ega --output wide
  run kubectl get deployments --output wide
  wait_until 30 "status.pods names 1 pod" pods_are 1
  say "status.pods:"
  pods | indent | indent

  step "Scaled to 3"
  run kubectl scale "egapp/$app" --replicas=3
  run kubectl wait --for=condition=Ready "egapp/$app" --timeout=60s
  run kubectl get ega
  wait_until 30 "status.pods names 3 pods" pods_are 3
  say "status.pods:"
  pods | indent | indent

  step "The Deployment changed by hand, and healed"
  break_it kubectl set image "deployment/$app" '*=registry.example.com/wrong:1'
  break_it kubectl scale "deployment/$app" --replicas=7
  break_it kubectl label "deployment/$app" app.kubernetes.io/managed-by-
  run kubectl wait --for=condition=Ready "egapp/$app" --timeout=60s

  step "An EGApp that cannot be, refused by the API server"
  say "\$ sed 's/framework: java/framework: cobol/' $sample | kubectl apply --filename -"
  if refusal=$(sed 's/framework: java/framework: cobol/' "$sample" | kubectl apply --filename - 2>&1); then
    fail "the API server took framework: cobol"
  fi
  indent <<<"$refusal"

  step "The metrics Prometheus reads"
  say "\$ curl $metrics/metrics"
  curl -sf "$metrics/metrics" >"$dir/metrics.txt"
  grep -E '^(controller_runtime_reconcile_total|controller_runtime_reconcile_time_seconds_count|workqueue_depth|rest_client_requests_total|process_resident_memory_bytes)' \
    "$dir/metrics.txt" | indent

  step "Deleted, and nothing left"
  run kubectl delete --filename "$sample"
  wait_until 60 "EGApp, Deployment, ReplicaSets and pods are gone" nothing_left
  run kubectl get egapps,deployments,replicasets,pods
}

if [ -n "${FAIL:-}" ]; then
  show_failure "$FAIL"
else
  tour
fi

printf '\nDone in %s s.\n' "$(since "$started")"
if [ -n "${KEEP:-}" ]; then
  cat <<TEXT

Control plane and manager are still running. In any shell:
    export KUBECONFIG=$KUBECONFIG PATH=$assets:\$PATH
    kubectl apply --filename $sample
Pods are simulated: they are scheduled and become ready, but no container runs, so there are no logs and no exec.
What the words of an EGApp mean is in $dir/platform.yaml; edit it and see what becomes of running apps (docs/platform.md).
    $bin/kubectl-egapp explain $app --platform-config $dir/platform.yaml
    curl $metrics/metrics
    curl '$probes/readyz?verbose'
Logs are in $dir. To stop both:
    make cluster-down
TEXT
fi
