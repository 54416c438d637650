/* SPDX-License-Identifier: Apache-2.0 */
#include <lull/tests/apps/c/check.h>

#include <unistd.h>

lull_runtime* start(lull_mode mode) {
  lull_options options = LULL_OPTIONS;
  lull_runtime* side = NULL;
  alarm(240); /* ends a test that hangs */
  options.executor = LULL_EXECUTOR_THREADS;
  options.mode = mode;
  options.processors = 2;
  options.tasks = "compute"; /* others are loaded when they are submitted */
  CHECK_OK(lull_create(&options, &side));
  CHECK(side != NULL);
  return side;
}

lull_job_state state_of(lull_job* job) {
  lull_job_status status;
  memset(&status, 0xff, sizeof status);
  status.size = sizeof status;
  CHECK_OK(lull_job_get_status(job, &status));
  CHECK(status.size == sizeof status);
  return (lull_job_state)status.state;
}

int run_in_bubbles(lull_runtime* side, lull_threads_stream* stream, lull_job* job) {
  int bubbles = 0;
  while (lull_job_wait(job, 0) == LULL_TIMED_OUT) {
    lull_bubble bubble = 0;
    CHECK(bubbles < 20000);
    CHECK_OK(lull_open(side, stream, "receive", &bubble));
    CHECK_OK(lull_threads_stream_sleep(stream, 2 * MILLISECOND));
    CHECK_OK(lull_close(side, bubble, stream));
    CHECK_OK(lull_threads_stream_synchronize(stream));
    ++bubbles;
  }
  return bubbles;
}
