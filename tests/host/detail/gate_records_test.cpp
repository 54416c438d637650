// SPDX-License-Identifier: Apache-2.0
// What a gate takes bubbles for, once they are over.
#include <atomic>
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

class bubbles_of_unknown_length : public gate_of_a_stream {
 protected:
  void SetUp() override { clock_.note(0, {}); }
  /// Returns whether a site is passed over after such bubbles. `record`: sets what workers would leave; without it none
  /// is launched.
  bool are_short(std::function<void(bubble_record&)> const& record, bool host_is_ahead = true) {
    for (int i = 0; i < 9; ++i) {
      std::atomic<bool> closed{!host_is_ahead};
      trainer_.enqueue([&] { EXPECT_TRUE(within_time([&] { return closed.load(); })); });
      bubble_id const id = open();
      if (!host_is_ahead) trainer_.synchronize();
      if (id.bubble != 0) close(id);
      closed = true;
      trainer_.synchronize();
      if (id.bubble == 0) return true;
      bubble_record& of = gate_.ref().records[id.bubble & gate_.ref().record_mask];
      if (record) {
        gate_.launch(id.bubble, start_when::at_once, arming::beside);
        await_that([&] { return executor_.workers_done(); });
        record(of);
      }
      of.not_saw_ns = 0;
      collect();
    }
    return false;
  }
};

TEST_F(bubbles_of_unknown_length, are_short_where_no_worker_could_come) { EXPECT_TRUE(are_short({})); }

TEST_F(bubbles_of_unknown_length, are_short_where_workers_came_after_them) {
  EXPECT_TRUE(are_short([](bubble_record& of) { of.late_blocks = 1; }));
}

TEST_F(bubbles_of_unknown_length, are_not_known_to_be_short_where_the_host_was_late_too) {
  // No clock tells when that was.
  EXPECT_FALSE(are_short([](bubble_record& of) { of.opened_ns = ~std::uint64_t{0} >> 2; }, false));
}

TEST_F(bubbles_of_unknown_length, are_not_known_to_be_short_where_there_was_no_work) {
  EXPECT_FALSE(are_short([](bubble_record& of) { of.starved_blocks = 1; }));
  EXPECT_FALSE(are_short([](bubble_record& of) { of.idle_blocks = 1; }));
}

TEST_F(bubbles_of_unknown_length, are_as_long_as_workers_stayed_if_that_was_worth_it) {
  for (std::uint64_t const stayed_ns : {100'000ULL, 2'000'000'000ULL}) {
    EXPECT_FALSE(are_short([&](bubble_record& of) {
      of.blocks = of.idle_blocks = 1;
      of.last_out_ns = of.opened_ns + stayed_ns;
    }));
    EXPECT_EQ(gate_.longest() >= 2s, stayed_ns == 2'000'000'000);
  }
}

}  // namespace
}  // namespace lull::detail
