/* SPDX-License-Identifier: Apache-2.0 */
/* A C89 trainer: jobs in its bubbles, from submit to result; observing; pausing and cancelling; the log. */
#include <lull/tests/apps/c/check.h>

static void jobs_run_in_bubbles(void) {
  lull_runtime* side = start(LULL_MODE_DEFAULT);
  lull_threads_stream* stream = NULL;
  lull_job* compute = NULL;
  lull_job* ranks = NULL;
  lull_job_options first = {sizeof first, 5, 0, 0, "first", NULL, 0};
  lull_job_status status;
  lull_counts counts;
  lull_mode mode;
  char text[4096];
  size_t needed = 0;
  int ok = 0;
  int ready = 0;
  int tries;

  CHECK_OK(lull_get_mode(side, &mode, NULL, 0, NULL));
  CHECK(mode == LULL_MODE_ON);
  CHECK_OK(lull_threads_stream_create(&stream));
  CHECK_OK(lull_submit(side, "compute:items=64,rounds=20,fma=200", &first, &compute));
  CHECK_FAILS(lull_job_result(compute, text, sizeof text, &needed), LULL_ERROR_STATE, "wait until it has finished");
  CHECK_FAILS(lull_job_verify(compute, &ok, text, sizeof text, &needed), LULL_ERROR_STATE,
              "wait until it has finished");
  CHECK(lull_job_wait(compute, MILLISECOND) == LULL_TIMED_OUT);
  for (tries = 0; ready == 0 && tries < 10000; ++tries) {
    CHECK_OK(lull_ready(side, stream, &ready));
    CHECK(lull_job_wait(compute, MILLISECOND) == LULL_TIMED_OUT);
  }
  CHECK(ready == 1);
  CHECK(run_in_bubbles(side, stream, compute) > 0);
  CHECK(state_of(compute) == LULL_JOB_FINISHED);
  memset(&status, 0, sizeof status);
  status.size = sizeof status;
  CHECK_OK(lull_job_get_status(compute, &status));
  CHECK(status.items == 64 * 20 && status.phases == 20 && status.failure == 0);
  CHECK_OK(lull_job_verify(compute, &ok, text, sizeof text, &needed));
  CHECK(ok == 1 && strstr(text, "64 items completed 20 rounds") != NULL && needed == strlen(text) + 1);

  CHECK_OK(lull_submit(side, "pagerank:kronecker=8,top=3", NULL, &ranks));
  run_in_bubbles(side, stream, ranks);
  CHECK(state_of(ranks) == LULL_JOB_FINISHED);
  CHECK_OK(lull_job_result(ranks, NULL, 0, &needed));
  CHECK(needed > 10 && needed <= sizeof text);
  CHECK_FAILS(lull_job_result(ranks, text, needed - 1, NULL), LULL_ERROR_SIZE, "but the buffer has");
  CHECK_OK(lull_job_result(ranks, text, needed, NULL));
  CHECK(strlen(text) + 1 == needed && strstr(text, "converged") != NULL);
  CHECK_OK(lull_job_verify(ranks, &ok, NULL, 0, &needed));
  CHECK(ok == 1 && needed > 1);

  counts.size = sizeof counts;
  CHECK_OK(lull_get_counts(side, &counts));
  CHECK(counts.opened > 0 && counts.launches > 0 && counts.nested == 0 && counts.unmatched == 0);
  CHECK_OK(lull_job_destroy(compute, SECOND));
  CHECK_OK(lull_destroy(side)); /* with `ranks` */
  CHECK_OK(lull_threads_stream_destroy(stream));
}

static void jobs_are_controlled(void) {
  lull_runtime* side = start(LULL_MODE_ON);
  lull_threads_stream* stream = NULL;
  lull_job* endless = NULL;
  lull_bubble bubble = 0;
  int tries;
  int ready = 0;

  CHECK_OK(lull_threads_stream_create(&stream));
  CHECK_OK(lull_submit(side, "compute:items=64,rounds=1000000000,fma=100", NULL, &endless));
  for (tries = 0; ready == 0 && tries < 10000; ++tries) {
    CHECK_OK(lull_ready(side, stream, &ready));
    CHECK(lull_job_wait(endless, MILLISECOND) == LULL_TIMED_OUT);
  }
  CHECK(state_of(endless) == LULL_JOB_PLACED);
  /* In the middle of a bubble. */
  CHECK_OK(lull_open(side, stream, "receive", &bubble));
  CHECK(bubble != 0);
  CHECK_OK(lull_threads_stream_sleep(stream, 50 * MILLISECOND));
  CHECK_OK(lull_close(side, bubble, stream));
  CHECK_OK(lull_job_pause(endless));
  for (tries = 0; state_of(endless) != LULL_JOB_PAUSED && tries < 10000; ++tries) {
    CHECK(lull_job_wait(endless, MILLISECOND) == LULL_TIMED_OUT);
  }
  CHECK(state_of(endless) == LULL_JOB_PAUSED);
  CHECK_OK(lull_job_resume(endless));
  for (tries = 0; state_of(endless) != LULL_JOB_PLACED && tries < 10000; ++tries) {
    CHECK(lull_job_wait(endless, MILLISECOND) == LULL_TIMED_OUT);
  }
  CHECK(state_of(endless) == LULL_JOB_PLACED);
  CHECK(lull_wait_all(side, 20 * MILLISECOND) == LULL_TIMED_OUT);
  CHECK_OK(lull_job_cancel(endless));
  CHECK_OK(lull_wait_all(side, 10 * SECOND));
  CHECK_OK(lull_job_wait(endless, 10 * SECOND));
  CHECK(state_of(endless) == LULL_JOB_CANCELLED);
  CHECK_OK(lull_job_resume(endless));
  CHECK(state_of(endless) == LULL_JOB_CANCELLED);
  CHECK_OK(lull_threads_stream_destroy(stream)); /* first, while the runtime lives */
  CHECK_OK(lull_destroy(side));
}

