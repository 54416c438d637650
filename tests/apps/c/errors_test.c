/* SPDX-License-Identifier: Apache-2.0 */
/* Every call with nulls, with handles that are dead, made up or of another kind, and with what it must refuse. */
/* Every byte of a struct that a program hands over has a name, and so a value. */
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded"
#include <lull/host/lull.h>
#pragma GCC diagnostic pop

#include <lull/tests/apps/c/check.h>

static void other_abis_are_refused(void) {
  lull_options options = LULL_OPTIONS;
  lull_runtime* side = (lull_runtime*)1;
  struct {
    lull_options known;
    int32_t later;
  } newer;
  lull_counts counts;

  CHECK(lull_abi() == LULL_ABI);
  options.abi = LULL_ABI + 1;
  CHECK_FAILS(lull_create(&options, &side), LULL_ERROR_ABI, "compiled for ABI 3, this library");
  CHECK(side == NULL);
  options.abi = 0;
  CHECK_FAILS(lull_create(&options, &side), LULL_ERROR_ABI, "ABI 0");
  options.abi = LULL_ABI;
  options.size = 4;
  CHECK_FAILS(lull_create(&options, &side), LULL_ERROR_ABI, "ABI 0");
  options.size = 1000000;
  CHECK_FAILS(lull_create(&options, &side), LULL_ERROR_ABI, "sizeof");

  /* A program with a later header may use what this library knows, and nothing else. */
  memset(&newer, 0, sizeof newer);
  newer.known.size = sizeof newer;
  newer.known.abi = LULL_ABI;
  newer.known.executor = LULL_EXECUTOR_THREADS;
  newer.known.processors = 1;
  newer.later = 1;
  CHECK_FAILS(lull_create((lull_options*)&newer, &side), LULL_ERROR_ABI, "does not know");
  newer.later = 0;
  CHECK_OK(lull_create((lull_options*)&newer, &side));

  /* One with an earlier header gets what it has room for. */
  memset(&counts, 0x55, sizeof counts);
  counts.size = 16;
  CHECK_OK(lull_get_counts(side, &counts));
  CHECK(counts.opened == 0 && counts.launches == 0x5555555555555555u);
  counts.size = 3;
  CHECK_FAILS(lull_get_counts(side, &counts), LULL_ERROR_ABI, "sizeof");
  CHECK_OK(lull_destroy(side));
}

/* What stands in a struct beyond its size is not read; a field of which a library later than this may know is. */
static void sizes_are_kept_to(void) {
  lull_options options = LULL_OPTIONS;
  lull_job_options named = {0, 0, 0, 0, NULL, NULL, 0};
  lull_counts counts;
  lull_runtime* side = NULL;
  lull_runtime* side_of_later = NULL;
  lull_job* job = NULL;

  options.size = offsetof(lull_options, processors);
  options.executor = LULL_EXECUTOR_THREADS;
  options.processors = -1;
  options.tuning.armed_ahead_ns = -1000;
  options.tasks = "no such task";
  options.report = "no such report";
  CHECK_OK(lull_create(&options, &side));

  options.size = sizeof options;
  options.processors = 1;
  options.tuning.armed_ahead_ns = 0;
  options.tasks = options.report = NULL;
  options.reserved = 1;
  CHECK_FAILS(lull_create(&options, &side_of_later), LULL_ERROR_ARGUMENT, "options->reserved is 1");

  named.size = offsetof(lull_job_options, blocks_per_processor);
  named.priority = 3;
  named.blocks_per_processor = -1;
  named.reserved = 1;
  named.name = "";
  CHECK_OK(lull_submit(side, "compute:items=16", &named, &job));
  named.size = offsetof(lull_job_options, name);
  named.blocks_per_processor = 0;
  CHECK_FAILS(lull_submit(side, "compute:items=16", &named, &job), LULL_ERROR_ARGUMENT, "options->reserved is 1");
  CHECK(job == NULL);

  memset(&counts, 0x55, sizeof counts);
  counts.size = sizeof counts;
  CHECK_OK(lull_get_counts(side, &counts));
  CHECK(counts.size == sizeof counts && counts.reserved == 0);
  CHECK_OK(lull_destroy(side));
}

