// SPDX-License-Identifier: Apache-2.0
// Large products: every layout that training needs, whole tiles and pieces, on CPU threads and, in another program, on
// a GPU.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <set>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/solo/solo_bubbles.hpp>
#include <lull/host/solo/solo_run.hpp>
#include <lull/tasks/product/product_owner.hpp>
#include <lull/tests/support/effort.hpp>
#include <lull/tests/tasks/product/product_case.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

#if defined(LULL_PRODUCT_ON_CUDA)
constexpr executor_options machine_options{.kind = executor_kind::cuda, .solo = true};
#else
constexpr executor_options machine_options{.kind = executor_kind::threads, .solo = true};
#endif

class products : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string const why = machine_options.kind == executor_kind::cuda ? why_no_cuda(0) : ""; !why.empty())
      GTEST_SKIP() << "NOT RUN: " << why;
    executor_ = make_executor(machine_options);
  }
  template <minor A, minor B, class Number, class Finish = as_it_is>
  void expect_right() {
    for (large_shape const& shape : test::shapes_to_try()) {
      if (is_sanitized && shape.rows > 200) continue;  // takes seconds, and does what the smaller ones do
      EXPECT_EQ((test::product_violation<A, B, Number, Finish>(*executor_, shape)), "");
    }
  }
  std::unique_ptr<executor> executor_;
};

TEST_F(products, plain) { expect_right<minor::depth, minor::depth, bfloat16>(); }
TEST_F(products, forward) { expect_right<minor::depth, minor::depth, bfloat16, biased_relu>(); }
TEST_F(products, of_inputs_backward) { expect_right<minor::depth, minor::side, bfloat16>(); }
TEST_F(products, of_weights) { expect_right<minor::side, minor::side, float>(); }

TEST_F(products, bad_ones_are_refused) {
  large_product<minor::depth, minor::depth> of{{4, 4, 0, 1}, {nullptr, 8, 32}, {nullptr, 8, 32}, nullptr};
  EXPECT_THROW(maps_of(*executor_, of), usage_error);
  of.shape = {65536, 65536, 1, 65536};
  EXPECT_THROW(maps_of(*executor_, of), limit_error);
  if (executor_->kind() != executor_kind::cuda) return;
  of.shape = {4, 4, 4, 1};
  of.a.pitch = 7;
  EXPECT_THROW(maps_of(*executor_, of), usage_error);
}

TEST(product_tiles_of_a_shape, are_each_place_once) {
  for (large_shape const& shape : {large_shape{1, 1, 1, 1}, large_shape{129, 257, 8, 3}, large_shape{4096, 4096, 8, 1},
                                   large_shape{2300, 700, 8, 2}}) {
    large_tiles const tiles{shape};
    std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> seen;
    for (std::uint64_t tile = 0; tile < tiles.number(); ++tile) {
      large_tiles::tile const at = tiles.at(tile);
      EXPECT_LT(at.row, shape.rows);
      EXPECT_LT(at.column, shape.columns);
      EXPECT_LT(at.count, shape.count);
      seen.insert({at.count, at.row, at.column});
    }
    EXPECT_EQ(seen.size(), tiles.number());
  }
}

