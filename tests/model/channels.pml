// SPDX-License-Identifier: Apache-2.0
//
// Streams on hardware channels: two trainer streams with bubbles, a peer, our streams for workers, control and copies, the host's
// threads and the dispatcher. A channel is a queue that streams share: an operation at its front that cannot proceed holds up all that
// stands after it. The property: whatever the trainer can do alone, it does beside us. README.md says what was explored.
//
// Workers are armed late: a wait for a word in host memory, then the worker, at a moment that the dispatcher chooses; or the worker alone,
// once the bubble is seen to be open. The dispatcher releases a wait by storing the word itself.
//
// A configuration is a set of -D: a shape, an arrangement and at most one mutant. Arrangements: the above; PRESENT, an event wait and the
// worker after each close, and a join; EDGES_ONLY; ALONE, the trainer without us.

#ifndef CHANNELS
#define CHANNELS 1
#endif
#ifndef BUBBLES  // of stream A; B has one
#define BUBBLES 1
#endif
#ifndef WORKER_STREAMS  // 1: one for all gates; 2: one for each gate
#define WORKER_STREAMS 1
#endif
#ifndef COPIES  // of records, by the dispatcher
#define COPIES 0
#endif
#ifndef CONTROLS  // exchanges, by the dispatcher, which does not wait for them
#define CONTROLS 0
#endif
#ifndef FULL  // operations in a channel, after which the dispatcher's calls block until there are fewer; 255: never
#define FULL 255
#endif
#ifndef CAPACITY
#define CAPACITY 24
#endif
// Bindings: each is tried. APART: B and our streams use the last channel; with three channels, B has one of its own. MOVES: a stream may
// move to another channel whenever it is idle; MOVES_IN_USE: at any time.
// The peer: A waits, in a bubble or before one, for the last operation of B. WIDE: any operation of each stream may wait for any of the
// other's. WAIT_AT: where A waits. SPINS: what waits is a kernel; WAITS: a stream wait; neither: both are tried.
// Workers: LEASE: one may leave at any time; without it nothing but its gate ends a stay, so that nothing hides behind a lease.
// FREELY: one is enqueued also after one that has not left. EARLY, ONLY_WHEN_OPEN: when. WHOLE: wait and worker are enqueued in one step.
// NOBODY_WORKS: every worker comes too late.
// Release: RELEASER: by a thread that makes no driver call. STORE_LATE: it looks and stores in two steps.
// The measure: EXCUSE_EDGES: the trainer with our edges instead of the trainer alone. EXCUSE_EDGE_AFTER_KERNEL: a hang does not count
// where an edge at the front of a channel waits for the kernel before it in its stream.

// ---- streams and their operations
#define A 0
#define B 1
#define WORK 2                               // and 3, where each gate has its own
#define worker_stream(g) (WORK + (g) % WORKER_STREAMS)
#define CONTROL 4
#define COPY 5
#define STREAMS 6
#define NONE 7

// A trainer stream's program: before, then for each bubble opening, inside, closing, join, after.
#define length(s) (1 + 5 * ((s) == A -> BUBBLES : 1))
#define OPENING 0
#define INSIDE 1
#define CLOSING 2
#define JOIN 3
#define AFTER 4
#define part(i) (((i) + 4) % 5)              // of a program; what comes before the first bubble counts as AFTER
#define bubble_of(i) (((i) + 4) / 5)         // 1, 2, …
#define is_ours(i) (part(i) == OPENING || part(i) == CLOSING || part(i) == JOIN)

// Operations of a worker stream.
#define WAIT 0                               // for the gate's word: at least k
#define EVENT 1                              // for the opening of bubble k
#define LAUNCH 2                             // the worker of bubble k
#define operation(kind, g, k) ((kind) * 16 + (g) * 8 + (k))
#define kind_of(o) ((o) / 16)
#define gate_of(o) ((o) / 8 % 2)
#define number_of(o) ((o) % 8)

// ---- the machine
chan queue[CHANNELS] = [CAPACITY] of {byte, byte, byte};  // stream, place in the stream, operation
byte front_stream[CHANNELS] = NONE, front_place[CHANNELS], front_operation[CHANNELS];
byte channel_of[STREAMS];
byte enqueued[STREAMS], finished[STREAMS];
bit runs[STREAMS];         // a kernel that was issued and has not ended
byte at_work[4];           // of a worker stream: the bubble in which its worker works, as an operation; 0: none

