// SPDX-License-Identifier: Apache-2.0
//
// Two processes, of which either may die between any two steps: a trainer, which tells its bubbles in a page that only
// it writes (host/attach/page.hpp, host/detail/gate/gate.cpp), and a worker, whose host follows them
// (host/detail/runtime/follower.cpp) and launches blocks (host/detail/gate/gate_follow.cpp). A dead trainer's gate
// stays as it is. After a trainer comes another with a page and a gate of its own, after a worker another with the next
// number. A step is one access to what both see.
//
// A configuration is a set of -D: what may happen, at most one property and at most one mutant.

#ifndef BUBBLES  // of each trainer
#define BUBBLES 3
#endif
#ifndef KEPT     // announcements; the oldest is overwritten
#define KEPT 2
#endif
#ifndef VALUES   // of a gate, odd ones open; more than the bubbles that a late block can meet
#define VALUES 8
#endif
#ifndef TRAINERS  // one after the other
#define TRAINERS 1
#endif
#ifndef WORKERS
#define WORKERS 1
#endif

// ---- what the trainer writes: its page and its gate
byte version[TRAINERS * KEPT], value[TRAINERS * KEPT], turn[TRAINERS * KEPT];
byte opened[TRAINERS];             // the latest bubble that was told
byte gate[TRAINERS];
#define place(t, b) ((t) * KEPT + (b) % KEPT)
#define value_of(b) ((2 * (b) - 1) % VALUES)

// ---- what the system tells each of the other
bit trainer_dead[TRAINERS], worker_dead[WORKERS];
byte attached;                     // number of the worker that is attached to the trainer that lives; 0: none
byte numbers;                      // given so far
#define living_trainer (TRAINERS == 1 || !trainer_dead[0] -> 0 : 1)

// ---- of one process each
byte enqueued_open[TRAINERS], enqueued_close[TRAINERS];
bit done[TRAINERS];
bit inside[WORKERS];               // a block is
// a bubble, its gate's value and its trainer; 0: none
byte launched[WORKERS], launched_value[WORKERS], launched_at[WORKERS];
bit leave[WORKERS];                // its host's word, for a block whose gate stays open
byte number[WORKERS];              // that it knows

// ---- what only the properties know
byte in_bubble[TRAINERS];          // the one that the gate shows as open; 0: none
byte given[TRAINERS * (BUBBLES + 1)];    // to which number
byte given_to[TRAINERS * (BUBBLES + 1)]; // to which worker, from 1
byte owner;                        // of the number that is attached, from 1
#define at(t, b) ((t) * (BUBBLES + 1) + (b))

#define alive_t !trainer_dead[t]
#define alive_w !worker_dead[w]
#ifdef STALL                       // the worker may stop for ever
#define may_stop if :: false :: true fi;
#else
#define may_stop
#endif

proctype host(byte t) {
  byte b = 1;
  do
  :: alive_t && b <= BUBBLES ->
    atomic {                       // the turn is taken when the bubble is opened
      if
      :: true -> given[at(t, b)] = attached; given_to[at(t, b)] = owner
      :: true -> skip
      fi;
      enqueued_open[t] = b
    }
#ifndef NOT_MARKED
    alive_t -> version[place(t, b)] = 2 * b;
#endif
    alive_t -> value[place(t, b)] = value_of(b);
    alive_t -> turn[place(t, b)] = given[at(t, b)];
    alive_t -> version[place(t, b)] = 2 * b + 1;
    alive_t -> opened[t] = b;
    alive_t -> enqueued_close[t] = b;
    b++
  :: alive_t && b > BUBBLES -> break
  od
}

proctype stream(byte t) {
  byte b = 1;
  do
  :: b <= BUBBLES ->
    atomic { alive_t && enqueued_open[t] >= b -> gate[t] = value_of(b); in_bubble[t] = b }
#ifdef CLOSE_WAITS
    alive_t && enqueued_close[t] >= b && !inside[0];
#endif
    atomic { alive_t && enqueued_close[t] >= b -> gate[t] = (value_of(b) + 1) % VALUES; in_bubble[t] = 0 }
    b++
  :: b > BUBBLES -> break
  od;
  done[t] = 1
}

