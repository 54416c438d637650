/* SPDX-License-Identifier: Apache-2.0 */
/* What a job that is over leaves: its memory and its handle go back while the runtime lives, and jobs that never run
   are over from the start. */
#include <lull/tests/apps/c/check.h>

#ifdef SANITIZED /* slow, and it keeps what was freed */
enum { JOBS = 500, IS_MEASURED = 0 };
#else
enum { JOBS = 10000, IS_MEASURED = 1 };
#endif
enum { SETTLED = 100, HELD = 40, LIMIT_BYTES = 64 << 20 };

/* Of 32 MiB: two at a time are more than the limit leaves. */
static char const* const large = "streaming:items=1024,rounds=1";
static char const* const ranks = "pagerank:kronecker=6,top=1";

static lull_runtime* start_with_a_limit(void) {
  lull_options options = LULL_OPTIONS;
  lull_runtime* side = NULL;
  options.executor = LULL_EXECUTOR_THREADS;
  options.processors = 2;
  options.memory_limit_bytes = LIMIT_BYTES;
  options.tasks = "pagerank,streaming";
  CHECK_OK(lull_create(&options, &side));
  return side;
}

static void a_bubble(lull_runtime* side, lull_threads_stream* stream, uint64_t ns) {
  lull_bubble bubble = 0;
  CHECK_OK(lull_open(side, stream, "receive", &bubble));
  CHECK_OK(lull_threads_stream_sleep(stream, ns));
  CHECK_OK(lull_close(side, bubble, stream));
  CHECK_OK(lull_threads_stream_synchronize(stream));
}

static void train_until_over(lull_runtime* side, lull_threads_stream* stream, lull_job* job) {
  int bubbles;
  for (bubbles = 0; lull_job_wait(job, 0) == LULL_TIMED_OUT; ++bubbles) {
    CHECK(bubbles < 200000);
    a_bubble(side, stream, MILLISECOND / 20);
  }
  CHECK(state_of(job) == LULL_JOB_FINISHED);
}

/* Of this process, in KiB. */
static long resident(void) {
  long size = 0;
  long pages = 0;
  FILE* const file = fopen("/proc/self/statm", "r");
  CHECK(file != NULL && fscanf(file, "%ld %ld", &size, &pages) == 2);
  fclose(file);
  return 4 * pages;
}

/* Their handles live on, each with its result, and with what verifying it takes. */
static void arrays_go_when_the_result_is_written(void) {
  lull_runtime* side = start_with_a_limit();
  lull_threads_stream* stream = NULL;
  lull_job* jobs[HELD];
  char before[256];
  char text[256];
  int ok = 0;
  int i;

  CHECK_OK(lull_threads_stream_create(&stream));
  for (i = 0; i < 12; ++i) {
    CHECK_OK(lull_submit(side, large, NULL, &jobs[i]));
    train_until_over(side, stream, jobs[i]);
    if (i == 0) CHECK_OK(lull_job_verify(jobs[i], &ok, before, sizeof before, NULL));
    CHECK_OK(lull_job_result(jobs[i], text, sizeof text, NULL));
  }
  for (; i < HELD; ++i) {
    CHECK_OK(lull_submit(side, ranks, NULL, &jobs[i]));
    train_until_over(side, stream, jobs[i]);
    CHECK_OK(lull_job_result(jobs[i], text, sizeof text, NULL));
    CHECK(strstr(text, "converged") != NULL);
  }
  for (i = 0; i < HELD; ++i) {
    CHECK(state_of(jobs[i]) == LULL_JOB_FINISHED);
    CHECK_OK(lull_job_pause(jobs[i]));
    CHECK_OK(lull_job_resume(jobs[i]));
    CHECK_OK(lull_job_cancel(jobs[i]));
    CHECK_OK(lull_job_wait(jobs[i], 0));
    CHECK_OK(lull_job_verify(jobs[i], &ok, text, sizeof text, NULL));
    CHECK(ok == 1 && text[0] != '\0');
    if (i == 0) CHECK(strcmp(text, before) == 0);
    CHECK_OK(lull_job_verify(jobs[i], &ok, text, sizeof text, NULL)); /* again, from what was found */
    CHECK(ok == 1);
  }
  CHECK_OK(lull_destroy(side));
  CHECK_OK(lull_threads_stream_destroy(stream));
}