// ---- shared words
byte gate[2];              // device memory, written by the edges alone
byte word[2];              // host memory, what waits look at: the bubble that was opened or released
byte opened[2];            // host memory, written by the opening edge alone
byte whole[2];             // bubbles whose edges are both enqueued
byte left[2];              // workers that have left, a bit a bubble
byte worked[2];            // bubbles in which a worker worked, a bit each

// ---- the trainer's program
byte waits_at[2] = 255;    // the operation that waits for the peer
byte waits_for[2];         // the other stream's operation, without which the peer does not answer
bit spins[2];              // it is a kernel
bit judged;                // nothing moves any more, and the judge has looked
bit hangs_alone;           // the judge says: the trainer hangs without us, too; then all stops
bit alone;                 // only for the judge: what would happen without us

#if defined(PRESENT) || defined(COUNT_WITHOUT_BOUND)
#define has_join true
#else
#define has_join false
#endif
#define named(s, i) (waits_at[s] == (i) || (waits_at[1 - (s)] != 255 && waits_for[1 - (s)] == (i)))
#ifdef ALONE
#define has_edges false
#else
#define has_edges true
#endif
// What waits for nothing and is awaited by nobody only matters behind a bubble, where it is what must happen.
#define absent(s, i) \
  (part(i) == JOIN -> !(has_edges && has_join) : (is_ours(i) -> !has_edges : ((i) == 0 || part(i) == INSIDE) && !named(s, i)))

#define answered(s) (finished[1 - (s)] > waits_for[s])

#ifdef EXCUSE_EDGES
#define is_stripped(i) (part(i) == JOIN)     // edges alone are the measure: what else of ours holds up the trainer?
#else
#define is_stripped(i) is_ours(i)
#endif

inline skip_absent(counter, s) {
  do
  :: counter < length(s) && (absent(s, counter) || (alone && is_stripped(counter))) -> counter++
  :: else -> break
  od
}
inline finish(s) {
  finished[s]++;
  if
  :: s <= B -> skip_absent(finished[s], s)
  :: else
  fi
}

// ---- the device
inline come_forward(c) {
  if
  :: len(queue[c]) > 0 -> queue[c]?front_stream[c], front_place[c], front_operation[c]
  :: else -> front_stream[c] = NONE; front_place[c] = 0; front_operation[c] = 0
  fi
}

#define in_order(c) (finished[front_stream[c]] == front_place[c] && !runs[front_stream[c]])
#ifdef PRESENT
#define is_joined(g, k) (left[g] >> (k) & 1)
#else
#define is_joined(g, k) (at_work[worker_stream(g)] == 0 || gate_of(at_work[worker_stream(g)]) != (g))
#endif
#define trainer_ready(c) \
  (front_place[c] == waits_at[front_stream[c]] -> spins[front_stream[c]] || answered(front_stream[c]) \
  : (part(front_place[c]) != JOIN || is_joined(front_stream[c], bubble_of(front_place[c]))))
#define worker_ready(c) \
  (kind_of(front_operation[c]) == WAIT -> word[gate_of(front_operation[c])] >= number_of(front_operation[c]) \
  : (kind_of(front_operation[c]) != EVENT || gate[gate_of(front_operation[c])] >= 2 * number_of(front_operation[c]) - 1))
#define ready(c) \
  (front_stream[c] != NONE && in_order(c) && \
   (front_stream[c] <= B -> trainer_ready(c) : (front_stream[c] >= CONTROL || worker_ready(c))))

#ifdef ANY_BUBBLE
#define is_its_bubble(g, k) (gate[g] % 2 == 1)
#else
#define is_its_bubble(g, k) (gate[g] == 2 * (k) - 1)
#endif
#ifdef LEASE
#define lease_over true
#else
#define lease_over false
#endif

inline begin_work(g, k, s) {
  if
  :: is_its_bubble(g, k) ->
    assert(!(worked[g] >> (gate[g] + 1) / 2 & 1));       // a bubble's worker works once
#ifdef NOBODY_WORKS
    assert(false);
#endif
    worked[g] = worked[g] | 1 << (gate[g] + 1) / 2;
    at_work[s] = operation(LAUNCH, g, k);
    runs[s] = 1
  :: else -> left[g] = left[g] | 1 << k; finish(s)
  fi
}

