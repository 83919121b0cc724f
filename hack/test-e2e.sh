#!/usr/bin/env bash
# Installs the operator on the control plane in DIR as an administrator would, and takes it away again.
#   hack/test-e2e.sh DIR
# The simulated nodes there run no container. So the manager runs on this host, with the token of the
# ServiceAccount and the arguments that were deployed: rights or flags that do not fit fail here.
# shellcheck disable=SC2317 # wait_until and trap call functions by their name
set -euo pipefail

dir=$(realpath "$1")
cd "$(dirname "$0")/.."
# shellcheck source=hack/lib.sh
source hack/lib.sh

assets=$("$bin/cluster" assets)
export KUBECONFIG=$dir/admin.kubeconfig PATH=$assets:$PATH
# A registry with a port, a tag and a digest: all that a name can have.
image=registry.example.com:5000/platform/pe-app:0.1.0@sha256:$(printf '0%.0s' {1..64})
namespace=pe-app-system
manager=deployment/pe-app-controller-manager

finish() {
  local status=$?
  trap - EXIT
  [ "$status" = 0 ] || explain_failure "$dir" >&2
  stop_manager "$dir/manager.pid"
  exit "$status"
}
trap finish EXIT
trap 'fail "interrupted"' INT TERM

is() { [ "$2" = "$3" ] || fail "$1 is '$2', not '$3'"; }
may() { is "may $*" "$(kubectl auth can-i "$@" --as=somebody 2>/dev/null)" yes; }
may_not() { is "may $*" "$(kubectl auth can-i "$@" --as=somebody 2>/dev/null)" no; }
tracked_files() { git status --porcelain; git diff | sha256sum; }

step "make deploy"
before=$(tracked_files)
make deploy IMG="$image" >"$dir/deploy.log" 2>&1 || fail "$(tail -n 3 "$dir/deploy.log")"
is "what git says after deploy" "$(tracked_files)" "$before"
is "the manager's image" "$(kubectl get "$manager" -n $namespace -o jsonpath='{.spec.template.spec.containers[0].image}')" "$image"
run kubectl rollout status "$manager" --namespace=$namespace --timeout=60s

step "The manager, with the deployed account and arguments"
cp "$KUBECONFIG" "$dir/manager.kubeconfig"
token=$(kubectl create token pe-app-controller-manager --namespace=$namespace --duration=1h)
kubectl --kubeconfig="$dir/manager.kubeconfig" config set-credentials manager --token="$token" >/dev/null
kubectl --kubeconfig="$dir/manager.kubeconfig" config set-context --current --user=manager --namespace=$namespace >/dev/null
# Addresses differ: start_manager puts free loopback ports in their place. So do paths of mounted files.
kubectl get configmap pe-app-platform --namespace=$namespace --output=jsonpath='{.data.platform\.yaml}' >"$dir/platform.yaml"
mapfile -t args < <(kubectl get "$manager" --namespace=$namespace \
  --output=jsonpath='{range .spec.template.spec.containers[0].args[*]}{@}{"\n"}{end}' |
  grep -v -e '-bind-address=' -e '^--metrics-secure=' | sed "s|=/etc/pe-app/|=$dir/|")
KUBECONFIG=$dir/manager.kubeconfig start_manager "$dir/manager.log" "$dir/manager.pid" "${args[@]}"
say "ready with: ${args[*]}"
run kubectl get leases --namespace=$namespace

step "The samples"
run kubectl apply --kustomize config/samples
run kubectl wait --for=condition=Ready egapps --all --timeout=60s
run kubectl get ega

step "The users' rights"
kubectl create rolebinding somebody --clusterrole=edit --user=somebody --namespace=default >/dev/null
edit_is_aggregated() { kubectl auth can-i create egapps --as=somebody; }
wait_until 30 "the role edit has taken up the rights on EGApps" edit_is_aggregated
may delete egapps
may patch egapps --subresource=scale
may get egapps --subresource=status
may_not update egapps --subresource=status
may_not create egapps --namespace=kube-system
say "edit: makes, scales and deletes EGApps of its namespace, and leaves the status alone"

step "Deleted"
run kubectl delete --kustomize config/samples
nothing_left() { [ -z "$(kubectl get deployments,replicasets,pods --output name)" ]; }
wait_until 60 "Deployments, ReplicaSets and pods are gone" nothing_left

step "make undeploy"
stop_manager "$dir/manager.pid"
make undeploy >"$dir/undeploy.log" 2>&1 || fail "$(tail -n 3 "$dir/undeploy.log")"
is "what is left" "$(kubectl get crds,clusterroles,clusterrolebindings,namespaces --output name | grep -e pe-app -e evillgenius || true)" ""
make undeploy ignore-not-found=true >"$dir/undeploy.log" 2>&1 || fail "$(tail -n 3 "$dir/undeploy.log")"
printf '\nDone in %s s.\n' "$(since "$started")"