static void options_are_checked(void) {
  lull_options options = LULL_OPTIONS;
  lull_runtime* side = NULL;
  options.executor = 3;
  CHECK_FAILS(lull_create(&options, &side), LULL_ERROR_ARGUMENT, "options->executor is 3");
  options.executor = LULL_EXECUTOR_THREADS;
  options.mode = -1;
  CHECK_FAILS(lull_create(&options, &side), LULL_ERROR_ARGUMENT, "options->mode");
  options.mode = 0;
  options.tuning.launch = 2;
  CHECK_FAILS(lull_create(&options, &side), LULL_ERROR_ARGUMENT, "options->tuning.launch");
  options.tuning.launch = 0;
  options.reserved_groups = -2;
  CHECK_FAILS(lull_create(&options, &side), LULL_ERROR_ARGUMENT, "options->reserved_groups");
  options.reserved_groups = 0;
  options.processors = -1;
  CHECK_FAILS(lull_create(&options, &side), LULL_ERROR_ARGUMENT, "options->processors");
  options.processors = 0;
  options.tasks = "compute,pagerang";
  CHECK_FAILS(lull_create(&options, &side), LULL_ERROR_ARGUMENT, "known: pagerank");
  options.tasks = NULL;
  options.device = -1;
  CHECK_FAILS(lull_create(&options, &side), LULL_ERROR_ARGUMENT, "options->device");
  options.device = 0;
  options.tuning.armed_ahead_ns = -2;
  CHECK_FAILS(lull_create(&options, &side), LULL_ERROR_ARGUMENT, "options->tuning.armed_ahead_ns is -2");
  options.tuning.armed_ahead_ns = 1000000000001;
  CHECK_FAILS(lull_create(&options, &side), LULL_ERROR_ARGUMENT, "options->tuning.armed_ahead_ns is 1000000000001");
  options.tuning.armed_ahead_ns = 0;
  options.max_slowdown = 1.5;
  CHECK_FAILS(lull_create(&options, &side), LULL_ERROR_ARGUMENT, "max_slowdown is 1.5");
  options.max_slowdown = 0;
  options.tasks = "compute:items=7,rounds=3";
  CHECK_FAILS(lull_create(&options, &side), LULL_ERROR_ARGUMENT, "';' separates");
  options.tasks = NULL;
  options.device = 1000;
  options.executor = LULL_EXECUTOR_CUDA;
  CHECK_FAILS(lull_create(&options, &side), LULL_ERROR_ARGUMENT, "CUDA");
  CHECK(side == NULL);
}

