/* SPDX-License-Identifier: Apache-2.0 */
/* A C89 trainer that takes side tasks from a shared library: loaded at start and when submitted, verified, refused. */
#include <lull/tests/apps/c/check.h>

#define COUNTING LULL_LIBRARIES "/libcounting.so"

/* A runtime of two blocks that loads `tasks` at start. */
static lull_status create(char const* tasks, lull_runtime** side) {
  lull_options options = LULL_OPTIONS;
  options.executor = LULL_EXECUTOR_THREADS;
  options.processors = 2;
  options.mode = LULL_MODE_ON;
  options.tasks = tasks;
  return lull_create(&options, side);
}

static void finishes(lull_runtime* side, char const* task, char const* says) {
  lull_threads_stream* stream = NULL;
  lull_job* job = NULL;
  char text[4096];
  size_t needed = 0;
  int ok = 0;

  CHECK_OK(lull_threads_stream_create(&stream));
  CHECK_OK(lull_submit(side, task, NULL, &job));
  CHECK(run_in_bubbles(side, stream, job) > 0);
  CHECK(state_of(job) == LULL_JOB_FINISHED);
  CHECK_OK(lull_job_verify(job, &ok, text, sizeof text, &needed));
  CHECK(ok == 1);
  CHECK_OK(lull_job_result(job, text, sizeof text, &needed));
  CHECK(strstr(text, says) != NULL);
  CHECK_OK(lull_job_destroy(job, 10 * SECOND));
  CHECK_OK(lull_threads_stream_destroy(stream));
}

static void tasks_run_in_bubbles(void) {
  lull_runtime* side = NULL;
  CHECK_OK(create("compute," COUNTING ":count_up;rounds=3;label='a,b;c'," COUNTING ":fold", &side));
  finishes(side, COUNTING ":count_up,rounds=3,items=100,label=\"a:b,c\"", "label <a:b,c>");
  finishes(side, COUNTING ":fed", "");
  finishes(side, "compute:items=64,rounds=3", "");
  CHECK_OK(lull_destroy(side));
}

static void what_fits_not_is_refused(void) {
  lull_runtime* side = NULL;
  lull_job* job = NULL;

  CHECK_FAILS(create("libcounting.so:count_up", &side), LULL_ERROR_ARGUMENT, "write its path with a '/'");
  CHECK_FAILS(create(LULL_LIBRARIES "/libother_abi.so:x", &side), LULL_ERROR_ARGUMENT, "it was built for number 99");
  CHECK_OK(create("compute", &side));
  CHECK_FAILS(lull_submit(side, COUNTING ":cont_up", NULL, &job), LULL_ERROR_ARGUMENT, "known: count_up, ");
  CHECK_FAILS(lull_submit(side, COUNTING, NULL, &job), LULL_ERROR_ARGUMENT, "name is missing");
  CHECK_FAILS(lull_submit(side, "./none.so:x", NULL, &job), LULL_ERROR_ARGUMENT, "there is no such file in ");
  CHECK_FAILS(lull_submit(side, LULL_LIBRARIES "/libno_symbol.so:x", NULL, &job), LULL_ERROR_ARGUMENT,
              "it has no symbol lull_side_tasks");
  CHECK_FAILS(lull_submit(side, LULL_LIBRARIES "/libthrows_when_listed.so:x", NULL, &job), LULL_ERROR_ARGUMENT,
              "thrown while it listed its tasks");
  CHECK(job == NULL);
  CHECK_OK(lull_destroy(side));
}

/* What is thrown in the library comes out of this one as the status of its kind. */
static void errors_of_a_task_keep_their_kind(void) {
  lull_runtime* side = NULL;
  lull_job* job = NULL;

  CHECK_OK(create("compute", &side));
  CHECK_FAILS(lull_submit(side, COUNTING ":count_up,throws=usage", NULL, &job), LULL_ERROR_ARGUMENT,
              "lull_submit: thrown in a library");
  CHECK_FAILS(lull_submit(side, COUNTING ":count_up,throws=input", NULL, &job), LULL_ERROR_INPUT,
              "some.file:7: thrown in a library");
  CHECK_FAILS(lull_submit(side, COUNTING ":count_up,throws=limit", NULL, &job), LULL_ERROR_LIMIT, "thrown in a");
  CHECK_FAILS(lull_submit(side, COUNTING ":count_up,throws=device", NULL, &job), LULL_ERROR_DEVICE, "code_3");
  CHECK_FAILS(lull_submit(side, COUNTING ":count_up,throws=other", NULL, &job), LULL_ERROR_INTERNAL, "thrown in a");
  CHECK(job == NULL);
  CHECK_OK(lull_destroy(side));
}

int main(void) {
  tasks_run_in_bubbles();
  what_fits_not_is_refused();
  errors_of_a_task_keep_their_kind();
  return 0;
}
