/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lull for C, and for every language that calls C: link liblull.so, or open it at run time. C89, but for <stdint.h>.
 *
 * Every call that can fail returns a lull_status. lull_error_text() returns the calling thread's last error. No call
 * throws, and a handle that is null, of another kind or already destroyed gives LULL_ERROR_HANDLE. Threads: every call
 * may come from any thread at any time, two calls on one handle too, unless its comment says otherwise. A destroy call
 * makes lull_wait_all and lull_job_wait on its handle return LULL_ERROR_HANDLE. Then it waits, at most ten seconds,
 * until no call uses the handle. *Enqueue only*: does not block or synchronise; allocates only in the first bubble of a
 * site and under capture; in the first bubble of a captured graph it blocks for a small copy. All other calls may block
 * and belong outside bubbles, best before training starts. In a forked child every call with a handle of its parent
 * returns LULL_ERROR_STATE at once and does nothing; it may make handles of its own.
 *
 * Structs that the caller fills or hands in begin with their size; in a zeroed rest every field has its default. In
 * options 0 is the default and, where a comment says so, -1 is none. An option struct with an unknown field that is not
 * zero gives LULL_ERROR_ABI. Times are in nanoseconds. A time to wait of UINT64_MAX has no end; only lull_pause_all
 * returns LULL_TIMED_OUT after one day.
 *
 * Texts: `text` points to a buffer of `size` bytes. The call sets `*needed` to the text's length in bytes, with its
 * final zero. `needed` may be null, except where `text` is null and `size` is 0. In that case the call sets `*needed`
 * and writes no text. If the buffer is too small, the call writes no text and returns LULL_ERROR_SIZE.
 *
 * Streams are void*: a cudaStream_t or CUstream, null for the legacy default stream; on the threads executor a
 * lull_threads_stream* (lull_threads.h). The library carries a CUDA runtime of its own; both it and the program's work
 * in the device's primary context, so streams, memory and events are the same.
 */
#ifndef LULL_HOST_LULL_H
#define LULL_HOST_LULL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes when a program that was compiled before would no longer work; not with new fields at a struct's end. */
#define LULL_ABI 2

typedef enum lull_status {
  LULL_OK = 0,
  LULL_TIMED_OUT = 1,       /* the time was over first; nothing else is wrong */
  LULL_ERROR_ARGUMENT = 2,  /* a pointer that must not be null, a value or an option that cannot be */
  LULL_ERROR_HANDLE = 3,    /* null, of another kind, or destroyed */
  LULL_ERROR_ABI = 4,       /* program and library do not fit together */
  LULL_ERROR_STATE = 5,     /* not now: the job has not finished, a thread is inside, or it is a parent's handle */
  LULL_ERROR_SIZE = 6,      /* the text does not fit: see *needed */
  LULL_ERROR_INPUT = 7,     /* a file, or a line of it, cannot be used */
  LULL_ERROR_LIMIT = 8,     /* memory, handles or another limit is used up */
  LULL_ERROR_DEVICE = 9,    /* a call to CUDA failed */
  LULL_ERROR_INTERNAL = 10, /* a bug in Lull */
  LULL_ERROR_EXCHANGE = 11, /* the program's own exchange returned something else than 0 */
  LULL_ERROR_SLOW_NODE = 12 /* a node of a graph takes longer than its node_limit_ns */
} lull_status;

uint32_t lull_abi(void);        /* LULL_ABI of the library */
char const* lull_version(void); /* "0.2.0" */
/* The calling thread's last error, at most 1,023 bytes: of its last call that returned an LULL_ERROR_…, else empty. */
char const* lull_error_text(void);
/* Text: every task that is linked in, with its options. */
lull_status lull_tasks(char* text, size_t size, size_t* needed);

/* ---- reserved groups: what the program's own transport needs ---- */

/* Enqueues the program's own sends and receives on `stream`, and makes that stream wait for all of them. Returns 0, or
   anything else where it failed. Called by the thread that asks, once; must open no bubbles and must not throw. */