proctype follower(byte w) {
  byte t, next, latest, seen, its_value, its_turn;
attach:
  atomic {
    alive_w && !trainer_dead[living_trainer] ->
    t = living_trainer;
#ifdef NUMBER_AGAIN
    numbers = 1;
#else
    numbers++;
#endif
    number[w] = numbers; attached = numbers; owner = w + 1
  }
  next = 0; leave[w] = 0;
tick:
  may_stop
  if
  :: alive_w && trainer_dead[t] -> goto lost
  :: alive_w && !trainer_dead[t] -> latest = opened[t]
  fi;
  if
  :: latest == 0 -> goto tick
  :: latest > 0 && (next == 0 || next + KEPT <= latest) -> next = latest
  :: else
  fi;
  if
  :: next > latest -> goto tick
  :: else
  fi;
  alive_w -> seen = version[place(t, next)];
  if
  :: seen != 2 * next + 1 -> next++; goto tick
  :: else
  fi;
  alive_w -> its_value = value[place(t, next)];
  alive_w -> its_turn = turn[place(t, next)];
#ifndef NO_SECOND_LOOK
  alive_w -> seen = version[place(t, next)];
#endif
  if
  :: seen != 2 * next + 1 -> next++; goto tick
  :: else
  fi;
  atomic {
    alive_w;
    assert(its_value == value_of(next) && its_turn == given[at(t, next)]);
    if
    :: its_turn == number[w] && !inside[w] && launched[w] == 0 ->
      launched[w] = next; launched_value[w] = its_value; launched_at[w] = t
    :: else                        // another's, or the last block has not left: the bubble gets none
    fi;
    its_value = 0; its_turn = 0; seen = 0
  }
  next++;
  goto tick;
lost:
#ifndef STAYS
  alive_w -> leave[w] = 1;
#endif
#ifdef ATTACHES_WITH_A_BLOCK
  skip;
#else
  alive_w && !inside[w] && launched[w] == 0;
#endif
  if
  :: t + 1 < TRAINERS -> atomic { alive_w && !trainer_dead[t + 1] -> next = 0 }; goto attach
  :: else
  fi
}

// Its gate is the one of the trainer to which its host is attached, by the addresses that it was launched with.
proctype block(byte w) {
end:
  do
  :: atomic { alive_w && launched[w] != 0 -> inside[w] = 1 }
    do
    :: may_stop
      atomic {                     // a yield point; after it comes a chunk
        alive_w;
        if
        :: leave[w] || gate[launched_at[w]] != launched_value[w] -> break
        :: else ->
          assert(in_bubble[launched_at[w]] == launched[w]);
          assert(given_to[at(launched_at[w], launched[w])] == w + 1)
        fi
      }
    od;
    atomic { alive_w -> inside[w] = 0; launched[w] = 0; launched_value[w] = 0; launched_at[w] = 0 }
  od
}

// What dies takes its blocks along; the system tells the other.
proctype kills_trainer() {
  if
  :: atomic { !done[0] -> trainer_dead[0] = 1; attached = 0; owner = 0 }
  :: done[0]
  fi;
#if TRAINERS > 1
  if
  :: done[0] -> atomic { trainer_dead[0] = 1; attached = 0; owner = 0 }
  :: trainer_dead[0]
  fi;
  run host(1); run stream(1)
#endif
}

proctype kills_worker() {
  atomic {
    true -> worker_dead[0] = 1; inside[0] = 0; launched[0] = 0; leave[0] = 0;
    attached = (owner == 1 -> 0 : attached);
    owner = (owner == 1 -> 0 : owner)
  }
#if WORKERS > 1
  run follower(1); run block(1)
#endif
}

init {
  atomic {
    run host(0); run stream(0);
    run follower(0); run block(0);
#ifdef TRAINER_DIES
    run kills_trainer();
#endif
#ifdef WORKER_DIES
    run kills_worker();
#endif
  }
}

// ---- properties under weak fairness
#ifdef TRAINS  // whatever the worker does
ltl trains { <> done[TRAINERS - 1] }
#endif
#ifdef LEAVES  // also where the last bubble of a dead trainer stays open
ltl leaves { [] (inside[0] -> <> !inside[0]) }
#endif