inline perform(c) {
  stream = front_stream[c];
  if
  :: stream <= B && front_place[c] == waits_at[stream] && spins[stream] -> runs[stream] = 1
  :: stream <= B && !(front_place[c] == waits_at[stream] && spins[stream]) ->
    if
    :: part(front_place[c]) == OPENING ->
      gate[stream]++;
      word[stream] = bubble_of(front_place[c]);
      opened[stream] = bubble_of(front_place[c])
    :: part(front_place[c]) == CLOSING -> gate[stream]++
    :: else
    fi;
    finish(stream)
  :: stream >= WORK && stream < CONTROL && kind_of(front_operation[c]) == LAUNCH ->
    begin_work(gate_of(front_operation[c]), number_of(front_operation[c]), stream)
  :: else -> finish(stream)
  fi;
  come_forward(c);
  stream = 0
}

#define stay_ends(s) (at_work[s] != 0 && (lease_over || gate[gate_of(at_work[s])] != 2 * number_of(at_work[s]) - 1))
#define leave(s) \
  left[gate_of(at_work[s])] = left[gate_of(at_work[s])] | 1 << number_of(at_work[s]); at_work[s] = 0; runs[s] = 0; finish(s)

active proctype device() {
  byte stream;
  {
end:
  do
  :: atomic { ready(0) -> perform(0) }
#if CHANNELS > 1
  :: atomic { ready(1) -> perform(1) }
#endif
#if CHANNELS > 2
  :: atomic { ready(2) -> perform(2) }
#endif
  :: atomic { runs[A] && answered(A) -> runs[A] = 0; finish(A) }
  :: atomic { runs[B] && answered(B) -> runs[B] = 0; finish(B) }
  :: atomic { stay_ends(WORK) -> leave(WORK) }
#if WORKER_STREAMS > 1
  :: atomic { stay_ends(WORK + 1) -> leave(WORK + 1) }
#endif
  od
  } unless { hangs_alone }
}

// ---- enqueueing
#ifdef MOVES_IN_USE
#define may_move(s) true
#else
#define may_move(s) (enqueued[s] == finished[s])
#endif
inline bind(s) {
#ifdef MOVES
  if
  :: may_move(s) -> channel_of[s] = 0
  :: may_move(s) -> channel_of[s] = 1
  :: !may_move(s) -> skip
  fi;
#endif
  to = channel_of[s]
}

inline push(c, s, place, o) {
  assert(len(queue[c]) < CAPACITY);
  if
  :: front_stream[c] == NONE -> front_stream[c] = s; front_place[c] = place; front_operation[c] = o
  :: else -> queue[c]!s, place, o
  fi
}

inline push_ours(s, o) { push(to, s, enqueued[s], o); enqueued[s]++ }

// The thread that enqueues a trainer stream's operations: of two such threads each order is tried, so of one thread, too.
proctype host(byte s) {
  byte to, k;
  atomic { skip_absent(enqueued[s], s); skip_absent(finished[s], s) }
  do
  :: atomic {
      enqueued[s] < length(s) ->
      bind(s);
      push(to, s, enqueued[s], 0);
      if
      :: part(enqueued[s]) == CLOSING ->
        whole[s]++;
#ifdef PRESENT  // the worker and the event it waits for go after the close
        k = bubble_of(enqueued[s]);
        bind(worker_stream(s));
        push_ours(worker_stream(s), operation(EVENT, s, k));
        bind(worker_stream(s));
        push_ours(worker_stream(s), operation(LAUNCH, s, k));
        k = 0
#endif
      :: else
      fi;
      enqueued[s]++;
      skip_absent(enqueued[s], s);
      to = 0
    }
  :: atomic { enqueued[s] == length(s) -> break }
  od
}

// ---- the dispatcher
#ifdef FREELY
#define has_room(g) true
#else
#define has_room(g) (enqueued[worker_stream(g)] == finished[worker_stream(g)])
#endif
#define all_bubbles (1 << (BUBBLES + 1))
byte pending[2];           // bubbles that were enqueued with a wait, a bit each
byte next[2] = 1;          // the bubble that is armed next
byte armed_again[2];
byte stored[2];            // only of RELEASE_ONCE

