// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <lull/graph/kcore/target_counts.hpp>
#include <map>
#include <thread>
#include <vector>

namespace lull::detail {
namespace {

struct team_of_one {
  int rank() const noexcept { return 0; }
  int size() const noexcept { return 1; }
};

using counts = std::map<std::uint32_t, std::uint32_t>;

template <std::uint32_t Places>
counts counted(target_counts<Places> const& table) {
  counts made;
  for (std::uint32_t at = 0; at < Places; ++at) {
    if (table.vertex[at] == table.none) {
      EXPECT_EQ(table.times[at], 0U);
    } else {
      EXPECT_TRUE(made.emplace(table.vertex[at], table.times[at]).second) << "twice in the table";
    }
  }
  return made;
}

TEST(target_counts, holds_each_target_once_with_its_count) {
  target_counts<64> table;
  table.clear(team_of_one{});
  EXPECT_TRUE(counted(table).empty());
  counts expected;
  for (std::uint32_t i = 0; i < 200; ++i) {
    std::uint32_t const target = i % 3 == 0 ? 7 : i * i % 23 * 1'000'003;
    table.add(target);
    ++expected[target];
  }
  EXPECT_EQ(counted(table), expected);
  table.clear(team_of_one{});
  EXPECT_TRUE(counted(table).empty());
}

/// Up to the last place, whatever the targets: each search comes by all places.
TEST(target_counts, can_be_filled) {
  for (std::uint32_t const stride : {1U, 2U, 64U, 4096U, 1U << 24, 0x1234'5679U}) {
    target_counts<64> table;
    table.clear(team_of_one{});
    counts expected;
    for (std::uint32_t i = 0; i < 64; ++i) {
      table.add(i * stride);
      ++expected[i * stride];
    }
    EXPECT_EQ(counted(table), expected) << stride;
  }
}

TEST(target_counts, threads_count_side_by_side) {
  target_counts<256> table;
  table.clear(team_of_one{});
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&table] {
      for (std::uint32_t i = 0; i < 3000; ++i) table.add(i % 100 * 31);
    });
  }
  for (auto& thread : threads) thread.join();
  counts expected;
  for (std::uint32_t i = 0; i < 100; ++i) expected[i * 31] = 120;
  EXPECT_EQ(counted(table), expected);
}

}  // namespace
}  // namespace lull::detail
