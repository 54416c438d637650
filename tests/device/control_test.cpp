// SPDX-License-Identifier: Apache-2.0
// Entry word and control, on threads; and the tagged words on which they and the cursor rest.
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/device/control.hpp>
#include <lull/device/threads_world.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull {
namespace {

using entry = entry_word<threads_world>;
constexpr std::uint64_t long_enough_ns = std::chrono::nanoseconds{long_enough}.count();

slot_content content_with(cursor* at, unsigned char byte) {
  slot_content content{at, 77, {}};
  for (unsigned char& each : content.functor.bytes) each = byte;
  return content;
}

TEST(control, fills_and_empties_a_slot_and_counts_its_generations) {
  slot_line slot{};
  cursor words{};
  ASSERT_TRUE(exchange<threads_world>(slot, content_with(&words, 9), 0));
  EXPECT_EQ(entry::generation(slot.entry), 1U);
  EXPECT_EQ(slot.entry & entry::held, 0U);
  EXPECT_EQ(tagged_cursor{slot.at}.at(), &words);
  EXPECT_EQ(tagged_cursor{slot.at}.generation(), 1U);
  EXPECT_EQ(slot.lease_ns, 77U);
  EXPECT_EQ(slot.functor.bytes[0], 9);
  EXPECT_EQ(slot.functor.bytes[max_functor_bytes - 1], 9);
  ASSERT_TRUE(exchange<threads_world>(slot, {}, 0));
  EXPECT_EQ(tagged_cursor{slot.at}.at(), nullptr);
  EXPECT_EQ(entry::generation(slot.entry), 2U);
}

TEST(control, its_generation_wraps_without_touching_the_flag) {
  slot_line slot{};
  slot.entry = entry::generation_mask << entry::inside_bits;
  cursor words{};
  ASSERT_TRUE(exchange<threads_world>(slot, content_with(&words, 1), 0));
  EXPECT_EQ(slot.entry, 0U);
  EXPECT_EQ(tagged_cursor{slot.at}.generation(), 0U);
  EXPECT_EQ(tagged_cursor{slot.at}.at(), &words);
}

TEST(control, gives_up_after_its_limit_lowers_the_flag_and_changes_nothing) {
  slot_line slot{};
  cursor words{};
  ASSERT_TRUE(exchange<threads_world>(slot, content_with(&words, 5), 0));
  slot_line const before = slot;
  EXPECT_EQ(entry::enter(slot.entry) & entry::held, 0U);
  EXPECT_FALSE(exchange<threads_world>(slot, {}, 0));
  EXPECT_FALSE(exchange<threads_world>(slot, {}, 1'000'000));
  EXPECT_EQ(slot.entry, before.entry + 1);
  EXPECT_EQ(slot.at, before.at);
  EXPECT_EQ(slot.functor.bytes[0], 5);
  entry::leave(slot.entry);
  EXPECT_EQ(slot.entry, before.entry);
  EXPECT_TRUE(exchange<threads_world>(slot, {}, 0));
}

TEST(control, waits_for_blocks_that_are_inside_and_keeps_others_out) {
  slot_line slot{};
  cursor words{};
  std::uint64_t inside_work = 0;  // plain: ordered by the fact that no block is inside
  ASSERT_EQ(entry::enter(slot.entry) & entry::held, 0U);
  std::uint64_t found = 0;
  std::thread acting{[&] {
    EXPECT_TRUE(exchange<threads_world>(slot, content_with(&words, 1), long_enough_ns));
    found = inside_work;
  }};
  await_that([&] { return (threads_world::load<order::relaxed, scope::device>(slot.entry) & entry::held) != 0; });
  EXPECT_NE(entry::enter(slot.entry) & entry::held, 0U);  // out again by itself
  EXPECT_EQ(entry::inside((threads_world::load<order::relaxed, scope::device>(slot.entry))), 1U);
  EXPECT_EQ((threads_world::load<order::relaxed, scope::device>(slot.at)), 0U);
  inside_work = 42;
  entry::leave(slot.entry);
  acting.join();
  EXPECT_EQ(found, 42U);
  EXPECT_EQ(slot.entry, std::uint64_t{1} << entry::inside_bits);
}

/// Reads as the worker does: the cursor's word before entering, and again if the generations differ.
TEST(control, a_block_that_enters_finds_one_content_whole) {
#if defined(__SANITIZE_THREAD__)
  constexpr int acts = 2000;
#else
  constexpr int acts = 20'000;
#endif
  slot_line slot{};
  slot.entry = (entry::generation_mask - 100) << entry::inside_bits;  // wraps on the way
  slot.at = tagged_cursor{entry::generation_mask - 100, nullptr}.word();
  std::vector<cursor> cursors(2);
  cursors[0].grain = 1;
  cursors[1].grain = 2;
  std::atomic<bool> over{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> blocks;
  for (int b = 0; b < 3; ++b) {
    blocks.emplace_back([&] {
      while (!over) {
        tagged_cursor found{threads_world::load<order::relaxed, scope::device>(slot.at)};
        std::uint64_t const before = entry::enter(slot.entry);
        if ((before & entry::held) != 0) {
          std::this_thread::yield();
          continue;
        }
        if (found.generation() != entry::generation(before)) {
          found = tagged_cursor{threads_world::load<order::relaxed, scope::device>(slot.at)};
        }
        if (found.generation() != entry::generation(before)) ++wrong;
        unsigned char const expected = found.at() == nullptr ? 0 : static_cast<unsigned char>(found.at()->grain);
        if (slot.functor.bytes[0] != expected || slot.functor.bytes[max_functor_bytes - 1] != expected) ++wrong;
        entry::leave(slot.entry);
      }
    });
  }
  for (int act = 0; act < acts; ++act) {
    int const which = act % 3;
    slot_content const content =
        which == 2 ? content_with(nullptr, 0)
                   : content_with(&cursors[static_cast<std::size_t>(which)], static_cast<unsigned char>(which + 1));
    EXPECT_TRUE(exchange<threads_world>(slot, content, long_enough_ns));
  }
  over = true;
  for (std::thread& block : blocks) block.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(slot.entry, ((entry::generation_mask - 100 + acts) & entry::generation_mask) << entry::inside_bits);
}

TEST(words, hold_their_largest_parts_and_keep_them_apart) {
  static_assert(tagged{tagged::tag_mask, 0}.tag() == tagged::tag_mask && tagged{tagged::tag_mask, 0}.item() == 0);
  static_assert(tagged{0, tagged::item_mask}.tag() == 0 && tagged{0, tagged::item_mask}.item() == tagged::item_mask);
  static_assert(tagged{tagged::tag_mask + 1, 5}.tag() == 0, "tags wrap");
  static_assert(tagged{tagged{3, 4}.word() + 5}.item() == 9, "a claim adds to the item");
  static_assert(tagged_state{tagged::tag_mask, phase_state::failed}.tag() == tagged::tag_mask);
  static_assert(tagged_state{tagged::tag_mask, phase_state::failed}.state() == phase_state::failed);
  static_assert(tagged_state{0}.state() == phase_state::starved, "a zeroed cursor is starved");
  alignas(128) cursor words{};
  tagged_cursor const full{entry::generation_mask, &words};
  EXPECT_EQ(full.at(), &words);
  EXPECT_EQ(full.generation(), entry::generation_mask);
  EXPECT_EQ(tagged_cursor{full.word()}.at(), &words);
}

TEST(words, the_largest_phase_and_its_overshoot_stay_below_the_tag) {
  for (std::uint64_t blocks : {std::uint64_t{1}, std::uint64_t{264}, std::uint64_t{1} << 20}) {
    for (std::uint64_t grain : {std::uint64_t{1}, std::uint64_t{4096}, std::uint64_t{1} << 18}) {
      std::uint64_t const most = max_items(blocks, grain);
      EXPECT_LE(most + 2 * blocks * grain, tagged::item_mask);
    }
  }
  EXPECT_EQ(max_items(std::uint64_t{1} << 20, std::uint64_t{1} << 20), 0U) << "no phase fits such a grain";
}

}  // namespace
}  // namespace lull