// A wait of ours may still stand on the device: its worker has not been seen to work or to leave.
#define waits(g, k) ((pending[g] & ~left[g] & ~worked[g]) >> (k) & 1)
#define any_waits(g) (waits(g, 1) || waits(g, 2))
#ifdef NO_RELEASE
#define may_release(g, k) false
#else
#ifdef RELEASE_ONCE
#define may_release(g, k) (waits(g, k) && !(stored[g] >> (k) & 1))
#else
#define may_release(g, k) (waits(g, k) && word[g] < (k))
#endif
#endif
#ifdef RELEASE_ONCE  // an edge of an earlier bubble may store its smaller number over the one that released
#define release(g, k) word[g] = k; stored[g] = stored[g] | 1 << (k)
#else
#define release(g, k) word[g] = k
#endif
#ifdef STORE_LATE  // the look and the store are two steps: an edge may store in between
#define releases(g) \
  :: may_release(g, 1) -> release(g, 1) \
  :: BUBBLES > 1 && may_release(g, 2) -> release(g, 2)
#else
#define releases(g) \
  :: atomic { may_release(g, 1) -> release(g, 1) } \
  :: atomic { BUBBLES > 1 && may_release(g, 2) -> release(g, 2) }
#endif

#ifdef RELEASER
proctype releaser() {
  {
end:
  do
  releases(A)
  releases(B)
  od
  } unless { hangs_alone }
}
#define releases_itself
#else
#define releases_itself releases(A) releases(B)
#endif

// A driver call that enqueues; it may block where the channel is full. Each is a step of its own, so that others come between.
#if FULL < 255
#define call(s, o, before, after) atomic { bind(s) } atomic { len(queue[to]) < FULL -> before; push_ours(s, o); to = 0; after }
#else
#define call(s, o, before, after) atomic { before; bind(s); push_ours(s, o); to = 0; after }
#endif
#ifdef WHOLE  // wait and launch are enqueued in one step
#define first_call(s, o, before) before; bind(s); push_ours(s, o)
#else
#define first_call(s, o, before) } call(s, o, before, skip) atomic { true
#endif

#ifdef EARLY  // before both of its edges are enqueued
#define is_whole(g, k) ((k) <= (length(g) - 1) / 5)
#else
#define is_whole(g, k) ((k) <= whole[g])
#endif
#ifdef ONLY_WHEN_OPEN
#define may_arm_ahead false
#else
#define may_arm_ahead true
#endif

// The released worker of the bubble that is open has left, found nothing to do, and was not enqueued again yet.
#define again(g) (opened[g] > 0 && (pending[g] & ~armed_again[g] & left_idle(g)) >> opened[g] & 1)
#ifdef AGAIN_UNSEEN
#define left_idle(g) 255
#else
#define left_idle(g) (left[g] & ~worked[g])
#endif

#define serve(g) \
  :: atomic { \
      may_arm_ahead && is_whole(g, next[g]) && opened[g] < next[g] && has_room(g) -> \
      k = next[g]; \
      next[g]++; \
      first_call(worker_stream(g), operation(WAIT, g, k), pending[g] = pending[g] | 1 << k) \
    } \
    call(worker_stream(g), operation(LAUNCH, g, k), skip, k = 0) \
  :: atomic { is_whole(g, next[g]) && opened[g] == next[g] && has_room(g) -> k = next[g]; next[g]++ } \
    call(worker_stream(g), operation(LAUNCH, g, k), skip, k = 0) \
  :: atomic { is_whole(g, next[g]) -> next[g]++ }  /* not worth a worker */ \
  :: atomic { again(g) && has_room(g) -> k = opened[g]; armed_again[g] = armed_again[g] | 1 << k } \
    call(worker_stream(g), operation(LAUNCH, g, k), skip, k = 0)

#ifdef COPY_WHEN_NONE_WAITS
#define may_copy (!any_waits(A) && !any_waits(B))
#else
#define may_copy true
#endif
#if defined(COPY_BLOCKS) || defined(RELEASE_BEFORE_COPY) || defined(COPY_WHEN_NONE_WAITS)
#define releases_meanwhile
#else
#define releases_meanwhile releases_itself
#endif

