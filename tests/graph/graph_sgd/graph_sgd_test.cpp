// SPDX-License-Identifier: Apache-2.0
// The functor on CPU threads, in teams of one and of four: right by the same descent in double precision, and the same
// bits however it is run. And the verifier: what it says of results that are wrong.
#include <gtest/gtest.h>

#include <limits>
#include <lull/graph/graph_sgd/graph_sgd_arrays.hpp>
#include <lull/graph/graph_sgd/verify_graph_sgd.hpp>
#include <lull/host/solo/solo_run.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lull {
namespace {

using namespace std::chrono_literals;

/// A factorisation that has been done.
struct factorised {
  ratings training;
  host_array<rating> held_out;
  rating_blocks blocks;
  double mean = 0;
  graph_sgd_settings settings;
  std::vector<float> user;
  std::vector<float> item;
  std::vector<epoch_errors> errors;
  bool stopped = false;

  verification verdict(std::optional<double> noise = {}) const {
    return verify_graph_sgd({training, held_out, blocks, mean, settings, noise}, {user, item, errors});
  }
};

struct how {
  int width = 1;
  int processors = 2;
  std::uint32_t grain = 0;  // the task's own
  std::chrono::nanoseconds bubble{0};
};

factorised factorise(generate_ratings_options const& of, graph_sgd_settings const& settings, how const& run = {},
                     std::uint32_t groups = 0, double share = 0.1) {
  factorised made;
  made.training = generate_ratings(of);
  made.settings = settings;
  made.held_out = hold_out(made.training, share, 1);
  made.mean = static_cast<double>(static_cast<float>(mean_of(made.training.all)));
  made.blocks = make_rating_blocks(made.training, groups != 0 ? groups : suitable_groups(spread_of(made.training)));
  auto const executor =
      make_executor({.kind = executor_kind::threads, .processors = run.processors, .team_width = run.width});
  graph_sgd_arrays const arrays{*executor,           made.blocks.ordered, made.blocks, made.held_out,
                                made.training.users, made.training.items, made.mean,   settings};
  solo_run const done = run_to_end(arrays.describe(), *executor, {.bubble = run.bubble, .grain = run.grain});
  EXPECT_TRUE(done.finished);
  made.user = arrays.user_factors();
  made.item = arrays.item_factors();
  made.errors = arrays.errors();
  made.stopped = arrays.stopped();
  return made;
}

constexpr generate_ratings_options few{.users = 120, .items = 40, .count = 3000, .rank = 2};

TEST(graph_sgd, agrees_with_the_same_descent_in_double_precision) {
  for (std::uint32_t const factors : {8U, 16U, 32U, 64U}) {
    for (int const width : {1, 4}) {
      factorised const done = factorise(few, {.factors = factors, .epochs = 3}, {.width = width});
      verification const verdict = done.verdict(0.5);
      EXPECT_TRUE(verdict.ok) << factors << " factors, teams of " << width << ": " << verdict.message;
    }
  }
}

TEST(graph_sgd, gives_the_same_bits_however_it_is_run) {
  graph_sgd_settings const settings{.factors = 8, .epochs = 4};
  factorised const once = factorise(few, settings, {.processors = 1});
  for (how const& run : {how{.processors = 3}, how{.grain = 1}, how{.grain = 7}, how{.bubble = 50us}, how{.width = 4},
                         how{.width = 4, .grain = 3, .bubble = 100us}}) {
    factorised const again = factorise(few, settings, run);
    EXPECT_EQ(again.user, once.user) << run.width << " wide, grain " << run.grain;
    EXPECT_EQ(again.item, once.item);
    for (std::size_t epoch = 0; epoch < 4; ++epoch) {
      if (run.width != 1) continue;  // sums over a team are of its size
      EXPECT_EQ(again.errors[epoch].training, once.errors[epoch].training);
      EXPECT_EQ(again.errors[epoch].held_out, once.errors[epoch].held_out);
    }
  }
}

TEST(graph_sgd, learns_what_is_no_noise) {
  factorised const done = factorise({.users = 1000, .items = 200, .count = 60'000, .rank = 2, .noise = 0.2},
                                    {.factors = 8, .epochs = 15, .l2 = 0.01F});
  EXPECT_GT(done.errors.front().training, 0.6);
  EXPECT_LT(done.errors.back().held_out, 0.3);
  EXPECT_TRUE(done.verdict(0.2).ok) << done.verdict(0.2).message;
}

TEST(graph_sgd, judges_folds_of_many_ratings) {
  factorised const done =
      factorise({.users = 30, .items = 30, .count = 310'000}, {.factors = 8, .epochs = 1}, {}, 3, 0.9);
  EXPECT_TRUE(done.verdict().ok) << done.verdict().message;
  EXPECT_GT(done.held_out.size(), graph_sgd<8>::judged * graph_sgd<8>::fold);  // a second item of the last phase
}

TEST(graph_sgd, takes_one_rating_and_nothing_held_out) {
  for (std::uint32_t const factors : {8U, 64U}) {
    factorised const done =
        factorise({.users = 1, .items = 1, .count = 1}, {.factors = factors, .epochs = 2}, {}, 0, 0);
    EXPECT_EQ(done.blocks.phases, 1U);
    EXPECT_EQ(done.errors[1].held_out, 0);
    EXPECT_TRUE(done.verdict().ok) << done.verdict().message;
  }
}

TEST(graph_sgd, stops_where_an_error_is_no_number) {
  factorised const done = factorise(few, {.factors = 8, .epochs = 50, .rate = 90});
  EXPECT_TRUE(done.stopped);
  EXPECT_FALSE(done.verdict().ok);
}

TEST(graph_sgd, knows_four_numbers_of_factors) {
  EXPECT_THROW(with_graph_sgd(12, []<class Task>() {}), usage_error);
}

class graph_sgd_verifier : public testing::Test {
 protected:
  void expect_refused(factorised const& wrong, char const* says, std::optional<double> noise = {}) {
    verification const verdict = wrong.verdict(noise);
    EXPECT_FALSE(verdict.ok);
    EXPECT_NE(verdict.message.find(says), std::string::npos) << verdict.message;
  }

  factorised done = factorise(few, {.factors = 8, .epochs = 3});
};

TEST_F(graph_sgd_verifier, sees_one_wrong_factor) {
  done.user[17] += 0.01F;
  expect_refused(done, "the factors are not those");
}

TEST_F(graph_sgd_verifier, sees_a_wrong_error_of_an_epoch) {
  done.errors[1].training *= 1.001;
  expect_refused(done, "epoch 2 has errors");
}

TEST_F(graph_sgd_verifier, sees_a_wrong_error_held_out) {
  done.errors[2].held_out *= 0.999;
  expect_refused(done, "epoch 3 has errors");
}

TEST_F(graph_sgd_verifier, sees_factors_that_are_no_numbers) {
  done.item[3] = std::numeric_limits<float>::quiet_NaN();
  expect_refused(done, "the factors are not those");
}

TEST_F(graph_sgd_verifier, sees_a_rating_that_is_missing) {
  done.blocks.ordered[5] = done.blocks.ordered[6];
  expect_refused(done, "each rating once");
}

TEST_F(graph_sgd_verifier, sees_blocks_that_share_a_user) {
  // Into one phase: the blocks of two, of which the second meets the groups of the first again.
  ratings twice{{}, 1, 2};
  twice.all = {{0, 0, 1}, {0, 1, 1}};
  rating_blocks blocks = make_rating_blocks(twice, 2);
  ASSERT_EQ(blocks.phases, 2U);
  blocks.phases = 1;
  blocks.begins = {0, 1, 2};
  factorised wrong = done;
  wrong.training = twice;
  wrong.blocks = blocks;
  expect_refused(wrong, "share a user or an item");
}

TEST_F(graph_sgd_verifier, sees_an_error_below_the_noise) { expect_refused(done, "below the noise", 10.0); }

}  // namespace
}  // namespace lull
