#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check.sh [NAME…]       runs these configurations (default: all); one line each: what was expected and what came
# check.sh --list        prints the names
# check.sh --record      runs all, and writes to explored.txt those that searched for long: what, and how many states
# check.sh --new NAME…   runs these, but for those that explored.txt has as they are: the same search finds the same
# check.sh --trace NAME  runs one and prints, step by step, the counterexample that it finds
#
# Exit code 0: all as expected; 1: some differ; 2: bad usage; 77: not run, since spin or a C compiler is missing.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# name | model | safety or fair (liveness under weak fairness) | expected | -D of the configuration
# expected: none, assertion, or cycle (an infinite run that breaks the liveness property)
table='
two_blocks        | protocol | safety | none | LEAVE_ANY PHASES=3 ITEMS0=2 ITEMS1=3 ITEMS2=1 RING=2
endless           | protocol | safety | none | LEAVE_ANY ENDLESS SHORT_SLEEP PHASES=2 ITEMS0=1 ITEMS1=1
three_blocks      | protocol | safety | none | LEAVE_ANY WORKERS=3 PHASES=2 ITEMS0=1 ITEMS1=1
grain             | protocol | safety | none | LEAVE_ANY TUNER GRAIN=2 PHASES=2 ITEMS0=3 ITEMS1=2
fed_and_empty     | protocol | safety | none | LEAVE_ANY EDGES=1 HUNGRY=2 PHASES=3 ITEMS0=1 ITEMS1=0 ITEMS2=2
fed_first         | protocol | safety | none | LEAVE_ANY EDGES=1 HUNGRY=0 PHASES=2 ITEMS0=1 ITEMS1=1
failure           | protocol | safety | none | LEAVE_ANY FAILURES=2
replay            | protocol | safety | none | EDGES=4 VALUES=2 LEASES=1 ITEMS0=1 ITEMS1=2
control           | protocol | safety | none | EDGES=3 CONTROLS=2 ITEMS0=1
control_two_slots | protocol | safety | none | EDGES=2 CONTROLS=1 SLOTS=2 PHASES=1
ends_lease        | protocol | fair   | none | ENDS LEASES=1 ITEMS0=1 ITEMS1=2
ends_edges        | protocol | fair   | none | ENDS EDGES=3 VALUES=2 ITEMS0=2
ends_fed          | protocol | fair   | none | ENDS EDGES=1 HUNGRY=1 CONTROLS=1 ITEMS0=1
ends_once         | protocol | fair   | none | ENDS LAUNCHES=2 LEASES=1 CLOCKS=1 PHASES=1 ITEMS0=1
leaves_by_lease   | protocol | fair   | none | LEAVES STALL LEASES=255 EDGES=1 PHASES=1
leaves_by_gate    | protocol | fair   | none | LEAVES STALL EDGES=2 PHASES=2 ITEMS0=1
leaves_endless    | protocol | fair   | none | LEAVES ENDLESS LAUNCHES=1 LEASES=255 EDGES=1 PHASES=1 ITEMS0=1 TAGS=2
leaves_failed     | protocol | fair   | none | LEAVES_FAILED FAILURES=1
control_acts      | protocol | fair   | none | CONTROL_ACTS CONTROLS=1 PATIENT LAUNCHES=1 ENDLESS PHASES=1 ITEMS0=1 TAGS=2
state_early       | protocol | safety | none | LEAVE_ANY STATE_BEFORE_TICKET PHASES=3 ITEMS0=2 ITEMS1=3 ITEMS2=1 RING=2
state_early_ends  | protocol | fair   | none | ENDS STATE_BEFORE_TICKET LEASES=1 ITEMS0=1 ITEMS1=2
ring              | ring     | safety | none | PUSHES=4
ring_wraps        | ring     | safety | none | BLOCKS=2 PUSHES=6
ring_returns      | ring     | fair   | none | RETURNS STALL BLOCKS=2 PUSHES=4
edges               | channels | safety | none | EDGES_ONLY WIDE EXCUSE_EDGE_AFTER_KERNEL CHANNELS=2
edges_waits         | channels | safety | none | EDGES_ONLY WIDE WAITS CHANNELS=2
armed               | channels | safety | none | EXCUSE_EDGES CHANNELS=2
armed_one_channel   | channels | safety | none | EXCUSE_EDGES CHANNELS=1 NOBODY_WORKS
armed_waits         | channels | safety | none | WAITS CHANNELS=2
armed_wide          | channels | safety | none | EXCUSE_EDGES CHANNELS=2 APART WIDE WHOLE
armed_leases        | channels | safety | none | EXCUSE_EDGES CHANNELS=2 LEASE
armed_twice         | channels | safety | none | EXCUSE_EDGES CHANNELS=2 APART BUBBLES=2
armed_twice_leases  | channels | safety | none | EXCUSE_EDGES CHANNELS=2 APART BUBBLES=2 LEASE
armed_two_streams   | channels | safety | none | EXCUSE_EDGES CHANNELS=2 APART BUBBLES=2 WHOLE WORKER_STREAMS=2
armed_moves         | channels | safety | none | EXCUSE_EDGES CHANNELS=2 MOVES WHOLE
armed_early         | channels | safety | none | EXCUSE_EDGES CHANNELS=2 EARLY
armed_early_one     | channels | safety | none | EXCUSE_EDGES CHANNELS=1 EARLY
armed_control       | channels | safety | none | EXCUSE_EDGES CHANNELS=2 APART BUBBLES=2 WHOLE CONTROLS=1
armed_copy          | channels | safety | none | EXCUSE_EDGES CHANNELS=2 APART BUBBLES=2 WHOLE COPIES=1
armed_copy_last     | channels | safety | none | EXCUSE_EDGES CHANNELS=2 APART BUBBLES=2 WHOLE COPIES=1 COPY_WHEN_NONE_WAITS
armed_full          | channels | safety | none | EXCUSE_EDGES CHANNELS=2 FULL=2 RELEASER
armed_store_late    | channels | safety | none | EXCUSE_EDGES CHANNELS=2 APART BUBBLES=2 WHOLE RELEASER STORE_LATE
armed_counts        | channels | safety | none | EXCUSE_EDGES CHANNELS=2 COUNT_WITHOUT_BOUND
armed_freely_leases | channels | safety | none | EXCUSE_EDGES CHANNELS=2 APART BUBBLES=2 WHOLE FREELY LEASE
armed_ends          | channels | fair   | none | ENDS EXCUSE_EDGES CHANNELS=2 WHOLE
present_inside      | channels | safety | none | EXCUSE_EDGES CHANNELS=3 APART PRESENT LEASE WAIT_AT=2
open_moves          | channels | safety | none | EXCUSE_EDGES CHANNELS=2 ONLY_WHEN_OPEN MOVES MOVES_IN_USE
open_full           | channels | safety | none | EXCUSE_EDGES CHANNELS=2 ONLY_WHEN_OPEN FULL=2
attached            | attached | safety | none | BUBBLES=4
attached_trainers   | attached | safety | none | TRAINER_DIES TRAINERS=2 BUBBLES=2
attached_workers    | attached | safety | none | WORKER_DIES WORKERS=2
attached_both       | attached | safety | none | TRAINER_DIES TRAINERS=2 WORKER_DIES WORKERS=2 BUBBLES=1
attached_trains     | attached | fair   | none | TRAINS STALL WORKER_DIES BUBBLES=2
attached_leaves     | attached | fair   | none | LEAVES TRAINER_DIES BUBBLES=2
attached_leaves_two | attached | fair   | none | LEAVES TRAINER_DIES TRAINERS=2 BUBBLES=1

