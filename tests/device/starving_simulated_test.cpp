// SPDX-License-Identifier: Apache-2.0
// A task without input under the seeded scheduler, which is fed while its blocks come and leave.
#include <cstdint>
#include <cstring>
#include <memory>

#include <gtest/gtest.h>

#include <lull/device/worker.hpp>
#include <lull/tests/support/cursor_state.hpp>
#include <lull/tests/support/fed_task.hpp>
#include <lull/tests/support/simulated.hpp>

namespace lull {
namespace {

/// Runs one bubble of a starved task; returns how often it was asked for input, which is there from a random moment on.
std::uint64_t asked_in_a_bubble(std::uint64_t seed) {
  scheduler steps{seed};
  test_cursor cursor{1, 64};
  test_gate gate{1};  // open
  gate.line.bubbles = 1;
  gate.line.opened_ns = 5;
  slot_line slot{};
  worker_params const params{&slot, gate.ref(), {}};
  std::uint64_t asked = 0;
  std::uint64_t runs = 0;
  fed_task const task{&asked, &runs};
  slot.at = tagged_cursor{0, &cursor.words}.word();
  slot.lease_ns = 1'000'000'000;
  std::memcpy(slot.functor.bytes, &task, sizeof task);
  constexpr int blocks = 4;
  for (int b = 0; b < blocks; ++b) {
    auto const state = std::make_shared<fiber_block_storage>(1, fed_task::shape.shared_bytes);
    std::uint64_t const late = steps.draw(60);
    steps.spawn([&steps, &params, state, late] {
      for (std::uint64_t i = 0; i < late; ++i) steps.step();
      worker<simulated_world, fed_task, fiber_block>{params, fiber_block{*state, 0, 1, blocks}}.run();
    });
  }
  std::uint64_t const fed_at = steps.draw(200);
  steps.spawn([&steps, &cursor, fed_at] {
    for (std::uint64_t i = 0; i < fed_at; ++i) steps.step();
    simulated_world::store<order::release, scope::system>(cursor.words.fed, std::uint64_t{1});
  });
  EXPECT_TRUE(steps.run(100'000));
  EXPECT_EQ(cursor.state(), phase_state::starved);
  EXPECT_EQ(asked, runs + 1);  // if input came in time, one phase is over, and a block asked after it
  return asked;
}

TEST(starving_simulated, nobody_asks_again_in_a_bubble_whatever_comes_meanwhile) {
  int in_time = 0;
  constexpr int seeds = 5000;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) in_time += asked_in_a_bubble(seed) == 2 ? 1 : 0;
  EXPECT_GT(in_time, seeds / 100);
  EXPECT_LT(in_time, seeds * 99 / 100);
}

}  // namespace
}  // namespace lull
