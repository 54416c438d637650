/* SPDX-License-Identifier: Apache-2.0 */
/* Side work in a trainer's bubbles, from C; on CPU threads, which stand for a GPU. */
#include <stdio.h>

#include <lull/host/lull_threads.h>

static int failed(char const* what) {
  fprintf(stderr, "%s: %s\n", what, lull_error_text());
  return 1;
}

int main(void) {
  const uint64_t second = 1000000000;
  lull_options options = LULL_OPTIONS;
  lull_runtime* side = NULL;
  lull_threads_stream* stream = NULL;
  lull_job* job = NULL;
  lull_bubble idle = 0;
  char result[1024];
  int step;

  options.executor = LULL_EXECUTOR_THREADS;
  if (lull_threads_stream_create(&stream) != LULL_OK) return failed("stream");
  if (lull_create(&options, &side) != LULL_OK) return failed("create"); /* before training starts */
  if (lull_submit(side, "pagerank:kronecker=12,top=3", NULL, &job) != LULL_OK) return failed("submit");
  for (step = 0; step < 10000 && lull_job_wait(job, 0) == LULL_TIMED_OUT; ++step) {
    lull_open(side, stream, "recv_forward", &idle);   /* on a GPU the stream is a cudaStream_t */
    lull_threads_stream_sleep(stream, second / 1000); /* the trainer's own wait */
    lull_close(side, idle, stream);
    lull_threads_stream_synchronize(stream);
  }
  if (lull_job_result(job, result, sizeof result, NULL) != LULL_OK) return failed("result");
  puts(result);
  if (lull_destroy(side) != LULL_OK) return failed("destroy"); /* with its jobs */
  return lull_threads_stream_destroy(stream) == LULL_OK ? 0 : failed("stream");
}
