// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <lull/graph/csr.hpp>
#include <lull/graph/read_in_strips.hpp>
#include <lull/graph/search_total.hpp>
#include <lull/host/array.hpp>
#include <lull/host/error.hpp>
#include <lull/host/executor.hpp>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace lull {
namespace {

class read_in_strips : public testing::Test {
 protected:
  std::unique_ptr<executor> machine_ = make_executor({.kind = executor_kind::threads});

  /// Reads rows whose words are their places, and expects each row once and whole.
  void expect_each_row_once(std::uint64_t rows, std::uint64_t width) {
    SCOPED_TRACE(std::to_string(rows) + " rows of " + std::to_string(width) + " words");
    std::vector<std::uint32_t> words(rows * width);
    std::iota(words.begin(), words.end(), 0U);
    machine_array<std::uint32_t> const array{*machine_, std::span<std::uint32_t const>{words}};
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

TEST_F(read_in_strips, CallsForEachRowOnce) {
  expect_each_row_once(1, 1);
  expect_each_row_once(17, 3);
  expect_each_row_once(3 * detail::strip_words + 5, 1);
  expect_each_row_once(detail::strip_words / 7 + 1, 7);  // a strip of whole rows is shorter than strip_words
}

TEST_F(read_in_strips, ReadsARowThatIsLongerThanAStrip) { expect_each_row_once(2, detail::strip_words + 1); }

TEST_F(read_in_strips, DoesNothingWithoutRows) {
  std::uint64_t calls = 0;
  detail::read_in_strips(*machine_, static_cast<std::uint32_t const*>(nullptr), 0, 4,
                         [&](std::uint64_t, std::span<std::uint32_t const>) { ++calls; });
  EXPECT_EQ(calls, 0U);
}

TEST_F(read_in_strips, ThrowsWhatACallThrows) {
  machine_array<std::uint64_t> const array{*machine_, 1000};
  EXPECT_THROW(detail::read_in_strips(*machine_, array.data(), 1000, 1,
                                      [](std::uint64_t, std::span<std::uint64_t const>) { throw usage_error{"no"}; }),
               usage_error);
}

/// Two words for each vertex, of which one in three is not reached, over more than a strip.
TEST_F(read_in_strips, AddsUpWhatSearchesReached) {
  std::uint64_t const vertices = detail::strip_words / 2 + 1000;
  csr graph;
  graph.offsets.resize(vertices + 1);
  for (std::uint64_t v = 0; v < vertices; ++v) graph.offsets[v + 1] = graph.offsets[v] + v % 5;
  std::vector<std::uint32_t> words(2 * vertices);
  search_total expected;
  for (std::uint64_t at = 0; at < words.size(); ++at) {
    words[at] = at % 3 == 0 ? ~0U : static_cast<std::uint32_t>((at * 7919) % 100'003);
    if (words[at] != ~0U) expected.add({1, at / 2 % 5, 3 * words[at]});
  }
  machine_array<std::uint32_t> const array{*machine_, std::span<std::uint32_t const>{words}};
  search_total const found =
      detail::total_of_words(*machine_, array.data(), 2, graph, [](std::uint32_t word) { return 3 * word; });
  EXPECT_EQ(found.reached, expected.reached);
  EXPECT_EQ(found.edges, expected.edges);
  EXPECT_EQ(found.farthest, expected.farthest);
  EXPECT_GT(found.reached, vertices);
}

}  // namespace
}  // namespace lull
