/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that are saved in a folder: taken up again by another runtime, and refused where that cannot be. */
#define _DEFAULT_SOURCE /* mkdtemp, flock */
#include <lull/tests/apps/c/check.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/lull_saved_test.XXXXXX";

static char const* in_folder(char const* name) {
  static char path[256];
  sprintf(path, "%s/saved/%s", folder, name);
  return path;
}

static int is_there(char const* name) {
  struct stat found;
  return stat(in_folder(name), &found) == 0;
}

/* Its checkpoint is folder/saved. */
static lull_job_options saved_as(char const* name) {
  static char path[256];
  lull_job_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  sprintf(path, "%s/saved", folder);
  options.name = name;
  options.checkpoint = path;
  return options;
}

static uint64_t phases_of(lull_job* job) {
  lull_job_status status;
  memset(&status, 0, sizeof status);
  status.size = sizeof status;
  CHECK_OK(lull_job_get_status(job, &status));
  return status.phases;
}

static void a_bubble(lull_runtime* side, lull_threads_stream* stream) {
  lull_bubble bubble = 0;
  CHECK_OK(lull_open(side, stream, "receive", &bubble));
  CHECK_OK(lull_threads_stream_sleep(stream, 2 * MILLISECOND));
  CHECK_OK(lull_close(side, bubble, stream));
  CHECK_OK(lull_threads_stream_synchronize(stream));
}

static void jobs_go_on_where_a_runtime_ended(void) {
  char const* const task = "compute:items=64,rounds=400,fma=20000";
  lull_job_options options = saved_as(NULL);
  lull_threads_stream* stream = NULL;
  uint64_t reached = 0;
  int lives = 0;
  int finished = 0;

  CHECK_OK(lull_threads_stream_create(&stream));
  for (lives = 0; !finished; ++lives) {
    lull_runtime* const side = start(LULL_MODE_ON);
    lull_job* job = NULL;
    CHECK(lives < 1000);
    CHECK_OK(lull_submit(side, task, &options, &job));
    CHECK(phases_of(job) >= reached);
    reached = phases_of(job);
    while (lull_job_wait(job, 0) == LULL_TIMED_OUT && phases_of(job) < reached + 60) a_bubble(side, stream);
    finished = state_of(job) == LULL_JOB_FINISHED;
    reached = phases_of(job);
    if (finished) {
      int ok = 0;
      size_t needed = 0;
      char text[1024];
      CHECK_OK(lull_job_verify(job, &ok, text, sizeof text, &needed));
      CHECK(ok == 1 && strstr(text, "64 items completed 400 rounds") != NULL);
      CHECK_OK(lull_job_result(job, text, sizeof text, &needed));
      CHECK(!is_there("compute.safetensors"));
    }
    CHECK_OK(lull_destroy(side));
    CHECK(finished || is_there("compute.safetensors"));
  }
  CHECK(lives > 2);
  CHECK_OK(lull_threads_stream_destroy(stream));
}

static void jobs_are_saved_where_they_are_cancelled_or_destroyed(void) {
  lull_job_options options = saved_as("kept");
  lull_runtime* const side = start(LULL_MODE_ON);
  lull_job* job = NULL;
  CHECK_OK(lull_submit(side, "compute:items=64,rounds=9", &options, &job));
  CHECK_OK(lull_job_pause(job));
  CHECK_OK(lull_job_resume(job));
  CHECK_OK(lull_job_destroy(job, 10 * SECOND));
  CHECK(is_there("kept.safetensors"));
  CHECK_FAILS(lull_submit(side, "compute:items=64,rounds=10", &options, &job), LULL_ERROR_INPUT, "kept.safetensors");
  CHECK_OK(lull_submit(side, "compute:items=64,rounds=9", &options, &job));
  CHECK_OK(lull_destroy(side));
}