/* Nothing runs while all is paused, though a job stands by and bubbles come. */
static void all_is_quiet(void) {
  lull_runtime* side = start(LULL_MODE_ON);
  lull_threads_stream* stream = NULL;
  lull_job* job = NULL;
  int ready = 1;
  int i;

  CHECK_OK(lull_threads_stream_create(&stream));
  CHECK_FAILS(lull_resume_all(side), LULL_ERROR_STATE, "nothing is paused");
  CHECK_OK(lull_pause_all(side, 10 * SECOND));
  CHECK_OK(lull_pause_all(side, 10 * SECOND));
  CHECK_OK(lull_submit(side, "compute:items=16,rounds=3", NULL, &job));
  CHECK_OK(lull_resume_all(side));
  for (i = 0; i < 20; ++i) { /* still paused: one resume is missing */
    lull_bubble bubble = 0;
    CHECK_OK(lull_open(side, stream, "receive", &bubble));
    CHECK_OK(lull_threads_stream_sleep(stream, MILLISECOND));
    CHECK_OK(lull_close(side, bubble, stream));
    CHECK_OK(lull_threads_stream_synchronize(stream));
    CHECK(bubble == 0);
  }
  CHECK_OK(lull_ready(side, stream, &ready));
  CHECK(ready == 0 && state_of(job) == LULL_JOB_QUEUED);
  CHECK_OK(lull_resume_all(side));
  run_in_bubbles(side, stream, job);
  CHECK(state_of(job) == LULL_JOB_FINISHED);
  CHECK_FAILS(lull_resume_all(side), LULL_ERROR_STATE, "nothing is paused");
  CHECK_OK(lull_destroy(side));
  CHECK_OK(lull_threads_stream_destroy(stream));
}

static void bubbles_are_observed(void) {
  lull_runtime* side = start(LULL_MODE_OBSERVE);
  lull_threads_stream* stream = NULL;
  lull_bubble outer = 0;
  lull_bubble inner = 1;
  lull_counts counts;
  lull_mode mode;
  static char text[100000];
  size_t needed = 0;
  int tries;

  CHECK_OK(lull_get_mode(side, &mode, NULL, 0, NULL));
  CHECK(mode == LULL_MODE_OBSERVE);
  CHECK_OK(lull_threads_stream_create(&stream));
  CHECK_OK(lull_open(side, stream, "outer", &outer));
  CHECK(outer != 0);
  CHECK_OK(lull_open(side, stream, "inner", &inner));
  CHECK(inner == 0); /* nested: ignored */
  CHECK_OK(lull_close(side, inner, stream));
  CHECK_OK(lull_threads_stream_sleep(stream, MILLISECOND));
  CHECK_OK(lull_close(side, outer, stream));
  CHECK_OK(lull_close(side, outer, stream)); /* a second time: ignored */
  memset(&counts, 0, sizeof counts);
  counts.size = sizeof counts;
  CHECK_OK(lull_get_counts(side, &counts));
  CHECK(counts.opened == 1 && counts.nested == 1 && counts.unmatched == 1 && counts.launches == 0);

  /* The report, three ways, once the dispatcher has read the bubble's length. */
  CHECK_OK(lull_threads_stream_synchronize(stream));
  for (tries = 0; strstr(text, "outer") == NULL && tries < 10000; ++tries) {
    CHECK_OK(lull_threads_stream_sleep(stream, MILLISECOND));
    CHECK_OK(lull_threads_stream_synchronize(stream));
    CHECK_OK(lull_report(side, LULL_FORMAT_JSON, text, sizeof text, &needed));
    CHECK(needed == strlen(text) + 1);
  }
  CHECK(strstr(text, "\"lull.bubbles/2\"") != NULL && strstr(text, "\"outer\"") != NULL &&
        strstr(text, "inner") == NULL);
  CHECK_FAILS(lull_report(side, LULL_FORMAT_JSON, text, 10, &needed), LULL_ERROR_SIZE, "but the buffer has 10");
  CHECK_OK(lull_report(side, LULL_FORMAT_TEXT, text, sizeof text, &needed));
  CHECK(strstr(text, "outer") != NULL);
  CHECK_OK(lull_report(side, LULL_FORMAT_TRACE, text, sizeof text, &needed));
  CHECK(strstr(text, "traceEvents") != NULL);
  CHECK_FAILS(lull_report(side, 3, text, sizeof text, &needed), LULL_ERROR_ARGUMENT, "take LULL_FORMAT_TRACE");
  CHECK_FAILS(lull_report(side, 4, text, sizeof text, &needed), LULL_ERROR_ARGUMENT, "format is 4: 0 to 2");
  CHECK_OK(lull_destroy(side));
  CHECK_OK(lull_threads_stream_destroy(stream));
}