typedef int32_t (*lull_exchange)(void* context, void* stream);

typedef struct lull_exchange_need {
  uint32_t size;           /* sizeof(lull_exchange_need), set by the caller */
  int32_t reserved_groups; /* for lull_options.reserved_groups; -1: none */
  int32_t resident;        /* kernels of the exchange on the device at once, as asked for */
  uint32_t kernels;        /* that the exchange launches; of the largest: */
  uint32_t blocks;         /* of NCCL's kernels, a block is a channel */
  uint32_t threads;        /* a block */
  uint32_t cluster;        /* blocks */
  uint32_t registers;      /* a thread */
  uint32_t shared_bytes;   /* a block, static and dynamic */
} lull_exchange_need;

/* Captures the exchange on a stream of its own into a graph that is never launched, and finds the groups of SMs in
   which `resident` of its largest kernels fit at once. Call it before lull_create, after something was exchanged once,
   so that connections are made by ordinary calls; where the exchange is collective all ranks call it. It may wait for
   the device. The calling thread's current device stays what it was. Each call captures again, so pass a buffer
   of 256 bytes at once: the text is one line of at most 255. LULL_ERROR_SIZE fills `need` all the same. No such device,
   no CUDA, or a kernel that fits no group of SMs: LULL_ERROR_ARGUMENT. */
lull_status lull_measure_reserved_groups(int32_t device, lull_exchange exchange, void* context, int32_t resident,
                                         lull_exchange_need* need, char* text, size_t size, size_t* needed);

/* ---- runtimes: one harvests a device ---- */

typedef struct lull_runtime lull_runtime;
typedef enum lull_executor { LULL_EXECUTOR_ANY = 0, LULL_EXECUTOR_THREADS = 1, LULL_EXECUTOR_CUDA = 2 } lull_executor;
/* The environment variable LULL=off|observe lowers the mode; LULL=on lifts checks, and never raises it. */
typedef enum lull_mode {
  LULL_MODE_DEFAULT = 0, /* on */
  LULL_MODE_OFF = 1,     /* the trainer's stream gets no operation */
  LULL_MODE_OBSERVE = 2, /* edges are placed and lengths kept, nothing runs */
  LULL_MODE_ON = 3       /* harvest */
} lull_mode;

typedef enum lull_launch { LULL_LAUNCH_AT_CLOSE = 0, LULL_LAUNCH_AT_OPEN = 1 } lull_launch;
/* One line, on a thread of Lull's that nothing waits for; the last lines come from the thread that is in lull_destroy,
   and one may come from lull_create. Must not call Lull. */
typedef void (*lull_log)(void* context, char const* line);

/* How Lull treats a bubble. Not stable: the next version may have other fields, and its own choice is good for most
   trainers. */
typedef struct lull_tuning {
  int32_t launch;         /* lull_launch: when workers are launched; at open for hosts that block inside bubbles */
  int32_t team_width;     /* threads of a block on the threads executor; 0: one */
  int64_t armed_ahead_ns; /* how long before its bubble a worker may wait for it on the device; at most 1,000 s; 0: Lull
                             chooses; -1: workers are enqueued only when the bubble is open */
  int64_t min_bubble_ns;  /* no side work where a site's last 8 bubbles were shorter; at most 1 s; 0: 30 us; -1: none is
                             too short */
  int64_t rest_ns;        /* side work stops this long before a bubble usually closes; at most 1 ms; 0: Lull chooses;
                             -1: never */
  double training_worth;  /* microseconds of side work that one of training is worth: shorter bubbles than that pays for
                             get none; at most 1e6; 0: Lull chooses (30 on CUDA); -1: any bubble pays, and no cap */
} lull_tuning;