/* Every call that takes a handle, with one that is not alive, but everything else as it should be. */
static void refuses(lull_runtime* side, lull_job* job, lull_threads_stream* stream) {
  char text[64];
  size_t needed;
  int flag;
  lull_bubble bubble;
  lull_mode mode;
  lull_job* made;
  lull_graph_options graph = LULL_GRAPH_OPTIONS;
  lull_counts counts;
  lull_job_status status;
  lull_steps steps;
  steps.size = sizeof steps;
  counts.size = sizeof counts;
  status.size = sizeof status;
  CHECK_FAILS(lull_get_mode(side, &mode, text, sizeof text, &needed), LULL_ERROR_HANDLE, "handle");
  CHECK_FAILS(lull_get_counts(side, &counts), LULL_ERROR_HANDLE, "handle");
  CHECK_FAILS(lull_open(side, stream, "site", &bubble), LULL_ERROR_HANDLE, "handle");
  CHECK_FAILS(lull_close(side, 1, stream), LULL_ERROR_HANDLE, "handle");
  CHECK_FAILS(lull_ready(side, stream, &flag), LULL_ERROR_HANDLE, "handle");
  CHECK_FAILS(lull_step(side, stream, LULL_NEXT_STEP, 0), LULL_ERROR_HANDLE, "handle");
  CHECK_FAILS(lull_step(side, stream, 1, 0), LULL_ERROR_HANDLE, "handle");
  CHECK_FAILS(lull_step(side, NULL, LULL_SKIP_STEP, 0), LULL_ERROR_HANDLE, "handle");
  CHECK_FAILS(lull_bound_slowdown(side, 0), LULL_ERROR_HANDLE, "handle");
  CHECK_FAILS(lull_assume_slowdown(side, "job", 0), LULL_ERROR_HANDLE, "handle");
  CHECK_FAILS(lull_get_steps(side, "job", &steps), LULL_ERROR_HANDLE, "handle");
  CHECK_FAILS(lull_submit(side, "compute", NULL, &made), LULL_ERROR_HANDLE, "handle");
  CHECK_FAILS(lull_report(side, LULL_FORMAT_TEXT, text, sizeof text, &needed), LULL_ERROR_HANDLE, "handle");
  CHECK_FAILS(lull_pause_all(side, 0), LULL_ERROR_HANDLE, "handle");
  CHECK_FAILS(lull_resume_all(side), LULL_ERROR_HANDLE, "handle");
  CHECK_FAILS(lull_wait_all(side, 0), LULL_ERROR_HANDLE, "handle");
  CHECK_FAILS(lull_destroy(side), LULL_ERROR_HANDLE, "handle");
  CHECK_FAILS(lull_submit_graph(side, &flag, &graph, &made), LULL_ERROR_HANDLE, "handle");
  CHECK_FAILS(lull_job_feed(job, 1), LULL_ERROR_HANDLE, "handle");
  CHECK_FAILS(lull_job_get_status(job, &status), LULL_ERROR_HANDLE, "handle");
  CHECK_FAILS(lull_job_pause(job), LULL_ERROR_HANDLE, "handle");
  CHECK_FAILS(lull_job_resume(job), LULL_ERROR_HANDLE, "handle");
  CHECK_FAILS(lull_job_cancel(job), LULL_ERROR_HANDLE, "handle");
  CHECK_FAILS(lull_job_wait(job, 0), LULL_ERROR_HANDLE, "handle");
  CHECK_FAILS(lull_job_result(job, text, sizeof text, &needed), LULL_ERROR_HANDLE, "handle");
  CHECK_FAILS(lull_job_verify(job, &flag, text, sizeof text, &needed), LULL_ERROR_HANDLE, "handle");
  CHECK_FAILS(lull_job_destroy(job, 0), LULL_ERROR_HANDLE, "handle");
  CHECK_FAILS(lull_threads_stream_sleep(stream, 1), LULL_ERROR_HANDLE, "handle");
  CHECK_FAILS(lull_threads_stream_synchronize(stream), LULL_ERROR_HANDLE, "handle");
  CHECK_FAILS(lull_threads_stream_destroy(stream), LULL_ERROR_HANDLE, "handle");
}

