// SPDX-License-Identifier: Apache-2.0
// The collectives of a team on CPU threads.
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/threads/block.hpp>

namespace lull {
namespace {

/// x → times × x + plus, applied one after the other: associative, not commutative.
struct map {
  std::uint32_t times;
  std::uint32_t plus;

  struct then {
    map operator()(map a, map b) const noexcept { return {a.times * b.times, a.plus * b.times + b.plus}; }
  };
  bool operator==(map const&) const = default;
};

class team_of : public testing::TestWithParam<int> {
 protected:
  void run(std::function<void(thread_block const&)> const& member) const {
    block_storage storage{GetParam(), 0};
    std::vector<std::jthread> members;
    for (int rank = 0; rank < GetParam(); ++rank) {
      members.emplace_back([&, rank] { member(thread_block{storage, rank, GetParam(), 1}); });
    }
  }
};

TEST_P(team_of, scans_from_the_first_value_on_in_the_order_of_ranks) {
  run([](thread_block const& team) {
    for (std::uint32_t turn = 0; turn < 200; ++turn) {
      auto const value_of = [turn](int rank) { return map{static_cast<std::uint32_t>(rank) + turn + 2, 3 * turn + 1}; };
      map expected{turn, 7};
      for (int rank = 0; rank < team.rank(); ++rank) expected = map::then{}(expected, value_of(rank));
      EXPECT_EQ(team.exclusive_scan(value_of(team.rank()), map{turn, 7}, map::then{}), expected);
    }
  });
}

TEST_P(team_of, sums_to_all) {
  run([](thread_block const& team) {
    for (int turn = 0; turn < 200; ++turn) {
      EXPECT_EQ(team.sum(team.rank() + turn), team.size() * (team.size() - 1) / 2 + team.size() * turn);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(sizes, team_of, testing::Values(1, 2, 4));

}  // namespace
}  // namespace lull