typedef struct lull_options {
  uint32_t size;               /* sizeof(lull_options) */
  uint32_t abi;                /* LULL_ABI */
  int32_t executor;            /* lull_executor; any: cuda if a device answers, else threads */
  int32_t device;              /* CUDA device */
  int32_t mode;                /* lull_mode */
  int32_t reserved_groups;     /* of SMs: see lull_measure_reserved_groups; 0: two, for one NCCL kernel; -1: none */
  int32_t processors;          /* at most so many SMs (cores) for workers; 0: all that are not kept off */
  int32_t reserved;            /* must be 0 */
  uint64_t memory_limit_bytes; /* of the device memory that side tasks take; 0: no limit */
  /* To load at start, as "pagerank,compute"; captured graphs get workers for them. Options that select a task's code
     follow ':', as in "product:leave=saved;rows=64,compute"; quote a value with ',' or ';'. Of a shared library:
     "./libmine.so:mine;size=8". Null: all that are linked in, without options. */
  char const* tasks;
  lull_log log; /* null: silence */
  void* log_context;
  char const* report;  /* file for the bubble report at the runtime's end, in the format of its ending: .txt, .json or
                          .trace.json; %p: the process, %d: the device; LULL_REPORT in the environment goes before it.
                          Null: none; when observing, the text goes to the log */
  double max_slowdown; /* by how much the trainer's steps may take longer in the mean: 0.005 is half a per cent. Side
                          work then runs in some of the steps that lull_step marks, and in none before the first; after
                          512 bubbles without, openings at one site are marks. In captured graphs a mark counts for what
                          is replayed after it. 0: what is known to make marked steps over 1 % longer runs in fewer */
  uint64_t draw_seed;  /* the same for all ranks of a trainer, which then withhold side work in the same steps */
  uint64_t reserve_bytes; /* of device memory, left free for the trainer: jobs give way, within some 10 ms; 0: none */
  uint64_t saved_bytes;   /* of pinned host memory, taken at start, where the memory of jobs that give way is saved */
  char const* profile;    /* with max_slowdown: file of `lull profile --out`; another machine's: logged; null: none */
  char const* share;  /* "unix:PATH", a local socket: this user's other processes may work in the bubbles; null: no */
  char const* attach; /* "unix:PATH": works in the bubbles that are shared there, within their bound; opens none */
  lull_tuning tuning; /* last: it may grow */
} lull_options;

/* All defaults: lull_options options = LULL_OPTIONS; */
#define LULL_OPTIONS                                                                                           \
  {                                                                                                            \
    sizeof(lull_options), LULL_ABI, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, { 0, 0, 0, 0, 0, 0 } \
  }

/* Loads the kernels of `tasks`, which may wait for the device: call it before training starts. The thread's current
   device stays what it was. At most 64 runtimes live at a time, one of which may harvest a CUDA device. */
lull_status lull_create(lull_options const* options, lull_runtime** runtime);
/* Cancels the runtime's jobs, waits about three seconds for them, saves those that have a checkpoint, and destroys all,
   with their handles. LULL_ERROR_STATE: a call inside did not leave within ten seconds. */
lull_status lull_destroy(lull_runtime* runtime);

/* LULL_MODE_OFF, _OBSERVE or _ON, as asked for or as the environment says; off after an error of the device. Text: why
   the mode is off; empty where the program asked for that, or the mode is another. `text` and `needed` may both be
   null: then only the mode is told. */
lull_status lull_get_mode(lull_runtime* runtime, lull_mode* mode, char* text, size_t size, size_t* needed);

/* Stops all side work; LULL_OK: none of our blocks works, and none will until lull_resume_all. Jobs keep what they have
   done. LULL_TIMED_OUT: nothing is stopped. Waits for bubbles whose workers are enqueued already, so for the trainer's
   stream. Each LULL_OK needs a lull_resume_all. */