static void nulls_are_refused(lull_runtime* side, lull_job* job, lull_threads_stream* stream) {
  lull_steps steps;
  lull_options options = LULL_OPTIONS;
  lull_job* made = (lull_job*)1;
  lull_bubble bubble = 1;
  char text[64];
  size_t needed;
  CHECK_FAILS(lull_create(NULL, &side), LULL_ERROR_ARGUMENT, "options is null");
  CHECK(side == NULL);
  CHECK_FAILS(lull_create(&options, NULL), LULL_ERROR_ARGUMENT, "runtime is null");
  side = start(LULL_MODE_ON);
  CHECK_FAILS(lull_get_mode(side, NULL, NULL, 0, NULL), LULL_ERROR_ARGUMENT, "mode is null");
  CHECK_FAILS(lull_get_counts(side, NULL), LULL_ERROR_ARGUMENT, "counts is null");
  CHECK_FAILS(lull_report(side, 4, text, sizeof text, &needed), LULL_ERROR_ARGUMENT, "format is 4");
  CHECK_FAILS(lull_report(side, LULL_FORMAT_TEXT, NULL, 0, NULL), LULL_ERROR_ARGUMENT, "needed is null");
  CHECK_FAILS(lull_tasks(NULL, 0, NULL), LULL_ERROR_ARGUMENT, "needed is null");
  CHECK_FAILS(lull_tasks(NULL, 1, &needed), LULL_ERROR_ARGUMENT, "text is null");
  CHECK_FAILS(lull_tasks(text, 0, &needed), LULL_ERROR_SIZE, "buffer has");
  CHECK_FAILS(lull_open(side, stream, NULL, &bubble), LULL_ERROR_ARGUMENT, "site is null");
  CHECK(bubble == 0);
  CHECK_FAILS(lull_open(side, stream, "site", NULL), LULL_ERROR_ARGUMENT, "bubble is null");
  CHECK_FAILS(lull_open(side, NULL, "site", &bubble), LULL_ERROR_HANDLE,
              "null"); /* on threads there is no default stream */
  CHECK_FAILS(lull_close(side, 1, NULL), LULL_ERROR_HANDLE, "null");
  CHECK_OK(lull_close(side, 0, NULL)); /* nothing was opened, so nothing is closed */
  CHECK_FAILS(lull_ready(side, stream, NULL), LULL_ERROR_ARGUMENT, "ready is null");
  CHECK_FAILS(lull_step(side, NULL, LULL_NEXT_STEP, 0), LULL_ERROR_HANDLE, "null");
  CHECK_FAILS(lull_step(side, NULL, 1, 0), LULL_ERROR_HANDLE, "null");
  CHECK_FAILS(lull_step(side, stream, 1, -1), LULL_ERROR_ARGUMENT, "work is -1");
  CHECK_FAILS(lull_step(side, stream, 1, strtod("nan", NULL)), LULL_ERROR_ARGUMENT, "work is nan");
  CHECK_FAILS(lull_bound_slowdown(side, 2), LULL_ERROR_ARGUMENT, "max_slowdown is 2");
  CHECK_FAILS(lull_assume_slowdown(side, NULL, 0), LULL_ERROR_ARGUMENT, "name is null");
  CHECK_FAILS(lull_assume_slowdown(side, "job", -1), LULL_ERROR_ARGUMENT, "-1");
  CHECK_OK(lull_assume_slowdown(side, "job", 0.01));
  CHECK_FAILS(lull_get_steps(side, NULL, NULL), LULL_ERROR_ARGUMENT, "steps is null");
  steps.size = sizeof steps;
  CHECK_OK(lull_get_steps(side, "job", &steps));
  CHECK(!steps.is_known && steps.slowdown == 0);
  CHECK_FAILS(lull_submit(side, NULL, NULL, &made), LULL_ERROR_ARGUMENT, "task is null");
  CHECK(made == NULL);
  CHECK_FAILS(lull_submit(side, "compute", NULL, NULL), LULL_ERROR_ARGUMENT, "job is null");
  CHECK_FAILS(lull_job_get_status(job, NULL), LULL_ERROR_ARGUMENT, "status is null");
  CHECK_FAILS(lull_job_verify(job, NULL, text, sizeof text, &needed), LULL_ERROR_ARGUMENT, "ok is null");
  CHECK_FAILS(lull_threads_stream_create(NULL), LULL_ERROR_ARGUMENT, "stream is null");
  CHECK_OK(lull_destroy(side));
}

static void graphs_are_refused(lull_runtime* side, lull_job* task) {
  lull_graph_options options = LULL_GRAPH_OPTIONS;
  int stands_for_one = 0;
  void* stream = &stands_for_one;
  lull_job* job = (lull_job*)1;

  CHECK_FAILS(lull_submit_graph(side, NULL, &options, &job), LULL_ERROR_ARGUMENT, "graph is null");
  CHECK(job == NULL);
  CHECK_FAILS(lull_submit_graph(side, &stands_for_one, NULL, &job), LULL_ERROR_ARGUMENT, "options is null");
  CHECK_FAILS(lull_submit_graph(side, &stands_for_one, &options, NULL), LULL_ERROR_ARGUMENT, "job is null");
  CHECK_FAILS(lull_submit_graph(side, &stands_for_one, &options, &job), LULL_ERROR_ARGUMENT, "CUDA graph");
  options.name = "";
  CHECK_FAILS(lull_submit_graph(side, &stands_for_one, &options, &job), LULL_ERROR_ARGUMENT, "options->name");
  options.size = 0;
  CHECK_FAILS(lull_submit_graph(side, &stands_for_one, &options, &job), LULL_ERROR_ABI, "size");
  CHECK_FAILS(lull_job_feed(task, 1), LULL_ERROR_STATE, "feeds itself");
  CHECK_FAILS(lull_graph_stream(side, &stream), LULL_ERROR_ARGUMENT, "CUDA");
  CHECK(stream == NULL);
  CHECK_FAILS(lull_graph_stream(side, NULL), LULL_ERROR_ARGUMENT, "stream is null");
  CHECK(lull_pool_allocate(1 << 20, 0, NULL) == NULL);
  lull_pool_free(NULL, 0, 0, NULL);
}

