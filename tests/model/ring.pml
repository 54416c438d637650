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
#define ALL ((1 << CAPACITY) - 1)

// ---- the shared words
byte taken, written;      // a bit for each place
byte entry[CAPACITY];  // tag, begin and count: written in any number of steps, here in one
byte pushed, popped;

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
  candidates = ALL;
  alone[me] = (busy == 0);
  busy++;
  at_work[me] = 1
}
#define end_operation busy--; at_work[me] = 0; place = 0; before = 0; candidates = 0

inline choose_place() {  // the first candidate from the block's own place on
  place = me % CAPACITY;
  do
  :: candidates >> place & 1 -> break
  :: else -> place = (place + 1) % CAPACITY
  od
}

proctype block(byte me) {
  byte place, before, candidates, mine, other;
  do
  :: atomic { pushes < PUSHES -> pushes++; mine = pushes; begin_operation() }
    do
    :: atomic {
        candidates == 0 ->                // full
        assert(!alone[me] || published == CAPACITY);
        refused++; mine = 0; end_operation; break
      }
    :: candidates != 0 ->
#ifdef TAKE_WITHOUT_EXCHANGE
      step { choose_place(); before = taken }
      step { taken = before | 1 << place }
#else
      step { choose_place(); before = taken; taken = taken | 1 << place }
#endif
      if
      :: before >> place & 1 -> atomic { candidates = candidates & ~before }
      :: else ->
#ifdef FULL_BEFORE_ENTRY
        step { written = written | 1 << place; in_ring[mine] = 1; published++ }
        step { entry[place] = mine }
#else
        step { entry[place] = mine }
        step { written = written | 1 << place; in_ring[mine] = 1; published++ }
#endif
        step { pushed++; mine = 0; end_operation }
        break
      fi
    od
  :: atomic { begin_operation() }
    do
    :: atomic {
        candidates == 0 ->                // empty, or what there is is still being written
        assert(!alone[me] || published == 0);
        end_operation; break
      }
    :: candidates != 0 ->
#ifdef EMPTY_WITHOUT_EXCHANGE
      step { choose_place(); before = written }
      step { written = before & ~(1 << place); if :: before >> place & 1 -> published-- :: else fi }
#else
      step { choose_place(); before = written; written = written & ~(1 << place); if :: before >> place & 1 -> published-- :: else fi }
#endif
      if
      :: !(before >> place & 1) -> atomic { candidates = candidates & before }
      :: else ->
#ifdef FREE_BEFORE_READ
        step { taken = taken & ~(1 << place) }
#endif
        step {
          mine = entry[place];
          assert(mine > 0 && in_ring[mine] == 1);  // popped once, and only what was pushed
          in_ring[mine] = 2
        }
#ifndef FREE_BEFORE_READ
        step { taken = taken & ~(1 << place) }
#endif
        step { popped++; mine = 0; end_operation }
        break
      fi
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
