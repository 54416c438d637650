// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/executor.hpp>
#include <lull/host/task/counter_random.hpp>
#include <lull/tasks/images/pinned_pool.hpp>

namespace lull {
namespace {

std::unique_ptr<executor> const executor = make_executor({.kind = executor_kind::threads});

TEST(pinned_pool, parts_never_overlap_and_come_back_whole) {
  pinned_pool pool{*executor, 64 * pinned_pool::line};
  counter_random const random{3, 0};
  std::vector<pinned_pool::part> held;
  for (std::uint64_t turn = 0; turn < 20'000; ++turn) {
    if (!held.empty() && random.below(2 * turn, 2) == 0) {
      std::swap(held[random.below(2 * turn + 1, held.size())], held.back());
      held.pop_back();
    } else if (auto part = pool.take(1 + random.below(2 * turn + 1, 12 * pinned_pool::line))) {
      held.push_back(std::move(*part));
    }
    std::vector<std::pair<unsigned char*, unsigned char*>> all;
    for (auto const& each : held) all.emplace_back(each.bytes().data(), each.bytes().data() + each.bytes().size());
    std::sort(all.begin(), all.end());
    for (std::size_t i = 1; i < all.size(); ++i) ASSERT_LE(all[i - 1].second, all[i].first);
  }
  held.clear();
  EXPECT_TRUE(pool.take(pool.bytes()));
}

TEST(pinned_pool, what_does_not_fit_is_not_given) {
  pinned_pool pool{*executor, 1000};
  EXPECT_FALSE(pool.take(pool.bytes() + 1));
  auto const whole = pool.take(pool.bytes());
  EXPECT_TRUE(whole);
  EXPECT_FALSE(pool.take(1));
}

TEST(copy_lane, copies_in_the_order_of_the_calls_and_says_when) {
  auto const lane = executor->make_copy_lane();
  auto* const pinned = static_cast<std::uint32_t*>(executor->pin(4 * 1000));
  auto* const there = static_cast<std::uint32_t*>(executor->allocate(4 * 1000));
  std::vector<std::uint32_t> back(1000);
  for (std::uint32_t i = 0; i < 1000; ++i) pinned[i] = 7 * i;
  EXPECT_TRUE(lane->done());
  lane->copy_in(there, pinned, 4 * 1000);
  lane->copy_out(back.data(), there, 4 * 1000);
  for (int looks = 0; looks < 10'000'000 && !lane->done(); ++looks) {
  }
  ASSERT_TRUE(lane->done());
  EXPECT_EQ(back[999], 6993U);
  executor->release(there);
  executor->unpin(pinned);
}

}  // namespace
}  // namespace lull