static void requests_are_checked(lull_runtime* side, lull_threads_stream* stream) {
  static char long_site[300];
  lull_job_options options = {sizeof options, 0, -1, 0, NULL, NULL, 0};
  lull_job* job = NULL;
  lull_bubble bubble;
  CHECK_FAILS(lull_submit(side, "pagerang", NULL, &job), LULL_ERROR_ARGUMENT, "known: pagerank");
  CHECK_FAILS(lull_submit(side, "compute:itens=3", NULL, &job), LULL_ERROR_ARGUMENT, "items");
  CHECK_FAILS(lull_submit(side, "compute:items=0", NULL, &job), LULL_ERROR_ARGUMENT, "items");
  CHECK_FAILS(lull_submit(side, "pagerank:graph=/nowhere/at-all.el", NULL, &job), LULL_ERROR_INPUT,
              "/nowhere/at-all.el");
  CHECK_FAILS(lull_submit(side, "compute:items=16", &options, &job), LULL_ERROR_ARGUMENT, "blocks_per_processor");
  options.blocks_per_processor = 0;
  options.checkpoint_every_ns = -2;
  CHECK_FAILS(lull_submit(side, "compute:items=16", &options, &job), LULL_ERROR_ARGUMENT, "checkpoint_every_ns is -2");
  options.checkpoint_every_ns = 0;
  options.name = "";
  CHECK_FAILS(lull_submit(side, "compute:items=16", &options, &job), LULL_ERROR_ARGUMENT, "name");
  options.size = 0;
  CHECK_FAILS(lull_submit(side, "compute:items=16", &options, &job), LULL_ERROR_ABI, "size");
  CHECK(job == NULL);
  CHECK_FAILS(lull_open(side, stream, "", &bubble), LULL_ERROR_ARGUMENT, "1 to 255 bytes");
  memset(long_site, 'x', sizeof long_site - 1);
  CHECK_FAILS(lull_open(side, stream, long_site, &bubble), LULL_ERROR_ARGUMENT, "1 to 255 bytes");
  CHECK_FAILS(lull_threads_stream_sleep(stream, 11 * SECOND), LULL_ERROR_ARGUMENT, "10 seconds");
}

static int32_t exchange_that_is_not_called(void* context, void* stream) {
  (void)context;
  (void)stream;
  CHECK(!"nothing is captured");
  return 0;
}

/* What is refused before the exchange, on any machine. */
static void exchange_needs_are_checked(void) {
  static const int32_t no_such_device = 1000;
  lull_exchange_need need;
  char text[256];
  size_t needed = 0;
  memset(&need, 0x55, sizeof need);
  need.size = sizeof need;
  CHECK_FAILS(lull_measure_reserved_groups(no_such_device, exchange_that_is_not_called, NULL, 1, &need, text,
                                           sizeof text, &needed),
              LULL_ERROR_ARGUMENT, "CUDA");
  CHECK(need.size == sizeof need && need.reserved_groups == 0 && need.shared_bytes == 0 && text[0] == '\0');
  CHECK_FAILS(lull_measure_reserved_groups(0, NULL, NULL, 1, &need, text, sizeof text, NULL), LULL_ERROR_ARGUMENT,
              "exchange is null");
  CHECK_FAILS(lull_measure_reserved_groups(0, exchange_that_is_not_called, NULL, 0, &need, text, sizeof text, NULL),
              LULL_ERROR_ARGUMENT, "resident is 0: it must be at least 1");
  CHECK_FAILS(lull_measure_reserved_groups(-1, exchange_that_is_not_called, NULL, 1, &need, text, sizeof text, NULL),
              LULL_ERROR_ARGUMENT, "device is -1");
  CHECK_FAILS(lull_measure_reserved_groups(0, exchange_that_is_not_called, NULL, 1, NULL, text, sizeof text, NULL),
              LULL_ERROR_ARGUMENT, "need is null");
  CHECK_FAILS(lull_measure_reserved_groups(0, exchange_that_is_not_called, NULL, 1, &need, NULL, 0, NULL),
              LULL_ERROR_ARGUMENT, "needed is null");
  CHECK_FAILS(lull_measure_reserved_groups(0, exchange_that_is_not_called, NULL, 1, &need, NULL, 8, NULL),
              LULL_ERROR_ARGUMENT, "text is null");
  CHECK_FAILS(lull_measure_reserved_groups(0, exchange_that_is_not_called, NULL, 1, &need, text, 0, NULL),
              LULL_ERROR_SIZE, "the buffer has 0");
  need.size = 3;
  CHECK_FAILS(lull_measure_reserved_groups(0, exchange_that_is_not_called, NULL, 1, &need, text, sizeof text, NULL),
              LULL_ERROR_ABI, "sizeof");
}