/* Room for what verifying takes is asked for only then, and asked for again where it was not there. */
static void verifying_takes_room_for_a_moment(void) {
  lull_runtime* side = start_with_a_limit();
  lull_threads_stream* stream = NULL;
  lull_job* job = NULL;
  lull_job* other = NULL;
  char text[256];
  int ok = 0;

  CHECK_OK(lull_threads_stream_create(&stream));
  CHECK_OK(lull_submit(side, "streaming:items=1280,rounds=1", NULL, &job)); /* 40 of the 64 MiB */
  train_until_over(side, stream, job);
  CHECK_OK(lull_job_result(job, text, sizeof text, NULL));
  CHECK_OK(lull_submit(side, "streaming:items=1280,rounds=1", NULL, &other));
  CHECK_FAILS(lull_job_verify(job, &ok, text, sizeof text, NULL), LULL_ERROR_LIMIT, "memory");
  CHECK_OK(lull_job_destroy(other, 10 * SECOND));
  CHECK_OK(lull_job_verify(job, &ok, text, sizeof text, NULL));
  CHECK(ok == 1);
  CHECK_OK(lull_destroy(side));
  CHECK_OK(lull_threads_stream_destroy(stream));
}

static void ten_thousand_one_after_another(void) {
  lull_runtime* side = start_with_a_limit();
  lull_threads_stream* stream = NULL;
  long settled = 0;
  int i;

  CHECK_OK(lull_threads_stream_create(&stream));
  for (i = 0; i < JOBS; ++i) {
    lull_job* job = NULL;
    char text[256];
    CHECK_OK(lull_submit(side, i % 500 == 0 ? large : ranks, NULL, &job));
    if (i % 3 == 0) {
      CHECK_OK(lull_job_cancel(job));
    } else {
      train_until_over(side, stream, job);
      CHECK_OK(lull_job_result(job, text, sizeof text, NULL));
    }
    CHECK_OK(lull_job_destroy(job, 10 * SECOND));
    if (i == SETTLED) settled = resident();
  }
  CHECK(!IS_MEASURED || resident() - settled <= JOBS - SETTLED); /* a KiB a job */
  CHECK_OK(lull_destroy(side));
  CHECK_OK(lull_threads_stream_destroy(stream));
}

/* Every call on a job that will never run returns at once, and says so or does nothing. */
static void jobs_that_never_run_are_off(lull_mode mode) {
  lull_runtime* side = start(mode);
  lull_graph_options graph = LULL_GRAPH_OPTIONS;
  int stands_for_one = 0;
  lull_job* jobs[2];
  char text[256];
  size_t needed = 0;
  int ok = 1;
  int i;

  graph.is_fed = 1;
  CHECK_OK(lull_why_off(side, text, sizeof text, &needed));
  CHECK(needed == 1 && text[0] == '\0');                                            /* as asked for */
  CHECK_OK(lull_submit(side, "pagerank:graph=/nowhere/at-all.el", NULL, &jobs[0])); /* nothing is read */
  CHECK_OK(lull_submit_graph(side, &stands_for_one, &graph, &jobs[1]));
  CHECK_FAILS(lull_submit(side, "pagerang", NULL, &jobs[0]), LULL_ERROR_ARGUMENT, "known: pagerank");
  CHECK_OK(lull_submit(side, "compute", NULL, &jobs[0]));
  CHECK_OK(lull_wait_all(side, 0));
  for (i = 0; i < 2; ++i) {
    CHECK(state_of(jobs[i]) == LULL_JOB_OFF);
    CHECK_OK(lull_job_wait(jobs[i], 0));
    CHECK_OK(lull_job_wait(jobs[i], UINT64_MAX));
    CHECK_OK(lull_job_pause(jobs[i]));
    CHECK_OK(lull_job_resume(jobs[i]));
    CHECK_OK(lull_job_cancel(jobs[i]));
    CHECK_OK(lull_job_hold(jobs[i], 0));
    CHECK_OK(lull_job_let_go(jobs[i]));
    CHECK(state_of(jobs[i]) == LULL_JOB_OFF);
    CHECK_OK(lull_job_result(jobs[i], text, sizeof text, &needed));
    CHECK(needed == 1 && text[0] == '\0');
  }
  CHECK_OK(lull_job_feed(jobs[1], 7));
  CHECK_OK(lull_job_verify(jobs[0], &ok, text, sizeof text, NULL));
  CHECK(ok == 0 && strstr(text, "never ran") != NULL);
  CHECK_OK(lull_job_destroy(jobs[0], 0));
  CHECK_OK(lull_destroy(side));
}

int main(void) {
  jobs_that_never_run_are_off(LULL_MODE_OFF);
  jobs_that_never_run_are_off(LULL_MODE_OBSERVE);
  arrays_go_when_the_result_is_written();
  verifying_takes_room_for_a_moment();
  ten_thousand_one_after_another();
  return 0;
}