EXTENT_WITHOUT_TAG       | protocol | safety | assertion | LEAVE_ANY ITEMS0=1 ITEMS1=2
RING_WITHOUT_TAG         | protocol | safety | assertion | LEAVE_ANY
COMMIT_BEFORE_WRITE      | protocol | safety | assertion | LEAVE_ANY
DONE_AFTER_TICKET        | protocol | safety | assertion | LEAVE_ANY
TAKE_WITHOUT_CLAIM       | protocol | safety | assertion | LEAVE_ANY
LIMIT_AFTER_TICKET       | protocol | safety | assertion | LEAVE_ANY
OPEN_WITH_KNOWN_TAG      | protocol | safety | assertion | LEAVE_ANY EDGES=1 HUNGRY=2 PHASES=3 ITEMS0=1 ITEMS1=0 ITEMS2=1
DUE_WITHOUT_EXCHANGE     | protocol | safety | assertion | LEAVE_ANY
LEAVE_WITHOUT_COMMIT     | protocol | safety | assertion | LEAVE_ANY
ASK_AGAIN_IN_A_BUBBLE    | protocol | safety | assertion | LEAVE_ANY EDGES=1 HUNGRY=1
ASK_WITHOUT_SECOND_LOOK  | protocol | safety | assertion | LEAVE_ANY EDGES=1 HUNGRY=0
STARVED_WITHOUT_POSITION | protocol | safety | assertion | LEAVE_ANY EDGES=1 HUNGRY=1
GRAIN_REREAD             | protocol | safety | assertion | LEAVE_ANY TUNER GRAIN=2 PHASES=2 ITEMS0=3 ITEMS1=2
FEW_TAGS                 | protocol | safety | assertion | LEAVE_ANY PHASES=3 TAGS=2
ENTER_WITHOUT_HELD_CHECK | protocol | safety | assertion | EDGES=3 CONTROLS=2 ITEMS0=1
CONTROL_WITHOUT_WAIT     | protocol | safety | assertion | EDGES=3 CONTROLS=2 ITEMS0=1
CONTROL_OF_ONE_SLOT      | protocol | safety | assertion | EDGES=2 CONTROLS=1 SLOTS=2 PHASES=1
STALE_CURSOR             | protocol | safety | assertion | EDGES=3 CONTROLS=2 ITEMS0=1
STATE_WITHOUT_TAG        | protocol | safety | assertion | LEAVE_ANY PHASES=3
OUT_BEFORE_DONE          | protocol | safety | assertion | LEAVE_ANY
NO_RING_WHILE_WAITING    | protocol | fair   | cycle     | ENDS LAUNCHES=2 LEASES=1 CLOCKS=1 PHASES=1 ITEMS0=1
NO_LEASE                 | protocol | fair   | cycle     | LEAVES STALL LEASES=255 EDGES=1 PHASES=1
PARKING                  | protocol | fair   | cycle     | LEAVES STALL EDGES=2 PHASES=2 ITEMS0=1
HELD_NOT_POLLED          | protocol | fair   | cycle     | CONTROL_ACTS CONTROLS=1 PATIENT LAUNCHES=1 ENDLESS PHASES=1 ITEMS0=1 TAGS=2
TAKE_WITHOUT_EXCHANGE    | ring     | safety | assertion | PUSHES=4
EMPTY_WITHOUT_EXCHANGE   | ring     | safety | assertion | PUSHES=4
FULL_BEFORE_ENTRY        | ring     | safety | assertion | PUSHES=4
FREE_BEFORE_READ         | ring     | safety | assertion | PUSHES=4
NO_EXCUSE                | channels | safety | assertion | ALONE CHANNELS=1
EDGE_AFTER_KERNEL        | channels | safety | assertion | EDGES_ONLY CHANNELS=1
PRESENT                  | channels | safety | assertion | EXCUSE_EDGES CHANNELS=3 APART LEASE
PRESENT_NO_LEASE         | channels | safety | assertion | EXCUSE_EDGES CHANNELS=3 APART PRESENT WAIT_AT=2
NO_RELEASE               | channels | safety | assertion | EXCUSE_EDGES CHANNELS=2 LEASE
NO_RELEASE_EARLY         | channels | safety | assertion | EXCUSE_EDGES CHANNELS=1 LEASE EARLY NO_RELEASE
NOBODY_WORKS             | channels | safety | assertion | EXCUSE_EDGES CHANNELS=1 EARLY
RELEASE_ONCE             | channels | safety | assertion | EXCUSE_EDGES CHANNELS=2 APART BUBBLES=2 WHOLE
FREELY                   | channels | safety | assertion | EXCUSE_EDGES CHANNELS=2 APART WHOLE
FREELY_TWO_STREAMS       | channels | safety | assertion | EXCUSE_EDGES CHANNELS=2 APART BUBBLES=2 WHOLE FREELY WORKER_STREAMS=2
COPY_BLOCKS              | channels | safety | assertion | EXCUSE_EDGES CHANNELS=2 APART WHOLE COPIES=1 LEASE
RELEASE_BEFORE_COPY      | channels | safety | assertion | EXCUSE_EDGES CHANNELS=2 APART BUBBLES=2 WHOLE COPIES=1
ENQUEUE_BLOCKS           | channels | safety | assertion | EXCUSE_EDGES CHANNELS=2 FULL=2 LEASE
MOVES_IN_USE             | channels | safety | assertion | EXCUSE_EDGES CHANNELS=2 MOVES
ANY_BUBBLE               | channels | safety | assertion | EXCUSE_EDGES CHANNELS=2 APART BUBBLES=2 LEASE
NOT_MARKED               | attached | safety | assertion | BUBBLES=4
NO_SECOND_LOOK           | attached | safety | assertion | BUBBLES=4
FEW_VALUES               | attached | safety | assertion | BUBBLES=4 VALUES=4
NUMBER_AGAIN             | attached | safety | assertion | WORKER_DIES WORKERS=2
ATTACHES_WITH_A_BLOCK    | attached | fair   | cycle     | LEAVES TRAINER_DIES TRAINERS=2 BUBBLES=1
CLOSE_WAITS              | attached | fair   | cycle     | TRAINS STALL BUBBLES=2
STAYS                    | attached | fair   | cycle     | LEAVES TRAINER_DIES BUBBLES=2
AGAIN_UNSEEN             | channels | safety | assertion | EXCUSE_EDGES CHANNELS=2 LEASE
'