/// Operands whose products are in a saved tile's sums are not read again, so the test may overwrite them meanwhile.
TEST_F(products, a_saved_tile_is_gone_on_with_where_it_was_left) {
  bool const on_gpu = executor_->kind() == executor_kind::cuda;
  large_shape const shape{large_tiles::rows, large_tiles::columns, on_gpu ? 65536U : 512U, 1};
  product_operand const a_plan = operand_at(nullptr, minor::depth, shape.rows, shape.depth);
  product_operand const b_plan = operand_at(nullptr, minor::depth, shape.columns, shape.depth);
  std::vector<bfloat16> const a_whole = test::random_numbers(a_plan.step, 1);
  std::vector<bfloat16> const b_whole = test::random_numbers(b_plan.step, 2);
  device_array<bfloat16> a{*executor_, std::span<bfloat16 const>{a_whole}};
  device_array<bfloat16> const b{*executor_, std::span<bfloat16 const>{b_whole}};
  device_array<float> const sums{*executor_, on_gpu ? std::size_t{large_tiles::rows} * large_tiles::columns : 1};
  device_array<std::uint32_t> steps{*executor_, saved_sums::parts};
  device_array<bfloat16> result{*executor_, std::size_t{shape.rows} * shape.columns};
  large_product<minor::depth, minor::depth> of{
      shape, {a.data(), a_plan.pitch, a_plan.step}, {b.data(), b_plan.pitch, b_plan.step}, nullptr};
  device_array<tensor_map> const maps = maps_of(*executor_, of);
  of.maps = maps.data();
  job_description const job =
      describe(saved_product{of, {result.data(), shape.columns, result.size()}, {}, 1, {sums.data(), steps.data()}});
  ASSERT_TRUE(run_to_end(job, *executor_).finished);
  std::vector<bfloat16> const expected = result.read();

  executor_->adopt_thread();
  std::optional<solo_bubbles> bubbles;
  std::uint32_t contained = 0;  // of the depth in steps; on CPU threads whole rows
  for (int tries = 0; contained == 0 && tries < 400; ++tries) {
    result.fill_zero();
    steps.fill_zero();
    bubbles.emplace(*executor_, job, 10s);
    bubbles->open();
    // Too short to begin, or too long to be left within the tile: once more.
    std::this_thread::sleep_for((1 + tries % 20) * 100us);
    bubbles->close();
    std::vector<std::uint32_t> const left = steps.read();
    contained = on_gpu ? *std::min_element(left.begin(), left.end()) : left.front();
  }
  ASSERT_GT(contained, 0U);
  std::vector<bfloat16> spoilt = a_whole;
  for (std::uint32_t row = 0; row < shape.rows; ++row) {
    for (std::uint32_t k = 0; k < shape.depth; ++k) {
      if (on_gpu ? k < contained * large_tiles::depth : row < contained)
        spoilt[row * a_plan.pitch + k] = bfloat16{1000};
    }
  }
  a.write(spoilt);
  bubbles->open();
  for (auto const give_up = std::chrono::steady_clock::now() + 60s;
       !bubbles->left() && std::chrono::steady_clock::now() < give_up;)
    std::this_thread::sleep_for(200us);
  EXPECT_EQ(bubbles->close().items, 1U);
  std::vector<bfloat16> const found = result.read();
  EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.size() * sizeof(bfloat16)), 0);
}

/// Otherwise a runtime would not have loaded the type of a submitted job.
TEST_F(products, are_listed_with_the_type_of_their_jobs) {
  task_entry const entry = product_entry();
  for (char const* const leave : {"within", "saved", "behind"}) {
    option_values values{entry.options};
    for (auto const& [name, value] : {std::pair{"rows", "3"}, {"columns", "3"}, {"depth", "3"}, {"leave", leave}})
      values.set(name, value);
    auto const owner = entry.make(values);
    owner->prepare(*executor_);
    EXPECT_EQ(owner->describe().type.threads.resident, entry.type(values).threads.resident) << leave;
    EXPECT_EQ(owner->describe().type.cuda.resident, entry.type(values).cuda.resident) << leave;
  }
}

/// A team of one, whose stay ends after so many rows.
struct leaving_team {
  int rows;

  int rank() const { return 0; }
  int size() const { return 1; }
  void sync() const {}
  void* shared() const { return storage; }
  bool stay_ended() const { return passed++ == rows; }
  chunk more() const { return {}; }
  void hand_back(chunk undone) const { back = undone; }

  mutable int passed = 0;
  mutable chunk back{};
  alignas(16) mutable unsigned char storage[128] = {};
};

TEST(saved_tiles, are_gone_on_with_and_begin_anew_in_the_next_round) {
  constexpr large_shape shape{5, 7, 8, 1};
  std::vector<bfloat16> const ones(8 * 8, bfloat16{1});
  std::vector<float> result(shape.rows * shape.columns);
  std::vector<std::uint32_t> steps(saved_sums::parts);
  large_product<minor::depth, minor::depth> const of{shape, {ones.data(), 8, 64}, {ones.data(), 8, 64}, nullptr};
  product_result<float> const to{result.data(), shape.columns, result.size()};
  auto const multiply = [&](int rows) {
    std::fill(result.begin(), result.end(), -1.0f);
    leaving_team const team{rows};
    multiply_tiles<tile_leaving::saved>(team, {{}, 0, 1}, of, to, as_it_is{}, {nullptr, steps.data()});
    return team.back.size();
  };
  auto const stored = [&](std::uint32_t row) { return result[row * shape.columns] == 8.0f; };

  EXPECT_EQ(multiply(3), 1U);  // handed back
  EXPECT_EQ(steps[0], 3U);
  EXPECT_TRUE(stored(2) && !stored(3));
  EXPECT_EQ(multiply(99), 0U);
  EXPECT_TRUE(!stored(2) && stored(3) && stored(4));
  EXPECT_EQ(steps[0], 0U);
  EXPECT_EQ(multiply(99), 0U);
  EXPECT_TRUE(stored(0) && stored(4));
}

}  // namespace
}  // namespace lull
