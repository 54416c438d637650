// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <lull/graph/read_in_strips.hpp>
#include <lull/host/array.hpp>
#include <lull/host/error.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/threads/executor.hpp>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace lull {
namespace {

/// Notes how much it is asked for at once, and fails where that is told.
class asked_machine final : public threads_executor {
 public:
  asked_machine() : threads_executor({.kind = executor_kind::threads}) {}
  void read(void* to, void const* from, std::size_t bytes) override {
    if (fails) throw usage_error{"it is gone"};
    most = std::max(most, bytes);
    threads_executor::read(to, from, bytes);
  }

  bool fails = false;
  std::size_t most = 0;
};

class read_in_strips : public testing::Test {
 protected:
  std::unique_ptr<executor> machine_ = make_executor({.kind = executor_kind::threads});

  /// Reads rows whose words are their places, and expects each row once and whole.
  void expect_each_row_once(std::uint64_t rows, std::uint64_t width) {
    SCOPED_TRACE(std::to_string(rows) + " rows of " + std::to_string(width) + " words");
    std::vector<std::uint32_t> words(rows * width);
    std::iota(words.begin(), words.end(), 0U);
    device_array<std::uint32_t> const array{*machine_, std::span<std::uint32_t const>{words}};
    std::mutex lock;
    std::vector<int> calls(rows);
    std::uint64_t wrong = 0;
    detail::read_in_strips(*machine_, array.data(), rows, width, [&](std::uint64_t first, auto const some) {
      std::scoped_lock const guard{lock};
      ASSERT_EQ(some.size() % width, 0U);
      for (std::size_t i = 0; i < some.size(); ++i) wrong += some[i] != first * width + i ? 1 : 0;
      for (std::uint64_t row = first; row < first + some.size() / width; ++row) ++calls.at(row);
    });
    EXPECT_EQ(wrong, 0U);
    EXPECT_EQ(calls, std::vector<int>(rows, 1));
  }
};

TEST_F(read_in_strips, calls_for_each_row_once) {
  expect_each_row_once(1, 1);
  expect_each_row_once(17, 3);
  expect_each_row_once(3 * detail::strip_words + 5, 1);
  expect_each_row_once(detail::strip_words / 7 + 1, 7);  // a strip of whole rows is shorter than strip_words
}

TEST_F(read_in_strips, reads_a_row_that_is_longer_than_a_strip) { expect_each_row_once(2, detail::strip_words + 1); }

TEST_F(read_in_strips, does_nothing_without_rows) {
  std::uint64_t calls = 0;
  detail::read_in_strips(*machine_, static_cast<std::uint32_t const*>(nullptr), 0, 4,
                         [&](std::uint64_t, std::span<std::uint32_t const>) { ++calls; });
  EXPECT_EQ(calls, 0U);
}

TEST_F(read_in_strips, asks_for_a_strip_at_a_time) {
  asked_machine machine;
  device_array<std::uint64_t> const array{machine, 3 * detail::strip_words};
  detail::read_in_strips(machine, array.data(), array.size(), 1, [](std::uint64_t, std::span<std::uint64_t const>) {});
  EXPECT_EQ(machine.most, detail::strip_words * sizeof(std::uint64_t));
}

TEST_F(read_in_strips, throws_what_reading_throws) {
  asked_machine machine;
  device_array<std::uint64_t> const array{machine, 10};
  machine.fails = true;
  EXPECT_THROW(
      detail::read_in_strips(machine, array.data(), 10, 1, [](std::uint64_t, std::span<std::uint64_t const>) {}),
      usage_error);
}

TEST_F(read_in_strips, throws_what_a_call_throws) {
  device_array<std::uint64_t> const array{*machine_, 1000};
  EXPECT_THROW(detail::read_in_strips(*machine_, array.data(), 1000, 1,
                                      [](std::uint64_t, std::span<std::uint64_t const>) { throw usage_error{"no"}; }),
               usage_error);
}

}  // namespace
}  // namespace lull
