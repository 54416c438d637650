/* SPDX-License-Identifier: Apache-2.0 */
/* What the C programs of these tests share: a check that names its line, and a runtime on CPU threads. */
#ifndef LULL_TESTS_C_CHECK_H
#define LULL_TESTS_C_CHECK_H

#include <lull/host/lull_threads.h> /* first: it needs nothing before it */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MILLISECOND ((uint64_t)1000000)
#define SECOND ((uint64_t)1000000000)

/* Ends the program where something is not so. */
#define CHECK(so)                                                                                          \
  do {                                                                                                     \
    if (!(so)) {                                                                                           \
      fprintf(stderr, "%s:%d: not so: %s (last error: %s)\n", __FILE__, __LINE__, #so, lull_error_text()); \
      exit(1);                                                                                             \
    }                                                                                                      \
  } while (0)

#define CHECK_OK(call) CHECK((call) == LULL_OK)

/* The call fails with this status and says something with these words in it. */
#define CHECK_FAILS(call, status, words)               \
  do {                                                 \
    CHECK((call) == (status));                         \
    CHECK(strstr(lull_error_text(), (words)) != NULL); \
  } while (0)

/* Of two blocks. */
lull_runtime* start(lull_mode mode);
/* Bubbles of 2 ms on the stream until the job is over; how many it took. */
int run_in_bubbles(lull_runtime* side, lull_threads_stream* stream, lull_job* job);
lull_job_state state_of(lull_job* job);

#endif
