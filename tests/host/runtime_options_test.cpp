// SPDX-License-Identifier: Apache-2.0
// What a runtime does of what it is asked for: the environment's word, and limits.
#include <cstddef>
#include <cstdlib>

#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/host/runtime.hpp>
#include <lull/host/threads/stream.hpp>
#include <lull/tests/support/cursor_state.hpp>

namespace lull {
namespace {

TEST(runtime, off_in_the_environment_places_no_operation) {
  ASSERT_EQ(setenv("LULL", "off", 1), 0);
  probe_arrays arrays{{10}};
  threads_stream trainer;
  {
    runtime side{{.machine = {.kind = executor_kind::threads}}};
    job const task = side.submit(arrays.task());
    for (int i = 0; i < 100; ++i) bubble const idle{side, &trainer, site{"wait"}};
    EXPECT_EQ(side.counts()[counted::opened], 0U);
  }
  ASSERT_EQ(setenv("LULL", "sometimes", 1), 0);
  EXPECT_THROW(runtime({.machine = {.kind = executor_kind::threads}}), usage_error);
  unsetenv("LULL");
}

TEST(runtime, memory_over_the_limit_is_refused_with_the_figures) {
  probe_arrays arrays{{10}};
  runtime side{{.machine = {.kind = executor_kind::threads, .memory_limit_bytes = std::size_t{4} << 20}}};
  EXPECT_THROW(side.machine().allocate(std::size_t{8} << 20), limit_error);
}

}  // namespace
}  // namespace lull
