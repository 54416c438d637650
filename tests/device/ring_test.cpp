// SPDX-License-Identifier: Apache-2.0
// The ring of handed-back chunks, on threads.
#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/device/ring.hpp>
#include <lull/device/threads_world.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull {
namespace {

struct test_ring {
  explicit test_ring(std::uint64_t places) : capacity(places), groups(ring_groups(places)) {}
  ring_ref<threads_world> ref(std::uint64_t home = 0) { return {&counts, groups.data(), capacity, home}; }

  std::uint64_t capacity;
  ring_counts counts{};
  std::vector<ring_group> groups;
};

TEST(ring, zeroed_is_empty) {
  test_ring ring{4};
  EXPECT_FALSE(ring.ref().perhaps());
  EXPECT_EQ(ring.ref().pop().count, 0U);
  EXPECT_EQ(ring.counts.popped, 0U);
}

TEST(ring, gives_back_whole_what_was_pushed) {
  test_ring ring{4};
  EXPECT_TRUE(ring.ref().push({tagged{tagged::tag_mask, tagged::item_mask}, 7}));
  EXPECT_TRUE(ring.ref().push({tagged{5, 9}, 1}));
  EXPECT_TRUE(ring.ref().perhaps());
  handed_back const first = ring.ref().pop();
  EXPECT_EQ(first.at.word(), (tagged{tagged::tag_mask, tagged::item_mask}.word()));
  EXPECT_EQ(first.count, 7U);
  EXPECT_EQ(ring.ref().pop().at.word(), (tagged{5, 9}.word()));
  EXPECT_FALSE(ring.ref().perhaps());
}

TEST(ring, a_block_finds_its_own_first_and_then_any_other) {
  test_ring ring{200};
  for (std::uint64_t block = 0; block < 100; ++block) ASSERT_TRUE(ring.ref(2 * block).push({tagged{1, block}, 1}));
  EXPECT_EQ(ring.ref(2 * 70).pop().at.item(), 70U);
  EXPECT_EQ(ring.ref(2 * 3).pop().at.item(), 3U);
  EXPECT_EQ(ring.ref(2 * 99).pop().at.item(), 99U);
  std::set<std::uint64_t> others;
  for (int i = 0; i < 97; ++i) others.insert(ring.ref(2 * 70).pop().at.item());
  EXPECT_EQ(others.size(), 97U);
  EXPECT_EQ(others.count(70), 0U);
  EXPECT_EQ(ring.ref(5).pop().count, 0U);
}

TEST(ring, a_home_beyond_its_places_is_the_first) {
  test_ring ring{3};
  EXPECT_TRUE(ring.ref(1'000).push({tagged{1, 4}, 2}));
  EXPECT_EQ(ring.groups[0].full, 1U);
  EXPECT_EQ(ring.ref(3).pop().at.item(), 4U);
}

TEST(ring, full_refuses_and_takes_again_when_one_is_out) {
  for (std::uint64_t capacity : {1U, 2U, 63U, 64U, 65U, 130U}) {
    test_ring ring{capacity};
    std::set<std::uint64_t> inside;
    std::uint64_t pushed = 0;
    for (std::uint64_t lap = 0; lap < 50; ++lap) {
      while (inside.size() < capacity) {
        ASSERT_TRUE(ring.ref(lap % capacity).push({tagged{1, pushed}, 1})) << capacity;
        inside.insert(pushed++);
      }
      EXPECT_FALSE(ring.ref(lap % capacity).push({tagged{1, 999}, 999}));
      for (std::uint64_t take = 1 + lap % capacity; take > 0; --take) {
        handed_back const out = ring.ref(lap * 7 % capacity).pop();
        ASSERT_EQ(out.count, 1U);
        ASSERT_EQ(inside.erase(out.at.item()), 1U);
      }
    }
  }
}

TEST(ring, an_entry_that_is_still_being_written_is_not_found_and_its_place_not_taken) {
  test_ring ring{2};
  ring.groups[0].taken = 1;  // a pusher has taken the first place and not yet written it
  ring.counts.pushed = 1;
  EXPECT_TRUE(ring.ref().perhaps());
  EXPECT_EQ(ring.ref().pop().count, 0U);
  EXPECT_TRUE(ring.ref().push({tagged{1, 2}, 3}));  // the second place
  EXPECT_FALSE(ring.ref().push({tagged{1, 2}, 4}));
  EXPECT_EQ(ring.ref().pop().count, 3U);
  EXPECT_EQ(ring.ref().pop().count, 0U);
}

/// Threads push and pop at once; every entry comes out once, and whole.
TEST(ring, many_pushers_and_poppers_lose_and_repeat_nothing) {
  constexpr std::uint64_t threads = 4;
  constexpr std::uint64_t entries = 2000;  // of one pusher
  for (std::uint64_t capacity : {1U, 4U, 64U, 100U}) {
    test_ring ring{capacity};
    std::vector<std::atomic<int>> seen(threads * entries);
    std::atomic<std::uint64_t> out{0};
    std::atomic<int> wrong{0};
    std::vector<std::thread> all;
    for (std::uint64_t t = 0; t < threads; ++t) {
      all.emplace_back([&, t] {
        for (std::uint64_t i = 0; i < entries; ++i) {
          tagged const begin{static_cast<std::uint32_t>(t + 1), i};
          EXPECT_TRUE(within_time([&] { return ring.ref(2 * t).push({begin, t * entries + i + 1}); }));
        }
      });
      all.emplace_back([&, t] {
        EXPECT_TRUE(within_time([&] {
          handed_back const entry = ring.ref(2 * t).pop();
          if (entry.count == 0) return out.load() == threads * entries;
          ++out;
          std::uint64_t const pusher = entry.at.tag() - 1;
          if (pusher >= threads || entry.count != pusher * entries + entry.at.item() + 1) {
            ++wrong;
          } else if (seen[entry.count - 1].fetch_add(1) != 0) {
            ++wrong;
          }
          return false;
        }));
      });
    }
    for (std::thread& thread : all) thread.join();
    EXPECT_EQ(wrong.load(), 0) << "capacity " << capacity;
    EXPECT_EQ(ring.counts.pushed, threads * entries);
    EXPECT_EQ(ring.counts.popped, threads * entries);
  }
}

}  // namespace
}  // namespace lull
