// SPDX-License-Identifier: Apache-2.0
// What the doctor says of pending waits, and of all that it finds. Measurements are made up.
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <lull/apps/lull/finding.hpp>

namespace lull {
namespace {

waiting_cost const measured{.why_not = {},
                            .base_us = 2.55,
                            .one_wait = {.streams = 3, .min_us = 0.01, .median_us = 0.05, .max_us = 1.3},
                            .two_waits = {.streams = 3, .min_us = 0, .median_us = 1.4, .max_us = 1.5}};

waiting_cost cost_of_all(double us) {
  waiting_range const range{.streams = 4, .min_us = us, .median_us = us, .max_us = us};
  return {.why_not = {}, .base_us = 2.5, .one_wait = range, .two_waits = range};
}

bool says(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

TEST(waiting_cost, is_a_finding_in_plain_words) {
  finding const made = check_waiting(measured, "");
  EXPECT_EQ(made.what, "pending waits");
  EXPECT_EQ(made.state, health::worth_a_look);
  EXPECT_EQ(made.found,
            "with one wait pending a kernel starts 0.01 to 1.30 us later (median 0.05), with a second one, such as "
            "NCCL's, 0.00 to 1.50 "
            "us later (median 1.40); 3 streams, 8 connections");
  EXPECT_TRUE(says(made.to_do, "a step of 1,000 short kernels takes up to 1.50 ms longer if a worker waits"))
      << made.to_do;
  EXPECT_TRUE(says(made.to_do, "armed_ahead")) << made.to_do;
}

TEST(waiting_cost, is_worth_a_look_where_kernels_are_slow) {
  EXPECT_EQ(check_waiting(cost_of_all(0.31), "").state, health::worth_a_look);
  finding const little = check_waiting(cost_of_all(0.29), "");
  EXPECT_EQ(little.state, health::good);
  EXPECT_TRUE(says(little.to_do, "up to 0.29 ms longer")) << little.to_do;
}

TEST(waiting_cost, of_less_than_nothing_is_nothing) {
  finding const made = check_waiting(cost_of_all(-0.001), "");
  EXPECT_FALSE(says(made.found, "-0.00")) << made.found;
  EXPECT_TRUE(says(made.to_do, "up to 0.00 ms longer")) << made.to_do;
}

TEST(waiting_cost, names_the_connections) {
  EXPECT_TRUE(says(check_waiting(cost_of_all(0), "32").found, "32 connections"));
  for (char const* const odd : {"0", "33", "many", "8x"}) {
    finding const made = check_waiting(cost_of_all(0), odd);
    EXPECT_TRUE(says(made.found, std::string{"CUDA_DEVICE_MAX_CONNECTIONS="} + odd)) << made.found;
    for (auto const& [name, value] : made.figures) EXPECT_NE(name, "connections") << odd;
  }
}

TEST(waiting_cost, that_was_not_measured_stops_nothing) {
  finding const made = check_waiting({.why_not = "NOT RUN: no CUDA"}, "");
  EXPECT_EQ(made.found, "NOT RUN: no CUDA");
  EXPECT_EQ(made.state, health::worth_a_look);
  EXPECT_EQ(made.to_do, "");
  EXPECT_TRUE(made.figures.empty());
}

TEST(findings, are_a_table_with_a_last_word) {
  std::vector<finding> all{{"MPS", health::good, "no MPS daemon", ""}, {"LULL", health::worth_a_look, "on", "nothing"}};
  EXPECT_EQ(findings_text(all),
            "ok    MPS            no MPS daemon\n"
            "look  LULL           on\n"
            "                     -> nothing\n"
            "Lull can harvest here.\n");
  all.push_back({"device", health::stops, "none", ""});
  EXPECT_TRUE(says(findings_text(all), "stop  device         none\nLull cannot harvest on a GPU here"));
}

TEST(findings, are_json_with_their_figures_in_us) {
  std::vector<finding> const all{{"MPS", health::good, "no MPS daemon", ""}, check_waiting(measured, "16")};
  auto const whole = nlohmann::json::parse(findings_json(all, "1.2"));
  EXPECT_EQ(whole.at("schema"), "lull.doctor/1");
  EXPECT_EQ(whole.at("version"), "1.2");
  EXPECT_EQ(whole.at("harvests"), true);
  EXPECT_EQ(whole.at("findings").at(0).size(), 4U);
  auto const& waits = whole.at("findings").at(1);
  EXPECT_EQ(waits.at("name"), "pending waits");
  EXPECT_EQ(waits.at("state"), "look");
  EXPECT_EQ(waits.at("connections"), 16);
  EXPECT_EQ(waits.at("streams"), 3);
  EXPECT_DOUBLE_EQ(waits.at("base_us"), 2.55);
  for (auto const& [name, value] : {std::pair{"one_wait_least_us", 0.01},
                                    {"one_wait_median_us", 0.05},
                                    {"one_wait_greatest_us", 1.3},
                                    {"two_waits_least_us", 0.0},
                                    {"two_waits_median_us", 1.4},
                                    {"two_waits_greatest_us", 1.5}}) {
    EXPECT_DOUBLE_EQ(waits.at(name), value) << name;
  }
  EXPECT_FALSE(any_stops(all));
}

}  // namespace
}  // namespace lull
