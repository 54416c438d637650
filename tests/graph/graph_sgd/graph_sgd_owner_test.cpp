// SPDX-License-Identifier: Apache-2.0
// The host half of graph_sgd: its options, ratings from a file to a model, and what it refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <lull/graph/graph_sgd/graph_sgd_owner.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/safetensors_reader.hpp>
#include <lull/host/solo/solo_run.hpp>
#include <lull/tests/graph/graph_file.hpp>
#include <lull/tests/graph/graph_owner.hpp>
#include <string>
#include <vector>

namespace lull {
namespace {

using test::graph_owner;
using test::lines_of;
using test::settings;
using lines = std::vector<std::string>;

std::unique_ptr<task_owner> owner(settings const& given) { return test::owner_of(graph_sgd_entry(), given); }

settings with(settings given, settings const& more) {
  given.insert(given.end(), more.begin(), more.end());
  return given;
}

settings const small{{"users", "60"}, {"items", "20"}, {"count", "900"}, {"epochs", "3"}, {"factors", "8"}};

test::owner_facts const facts{
    .name = "graph_sgd",
    .entry = graph_sgd_entry,
    .small = small,
    .wrong = {},
    .refused = {{{"ratings", "a.csv"}, {"users", "5"}}, {{"factors", "12"}}, {{"held_out", "1"}}, {{"rate", "0"}}},
    .shipped = small,
    .file = "losses",
    .lines = 4,
    .check =
        [](task_owner const&, lines const& said, lines const& csv, std::string const&) {
          ASSERT_EQ(said.size(), 5U);
          EXPECT_TRUE(said[0].starts_with("900 ratings of 20 items by 60 users, ")) << said[0];
          EXPECT_TRUE(said[3].starts_with("epoch    3 ")) << said[3];
          EXPECT_EQ(csv[0], "epoch,training_rmse,held_out_rmse");
          EXPECT_TRUE(csv[3].starts_with("3,0.") || csv[3].starts_with("3,1.")) << csv[3];
        },
    .input = "ratings"};
INSTANTIATE_TEST_SUITE_P(graph_sgd, graph_owner, testing::Values(facts));

TEST(graph_sgd_owner, writes_model_errors_and_picture) {
  test::test_folder const folder;
  auto const executor = make_executor({.kind = executor_kind::threads, .processors = 2});
  auto const task = owner(with(
      small, {{"model", folder.at("m.safetensors")}, {"losses", folder.at("l.csv")}, {"plot", folder.at("p.svg")}}));
  EXPECT_EQ(task->outputs().size(), 3U);
  task->prepare(*executor);
  EXPECT_FALSE(task->verify().ok) << "before the run: the verifier sees nothing";
  EXPECT_TRUE(run_to_end(*task, *executor).finished);
  auto const verdict = task->verify();
  EXPECT_TRUE(verdict.ok) << verdict.message;
  auto const said = task->write();
  ASSERT_EQ(said.size(), 7U);
  EXPECT_EQ(lines_of(folder.at("l.csv")).size(), 4U);
  EXPECT_EQ(task->figures()[1].name, "held_out_rmse");

  safetensors_reader const model{folder.at("m.safetensors"), 1 << 20, ""};
  EXPECT_EQ(format_shape(*model.find("user_factors")), "F32 (60, 8)");
  EXPECT_EQ(format_shape(*model.find("item_factors")), "F32 (20, 8)");
  ASSERT_NE(model.find("mean"), nullptr);
  auto const picture = lines_of(folder.at("p.svg"));
  EXPECT_EQ(std::count_if(picture.begin(), picture.end(),
                          [](std::string const& line) { return line.starts_with("<polyline"); }),
            2);
}

TEST(graph_sgd_owner, takes_ratings_from_a_file) {
  test::test_folder const folder;
  std::string text = "user,item,rating\n";
  for (int at = 0; at < 300; ++at)
    text += std::to_string(at % 30) + "," + std::to_string(at * 7 % 10) + "," + std::to_string(1 + at % 5) + "\n";
  auto const file = folder.write("ratings.csv", text);
  auto const executor = make_executor({.kind = executor_kind::threads, .processors = 2});
  auto const task = owner({{"ratings", file}, {"epochs", "2"}, {"factors", "16"}, {"groups", "3"}});
  EXPECT_EQ(task->inputs(), std::vector<std::filesystem::path>{file});
  memory_need const need = task->needs(executor_kind::threads);
  EXPECT_GT(need.machine_bytes, 300 * 16U + 40 * 16 * 4);
  task->prepare(*executor);
  EXPECT_TRUE(run_to_end(*task, *executor).finished);
  EXPECT_TRUE(task->verify().ok) << task->verify().message;
  EXPECT_NE(task->write().front().find("of 3 blocks"), std::string::npos) << task->write().front();
}

TEST(graph_sgd_owner, says_how_it_read_the_columns) {
  test::test_folder const folder;
  std::string text = "a;b;c;d\n";
  for (int at = 0; at < 300; ++at) {
    text += std::to_string(at * 3) + ";" + std::to_string(at % 30) + ";" + std::to_string(at * 7 % 10) + ";" +
            std::to_string(1 + at % 5) + ",5\n";
  }
  auto const file = folder.write("ratings.csv", text);
  auto const executor = make_executor({.kind = executor_kind::threads, .processors = 2});
  EXPECT_THROW(owner({{"ratings", file}})->prepare(*executor), input_error);
  auto const task = owner({{"ratings", file}, {"columns", "b,c,4"}, {"epochs", "2"}, {"factors", "8"}});
  task->prepare(*executor);
  EXPECT_TRUE(run_to_end(*task, *executor).finished);
  EXPECT_TRUE(task->verify().ok) << task->verify().message;
  EXPECT_EQ(task->notes().at(0),
            "ratings: separated by semicolons, decimal commas, names in the first line; user is column 2 (b), item is "
            "column 3 (c), rating is column 4 (d); not read: column 1 (a)");
  EXPECT_THROW(owner({{"ratings", file}, {"columns", "b,c,4"}, {"header", "no"}})->prepare(*executor), input_error);
  EXPECT_THROW(owner({{"ratings", file}, {"columns", "2,3,4"}, {"delimiter", "tab"}})->prepare(*executor), input_error);
  EXPECT_THROW(owner({{"columns", "2,3,4"}}), usage_error);
}

TEST(graph_sgd_owner, tells_what_it_takes_before_it_does) {
  for (settings const& given : {small, with(small, {{"groups", "50"}}), settings{{"count", "20000"}, {"users", "9"}}}) {
    auto const executor = make_executor({.kind = executor_kind::threads, .processors = 2});
    auto const task = owner(given);
    memory_need const need = task->needs(executor_kind::threads);
    std::uint64_t const before = executor->taken_bytes().now;
    task->prepare(*executor);
    EXPECT_LE(executor->taken_bytes().now - before, need.machine_bytes);
    EXPECT_GE(4 * (executor->taken_bytes().now - before), need.machine_bytes) << "told far too much";
  }
}

TEST(graph_sgd_owner, says_that_the_rate_was_too_high) {
  test::test_folder const folder;
  auto const executor = make_executor({.kind = executor_kind::threads, .processors = 2});
  auto const task = owner(with(small, {{"rate", "100"}, {"model", folder.at("m.safetensors")}}));
  task->prepare(*executor);
  EXPECT_TRUE(run_to_end(*task, *executor).finished);
  EXPECT_EQ(task->failures(), 1U);
  EXPECT_FALSE(task->verify().ok);
  EXPECT_NE(task->write().back().find("lower rate than 100"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder.at("m.safetensors")));
}

TEST(graph_sgd_owner, refuses_ratings_of_which_none_is_left) {
  test::test_folder const folder;
  auto const file = folder.write("one.txt", "0 0 5\n");
  auto const executor = make_executor({.kind = executor_kind::threads});
  // Held out by chance: nothing is left of one rating under some seed.
  bool refused = false;
  for (int seed = 0; seed < 20 && !refused; ++seed) {
    try {
      owner({{"ratings", file}, {"held_out", "0.9"}, {"seed", std::to_string(seed)}})->prepare(*executor);
    } catch (input_error const& empty) {
      refused = std::string{empty.what()}.find("no rating is left") != std::string::npos;
    }
  }
  EXPECT_TRUE(refused);
}

}  // namespace
}  // namespace lull