static void names_are_of_one_job_each(void) {
  lull_job_options named = saved_as("mine");
  lull_job_options unnamed = saved_as(NULL);
  lull_job_options wrong = saved_as("../mine");
  lull_runtime* const side = start(LULL_MODE_ON);
  lull_job* jobs[5];
  CHECK_OK(lull_submit(side, "compute:items=4,rounds=9", &named, &jobs[0]));
  CHECK_FAILS(lull_submit(side, "compute:items=4,rounds=9", &named, &jobs[1]), LULL_ERROR_ARGUMENT, "'mine'");
  CHECK_FAILS(lull_submit(side, "compute:items=4,rounds=9", &wrong, &jobs[1]), LULL_ERROR_ARGUMENT, "'/'");
  CHECK_OK(lull_submit(side, "compute:items=4,rounds=9", &unnamed, &jobs[1]));
  CHECK_OK(lull_submit(side, "compute:items=4,rounds=9", &unnamed, &jobs[2]));
  CHECK_OK(lull_job_destroy(jobs[0], 10 * SECOND));
  CHECK_OK(lull_submit(side, "compute:items=4,rounds=9", &named, &jobs[3])); /* free again */
  CHECK_OK(lull_destroy(side));
  CHECK(is_there("mine.safetensors") && is_there("compute.safetensors") && is_there("compute-2.safetensors"));
}

static void folders_are_of_one_process_each(void) {
  lull_job_options options = saved_as("shared");
  lull_job* job = NULL;
  int status = 0;
  int ready[2];
  int done[2];
  char byte = 0;
  pid_t other;
  lull_runtime* side;
  CHECK(pipe(ready) == 0 && pipe(done) == 0);
  other = fork();
  if (other == 0) {
    side = start(LULL_MODE_ON);
    CHECK_OK(lull_submit(side, "compute:items=4,rounds=9", &options, &job));
    CHECK(write(ready[1], &byte, 1) == 1);
    CHECK(read(done[0], &byte, 1) == 1);
    raise(SIGKILL);
  }
  CHECK(other > 0 && read(ready[0], &byte, 1) == 1);
  side = start(LULL_MODE_ON);
  CHECK_FAILS(lull_submit(side, "compute:items=4,rounds=9", &options, &job), LULL_ERROR_ARGUMENT, "another process");
  CHECK(write(done[1], &byte, 1) == 1);
  CHECK(waitpid(other, &status, 0) == other && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  CHECK_OK(lull_submit(side, "compute:items=4,rounds=9", &options, &job));
  CHECK_OK(lull_destroy(side));
}

/* As another process would find it. */
static int is_free(void) {
  int const opened = open(in_folder("."), O_RDONLY);
  int const locked = opened >= 0 && flock(opened, LOCK_EX | LOCK_NB) == 0;
  CHECK(opened >= 0 && close(opened) == 0);
  return locked;
}

static void folders_are_free_when_their_jobs_are_gone(void) {
  lull_job_options options = saved_as("first");
  lull_runtime* const side = start(LULL_MODE_ON);
  lull_job* jobs[2];
  CHECK(is_free());
  CHECK_OK(lull_submit(side, "compute:items=4,rounds=9", &options, &jobs[0]));
  options.name = "second";
  CHECK_OK(lull_submit(side, "compute:items=4,rounds=9", &options, &jobs[1]));
  CHECK_OK(lull_job_destroy(jobs[0], 10 * SECOND));
  CHECK(!is_free());
  CHECK_OK(lull_destroy(side));
  CHECK(is_free());
}

static void nothing_is_saved_where_nothing_runs(void) {
  lull_job_options options = saved_as("observed");
  lull_runtime* const side = start(LULL_MODE_OBSERVE);
  lull_job* job = NULL;
  CHECK_OK(lull_submit(side, "compute:items=4,rounds=9", &options, &job));
  CHECK_OK(lull_destroy(side));
  CHECK(!is_there("observed.safetensors"));
}

static void remove_all(void) {
  char command[300];
  sprintf(command, "rm -r '%s'", folder);
  CHECK(system(command) == 0);
}

int main(void) {
  CHECK(mkdtemp(folder) != NULL);
  folders_are_of_one_process_each(); /* first: it forks */
  jobs_go_on_where_a_runtime_ended();
  jobs_are_saved_where_they_are_cancelled_or_destroyed();
  names_are_of_one_job_each();
  folders_are_free_when_their_jobs_are_gone();
  nothing_is_saved_where_nothing_runs();
  remove_all();
  return 0;
}