lull_status lull_pause_all(lull_runtime* runtime, uint64_t at_most_ns);
/* Enqueue only. LULL_ERROR_STATE: nothing is paused. */
lull_status lull_resume_all(lull_runtime* runtime);
/* Asks jobs for device memory, the lowest first, for a trainer that is about to need it. Of most tasks, and of graphs
   with `memory`: they leave the bubbles, what they hold is saved in `saved_bytes`, or the job goes back to where it was
   saved last, if time is short and it may; then their memory goes back to the driver. They go on when there is room, a
   second later or more, with the same bits. `*given` is what went back: less than `bytes` where jobs have no more, or
   the time was over; more where a job has more, since all of one goes. `bytes` 0: what the device lacks of
   reserve_bytes now, for an allocator that is about to ask the driver. Blocks for that; enqueues nothing on the
   trainer's streams. */
lull_status lull_give_back(lull_runtime* runtime, uint64_t bytes, uint64_t at_most_ns, uint64_t* given);
/* Blocks until every job of the runtime is over; else returns LULL_TIMED_OUT. */
lull_status lull_wait_all(lull_runtime* runtime, uint64_t at_most_ns);

typedef struct lull_counts {
  uint32_t size;     /* sizeof(lull_counts), set by the caller */
  uint32_t reserved; /* set to 0 */
  uint64_t opened;
  uint64_t launches;
  uint64_t no_job;          /* bubbles passed over because no job was ready */
  uint64_t too_short;       /* … because the site's bubbles are not worth it */
  uint64_t all_handed_back; /* … because every chunk at that site was handed back lately */
  uint64_t nested;          /* opens inside an open bubble, ignored */
  uint64_t unmatched;       /* closes of nothing, ignored */
  uint64_t abandoned;       /* never closed: ended by the next opening of their site, or by any after the lease */
  uint64_t foreign_stream;  /* opens on a stream of another device, ignored */
  uint64_t captured;        /* bubbles added to graphs that were being captured */
  uint64_t replayed;        /* … opened by replays, as far as read */
  uint64_t not_captured; /* opens on a stream under capture, ignored: no task type, too many graphs, or no way to ask */
  uint64_t dropped;      /* bubbles whose records were lost: they are in no report */
  uint64_t records_unread; /* bubbles passed over because the records of 256 earlier ones were not read yet */
  uint64_t held_up; /* bubbles in which a kernel of the trainer waited for side work to leave, as far as can be told */
  uint64_t groups_added; /* how often one more group of SMs was reserved for that; not bubbles */
  uint64_t armed;        /* bubbles whose workers were enqueued before they opened */
  uint64_t released;     /* … whose workers stopped waiting before the opening: too long, or another could work */
  uint64_t no_gate;      /* opens on a stream while 16 other streams have gates, ignored */
  uint64_t off;          /* opens while the runtime is off */
  uint64_t withheld;     /* opens in steps without side work, ignored, to know or to limit what it costs */
} lull_counts;

lull_status lull_get_counts(lull_runtime* runtime, lull_counts* counts);

typedef enum lull_format {
  LULL_FORMAT_TEXT = 0,
  LULL_FORMAT_JSON = 1, /* schema "lull.bubbles/2" */
  LULL_FORMAT_TRACE = 2 /* Trace Event Format, for <https://ui.perfetto.dev>; 3, which was an SVG, is refused */
} lull_format;

/* Text, in a lull_format: the bubble report so far. It grows: ask again if need be. */
lull_status lull_report(lull_runtime* runtime, int format, char* text, size_t size, size_t* needed);

/* ---- bubbles ---- */

typedef uint64_t lull_bubble; /* 0: nothing was opened, and lull_close does nothing with it */

/* Enqueue only. Enqueues the opening edge, or adds it to the graph under capture; the host does not wait. Mode on needs
   a ready job and a site that is worth it. `site` says where in the step the bubble is, in 1 to 255 bytes; it is
   copied, and history is kept for each. One call at a time for a stream. The host may stay until lull_close, as it does
   for data or a checkpoint: workers follow one another meanwhile. */
