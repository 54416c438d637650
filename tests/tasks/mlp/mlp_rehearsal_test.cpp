// SPDX-License-Identifier: Apache-2.0
// Two steps of training and a judging one as a GPU's block would do them: 256 threads, warps that follow the PTX ISA.
// Compared with a CPU thread that also rounds to bf16, and sums in another order.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/executor.hpp>
#include <lull/host/solo/solo_run.hpp>
#include <lull/host/task/counter_random.hpp>
#include <lull/tasks/mlp/mlp_arrays.hpp>
#include <lull/tests/tasks/product/manual_warp.hpp>

namespace lull {
namespace {

constexpr std::uint32_t features = 9;

row_table rows_of(std::uint32_t count, std::uint64_t seed, std::uint32_t classes) {
  counter_random const random{seed, 0};
  row_table made;
  for (std::uint32_t row = 0; row < count; ++row) {
    for (std::uint32_t i = 0; i < features; ++i)
      made.values.push_back(static_cast<float>(random.below(row * features + i, 1001)) / 500 - 1);
    made.labels.push_back(static_cast<std::uint32_t>(random.below(100'000 + row, classes)));
  }
  return made;
}

/// Runs all phases by one block, an item a chunk.
void rehearse(mlp_task const& task) {
  test::manual_block block;
  std::uint64_t items = 0;
  block.run([&](auto const& team) {
    for (std::uint64_t round = 0;; ++round) {
      if (team.rank() == 0) items = task.extent({round, 0}, 0);
      team.sync();
      if (items == finished) return;
      for (std::uint64_t item = 0; item < items; ++item) {
        task({{round, 0}, item, item + 1}, team);
        team.sync();
      }
      task.advance({round, 0}, team);
      team.sync();
    }
  });
}

void expect_alike(std::vector<std::uint32_t> const& sizes) {
  auto const executor = make_executor({.kind = executor_kind::threads});
  std::uint32_t const classes = sizes.back();
  mlp_settings const settings{.epochs = 1, .batch = 33, .rate = 0.01f, .precision = mlp_precision::bf16};
  auto const first = first_layers(sizes, 5);
  row_table const training = rows_of(40, 3, classes);
  row_table const held_out = rows_of(20, 4, classes);
  mlp_arrays const plain{*executor, first, training, held_out, settings};
  mlp_arrays const rehearsed{*executor, first, training, held_out, settings};
  ASSERT_TRUE(run_to_end(describe(plain.task()), *executor).finished);
  rehearse(rehearsed.task());
  EXPECT_NEAR(rehearsed.epoch_loss().front(), plain.epoch_loss().front(), 1e-4 * plain.epoch_loss().front());
  EXPECT_NEAR(static_cast<double>(rehearsed.epoch_right().front()), static_cast<double>(plain.epoch_right().front()),
              1);
  auto const expected = plain.layers();
  auto const found = rehearsed.layers();
  std::size_t apart = 0;
  std::size_t all = 0;
  for (std::size_t l = 0; l < expected.size(); ++l) {
    auto const compare = [&](std::vector<float> const& left, std::vector<float> const& right,
                             std::vector<float> const& start) {
      ASSERT_EQ(left.size(), right.size());
      EXPECT_NE(left, start);
      for (std::size_t i = 0; i < left.size(); ++i) {
        // AdamW's first steps are as long as the rate, whatever the gradient's size: where the gradient is close to 0,
        // rounding decides its sign.
        EXPECT_LE(std::abs(left[i] - right[i]), 4 * settings.rate) << l << ", " << i;
        apart += std::abs(left[i] - right[i]) > 0.1f * settings.rate ? 1 : 0;
        ++all;
      }
    };
    compare(found[l].weights, expected[l].weights, first[l].weights);
    compare(found[l].bias, expected[l].bias, first[l].bias);
  }
  EXPECT_LE(apart, all / 100);
}

TEST(mlp_rehearsal, of_three_layers_is_like_a_thread_s) { expect_alike({features, 40, 34, 3}); }
TEST(mlp_rehearsal, of_many_classes_is_like_a_thread_s) { expect_alike({features, 24, 37}); }

}  // namespace
}  // namespace lull