# Those that search for longer than the compiler would take to optimise it.
long='attached attached_trainers attached_workers attached_both three_blocks control ends_fed open_moves armed_control armed_copy armed_ends armed_twice armed_twice_leases armed_freely_leases'

names() { grep '|' <<<"$table" | cut -d '|' -f 1 | tr -d ' '; }

trace=0 record=0 new=0
case ${1-} in
  --list) names; exit 0 ;;
  --record) record=1; shift; [[ $# == 0 ]] || { echo "check.sh: --record takes no name" >&2; exit 2; } ;;
  --new) new=1; shift ;;
  --trace) trace=1; shift; [[ $# == 1 ]] || { echo "check.sh: --trace takes one name" >&2; exit 2; } ;;
esac
[[ $# -gt 0 ]] || mapfile -t chosen < <(names)
[[ $# == 0 ]] || chosen=("$@")
for name in "${chosen[@]}"; do
  names | grep -qx -- "$name" || { echo "check.sh: no configuration '$name'; there are:" $(names) >&2; exit 2; }
done

compiler=${CC:-$(command -v gcc || command -v cc || true)}
if ! command -v spin >/dev/null || [[ -z $compiler ]]; then
  echo "not run: the model needs spin and a C compiler (Debian, Ubuntu: apt-get install spin gcc)"
  exit 77
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

min_seconds=3  # of a search that is recorded

# Sets flags and search.
options_of() {  # kind
  flags=(-DMEMLIM=3500 -DSAFETY) search=()
  [[ $1 == fair ]] && flags=(-DMEMLIM=3500 -DNFAIR=3) search=(-a -f)
}

# Prints a hash of all that a search depends on.
hash_of() {  # model kind expected defines…
  local model=$1 kind=$2 flags search
  options_of "$kind"
  { sed -n 's/^#include "\(.*\)"/\1/p' "$here/$model.pml" | (cd "$here" && xargs -r cat); cat "$here/$model.pml"; echo "${*:2}" "${flags[@]}" "${search[@]}"; } |
    sha256sum | cut -c 1-32
}

# Sets got, states and seconds.
check() {  # name model kind defines…
  local name=$1 model=$2 kind=$3 defines=() flags search
  shift 3
  for define in "$@"; do defines+=("-D$define"); done
  local begun=$SECONDS optimise=-O1
  [[ " $long " == *" $name "* ]] && optimise=-O2
  [[ $name != *[a-z]* ]] && defines+=("-D$name") optimise=-O0  # a mutant: it fails before it has run long
  options_of "$kind"
  got=error states='?'
  if spin -a "${defines[@]}" "$here/$model.pml" >log 2>&1 && "$compiler" $optimise -w "${flags[@]}" -o pan pan.c >>log 2>&1; then
    timeout 280 ./pan -m1000000 -w24 "${search[@]}" >log 2>&1
    states=$(sed -n 's/^ *\([0-9]*\) states, stored.*/\1/p' log)
    if grep -q 'assertion violated' log; then got=assertion
    elif grep -q 'acceptance cycle (at' log; then got=cycle
    elif grep -q 'invalid end state (at' log; then got=deadlock
    elif grep -qE 'search depth too small|memory limit|Search not completed' log; then got=incomplete
    elif grep -q 'errors: 0' log; then got=none
    fi
  fi
  seconds=$((SECONDS - begun))
  if [[ $trace == 1 && $got != none ]]; then
    spin -t -p -g "${defines[@]}" -k "$model.pml.trail" "$here/$model.pml"
  fi
}

failed=0 recorded=()
for name in "${chosen[@]}"; do
  IFS='|' read -r _ model kind expected defines < <(grep "^$name *|" <<<"$table")
  model=${model// /} kind=${kind// /} expected=${expected// /}
  # shellcheck disable=SC2086
  hash=$(hash_of "$model" "$kind" "$expected" $defines)
  if ((new)) && states=$(sed -n "s/^$name $hash \([0-9]*\)\$/\1/p" "$here/explored.txt") && [[ -n $states ]]; then
    printf '%-6s %-24s expected %-9s %s states, as explored before\n' ok "$name" "$expected" "$states"
    continue
  fi
  # shellcheck disable=SC2086
  check "$name" "$model" "$kind" $defines
  verdict=ok
  if [[ $got != "$expected" ]]; then verdict=FAILED failed=1; fi
  printf '%-6s %-24s expected %-9s got %-10s %10s states %4d s\n' "$verdict" "$name" "$expected" "$got" "$states" "$seconds"
  [[ $verdict == ok ]] || tail -n 40 log
  [[ $verdict == ok ]] && ((seconds >= min_seconds)) && recorded+=("$name $hash $states")
done
((record && !failed)) && printf '%s\n' "${recorded[@]}" > "$here/explored.txt"
exit $failed
