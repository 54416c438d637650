// SPDX-License-Identifier: Apache-2.0
//
// What a configuration of protocol.pml may set, and what holds where it does not.

// ---- shape
#ifndef WORKERS  // places where a block can run; as soon as it has left, a block of a later launch may come
#define WORKERS 2
#endif
#ifndef SLOTS  // gates that the job serves, each with a slot: worker w is of slot w % SLOTS
#define SLOTS 1
#endif
#ifndef PHASES  // phases 0 .. PHASES - 1, of ITEMS0, ITEMS1, ITEMS2 items
#define PHASES 2
#endif
#ifndef ITEMS0
#define ITEMS0 2
#endif
#ifndef ITEMS1
#define ITEMS1 1
#endif
#ifndef ITEMS2
#define ITEMS2 1
#endif
#ifndef GRAIN
#define GRAIN 1
#endif
#ifndef RING  // its capacity
#define RING 1
#endif
#ifndef TAGS  // tags are modulo this: it must exceed the phases that a block can sleep through
#define TAGS 4
#endif
#ifndef TAG0  // the tag of the zeroed cursor, so that tags wrap on the way
#define TAG0 (TAGS - 1)
#endif

// ---- environment. LEAVE_ANY: a block may leave at any yield point, which is more than gates, leases and control can do.
// TUNER: the grain changes between 1 and 2 at any time. STALL: worker 0 may stop for ever, between any two steps. PATIENT: control never
// gives up. ENDLESS: after the last phase comes the first again. SHORT_SLEEP: no block sleeps, between two sights of the tag that it knows, through so many
// phases that it meets the same tag again; without it, TAGS must be a multiple of PHASES where tags wrap, or more than all phases.
#ifndef EDGES  // that the trainer writes to each gate; an odd number leaves it open for ever. 0: open from the start
#define EDGES 0
#endif
#ifndef LEASES  // of one place that may end: 0 to 254, or 255: every lease ends
#define LEASES 0
#endif
#ifndef CLOCKS  // places that have a lease
#define CLOCKS WORKERS
#endif
#ifndef VALUES  // of a gate: 2 repeats them from bubble to bubble, as a replayed graph does
#define VALUES 4
#endif
#ifndef HUNGRY  // the phase that has no input until the feeder comes; with one gate and an odd number of edges, behind which it opens once more
#define HUNGRY 255
#endif
#if HUNGRY < 255 && (SLOTS > 1 || EDGES % 2 == 0)
#error "a job that starves is asked again in another bubble"
#endif
#ifndef CONTROLS  // acts of control
#define CONTROLS 0
#endif
#ifndef GENERATIONS  // of a slot: more than the acts of control that a block can sleep through between its look at the cursor and its entering
#define GENERATIONS 4
#endif
#ifndef FAILURES  // times that a block may mark the job failed, with or without a chunk in hand
#define FAILURES 0
#endif
#ifndef LAUNCHES  // blocks in all; 255: no end
#define LAUNCHES 255
#endif
