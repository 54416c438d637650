// SPDX-License-Identifier: Apache-2.0
// The ring of handed-back chunks, on threads.
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/device/ring.hpp>
#include <lull/device/threads_world.hpp>

namespace lull {
namespace {

struct test_ring {
  explicit test_ring(std::uint64_t capacity) : cells(capacity) {}
  ring_ref<threads_world> ref() { return {&ends, cells.data(), cells.size()}; }

  ring_ends ends{};
  std::vector<ring_cell> cells;
};

TEST(ring, zeroed_is_empty) {
  test_ring ring{4};
  EXPECT_FALSE(ring.ref().perhaps());
  EXPECT_EQ(ring.ref().pop().count, 0U);
  EXPECT_EQ(ring.ends.popped, 0U);
}

TEST(ring, gives_back_in_order_what_was_pushed_whole) {
  test_ring ring{4};
  EXPECT_TRUE(ring.ref().push({tagged{tagged::tag_mask, tagged::item_mask}, 7}));
  EXPECT_TRUE(ring.ref().push({tagged{5, 9}, 1}));
  EXPECT_TRUE(ring.ref().perhaps());
  handed_back const first = ring.ref().pop();
  EXPECT_EQ(first.at.tag(), tagged::tag_mask);
  EXPECT_EQ(first.at.item(), tagged::item_mask);
  EXPECT_EQ(first.count, 7U);
  EXPECT_EQ(ring.ref().pop().at.word(), (tagged{5, 9}.word()));
  EXPECT_FALSE(ring.ref().perhaps());
}

TEST(ring, full_refuses_and_takes_again_when_one_is_out_over_many_laps) {
  for (std::uint64_t capacity : {1U, 2U, 8U}) {
    test_ring ring{capacity};
    std::uint64_t pushed = 0;
    std::uint64_t popped = 0;
    for (int lap = 0; lap < 50; ++lap) {
      while (pushed < popped + capacity) ASSERT_TRUE(ring.ref().push({tagged{1, pushed}, ++pushed}));
      EXPECT_FALSE(ring.ref().push({tagged{1, 999}, 999}));
      for (std::uint64_t take = 1 + static_cast<std::uint64_t>(lap) % capacity; take > 0; --take) {
        ASSERT_EQ(ring.ref().pop().count, ++popped);
      }
    }
  }
}

TEST(ring, whose_oldest_entry_is_still_being_written_looks_empty) {
  test_ring ring{2};
  ring.ends.pushed = 1;  // a pusher has taken its place and not yet written it
  EXPECT_TRUE(ring.ref().perhaps());
  EXPECT_EQ(ring.ref().pop().count, 0U);
  EXPECT_TRUE(ring.ref().push({tagged{1, 2}, 3}));  // the second place
  EXPECT_EQ(ring.ref().pop().count, 0U);            // the first goes first
  EXPECT_FALSE(ring.ref().push({tagged{1, 2}, 3}));
}

/// Threads that push and pop at once; every entry comes out once, whole, and each pusher's in its order for each
/// popper.
TEST(ring, many_pushers_and_poppers_lose_and_repeat_nothing) {
  constexpr std::uint64_t threads = 4;
  constexpr std::uint64_t entries = 2000;  // of one pusher
  for (std::uint64_t capacity : {1U, 4U, 64U}) {
    test_ring ring{capacity};
    std::vector<std::atomic<int>> seen(threads * entries);
    std::atomic<std::uint64_t> out{0};
    std::atomic<int> wrong{0};
    std::vector<std::thread> all;
    for (std::uint64_t t = 0; t < threads; ++t) {
      all.emplace_back([&, t] {
        for (std::uint64_t i = 0; i < entries; ++i) {
          while (!ring.ref().push({tagged{static_cast<std::uint32_t>(t + 1), i}, t * entries + i + 1}))
            std::this_thread::yield();
        }
      });
      all.emplace_back([&] {
        std::vector<std::uint64_t> next(threads, 0);
        while (out.load() < threads * entries) {
          handed_back const entry = ring.ref().pop();
          if (entry.count == 0) {
            std::this_thread::yield();
            continue;
          }
          ++out;
          std::uint64_t const pusher = entry.at.tag() - 1;
          if (pusher >= threads || entry.count != pusher * entries + entry.at.item() + 1 ||
              entry.at.item() < next[pusher]) {
            ++wrong;
            continue;
          }
          next[pusher] = entry.at.item() + 1;
          if (seen[entry.count - 1].fetch_add(1) != 0) ++wrong;
        }
      });
    }
    for (std::thread& thread : all) thread.join();
    EXPECT_EQ(wrong.load(), 0) << "capacity " << capacity;
    EXPECT_EQ(ring.ends.pushed, threads * entries);
    EXPECT_EQ(ring.ends.popped, threads * entries);
  }
}

}  // namespace
}  // namespace lull
