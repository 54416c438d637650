// SPDX-License-Identifier: Apache-2.0
// What programs cannot see of the C library: what it makes of their options.
#include <chrono>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include <lull/host/c/boundary.hpp>
#include <lull/host/c/options.hpp>

namespace lull::c {
namespace {

using namespace std::chrono_literals;

lull_options on_threads() {
  lull_options made = LULL_OPTIONS;
  made.executor = LULL_EXECUTOR_THREADS;
  made.processors = 1;
  made.tasks = "";
  return made;
}

std::size_t loaded(char const* tasks) {
  lull_options asked = on_threads();
  asked.tasks = tasks;
  return read_options(asked).tasks.size();
}

TEST(options, say_how_long_a_worker_may_wait) {
  lull_options asked = on_threads();
  EXPECT_FALSE(read_options(asked).armed_ahead.has_value());
  asked.armed_ahead_us = -1;
  EXPECT_EQ(read_options(asked).armed_ahead, 0ns);
  for (std::int32_t const us : {1, 250, 1'000'000'000}) {
    asked.armed_ahead_us = us;
    EXPECT_EQ(read_options(asked).armed_ahead, std::chrono::microseconds{us});
  }
  for (std::int32_t const us : {-2, std::numeric_limits<std::int32_t>::min(), 1'000'000'001, std::numeric_limits<std::int32_t>::max()}) {
    asked.armed_ahead_us = us;
    EXPECT_THROW(read_options(asked), refusal) << us;
  }
}

TEST(options, name_each_type_once) {
  EXPECT_EQ(loaded(""), 0U);
  EXPECT_EQ(loaded("compute"), 1U);
  EXPECT_EQ(loaded("compute,streaming,compute:items=7;rounds=3"), 2U);
  EXPECT_EQ(loaded("product,product:rows=64;columns=64"), 1U);
  EXPECT_EQ(loaded("product:leave=saved;rows=64,product:rows=64;leave=saved,product:leave=behind,compute"), 3U);
}

}  // namespace
}  // namespace lull::c
