#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a training on this machine, with an agent beside each of its ranks, which works in that rank's bubbles.
#   with_agents.sh RANKS [AGENT OPTION…] -- TRAINING [ARGUMENT…]
# Rank r shares its bubbles at unix:$LULL_SOCKETS/rank<r>, where r is its LOCAL_RANK. LULL_QUEUE says which queue. The
# agents end with the training, after they have saved their jobs. The exit code is the training's. A training does not
# wait for agents to start, and goes on if they fail. SIGTERM goes to training and agents; Ctrl-C to the training.
set -uo pipefail

stops_within=75 # seconds, then agents are killed: their own limit is 30 and the queue's lease

usage() {
  sed -n '4s/^#  /usage:/p' "$0" >&2
  exit 2
}

[[ ${1:-} =~ ^[1-9][0-9]{0,2}$ ]] || usage
ranks=$1
shift
options=()
while (($#)) && [[ $1 != -- ]]; do
  options+=("$1")
  shift
done
(($# > 1)) || usage
shift

LULL_SOCKETS=$(mktemp -d) || exit 1 # mode 700: no other user may put a socket there
export LULL_SOCKETS
agents=()
training=
stopped=
trap 'rm -rf "$LULL_SOCKETS"' EXIT
trap 'stop_agents; [[ -z $training ]] || kill -TERM "$training"' TERM
trap : INT

# Once: an agent takes a second request, a second later, for an order to end without saving.
stop_agents() {
  [[ -n $stopped ]] || kill -TERM "${agents[@]}" 2> /dev/null
  stopped=yes
}

# A shell without job control has its children ignore SIGINT. That is right for agents: at Ctrl-C the training ends
# first. If this shell is killed, the system sends them SIGTERM.
for ((rank = 0; rank < ranks; rank++)); do
  setpriv --pdeathsig TERM lull agent --attach "unix:$LULL_SOCKETS/rank$rank" --device "$rank" "${options[@]}" &
  agents+=($!)
done

env --default-signal=INT,QUIT "$@" <&0 &
training=$!
[[ -z $stopped ]] || kill -TERM "$training" # it came before the training
while kill -0 "$training" 2> /dev/null; do
  wait "$training" # a signal ends this wait
done
wait "$training"
code=$?

stop_agents
for ((tenths = 0; tenths < 10 * stops_within; tenths++)); do
  kill -0 "${agents[@]}" 2> /dev/null || break
  sleep 0.1
done
kill -KILL "${agents[@]}" 2> /dev/null
exit "$code"
