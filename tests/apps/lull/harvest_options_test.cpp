// SPDX-License-Identifier: Apache-2.0
// Which bubbles a harvest uses, and how much of them.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include <lull/tests/apps/lull/program.hpp>

namespace lull {
namespace {

TEST_F(program, a_bound_that_is_none_is_refused) {
  for (std::string const bound : {"5", "0%", "101%", "nan%", "x%", "0.5%x", "0x10%", "1e-322%", "''"})
    expect_refused("harvest --max-slowdown " + bound,
                   "--max-slowdown: \"" + (bound == "''" ? "" : bound) + "\" is no share from 0.001% to 100%");
  expect_refused("harvest --executor threads --mode none --iterations 10 --max-slowdown 1%", "needs --mode lull");
  expect_refused("harvest --max-slowdown 1%", "--max-slowdown needs --iterations of 10 or more");
}

TEST_F(program, a_bound_on_slowdown_is_tried_and_told) {
  outcome const found =
      ask("harvest --executor threads --task compute:rounds=20 --segment 200us --iterations 12 --pairs 2 "
          "--max-slowdown 20% --json");
  ASSERT_EQ(found.code, 0) << found.text;
  json const read = json::parse(found.text);
  EXPECT_EQ(read["steps"]["marked"], 24U);
  EXPECT_EQ(read["steps"]["max_slowdown_pct"], 20);
  EXPECT_GT(read["steps"]["withheld"], 0U);
  EXPECT_GT(read["harvest"]["lost_us"]["withheld"], 0);
  auto const finished = [](json const& job) { return job["state"] == "finished"; };  // its successor may not have
  EXPECT_TRUE(std::any_of(read["jobs"].begin(), read["jobs"].end(), finished)) << "behind the pairs there is no bound";
}

TEST_F(program, bubbles_below_the_shortest_that_is_asked_for_are_passed_over) {
  std::string const asked = "harvest --executor threads --task compute:rounds=20 --segment 100us --iterations 12 ";
  json const told = json::parse(ask(asked + "--pairs 2 --json --min-bubble 1s").text);
  EXPECT_GT(told["harvest"]["lost_us"]["too_short"], 0);
  json const others = json::parse(ask(asked + "--pairs 2 --json --min-bubble 0s").text);
  EXPECT_EQ(others["harvest"]["lost_us"]["too_short"], 0);
}

TEST_F(program, a_rest_is_taken_and_told) {
  std::string const asked = std::string{quick_harvest} + "--task compute:rounds=20 --json ";
  EXPECT_EQ(json::parse(ask(asked).text)["config"]["rest_before_close_us"], 10);
  EXPECT_EQ(json::parse(ask(asked + "--rest-before-close 1ms").text)["config"]["rest_before_close_us"], 1000);
  EXPECT_EQ(json::parse(ask(asked + "--rest-before-close 0us").text)["config"]["rest_before_close_us"], 0);
  EXPECT_TRUE(json::parse(ask(asked + "--mode naive").text)["config"]["rest_before_close_us"].is_null());
}

TEST_F(program, times_that_cannot_be_are_refused) {
  expect_refused("harvest --min-bubble 2s", "--min-bubble 2s is longer than 1000 ms");
  expect_refused("harvest --mode naive --min-bubble 100us", "--min-bubble needs --mode lull");
  expect_refused("harvest --rest-before-close 1001us", "--rest-before-close 1001us is longer than 1 ms");
  expect_refused("harvest --mode none --rest-before-close 10us", "--rest-before-close needs --mode lull");
  expect_refused("harvest --rest-before-close soon", "--rest-before-close: ");
}

}  // namespace
}  // namespace lull
