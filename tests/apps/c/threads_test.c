/* SPDX-License-Identifier: Apache-2.0 */
/* Calls from several threads: bubbles on a stream each, control of one job from all, waits that a destruction ends. */
#define _POSIX_C_SOURCE 200112L
#include <pthread.h>

#include <lull/tests/apps/c/check.h>

enum { trainers = 3, bubbles = 200 };

static lull_runtime* side;
static lull_job* job;

static void* train(void* unused) {
  lull_threads_stream* stream = NULL;
  lull_job* own = NULL;
  int i;
  CHECK_OK(lull_threads_stream_create(&stream));
  CHECK_OK(lull_submit(side, "compute:items=32,rounds=2", NULL, &own));
  for (i = 0; i < bubbles; ++i) {
    lull_bubble bubble = 0;
    CHECK_OK(lull_open(side, stream, "receive", &bubble));
    CHECK_OK(lull_threads_stream_sleep(stream, MILLISECOND / 10));
    CHECK_OK(lull_close(side, bubble, stream));
    if (i % 7 == 0) CHECK_OK(lull_job_pause(job));
    if (i % 7 == 3) CHECK_OK(lull_job_resume(job));
    if (i % 20 == 0) CHECK_OK(lull_threads_stream_synchronize(stream));
  }
  CHECK_OK(lull_threads_stream_synchronize(stream));
  CHECK_OK(lull_job_destroy(own, 10 * SECOND));
  CHECK_OK(lull_threads_stream_destroy(stream));
  return unused;
}

/* Ends when the job is destroyed; its time has no end. */
static void* wait_for_ever(void* unused) {
  lull_status status;
  CHECK(lull_error_text()[0] == '\0'); /* a thread of its own, so no error yet */
  status = lull_job_wait(job, UINT64_MAX);
  CHECK(status == LULL_ERROR_HANDLE || status == LULL_OK); /* OK: the cancellation came first */
  return unused;
}

/* Opens and closes until the runtime is gone. */
static void* train_beyond_the_end(void* unused) {
  lull_threads_stream* stream = NULL;
  lull_status status = LULL_OK;
  CHECK_OK(lull_threads_stream_create(&stream));
  while (status == LULL_OK) {
    lull_bubble bubble = 0;
    status = lull_open(side, stream, "receive", &bubble);
    CHECK_OK(lull_threads_stream_sleep(stream, MILLISECOND / 10));
    if (status == LULL_OK) status = lull_close(side, bubble, stream);
    CHECK_OK(lull_threads_stream_synchronize(stream));
  }
  CHECK(status == LULL_ERROR_HANDLE);
  CHECK_OK(lull_threads_stream_destroy(stream));
  return unused;
}

int main(void) {
  pthread_t threads[trainers];
  int i;
  side = start(LULL_MODE_ON);
  CHECK_OK(lull_submit(side, "compute:items=64,rounds=1000000000", NULL, &job));
  for (i = 0; i < trainers; ++i) CHECK(pthread_create(&threads[i], NULL, train, NULL) == 0);
  for (i = 0; i < trainers; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK_OK(lull_job_resume(job));
  CHECK(pthread_create(&threads[0], NULL, wait_for_ever, NULL) == 0);
  CHECK(pthread_create(&threads[1], NULL, train_beyond_the_end, NULL) == 0);
  CHECK(lull_job_wait(job, 100 * MILLISECOND) == LULL_TIMED_OUT);
  CHECK_OK(lull_destroy(side));
  CHECK(pthread_join(threads[0], NULL) == 0);
  CHECK(pthread_join(threads[1], NULL) == 0);
  return 0;
}