lull_status lull_open(lull_runtime* runtime, void* stream, char const* site, lull_bubble* bubble);
/* Enqueue only. Puts the closing edge on the stream, which is that of the opening; another thread may do so. */
lull_status lull_close(lull_runtime* runtime, lull_bubble bubble, void* stream);
/* Enqueue only. Whether a job stands ready for a bubble on this stream now: 0 or 1. Takes nothing for the stream. */
lull_status lull_ready(lull_runtime* runtime, void* stream, int* ready);
#define LULL_NEXT_STEP UINT64_MAX       /* the last step's number plus 1; the first is 0 */
#define LULL_SKIP_STEP (UINT64_MAX - 1) /* the step under way is not like others */
/* Enqueue only. Marks where a training step ends and the next begins, on the training stream; nothing under capture.
   `number`: of the step that begins, the same for all ranks, or LULL_NEXT_STEP. A rank that starts later, or again,
   says where the others are. After a trainer goes back, numbers come again. LULL_SKIP_STEP, before a validation or a
   checkpoint, marks nothing and does not use `stream`: the time until the next mark is not counted, and under a bound
   bubbles opened until then have no side work. `work`: of the step that begins, at least 0, in any unit that its length
   grows with, such as tokens; of each step, or of none (0): it foretells lengths. */
lull_status lull_step(lull_runtime* runtime, void* stream, uint64_t number, double work);

/* Costs no call to the device. Changes max_slowdown: above 0 and at most 1; 0: no bound, from now on. No side work then
   runs before the next step, and what was learnt is forgotten. Nothing if it is so already, or the mode is not on. */
lull_status lull_bound_slowdown(lull_runtime* runtime, double max_slowdown);
/* Costs no call to the device. With a bound or cap: the assumed slowdown of a step in which jobs of that name run, as a
   share. Until it is measured, a job with a higher assumed slowdown starts in fewer steps. At most 64 names. */
lull_status lull_assume_slowdown(lull_runtime* runtime, char const* name, double slowdown);

typedef struct lull_steps {
  uint32_t size;     /* sizeof(lull_steps), set by the caller */
  int32_t is_known;  /* 1: the slowdown is known; 0: not yet, or there is no bound or cap; its three values are 0 */
  uint64_t begun;    /* steps that were marked, or openings at one site where none is, since the bound was set */
  uint64_t timed;    /* … whose lengths are known */
  uint64_t total_ns; /* … of these, together */
  uint64_t withheld; /* … without side work, to know or to limit what it costs */
  double chance;     /* that side work runs in a step to come */
  double slowdown;   /* of a step in which it runs, as a share, with its 95 % interval */
  double slowdown_low;
  double slowdown_high;
  double noise;           /* of a step's length around what was expected of it, as a share; 0: not known yet */
  double max_slowdown;    /* the bound, as a share; 0: none */
  uint64_t steps_to_know; /* until the interval is half of the bound or cap to either side, as it is now; 0: unknown */
  uint64_t halved;        /* steps in which it has half of its blocks, as a trial or to do more in all */
  double slowdown_cap;    /* on what side work is known to cost, as a share; 0: there is a bound, or none is kept */
} lull_steps;

/* Costs no call to the device. Lengths are read some milliseconds after a step's end. `name`: the slowdown is that of
   steps in which only jobs of that name ran, with all SMs; null: of all with side work. */
lull_status lull_get_steps(lull_runtime* runtime, char const* name, lull_steps* steps);

/* ---- jobs ---- */

typedef struct lull_job lull_job;
typedef struct lull_job_options {
  uint32_t size;                /* sizeof(lull_job_options) */
  int32_t priority;             /* higher goes first; equal ones in order of submission */
  int32_t blocks_per_processor; /* 0: Lull chooses */
  int32_t reserved;             /* must be 0 */
  char const* name;             /* for reports; null: the task's */
  /* A folder, which one process has at a time; null: the job, a task, is not saved. It takes up NAME.safetensors there,
     and is saved into it every so often, when it is cancelled and when its runtime ends; lull_job_result removes the
     file. Without a `name` the second job of a task has NAME-2. While it is saved, a job is paused and its memory
     stays; resuming and destroying wait for that. A save that fails is logged, and tried again. */
  char const* checkpoint;
  int64_t checkpoint_every_ns; /* 0: 60 s; -1: at its end alone; saves take at most a fifth of the job's time */
} lull_job_options;

