// SPDX-License-Identifier: Apache-2.0
//
// The world around the workers of protocol.pml, and what must hold in it.

// ---- the environment
#if HUNGRY < 255
#define next_bubble bubble = bubble + gate[s] % 2
#else
#define next_bubble skip
#endif
#define edge(s) d_step { gate[s] = (gate[s] + 1) % VALUES; next_bubble }

proctype trainer(byte s) {
  byte edges;
  do
  :: atomic { edges < EDGES -> edges++; edge(s) }
  :: edges == EDGES -> break
  od;
#if HUNGRY < 255  // and a bubble behind the feeding: in the one that is open nobody may ask again
  fed == 1;
  atomic { gate[s] % 2 == 1 -> edge(s) }
  edge(s)
#endif
}

proctype clock(byte w) {
  byte ended;
end:
  do
  :: atomic {
      here[w] && !lease_over[w] && (LEASES == 255 || ended < LEASES) ->
      lease_over[w] = 1;
      if :: LEASES < 255 -> ended++ :: else fi
    }
  od
}

proctype feeder() { fed = 1 }

proctype tuner() {
end:
  do
  :: grain = 3 - grain
  od
}

proctype control() {
  byte acts, a, b, c, rest, index;
  do
  :: acts < CONTROLS ->
    acts++;
    held[0] = 1;
#ifndef CONTROL_OF_ONE_SLOT
    held[SLOTS - 1] = 1;
#endif
    if
#ifndef CONTROL_WITHOUT_WAIT
    :: inside[0] == 0 ->
#ifdef CONTROL_OF_ONE_SLOT
      acting = 1
#else
      if
      :: inside[SLOTS - 1] == 0 -> acting = 1
#ifndef PATIENT
      :: true -> skip
#endif
      fi
#endif
#else
    :: acting = 1
#endif
#ifndef PATIENT
    :: true -> skip                         // the bound on the wait
#endif
    fi;
    if
    :: acting ->
      atomic {
        assert(!here[0] && !here[1] && !here[WORKERS - 1]);
        check_at_rest()
      }
      cursor_of[0] = (generation[0] + 1) % GENERATIONS;
#if SLOTS > 1
      cursor_of[1] = (generation[1] + 1) % GENERATIONS;
#endif
      atomic { acting = 0; acted = 1; generation[0] = cursor_of[0]; held[0] = 0 }
#if SLOTS > 1
      atomic { generation[1] = cursor_of[1]; held[1] = 0 }
#endif
    :: else ->
      held[0] = 0;
      held[SLOTS - 1] = 0
    fi
  :: else -> break
  od
}

init {
  atomic {
    run worker(0, 0);
    run worker(1, 1 % SLOTS);
#if WORKERS > 2
    run worker(2, 2 % SLOTS);
#endif
#if EDGES > 0
    run trainer(0);
#if SLOTS > 1
    run trainer(1);
#endif
#else
    gate[0] = 1;
    gate[SLOTS - 1] = 1;
#endif
#if LEASES > 0
    run clock(0);
#if CLOCKS > 1
    run clock(1);
#endif
#if CLOCKS > 2
    run clock(2);
#endif
#endif
#if HUNGRY < 255
    run feeder();
#endif
#ifdef TUNER
    run tuner();
#endif
#if CONTROLS > 0
    run control();
#endif
  }
}

// ---- properties under weak fairness
#ifdef ENDS  // with finitely many disturbances the task ends, if blocks are launched
ltl ends { <> (state == FINISHED || (launched == LAUNCHES && nobody_inside)) }
#endif
#ifdef LEAVES  // whatever the others do
ltl leaves { [] (here[1] -> <> !here[1]) }
#endif
#ifdef LEAVES_FAILED
ltl leaves_failed { [] (state == FAILED -> <> !here[1]) }
#endif
#ifdef CONTROL_ACTS
ltl control_acts { <> acted }
#endif
