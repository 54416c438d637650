// SPDX-License-Identifier: Apache-2.0
// Linked into the tests that tests/one_thread.cmake lists: one that makes a thread ends its process. ThreadSanitizer
// does not run them.
#include <cstdio>
#include <cstdlib>

#include <pthread.h>

extern "C" int pthread_create(pthread_t*, pthread_attr_t const*, void* (*)(void*), void*) noexcept {
  std::fputs("this test makes a thread: take it out of tests/one_thread.cmake, so that ThreadSanitizer runs it\n",
             stderr);
  std::_Exit(1);
}
