// SPDX-License-Identifier: Apache-2.0
//
// The ring of device/ring.hpp, access by access: any number of pushers and poppers, none of which waits for another.
// protocol.pml takes push and pop for one step each; this shows that it may.

#ifndef BLOCKS
#define BLOCKS 3
#endif
#ifndef CAPACITY
#define CAPACITY 2
#endif
#ifndef PUSHES  // in all; pops are without number
#define PUSHES 5
#endif
// STALL: block 0 may stop for ever, between any two steps.

#ifdef STALL
#define may_stall if :: me == 0 -> false :: true fi;
#else
#define may_stall
#endif
#define step may_stall atomic

// ---- the shared words
byte pushed, popped;
byte turn[CAPACITY];   // 2 × lap while free, 2 × lap + 1 while it holds an entry
byte entry[CAPACITY];  // tag, begin and count: written in any number of steps, here in one

// ---- what only the properties know
byte pushes;                      // begun; also the name of the entry
byte refused;
byte in_ring[PUSHES + 1];         // 1: pushed, 2: popped again
byte published;                   // entries that a pop can have
byte busy;
bit alone[BLOCKS];                // nobody else has been at the ring since this block's push or pop began
bit at_work[BLOCKS];

inline begin_operation() {
  other = 0;
  do
  :: other < BLOCKS -> alone[other] = 0; other++
  :: else -> break
  od;
  other = 0;
  alone[me] = (busy == 0);
  busy++;
  at_work[me] = 1
}
#define end_operation busy--; at_work[me] = 0; at = 0; seen = 0

proctype block(byte me) {
  byte at, seen, mine, other;
  do
  :: atomic { pushes < PUSHES -> pushes++; mine = pushes; begin_operation() }
    step { at = pushed }
    do
    :: true ->
      step { seen = turn[at % CAPACITY] }
      if
      :: seen == at / CAPACITY * 2 ->
        may_stall
        if
#ifdef PUSH_WITHOUT_EXCHANGE
        :: atomic { pushed = at + 1 }
#else
        :: atomic { pushed == at -> pushed = at + 1 }
#endif
#ifdef TURN_BEFORE_ENTRY
          step { turn[at % CAPACITY] = seen + 1; in_ring[mine] = 1; published++ }
          step { entry[at % CAPACITY] = mine; mine = 0; end_operation }
#else
          step { entry[at % CAPACITY] = mine }
          step { turn[at % CAPACITY] = seen + 1; in_ring[mine] = 1; published++; mine = 0; end_operation }
#endif
          break
#ifndef PUSH_WITHOUT_EXCHANGE
        :: atomic { pushed != at -> skip }
#endif
        fi
      :: atomic {
          seen < at / CAPACITY * 2 ->       // full
          assert(!alone[me] || published == CAPACITY);
          refused++; mine = 0; end_operation; break
        }
      :: seen > at / CAPACITY * 2 -> skip
      fi;
      step { at = pushed }
    od
  :: atomic { begin_operation() }
    step { at = popped }
    do
    :: true ->
      step { seen = turn[at % CAPACITY] }
      if
      :: seen == at / CAPACITY * 2 + 1 ->
        may_stall
        if
#ifdef POP_WITHOUT_EXCHANGE
        :: atomic { popped = at + 1; published-- }
#else
        :: atomic { popped == at -> popped = at + 1; published-- }
#endif
#ifdef TURN_BEFORE_READ
          step { turn[at % CAPACITY] = seen + 1 }
#endif
          step {
            mine = entry[at % CAPACITY];
            assert(mine > 0 && in_ring[mine] == 1);  // popped once, and only what was pushed
            in_ring[mine] = 2
          }
#ifdef TURN_BEFORE_READ
          atomic { mine = 0; end_operation }
#else
          step { turn[at % CAPACITY] = seen + 1; mine = 0; end_operation }
#endif
          break
#ifndef POP_WITHOUT_EXCHANGE
        :: atomic { popped != at -> skip }
#endif
        fi
      :: atomic {
          seen < at / CAPACITY * 2 + 1 ->   // empty, or the oldest entry is still being written
          assert(!alone[me] || published == 0);
          end_operation; break
        }
      :: seen > at / CAPACITY * 2 + 1 -> skip
      fi;
      step { at = popped }
    od
  :: atomic { pushes == PUSHES && published == 0 && busy == 0 -> break }
  od;
  assert(pushed + refused == PUSHES && popped == pushed)  // nothing is lost
}

init {
  atomic {
    run block(0);
    run block(1);
#if BLOCKS > 2
    run block(2);
#endif
  }
}

#ifdef RETURNS  // a push or a pop ends, wherever the others have stopped
ltl returns { [] (at_work[1] -> <> !at_work[1]) }
#endif
