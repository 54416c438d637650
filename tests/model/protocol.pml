// SPDX-License-Identifier: Apache-2.0
//
// The protocol of device/claimer.hpp, worker.hpp, slot.hpp, gate.hpp, lease.hpp and control.hpp, in their order: entry word,
// gate, lease, claim, hand back, commit, phase state, control. A step is one access to shared memory. The ring is atomic here;
// ring.pml takes it apart. README.md says how to read this, what is left out, and what each configuration explored.
//
// A configuration is a set of -D: a shape, an environment, at most one property and at most one mutant.

#include "shape.pml"

#define STARVED 0
#define DUE 1
#define OPENING 2
#define OPEN 3
#define FINISHED 4
#define FAILED 5

#ifdef ENDLESS
#define CYCLE PHASES
#else
#define CYCLE (PHASES + 1)
#endif
#define items(p) ((p) == 0 -> ITEMS0 : ((p) == 1 -> ITEMS1 : ITEMS2))
#define bits(first, number) (((1 << (number)) - 1) << (first))

// ---- the shared words
byte gate[SLOTS];     // odd: open
bit held[SLOTS];      // held, generation and inside are one word
byte inside[SLOTS];
byte generation[SLOTS];
byte cursor_of[SLOTS];  // the cursor's address and the generation that it belongs to: here the generation alone
byte ticket_tag = TAG0, ticket_next;   // one word
byte limit_tag = TAG0, limit_extent;   // one word
byte state, state_tag = TAG0;            // one word
byte done, pos, fed, grain = GRAIN;
#if HUNGRY < 255
byte bubble;          // the gate's, by number: of the one gate where there is hunger
byte starved_in;      // the bubble in which the job was found starved last; 0: none
#endif
chan ring = [RING] of {byte, byte, byte};  // tag, begin, count

// ---- what only the properties know
bit here[WORKERS];      // entered, and not yet left
bit lease_over[WORKERS];
bit opened;           // the phase `pos` has been opened
byte phases;          // opened so far
byte ran, committed;  // items of that phase, a bit each
bit acting, acted;    // control
byte lost;            // times that a block failed the job
byte launched;
byte in_vain;         // bubbles in which the job was asked for input and had none, a bit each
#ifdef SHORT_SLEEP
byte slept[WORKERS];  // phases opened since the block last found the ticket's tag to be the one it knows
#define awake(w) (!here[w] || slept[w] < TAGS - 2)
#define all_awake (awake(0) && awake(1) && awake(WORKERS - 1))
#define sleep_on slept[0] = (here[0] -> slept[0] + 1 : 0); slept[1] = (here[1] -> slept[1] + 1 : 0)
#define wake slept[w] = 0
#else
#define all_awake true
#define sleep_on skip
#define wake skip
#endif
#define nobody_inside (inside[0] == 0 && inside[SLOTS - 1] == 0)

// With nobody inside, what is claimed of the open phase is committed or handed back: a legal checkpoint.
inline check_at_rest() {
  d_step {
    assert(state != OPENING && acting <= 1);
    if
    :: state == OPEN && lost == 0 ->
      assert(ticket_tag == limit_tag && state_tag == limit_tag && ran == committed);
      rest = done;
      index = len(ring);
      do
      :: index > 0 -> ring?a, b, c; ring!a, b, c; assert(a == ticket_tag); rest = rest + c; index--
      :: else -> break
      od;
      assert(rest == (ticket_next < limit_extent -> ticket_next : limit_extent));
      a = 0; b = 0; c = 0; rest = 0
    :: state != OPEN && state != FAILED -> assert(empty(ring))
    :: else
    fi
  }
}

// ---- what ends a stay
#ifdef NO_LEASE
#define lease_says false
#else
#define lease_says lease_over[w]
#endif
#ifdef HELD_NOT_POLLED
#define held_says false
#else
#define held_says held[s]
#endif
#ifdef LEAVE_ANY
#define may_leave true
#define may_stay true
#define may_look_empty true  // a ring whose entries are still being written (ring.pml)
#else
#define may_look_empty false
#define may_leave (gate[s] != mine || lease_says || held_says)
#define may_stay !may_leave
#endif

#ifdef STALL
#define may_stall if :: w == 0 -> false :: true fi;
#else
#define may_stall
#endif
#define step may_stall atomic  // one access to shared memory, and what follows from it

// First sight of a tag, with its ticket acquired: the limit, then the position. A ticket and a limit that agree are one
// phase's; so is the position, unless that phase is over.
#ifdef EXTENT_WITHOUT_TAG
#define tags_agree true
#else
#define tags_agree (seen_tag == known_tag)
#endif
#define learn_limit \
  assert(deferred == 0); known_tag = tag; seen_tag = limit_tag; extent = limit_extent; my_grain = grain
