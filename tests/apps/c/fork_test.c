/* SPDX-License-Identifier: Apache-2.0 */
/* In a forked child every call with a handle of its parent returns at once and does nothing: also where threads of the
   parent were inside calls, which no thread of the child ever ends. */
#define _POSIX_C_SOURCE 200112L
#include <pthread.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <lull/tests/apps/c/check.h>

static lull_runtime* side;
static lull_job* job;

static void* drain(void* unused) {
  CHECK_OK(lull_wait_all(side, UINT64_MAX));
  return unused;
}

static void* wait_for_job(void* unused) {
  CHECK_OK(lull_job_wait(job, UINT64_MAX));
  return unused;
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

#define CHECK_FORKED(call) CHECK_FAILS(call, LULL_ERROR_STATE, "forked")

static void in_child(lull_threads_stream* stream, lull_bubble open) {
  double const begin = seconds();
  lull_bubble bubble = 1;
  lull_mode mode;
  lull_counts counts;
  lull_job_status status;
  lull_job* another = NULL;
  int answer = 0;
  size_t needed = 0;
  counts.size = sizeof counts;
  status.size = sizeof status;
  CHECK_FORKED(lull_destroy(side));
  CHECK_FORKED(lull_job_destroy(job, UINT64_MAX));
  CHECK_FORKED(lull_job_wait(job, UINT64_MAX));
  CHECK_FORKED(lull_job_cancel(job));
  CHECK_FORKED(lull_job_get_status(job, &status));
  CHECK_FORKED(lull_job_result(job, NULL, 0, &needed));
  CHECK_FORKED(lull_job_verify(job, &answer, NULL, 0, &needed));
  CHECK_FORKED(lull_submit(side, "compute:items=16", NULL, &another));
  CHECK_FORKED(lull_open(side, stream, "receive", &bubble));
  CHECK(bubble == 0);
  CHECK_FORKED(lull_close(side, open, stream));
  CHECK_FORKED(lull_ready(side, stream, &answer));
  CHECK_FORKED(lull_step(side, stream, LULL_NEXT_STEP, 0));
  CHECK_FORKED(lull_pause_all(side, UINT64_MAX));
  CHECK_FORKED(lull_resume_all(side));
  CHECK_FORKED(lull_wait_all(side, UINT64_MAX));
  CHECK_FORKED(lull_get_mode(side, &mode, NULL, 0, NULL));
  CHECK_FORKED(lull_get_counts(side, &counts));
  CHECK_FORKED(lull_report(side, LULL_FORMAT_TEXT, NULL, 0, &needed));
  CHECK_FORKED(lull_threads_stream_synchronize(stream));
  CHECK_FORKED(lull_threads_stream_destroy(stream));
  CHECK(seconds() - begin < 1);
  _exit(0);
}

int main(void) {
  lull_threads_stream* stream = NULL;
  pthread_t inside[2];
  lull_bubble bubble = 0;
  int ready = 0;
  int status = -1;
  int i;
  pid_t child;
  side = start(LULL_MODE_ON);
  CHECK_OK(lull_threads_stream_create(&stream));
  CHECK_OK(lull_submit(side, "compute:items=64,rounds=1000000000", NULL, &job));
  while (!ready) CHECK_OK(lull_ready(side, stream, &ready));
  CHECK_OK(lull_open(side, stream, "receive", &bubble));
  CHECK(bubble != 0);
  CHECK(pthread_create(&inside[0], NULL, drain, NULL) == 0);
  CHECK(pthread_create(&inside[1], NULL, wait_for_job, NULL) == 0);
  CHECK(lull_job_wait(job, 100 * MILLISECOND) == LULL_TIMED_OUT); /* they are inside by now */
  child = fork();
  CHECK(child >= 0);
  if (child == 0) in_child(stream, bubble);
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  /* the parent's go on as before */
  CHECK_OK(lull_close(side, bubble, stream));
  CHECK_OK(lull_job_cancel(job));
  for (i = 0; i < 2; ++i) CHECK(pthread_join(inside[i], NULL) == 0);
  CHECK(state_of(job) == LULL_JOB_CANCELLED);
  CHECK_OK(lull_destroy(side));
  CHECK_OK(lull_threads_stream_destroy(stream));
  return 0;
}
