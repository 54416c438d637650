// SPDX-License-Identifier: Apache-2.0
// Linked into the tests that lull_test() registers as ONE_THREAD: one that makes a thread ends its process.
// ThreadSanitizer does not run them.
#include <cstdio>
#include <cstdlib>

#include <pthread.h>

extern "C" int pthread_create(pthread_t*, pthread_attr_t const*, void* (*)(void*), void*) noexcept {
  std::fputs("this test makes a thread: take away its ONE_THREAD, so that ThreadSanitizer runs it\n", stderr);
  std::_Exit(1);
}