/* Written when the runtime ends, with what came until then. */
static void a_report_is_written_at_the_end(void) {
  lull_options options = LULL_OPTIONS;
  lull_runtime* side = NULL;
  lull_threads_stream* stream = NULL;
  lull_bubble bubble = 0;
  static char text[20000];
  FILE* file;

  options.executor = LULL_EXECUTOR_THREADS;
  options.processors = 1;
  options.mode = LULL_MODE_OBSERVE;
  options.report = "c_harvest_test.%q";
  CHECK_FAILS(lull_create(&options, &side), LULL_ERROR_ARGUMENT, ".json");
  options.report = "c_harvest_test.%d.json";
  remove("c_harvest_test.0.json");
  CHECK_OK(lull_create(&options, &side));
  CHECK_OK(lull_threads_stream_create(&stream));
  CHECK_OK(lull_open(side, stream, "last", &bubble));
  CHECK_OK(lull_threads_stream_sleep(stream, MILLISECOND));
  CHECK_OK(lull_close(side, bubble, stream));
  CHECK_OK(lull_destroy(side));
  CHECK_OK(lull_threads_stream_destroy(stream));
  file = fopen("c_harvest_test.0.json", "r");
  CHECK(file != NULL);
  CHECK(fread(text, 1, sizeof text - 1, file) > 0);
  fclose(file);
  remove("c_harvest_test.0.json");
  CHECK(strstr(text, "\"last\"") != NULL);
}

static void nothing_happens_when_off(void) {
  lull_runtime* side = start(LULL_MODE_OFF);
  lull_threads_stream* stream = NULL;
  lull_bubble bubble = 1;
  lull_mode mode;

  CHECK_OK(lull_get_mode(side, &mode, NULL, 0, NULL));
  CHECK(mode == LULL_MODE_OFF);
  CHECK_OK(lull_threads_stream_create(&stream));
  CHECK_OK(lull_open(side, stream, "receive", &bubble));
  CHECK(bubble == 0);
  CHECK_OK(lull_close(side, bubble, stream));
  CHECK_OK(lull_destroy(side));
  CHECK_OK(lull_threads_stream_destroy(stream));
}

enum { MOST_STREAMS = 16 }; /* that are harvested at a time */

/* Comes on a thread of the library's. */
static void count_line(void* context, char const* line) {
  CHECK(strstr(line, "more streams at a time than there are gates") != NULL);
  __atomic_add_fetch((int*)context, 1, __ATOMIC_SEQ_CST);
}

static int counted(int* lines) { return __atomic_load_n(lines, __ATOMIC_SEQ_CST); }

/* More streams at a time than there are gates are worth a line. */
static void the_log_tells(void) {
  lull_options options = LULL_OPTIONS;
  lull_runtime* side = NULL;
  lull_threads_stream* streams[MOST_STREAMS + 1];
  lull_bubble bubble = 0;
  int lines = 0;
  int i;

  options.executor = LULL_EXECUTOR_THREADS;
  options.mode = LULL_MODE_ON;
  options.processors = 1;
  options.log = count_line;
  options.log_context = &lines;
  CHECK_OK(lull_create(&options, &side));
  for (i = 0; i < MOST_STREAMS + 1; ++i) {
    CHECK_OK(lull_threads_stream_create(&streams[i]));
    CHECK(counted(&lines) == 0);
    CHECK_OK(lull_open(side, streams[i], "receive", &bubble));
    CHECK_OK(lull_close(side, bubble, streams[i]));
  }
  for (i = 0; counted(&lines) == 0 && i < 10000; ++i) {
    CHECK_OK(lull_threads_stream_sleep(streams[0], MILLISECOND));
    CHECK_OK(lull_threads_stream_synchronize(streams[0]));
  }
  CHECK(counted(&lines) == 1);
  CHECK_OK(lull_destroy(side));
  CHECK(counted(&lines) == 1);
  for (i = 0; i < MOST_STREAMS + 1; ++i) CHECK_OK(lull_threads_stream_destroy(streams[i]));
}

int main(void) {
  jobs_run_in_bubbles();
  jobs_are_controlled();
  all_is_quiet();
  bubbles_are_observed();
  a_report_is_written_at_the_end();
  nothing_happens_when_off();
  the_log_tells();
  return 0;
}
