// SPDX-License-Identifier: Apache-2.0
// What a gate takes bubbles for, once they are over.
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include <lull/tests/host/detail/gate_fixture.hpp>

namespace lull::detail {
namespace {

using namespace std::chrono_literals;

TEST_F(gate_of_a_stream, takes_a_close_just_after_the_workers_for_a_hold_up_and_a_later_one_not) {
  clock_.note(0, {});  // the test sets the machine's clock
  gate_.note_lease(8s);
  std::uint64_t held_up = 0;
  for (auto const before : {0s, 2s, 0s, 0s}) {
    bubble(runtime_mode::on, [&](bubble_record& of) {
      auto const left = std::chrono::steady_clock::now() - before;
      of.last_out_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds{left.time_since_epoch()}.count());
      of.blocks = of.lease_blocks = 2;
    });
    held_up += before == 0s ? 1 : 0;
    EXPECT_EQ(gate_.counts()[counted::held_up], held_up);
    EXPECT_EQ(gate_.take_held_up(), held_up == 3 ? std::optional<std::string>{"wait"} : std::nullopt)
        << "twice in a row";
  }
}

TEST_F(gate_of_a_stream, takes_a_bubble_for_short_where_workers_came_after_it_or_could_not_come) {
  clock_.note(0, {});
  auto const judged = [&](char const* where, std::function<void(bubble_record&)> const& record, bool launched) {
    for (int i = 0; i < 9; ++i) {
      bubble_id const id = open(where);
      if (id.bubble == 0) return true;
      close(id);
      trainer_.synchronize();
      if (launched) {
        gate_.launch(id.bubble, start_when::at_once, arming::beside);
        await_that([&] { return executor_.workers_done(); });
      }
      bubble_record& of = gate_.ref().records[id.bubble & gate_.ref().record_mask];
      of.not_saw_ns = 0;
      if (record) record(of);
      collect();
    }
    return false;
  };
  EXPECT_TRUE(judged("none could come", {}, false));
  EXPECT_TRUE(judged(
      "came late", [](bubble_record& of) { of.late_blocks = 1; }, true));
  EXPECT_FALSE(judged(
      "starved", [](bubble_record& of) { of.starved_blocks = 1; }, true));
  EXPECT_FALSE(judged(
      "finished", [](bubble_record& of) { of.idle_blocks = 1; }, true));
  EXPECT_FALSE(judged(
      "left soon after the opening, for want of work",
      [](bubble_record& of) {
        of.blocks = of.idle_blocks = 1;
        of.last_out_ns = of.opened_ns + 100'000;
      },
      true));
  EXPECT_FALSE(judged(
      "left long after the opening",
      [](bubble_record& of) {
        of.blocks = of.idle_blocks = 1;
        of.last_out_ns = of.opened_ns + 2'000'000'000;
      },
      true));
}

}  // namespace
}  // namespace lull::detail