#define learn_position \
  knows = tags_agree; extent = (knows -> extent : 0); seen_tag = 0; my_grain = (knows -> my_grain : 0); \
  at = (knows -> pos : 0); known_tag = (knows -> known_tag : 0)

// What a fetch_add of a known tag says.
#ifdef GRAIN_REREAD
#define claimed grain
#else
#define claimed count
#endif
#ifdef EXTENT_WITHOUT_TAG
#define tags_of_claim_differ false
#else
#define tags_of_claim_differ (!knows || tag != known_tag)
#endif
#define take_claimed \
  if \
  :: begin >= extent -> begin = 0; count = 0; tag = 0; goto yield_point \
  :: begin < extent -> count = (claimed < extent - begin -> claimed : extent - begin); goto in_hand \
  fi

inline commit_deferred() {
  if
  :: deferred > 0 ->
    step {
      done = done + deferred;
      assert(lost > 0 || (committed & deferred_bits) == 0);
      committed = committed | deferred_bits;
      deferred = 0; deferred_bits = 0
    }
  :: deferred == 0
  fi
}

#define open_once assert(phases == pos && !opened); phases = (phases + 1) % CYCLE; opened = 1

// A store: the block that has taken the state to `opening` is the only one that changes it.
#define change_from_opening(to) assert(state == OPENING); state = to

// Nobody else of this bubble asks then: input that comes while its blocks leave would find few of them.
inline find_starved() {
#if HUNGRY < 255
  step { starved_in = my_bubble; in_vain = in_vain | (1 << my_bubble) }
#endif
  step { change_from_opening(STARVED) }
}

// The ticket of a phase that one chunk holds is published as claimed: the opener's own.
#ifdef TAKE_WITHOUT_CLAIM
#define taken_next 0
#else
#define taken_next items(mine_to_open)
#endif
#define publish_ticket \
  if \
  :: ticket_next = 0 \
  :: may_stay && items(mine_to_open) <= my_grain -> \
    ticket_next = taken_next; \
    known_tag = tag; knows = 1; extent = items(mine_to_open); at = mine_to_open; \
    begin = 0; count = extent; at_once = 1 \
  fi

// Opens the phase `mine_to_open`: the caller has moved the state to `opening`.
inline open() {
  step { has_input = (mine_to_open != HUNGRY || fed > 0) }
#ifdef STARVED_WITHOUT_POSITION
  if
  :: !has_input && mine_to_open < PHASES -> skip
  :: else -> atomic { pos = mine_to_open; opened = 0; ran = 0; committed = 0 }
  fi;
#else
  step { done = 0 }
  step { pos = mine_to_open; opened = 0; ran = 0; committed = 0 }
#endif
  may_stall
  if
  :: atomic { lost < FAILURES -> lost++; change_from_opening(FAILED) }  // the task's own, in advance or extent
  :: atomic { mine_to_open == PHASES -> change_from_opening(FINISHED) }
  :: mine_to_open < PHASES && !has_input -> find_starved()
  :: mine_to_open < PHASES && has_input && items(mine_to_open) == 0 ->
    step { open_once; change_from_opening(DUE) }
  :: mine_to_open < PHASES && has_input && items(mine_to_open) > 0 ->
#ifdef OPEN_WITH_KNOWN_TAG
    tag = (known_tag + 1) % TAGS;
#else
    tag = (limit_tag + 1) % TAGS;
#endif
#ifdef LIMIT_AFTER_TICKET
    step { open_once; change_from_opening(OPEN); state_tag = tag }
    step { ticket_tag = tag; ticket_next = 0 }
    step { limit_tag = tag; limit_extent = items(mine_to_open) }
#else
    step { all_awake; limit_tag = tag; limit_extent = items(mine_to_open); sleep_on }
#ifdef STATE_BEFORE_TICKET
    step { change_from_opening(OPEN); state_tag = tag }
    step { open_once; ticket_tag = tag; publish_ticket }
#else
    step { open_once; ticket_tag = tag; publish_ticket }
    step { change_from_opening(OPEN); state_tag = tag }
#endif
#ifdef DONE_AFTER_TICKET
    step { done = 0 }
#endif
#endif
    tag = 0
  fi;
  mine_to_open = 0
}