typedef enum lull_job_state {
  LULL_JOB_QUEUED = 0,
  LULL_JOB_PLACED = 1, /* works in the bubbles that come */
  LULL_JOB_PAUSED = 2,
  LULL_JOB_FINISHED = 3,
  LULL_JOB_FAILED = 4,
  LULL_JOB_CANCELLED = 5,
  LULL_JOB_EVICTED = 6, /* its memory gives way to the trainer, or is on its way back */
  LULL_JOB_OFF = 7      /* over: it never runs, since the mode was not on when it was submitted */
} lull_job_state;

typedef struct lull_job_status {
  uint32_t size;   /* sizeof(lull_job_status), set by the caller */
  int32_t state;   /* lull_job_state */
  uint64_t phases; /* opened */
  uint64_t round;  /* of the current phase */
  uint32_t step;
  int32_t failure; /* 0: none */
  uint64_t items;  /* committed, counted when the job leaves its place */
} lull_job_status;

/* `task` is NAME or NAME:key=value,…, with commas here, for example "pagerank:graph=web.el,out=ranks.txt"; lull_tasks()
   lists them. Or PATH:NAME,key=value,… of a shared library, for example "./libmine.so:mine,size=8": the path has a '/',
   and the library stays open until the process ends. Reads the inputs, allocates and fills the task's arrays; where the
   mode is not on, the job is off. `options` may be null. At most 4,096 jobs live at a time. LULL_ERROR_ARGUMENT, too,
   where another process has the checkpoint folder, or another job the file; LULL_ERROR_INPUT where what it holds is of
   another task or of other inputs. */
lull_status lull_submit(lull_runtime* runtime, char const* task, lull_job_options const* options, lull_job** job);

/* Device memory of a job, which can give way to the trainer and come back: what a thread takes by lull_pool_allocate
   after lull_memory_enter. Null leaves the one that the thread entered last; they nest. At most 4,096 live at a time. A
   job that was submitted with one keeps it. LULL_ERROR_STATE: the thread has entered none. */
typedef struct lull_memory lull_memory;
lull_status lull_memory_create(lull_memory** memory);
lull_status lull_memory_enter(lull_memory* memory);
lull_status lull_memory_destroy(lull_memory* memory);

/* How a CUDA graph runs as side work: lull_graph_options options = LULL_GRAPH_OPTIONS; */
typedef struct lull_graph_options {
  uint32_t size;          /* sizeof(lull_graph_options) */
  int32_t priority;       /* as of a task */
  uint64_t steps;         /* how often the graph runs, at least 1; a step is a round. The job ends in a bubble */
  uint64_t segment_ns;    /* about what a bubble that closes waits for, but for longer nodes; 0: 100,000 */
  uint64_t node_limit_ns; /* a graph with a node that takes longer is refused; 0: 2,000,000, or segment_ns if more */
  int32_t is_fed;         /* not 0: a step after the first begins only when lull_job_feed has said so */
  int32_t no_hint;        /* not 0: it uses the gate alone, and not how long bubbles were lately */
  char const* name;       /* for reports; null: "graph" */
  lull_memory* memory;    /* what may give way, of no other job that is not over; null: nothing */
  int32_t may_go_back;    /* not 0: it is not fed, and writes nothing that is not in `memory` */
  int32_t reserved;       /* must be 0 */
} lull_graph_options;
#define LULL_GRAPH_OPTIONS \
  { sizeof(lull_graph_options), 0, 1, 0, 0, 0, 0, 0, 0, 0, 0 }