static void memory_is_limited(void) {
  lull_options options = LULL_OPTIONS;
  lull_runtime* side = NULL;
  lull_job* job = NULL;
  options.executor = LULL_EXECUTOR_THREADS;
  options.processors = 1;
  options.memory_limit_bytes = 8 << 20;
  CHECK_OK(lull_create(&options, &side));
  CHECK_FAILS(lull_submit(side, "streaming:items=100000", NULL, &job), LULL_ERROR_LIMIT, "memory");
  CHECK(job == NULL);
  CHECK_FAILS(lull_submit(side, "product:rows=65536,columns=65536,depth=65536,count=65536", NULL, &job),
              LULL_ERROR_LIMIT, "not enough memory: product needs 1.5 PiB, and ");
  CHECK_OK(lull_submit(side, "compute:items=16", NULL, &job)); /* nothing was left behind */
  CHECK_OK(lull_destroy(side));
}

static void handles_run_out(void) {
  lull_threads_stream* all[257];
  int i;
  for (i = 0; i < 256; ++i) CHECK_OK(lull_threads_stream_create(&all[i]));
  CHECK_FAILS(lull_threads_stream_create(&all[256]), LULL_ERROR_LIMIT, "256 handles");
  CHECK_OK(lull_threads_stream_destroy(all[100]));
  CHECK_OK(lull_threads_stream_create(&all[256]));
  CHECK(all[256] != all[100]);
  CHECK_FAILS(lull_threads_stream_synchronize(all[100]), LULL_ERROR_HANDLE, "not alive");
  all[100] = all[256];
  for (i = 0; i < 256; ++i) CHECK_OK(lull_threads_stream_destroy(all[i]));
}

int main(void) {
  lull_runtime* side;
  lull_job* job = NULL;
  lull_threads_stream* stream = NULL;
  char text[65536];

  CHECK(lull_error_text()[0] == '\0');
  CHECK(strchr(lull_version(), '.') != NULL);
  CHECK_OK(lull_tasks(text, sizeof text, NULL));
  CHECK(strstr(text, "pagerank") != NULL && strstr(text, "kronecker") != NULL && strstr(text, "compute") != NULL);

  other_abis_are_refused();
  sizes_are_kept_to();
  options_are_checked();
  refuses(NULL, NULL, NULL);
  refuses((lull_runtime*)text, (lull_job*)text, (lull_threads_stream*)text); /* pointers to something else */
  refuses((lull_runtime*)(uintptr_t)0x10000, (lull_job*)(uintptr_t)0x20000, (lull_threads_stream*)(uintptr_t)0x30000);

  side = start(LULL_MODE_ON);
  CHECK_OK(lull_threads_stream_create(&stream));
  CHECK_OK(lull_submit(side, "compute:items=16,rounds=1", NULL, &job));
  refuses((lull_runtime*)job, (lull_job*)stream, (lull_threads_stream*)side); /* of another kind */
  nulls_are_refused(side, job, stream);
  graphs_are_refused(side, job);
  requests_are_checked(side, stream);
  CHECK_OK(lull_destroy(side));
  CHECK_OK(lull_threads_stream_destroy(stream));
  refuses(side, job, stream); /* dead: the job died with its runtime */

  exchange_needs_are_checked();
  memory_is_limited();
  handles_run_out();
  return 0;
}