proctype worker(byte w; byte s) {
  byte mine;                                // the gate's value that this block belongs to
  byte found, entered;                      // the generations of the cursor that it works on, and of the slot when it entered
  bit knows; byte known_tag, extent;        // what it knows of a phase
  byte my_grain, seen_tag;
  byte at;                                  // its position
  bit perhaps;
  byte tag, next;                           // the ticket as it was seen last
  byte begin, count; bit at_once;           // the chunk in hand
  byte deferred, deferred_bits;             // run, not yet committed
  byte mine_to_open; bit has_input;
  byte was, was_tag;                        // the state as it was seen
#if HUNGRY < 255
  byte my_bubble;
#endif
  byte a, b, c, rest, index;                // of check_at_rest

absent:
  step {                                    // the gate, before entering
    launched < LAUNCHES;
    if :: LAUNCHES < 255 -> launched++ :: else fi;
    mine = gate[s];
#if HUNGRY < 255
    my_bubble = bubble
#endif
  }
#if CONTROLS > 0
  step { found = cursor_of[s] }             // before entering, too
#endif
  step {
    inside[s]++;                            // fetch_add, which returns held and the generation
    entered = generation[s];
    if
#ifdef ENTER_WITHOUT_HELD_CHECK
    :: true -> here[w] = 1
#else
    :: held[s] -> goto out
    :: !held[s] -> here[w] = 1
#endif
    fi;
    if
    :: mine % 2 == 0 -> goto out
    :: else
    fi
  }
#if CONTROLS > 0 && !defined(STALE_CURSOR)
  if
  :: found != entered -> step { found = cursor_of[s] }
  :: else
  fi;
#endif

yield_point:
  step {                                    // gate, lease and held; and a look at the ring
    assert(!acting && found == generation[s]);
    entered = 0;
    if
#ifdef PARKING
    :: may_leave && gate[s] % 2 == 0 -> gate[s] % 2 == 1; mine = gate[s]
#endif
    :: may_leave -> goto leave              // what is read beside it is not used
    :: lost < FAILURES && state == OPEN -> lost++; state = FAILED; goto leave
    :: may_stay -> skip
    fi;
    perhaps = nempty(ring)
  }
  step { tag = ticket_tag; next = ticket_next; if :: knows && tag == known_tag -> wake :: else fi }
#ifdef NO_RING_WHILE_WAITING
  if
  :: knows && tag == known_tag && next >= extent -> perhaps = 0
  :: else
  fi;
#endif
  if
  :: !perhaps -> goto by_ticket
  :: perhaps ->
    step {                                  // pop
      perhaps = 0;
      if
      :: empty(ring) || may_look_empty -> goto by_ticket
      :: nempty(ring) ->
        if
        :: len(ring) > 1 -> ring?tag, begin, count; ring!tag, begin, count  // in no order
        :: true
        fi;
        ring?seen_tag, begin, count; next = 0; at_once = 1;
        if
        :: knows && seen_tag == known_tag -> seen_tag = 0; goto in_hand
#ifdef RING_WITHOUT_TAG
        :: knows && seen_tag != known_tag -> seen_tag = 0; goto in_hand
        :: !knows -> was_tag = seen_tag; seen_tag = 0
#else
        :: !knows || seen_tag != known_tag -> was_tag = seen_tag; seen_tag = 0
#endif
        fi
      fi
    }
    step { tag = ticket_tag; wake }
    step { learn_limit }
    step {
      learn_position;
      assert(knows && known_tag == was_tag);  // the entry's phase cannot end before the entry is committed
      was_tag = 0;
      goto in_hand
    }
  fi;

by_ticket:
  if
  :: knows && tag == known_tag
  :: else ->
    step { wake; learn_limit }
    step { learn_position }
  fi;
  if
  :: atomic { !knows -> goto exhausted }
  :: atomic { knows && next >= extent -> goto exhausted }
  :: atomic { knows && next < extent -> tag = 0; next = 0 }
  fi;

claim:
  step {                                    // fetch_add; `count` is what was added, until the extent cuts it
    tag = ticket_tag; begin = ticket_next; next = 0; count = my_grain;
    ticket_next = ticket_next + count;
    assert(ticket_tag != limit_tag || ticket_next <= limit_extent + WORKERS * GRAIN);  // the overshoot is bounded
    if
    :: tag == known_tag -> take_claimed
    :: else -> was_tag = tag
    fi
  }
  step { tag = ticket_tag; wake }
  step { learn_limit }
  step {
    learn_position;
    tag = was_tag; was_tag = 0;
    if
    :: tags_of_claim_differ -> begin = 0; count = 0; tag = 0; goto yield_point
    :: else -> take_claimed
    fi
  }

in_hand:
  may_stall
  tag = 0; next = 0;
#ifdef COMMIT_BEFORE_WRITE
  deferred = count; deferred_bits = bits(begin, count);
  commit_deferred();
#endif
  step {
    assert(!acting);
    if
#ifndef COMMIT_BEFORE_WRITE
    :: may_leave && nfull(ring) ->          // hand back; where the ring is full the chunk is finished
      ring!known_tag, begin, count; begin = 0; count = 0; at_once = 0; goto yield_point
#endif
    :: lost < FAILURES && state == OPEN ->
      lost++; begin = 0; count = 0; at_once = 0;
      state = FAILED;
      goto leave
    :: true ->                              // the chunk's last write
      assert(opened && at == pos && begin + count <= items(pos));
      assert(lost > 0 || (ran & bits(begin, count)) == 0);
      ran = ran | bits(begin, count)
    fi;
#ifndef COMMIT_BEFORE_WRITE
    deferred = deferred + count; deferred_bits = deferred_bits | bits(begin, count);
#endif
    begin = 0; count = 0;
    if
    :: at_once = 0                          // commit now
    :: !at_once -> goto yield_point         // or later
    fi
  }
  commit_deferred();
  goto yield_point;

exhausted:
  tag = 0; next = 0;
  commit_deferred();
  step {
    if
    :: state == FINISHED || state == FAILED -> goto leave
    :: state == OPENING -> goto yield_point
    :: state == OPEN && !(knows && state_tag == known_tag) -> goto yield_point
    :: else -> was = state; was_tag = state_tag
    fi
  }
  if
  :: was == OPEN -> step { if :: done != extent -> was = 0; was_tag = 0; goto yield_point :: else fi }
  :: else
  fi;
  if
  :: was == DUE || was == OPEN ->
#ifdef DUE_WITHOUT_EXCHANGE
    atomic { state = OPENING; was = 0; was_tag = 0 }
#else
    step {
      if
#ifdef STATE_WITHOUT_TAG
      :: state == was -> state = OPENING; was = 0; was_tag = 0
      :: else -> was = 0; was_tag = 0; goto yield_point
#else
      :: state == was && state_tag == was_tag -> state = OPENING; was = 0; was_tag = 0
      :: else -> was = 0; was_tag = 0; goto yield_point
#endif
      fi
    }
#endif
    step {                                // advance
      assert(!acting && opened && ran == committed && ran == bits(0, items(pos)));
      mine_to_open = (pos + 1) % CYCLE
    }
    open()
  :: was == STARVED ->
#if HUNGRY < 255 && !defined(ASK_AGAIN_IN_A_BUBBLE)
    step { if :: starved_in == my_bubble -> was = 0; was_tag = 0; goto leave :: else fi }
#endif
    step {
      if
      :: state == was && state_tag == was_tag -> state = OPENING; was = 0; was_tag = 0
      :: else -> was = 0; was_tag = 0; goto yield_point
      fi
    }
#if HUNGRY < 255 && !defined(ASK_AGAIN_IN_A_BUBBLE) && !defined(ASK_WITHOUT_SECOND_LOOK)
    step { has_input = (starved_in != my_bubble) }
    if
    :: atomic { !has_input -> change_from_opening(STARVED); goto leave }
    :: atomic { has_input -> has_input = 0 }
    fi;
#endif
#if HUNGRY < 255
    assert((in_vain & (1 << my_bubble)) == 0);
#endif
    mine_to_open = pos;
    has_input = 0;
    open();
    if
    :: !has_input -> goto leave
    :: else
    fi
  fi;
  has_input = 0;
  if
  :: count > 0 -> goto in_hand
  :: else -> goto yield_point
  fi;

leave:
#ifdef LEAVE_WITHOUT_COMMIT
  deferred = 0; deferred_bits = 0;
#elif defined(OUT_BEFORE_DONE)
  step { inside[s]--; here[w] = 0; if :: nobody_inside -> check_at_rest() :: else fi }
  commit_deferred();
  inside[s]++;
#else
  commit_deferred();
#endif
out:
  step {
    here[w] = 0; inside[s]--; wake;
    lease_over[w] = 0;
#if HUNGRY < 255
    my_bubble = 0;
#endif
    mine = 0; found = 0; entered = 0; knows = 0; known_tag = 0; extent = 0; my_grain = 0; at = 0; tag = 0; next = 0; has_input = 0; seen_tag = 0; perhaps = 0;
    assert(begin == 0 && count == 0 && deferred == 0 && !at_once && was == 0 && was_tag == 0 && mine_to_open == 0);
    if
    :: nobody_inside -> check_at_rest()
    :: else
    fi
  }
  goto absent
}

#include "environment.pml"
