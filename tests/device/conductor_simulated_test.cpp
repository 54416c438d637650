// SPDX-License-Identifier: Apache-2.0
// The conductor of a gated graph under a seeded scheduler: closes, leases, control, feeding, and launches that
// fail at every point. LULL_SEED=n replays one seed.
#include <cstdint>
#include <cstdlib>
#include <utility>

#include <gtest/gtest.h>

#include <lull/tests/device/conductor_scenario.hpp>

namespace lull {
namespace {

using test::course;
using test::ran_piece;
using test::scenario;
using test::seen_close;

TEST(conductor_simulated, every_node_runs_once_a_step_in_its_order) {
  char const* const replayed = std::getenv("LULL_SEED");
  std::uint64_t const first = replayed != nullptr ? std::strtoull(replayed, nullptr, 10) : 1;
  int stretches = 0;
  for (std::uint64_t seed = first; seed <= (replayed != nullptr ? first : 5'000); ++seed) {
    scenario each{seed};
    ASSERT_STREQ(each.run(), nullptr) << "replay with LULL_SEED=" << seed;
    stretches += each.stretches();
  }
  if (replayed == nullptr) {
    EXPECT_GT(stretches, 1'000);
  }
}

TEST(conductor_simulated, a_job_whose_launches_always_fail_has_failed) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) ASSERT_STREQ((scenario{seed, true}.run()), nullptr) << seed;
}

usual_length all_between(std::uint64_t from_ns, std::uint64_t until_ns) {
  return {from_ns, until_ns - from_ns, from_ns, until_ns};
}

TEST(conductor_simulated, no_piece_begins_that_would_outlast_bubbles_that_repeat) {
  // A node takes up to 500 ns longer where other threads of the scheduler have their turns.
  scenario hinted{course{.bubble_ns = 30'000, .node_ns = 2'200, .usual = all_between(29'400, 30'300)}};
  ASSERT_STREQ(hinted.run(), nullptr);
  scenario unhinted{course{.bubble_ns = 30'000, .node_ns = 2'200, .usual = {}}};
  ASSERT_STREQ(unhinted.run(), nullptr);
  EXPECT_GT(unhinted.closed_on_a_piece(), 20U);
  EXPECT_EQ(hinted.closed_on_a_piece(), 0U);
  EXPECT_GT(hinted.stretches(), 100);
  EXPECT_EQ(unhinted.stretches(), 0);
}

TEST(conductor_simulated, a_close_came_between_its_sight_and_the_look_before) {
  for (bool const hinted : {false, true}) {
    usual_length const usual = hinted ? all_between(7'200, 8'100) : usual_length{};
    scenario each{course{.bubble_ns = 8'000, .node_ns = 2'200, .usual = usual}};
    ASSERT_STREQ(each.run(), nullptr);
    ASSERT_GT(each.closes().size(), 20U);
    for (seen_close const& close : each.closes()) {
      EXPECT_GE(close.seen_ns, close.at_ns);
      EXPECT_LE(close.seen_ns - close.at_ns, close.since_look_ns + 2'000) << "a look takes steps, too";
      EXPECT_LE(close.since_look_ns, 2'200U + 2'000) << "a piece, and steps";
      EXPECT_EQ(close.since_look_ns > 2'000, !hinted) << "seen at once where a piece is put off";
    }
  }
}

TEST(conductor_simulated, in_bubbles_shorter_than_two_pieces_the_first_alone_begins) {
  scenario each{course{.bubble_ns = 3'000, .node_ns = 2'000, .usual = all_between(2'900, 3'200)}};
  ASSERT_STREQ(each.run(), nullptr);
  std::uint64_t last = 0;
  for (ran_piece const& piece : each.pieces()) EXPECT_NE(piece.bubble, std::exchange(last, piece.bubble));
  EXPECT_EQ(each.pieces().size(), 400U);
}

TEST(conductor_simulated, a_piece_that_outlasts_all_bubbles_runs_all_the_same) {
  scenario each{course{.bubble_ns = 1'500, .node_ns = 2'000, .usual = all_between(1'400, 1'700)}};
  ASSERT_STREQ(each.run(), nullptr);
}

TEST(conductor_simulated, a_bubble_that_lasts_longer_than_usual_is_harvested_to_its_end) {
  constexpr std::uint64_t from_ns = 9'900;
  constexpr std::uint64_t late_ns = 10'200 + 20'000;
  scenario each{course{.bubble_ns = 80'000, .node_ns = 2'200, .usual = all_between(from_ns, 10'200)}};
  ASSERT_STREQ(each.run(), nullptr);
  int before = 0;
  int later = 0;
  for (ran_piece const& piece : each.pieces()) {
    EXPECT_FALSE(piece.began_ns > from_ns && piece.began_ns < late_ns) << "bubble " << piece.bubble;
    (piece.began_ns < late_ns ? before : later) += 1;
  }
  EXPECT_GT(before, 20);
  EXPECT_GT(later, 100);
}

TEST(conductor_simulated, lengths_that_do_not_repeat_put_nothing_off) {
  usual_length usual = all_between(7'800, 8'300);
  usual.from_ns = usual.until_ns = 0;
  scenario each{course{.bubble_ns = 8'000, .node_ns = 2'200, .usual = usual}};
  ASSERT_STREQ(each.run(), nullptr);
  EXPECT_GT(each.closed_on_a_piece(), 20U);
  EXPECT_GT(each.stretches(), 50);
}

}  // namespace
}  // namespace lull