/* `graph` is a cudaGraph_t of kernels, copies and memsets on the runtime's device, which may be destroyed afterwards.
   What it reads and writes must live until the job is over. The first step runs at once, beside the trainer's work: how
   long its nodes take says where the graph is cut. Where one took longer than node_limit_ns and the graph is not fed,
   up to two further steps run at once: it may have been chance. Blocks for that, and up to a millisecond a segment.
   LULL_ERROR_ARGUMENT names a node that cannot run so, and refuses node_limit_ns below segment_ns. LULL_ERROR_SLOW_NODE
   names a node that takes longer than node_limit_ns: up to three steps have run, and when its memory is as it was
   before, the graph may be submitted again. Where bubbles are captured the job waits; where the mode is not on it is
   off, and no step runs. */
lull_status lull_submit_graph(lull_runtime* runtime, void* graph, lull_graph_options const* options, lull_job** job);
/* Gives another cudaStream_t on the SMs of workers, of the lowest priority, to warm up and capture a graph: libraries
   that try kernels then choose what can run there. It goes with the runtime; up to 1,024. Jobs that live at once need
   one each: PyTorch's cuBLAS workspace is a stream's. LULL_ERROR_ARGUMENT without CUDA, or without green contexts. */
lull_status lull_graph_stream(lull_runtime* runtime, void** stream);
/* Device memory for a pool of PyTorch's (torch.cuda.MemPool), as the two functions of its CUDAPluggableAllocator,
   within memory_limit_bytes of a runtime of `device`: of those that live, the one whose first lull_graph_stream came
   last. Null: there is none, or it has no more. Not filled; no stream's order is kept, `stream` is not used.
   Thread-safe, also while a stream is being captured; it may be freed after the runtime. */
void* lull_pool_allocate(ptrdiff_t bytes, int32_t device, void* stream);
void lull_pool_free(void* memory, size_t bytes, int32_t device, void* stream);
/* Of a graph that is fed, else LULL_ERROR_STATE: step k begins only when `fed` is above k; it sees what was written to
   the device before this call. Blocks for a small copy of its own. */
lull_status lull_job_feed(lull_job* job, uint64_t fed);

/* LULL_OK: the job's memory is on the device, and stays until lull_job_let_go, so that the program may read or write
   there while the job is not over; else LULL_TIMED_OUT. A job that is paused or over has it there, too. */
lull_status lull_job_hold(lull_job* job, uint64_t at_most_ns);
lull_status lull_job_let_go(lull_job* job);

lull_status lull_job_get_status(lull_job* job, lull_job_status* status); /* costs no call to the device */
/* These three return at once and take effect after at most a chunk's time; a cancelled job stays cancelled. */
lull_status lull_job_pause(lull_job* job);
lull_status lull_job_resume(lull_job* job);
lull_status lull_job_cancel(lull_job* job);
/* Blocks until the job is over (finished, failed, cancelled, off) and no block of it works; else LULL_TIMED_OUT. */
lull_status lull_job_wait(lull_job* job, uint64_t at_most_ns);
/* Text: of a graph, at any time, a line that says how it was cut, and one of the pieces that bubbles closed on and
   waited for. Of a task that has finished, lines that sum up its result: the first call reads it back, writes the files
   that the task's options name, and gives the task's arrays back; later ones give the same text. Empty: it is off. */
lull_status lull_job_result(lull_job* job, char* text, size_t size, size_t* needed);
/* Text: one sentence, and in `*ok` 0 or 1: whether another algorithm found the same. Of a task that has finished; the
   first call computes it, which may take longer than the job did. After lull_job_result it reads the inputs again, and
   takes the arrays' memory meanwhile; LULL_ERROR_STATE if the arrays were above 256 MiB together with others'. */
lull_status lull_job_verify(lull_job* job, int* ok, char* text, size_t size, size_t* needed);
/* Cancels the job if it is not over, and frees it: so memory and handle of a job that is over go back before the
   runtime ends. LULL_TIMED_OUT: a block still works on it; it is cancelled, and its handle stays valid. */
lull_status lull_job_destroy(lull_job* job, uint64_t at_most_ns);

#ifdef __cplusplus
}
#endif

#endif