proctype dispatcher() {
  byte to, k, copies, controls;
  {
end:
  do
  serve(A)
  serve(B)
  releases_itself
#if CONTROLS > 0
  :: atomic { controls < CONTROLS -> controls++ }
    call(CONTROL, 0, skip, skip)
#endif
#if COPIES > 0
  :: atomic {
      copies < COPIES && may_copy ->
      copies++;
#ifdef RELEASE_BEFORE_COPY
      if :: waits(A, 2) -> word[A] = 2 :: !waits(A, 2) && waits(A, 1) -> word[A] = 1 :: else fi;
      if :: waits(B, 1) -> word[B] = 1 :: else fi
#endif
    }
    call(COPY, 0, skip, skip)
    do
    :: finished[COPY] == enqueued[COPY] -> break
    releases_meanwhile
    od
#endif
  od
  } unless { hangs_alone }
}

// ---- the judge: when nothing moves any more, what could the trainer do without us?
inline strip(c) {  // an operation of ours at the front goes
  do
  :: front_stream[c] != NONE && (front_stream[c] >= WORK || is_stripped(front_place[c])) -> come_forward(c); moved = 1
  :: else -> break
  od
}

inline go_on_alone(c) {
  strip(c);
  if
  :: ready(c) -> perform(c); moved = 1
  :: else
  fi
}

inline end_kernel(s) {
  if
  :: runs[s] && answered(s) -> runs[s] = 0; finish(s); moved = 1
  :: else
  fi
}

#define trainer_done (finished[A] == length(A) && finished[B] == length(B))

#define edge_after_kernel(c) (front_stream[c] <= B && is_ours(front_place[c]) && runs[front_stream[c]])

active proctype judge() {
  byte stream;
  bit moved, done, excused;
end:
  timeout ->
  d_step {
    assert(enqueued[A] == length(A) && enqueued[B] == length(B));
    done = trainer_done;
#ifdef EXCUSE_EDGE_AFTER_KERNEL
    excused = edge_after_kernel(0) || edge_after_kernel(CHANNELS - 1);
#endif
    if
    :: done -> skip
    :: else ->
      alone = 1;
      skip_absent(finished[A], A);
      skip_absent(finished[B], B);
      moved = 1;
      do
      :: moved ->
        moved = 0;
        go_on_alone(0);
#if CHANNELS > 1
        go_on_alone(1);
#endif
#if CHANNELS > 2
        go_on_alone(2);
#endif
        end_kernel(A);
        end_kernel(B)
      :: else -> break
      od;
#ifdef NO_EXCUSE
      assert(false);
#endif
      assert(excused || !trainer_done);          // what the trainer can do alone it does beside us
      hangs_alone = 1
    fi;
    judged = 1
  }
}

// ---- what is tried
inline choose_wait(s) {  // in the bubble or before it; for what comes after the other's last bubble
#ifdef WAIT_AT
  waits_at[s] = WAIT_AT;
#else
  if
  :: waits_at[s] = 0
  :: waits_at[s] = 2
#if BUBBLES > 1
  :: waits_at[s] = 5
  :: waits_at[s] = 7
#endif
  fi;
#endif
#ifdef WIDE
  if
  :: waits_for[s] = 0
  :: waits_for[s] = 2
  :: waits_for[s] = 5
  fi;
#else
  waits_for[s] = length(1 - s) - 1;
#endif
  if
#ifndef SPINS
  :: true
#endif
#ifndef WAITS
  :: spins[s] = 1
#endif
  fi
}

#if CHANNELS > 1
#define choose_channel(s) if :: channel_of[s] = 0 :: channel_of[s] = 1 fi
#else
#define choose_channel(s) skip
#endif

init {
  atomic {
    choose_wait(A);
#ifdef WIDE
    if
    :: choose_wait(B)
    :: true
    fi;
#endif
#ifdef APART
    channel_of[B] = 1;
    channel_of[WORK] = CHANNELS - 1;
    channel_of[WORK + 1] = CHANNELS - 1;
    channel_of[CONTROL] = CHANNELS - 1;
    channel_of[COPY] = CHANNELS - 1;
#else
    choose_channel(B);
    choose_channel(WORK);
#if WORKER_STREAMS > 1
    choose_channel(WORK + 1);
#endif
#if CONTROLS > 0
    choose_channel(CONTROL);
#endif
#if COPIES > 0
    choose_channel(COPY);
#endif
#endif
    run host(A);
    run host(B);
#if !defined(ALONE) && !defined(EDGES_ONLY) && !defined(PRESENT)
    run dispatcher();
#ifdef RELEASER
    run releaser();
#endif
#endif
  }
}

#ifdef ENDS  // under weak fairness
ltl ends { <> judged }
#endif
