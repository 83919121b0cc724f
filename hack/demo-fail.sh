# shellcheck shell=bash
# What the user of an app sees that fails, for hack/demo.sh. The images are those of hack/cluster, whose nodes make
# such a failure of them. Sourced from the root of the checkout.

# The image that fails, and the reason that Ready then gives: of docs/troubleshooting.md.
declare -A failing_image=(
  [imagepull]=fail.example/imagepull:1
  [configerror]=fail.example/configerror:1
  [runasroot]=fail.example/runasroot:1
  [crashloop]=fail.example/crashloop:3
  [oom]=fail.example/oom:1
  [slowready]=fail.example/slowready:10
  [neverready]=fail.example/neverready:1
  [neverstarted]=fail.example/neverstarted:1
)
declare -A expected_reason=(
  [imagepull]=ImagePull
  [configerror]=ContainerConfig
  [runasroot]=ContainerConfig
  [crashloop]=CrashLoop
  [oom]=CrashLoop
  [slowready]=RollingOut
  [neverready]=ProbeFailing
  [neverstarted]=ProbeFailing
)
good_image=registry.example.com/team/billing:1.4.3

# check_failure NAME: ends the script unless the name is empty or a failure.
check_failure() {
  if [ -n "$1" ] && [ -z "${failing_image[$1]:-}" ]; then
    echo "FAIL=$1 is none of: imagepull configerror runasroot crashloop oom slowready neverready neverstarted" >&2
    exit 2
  fi
}

# failing_app IMAGE: the manifest of an app that is expected to start within 5 seconds.
# shellcheck disable=SC2154 # app is set by the script that sources this file
failing_app() {
  cat <<YAML
apiVersion: egplatform.platform.evillgenius.com/v1alpha1
kind: EGApp
metadata:
  name: $app
spec:
  appId: billing
  framework: go
  instanceType: lowMem
  environment: dev
  replicaCount: 2
  image: $1
  startupProbe:
    tcpSocket: {}
    periodSeconds: 1
    failureThreshold: 5
YAML
}

# ready FIELD: what the condition Ready says.
ready() { kubectl get egapp "$app" --output jsonpath="{.status.conditions[?(@.type==\"Ready\")].$1}"; }
ready_in_words() { echo "Ready is $(ready status), $(ready reason): $(ready message)"; }

# await_reason REASON: waits until Ready gives it.
await_reason() {
  local deadline=$((SECONDS + 60))
  until [ "$(ready reason 2>/dev/null)" = "$1" ]; do
    [ "$SECONDS" -lt "$deadline" ] || fail "no reason $1 within 60 s. $(ready_in_words)"
    sleep 0.1
  done
}

# show_failure NAME: an app that fails, what is seen of it, the fix.
show_failure() {
  local failure=$1 applied
  step "An EGApp that fails: $failure"
  say "\$ kubectl apply --filename - <<YAML"
  failing_app "${failing_image[$failure]}" | indent
  say "YAML"
  failing_app "${failing_image[$failure]}" | kubectl apply --filename - | indent
  applied=$(now)

  step "What its user sees"
  await_reason "${expected_reason[$failure]}"
  say "the reason is there after $(since "$applied") s"
  run kubectl get ega
  run kubectl get pods
  say "$(ready_in_words)"

  if [ "$failure" = slowready ]; then
    step "Nothing to fix: the pods become ready"
  else
    step "The fix: an image that works"
    run kubectl patch egapp "$app" --type=merge --patch "{\"spec\": {\"image\": \"$good_image\"}}"
  fi
  run kubectl wait --for=condition=Ready "egapp/$app" --timeout=60s
  run kubectl get ega
  run kubectl get pods
  say "$(ready_in_words)"

  step "Deleted, and nothing left"
  run kubectl delete egapp "$app"
  wait_until 60 "EGApp, Deployment, ReplicaSets and pods are gone" nothing_left
}
