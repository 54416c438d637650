/* SPDX-License-Identifier: Apache-2.0 */
/* A trainer's stream on CPU threads, for tests and demonstrations of lull.h without a GPU. */
#ifndef LULL_HOST_LULL_THREADS_H
#define LULL_HOST_LULL_THREADS_H

#include <lull/host/lull.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lull_threads_stream lull_threads_stream;
lull_status lull_threads_stream_create(lull_threads_stream** stream); /* at most 256 live at a time */
/* Enqueues a kernel that takes so long, at most 10 seconds. Does not block. */
lull_status lull_threads_stream_sleep(lull_threads_stream* stream, uint64_t ns);
lull_status lull_threads_stream_synchronize(lull_threads_stream* stream); /* blocks until all has run */
lull_status lull_threads_stream_destroy(lull_threads_stream* stream);     /* runs what is queued first */

#ifdef __cplusplus
}
#endif

#endif
