# shellcheck shell=bash disable=SC2317 # wait_until calls functions by their name
# What the scripts share that run the operator on a local control plane. Sourced from the root of the checkout.

bin=${CARGO_TARGET_DIR:-target}/debug
steps=0
title=
reason=

now() { echo "${EPOCHREALTIME//[!0-9]/}"; }
started=$(now)

# Seconds since a moment that now() told.
since() {
  local micros=$(($(now) - $1))
  printf '%d.%d' $((micros / 1000000)) $((micros / 100000 % 10))
}

step() {
  steps=$((steps + 1)) title=$1
  printf '\n%2d. %s  (after %s s)\n' "$steps" "$title" "$(since "$started")"
}

indent() { sed 's/^/    /'; }
say() { printf '    %s\n' "$*"; }

# Shows a command and its output; fails when the command does.
run() {
  say "\$ $(printf "%s" "${*@Q}" | sed "s|'\([A-Za-z0-9_.:/=,-]*\)'|\1|g")"
  "$@" 2>&1 | indent
}

fail() {
  reason=$1
  exit 1
}

# wait_until SECONDS WHAT COMMAND...: tries the command ten times a second until it succeeds.
wait_until() {
  local seconds=$1 what=$2 deadline
  shift 2
  deadline=$((SECONDS + seconds))
  # The subshell confines the redirection: an exit trap that strikes meanwhile has something to say.
  until ("$@") >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$deadline" ] || fail "after $seconds s still not so: $what"
    sleep 0.1
  done
}

# A loopback port that nobody listens on.
free_port() {
  local port
  while port=$((20000 + RANDOM % 12000)); do
    if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
      echo "$port"
      return
    fi
  done
}

# start_manager LOG PID_FILE ARGS...: starts the manager, apart from this terminal, on two free loopback ports.
# Sets metrics and probes (their base addresses), and waits until it is ready.
start_manager() {
  local log=$1 pid_file=$2 metrics_port probe_port pid
  shift 2
  stop_manager "$pid_file"
  metrics_port=$(free_port)
  probe_port=$(free_port)
  setsid "$bin/manager" --metrics-bind-address="127.0.0.1:$metrics_port" --metrics-secure=false \
    --health-probe-bind-address="127.0.0.1:$probe_port" "$@" >"$log" 2>&1 </dev/null &
  pid=$!
  echo "$pid" >"$pid_file"
  # shellcheck disable=SC2034 # read by the scripts that source this file
  metrics=http://127.0.0.1:$metrics_port probes=http://127.0.0.1:$probe_port
  ready_or_gone() { ! kill -0 "$pid" || curl -sf "$probes/readyz"; }
  wait_until 30 "the manager is ready" ready_or_gone
  kill -0 "$pid" 2>/dev/null || fail "the manager ended while starting"
}

# stop_manager PID_FILE: ends the manager that start_manager started, if it still runs.
stop_manager() {
  local pid
  [ -f "$1" ] || return 0
  pid=$(<"$1")
  if [[ $(readlink "/proc/$pid/exe") == */manager* ]]; then
    kill "$pid"
    gone() { ! kill -0 "$pid"; }
    (wait_until 10 "the manager has ended" gone) || kill -KILL "$pid"
  fi
  rm -f "$1"
}

# explain_failure DIR: says what went wrong, and saves the logs of DIR from its removal.
explain_failure() {
  local saved log
  saved=$(mktemp -d "${TMPDIR:-/tmp}/pe-app-logs.XXXXXX")
  for log in "$1"/*.log "$1/logs"; do
    [ ! -e "$log" ] || cp -r "$log" "$saved/"
  done
  printf '\nFAILED in step %d, %s (%s s)%s\n' "$steps" "$title" "$(since "$started")" "${reason:+: $reason}"
  if [ -s "$saved/manager.log" ]; then
    printf '\nThe last lines of %s:\n' "$saved/manager.log"
    tail -n 15 "$saved/manager.log"
  fi
  printf '\nAll logs are in %s\n' "$saved"
}
