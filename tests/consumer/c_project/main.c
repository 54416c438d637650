/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include <lull/host/lull_threads.h>

static int check(lull_status status) {
  if (status == LULL_OK) return 1;
  fprintf(stderr, "%s\n", lull_error_text());
  return 0;
}

int main(void) {
  lull_options options = LULL_OPTIONS;
  lull_runtime* side = NULL;
  lull_threads_stream* stream = NULL;
  lull_job* job = NULL;
  int step;

  options.executor = LULL_EXECUTOR_THREADS;
  if (!check(lull_create(&options, &side)) || !check(lull_threads_stream_create(&stream)) ||
      !check(lull_submit(side, "compute:items=100,rounds=3", NULL, &job))) {
    return 1;
  }
  for (step = 0; step < 10000 && lull_job_wait(job, 0) == LULL_TIMED_OUT; ++step) {
    lull_bubble bubble = 0;
    if (!check(lull_open(side, stream, "step", &bubble)) || !check(lull_threads_stream_sleep(stream, 1000000)) ||
        !check(lull_close(side, bubble, stream)) || !check(lull_threads_stream_synchronize(stream))) {
      return 1;
    }
  }
  if (!check(lull_job_wait(job, 0)) || !check(lull_destroy(side)) || !check(lull_threads_stream_destroy(stream)))
    return 1;
  printf("consumer: ok, with liblull %s\n", lull_version());
  return 0;
}
