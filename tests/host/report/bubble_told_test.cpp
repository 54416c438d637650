// SPDX-License-Identifier: Apache-2.0
// What a report tells besides bubbles: of SMs, of the GPU, of a bound.
#include <chrono>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <lull/host/report/bubble_writers.hpp>
#include <lull/tests/host/report/bubbles.hpp>
#include <lull/tests/host/report/contains.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;
using json = nlohmann::json;

TEST(bubble_text, says_which_processors_are_reserved_and_why) {
  bubble_summary sum = two_gates();
  sum.tell({.processors = 8, .for_workers = 8});
  EXPECT_FALSE(contains(bubble_text(sum), "keeps off"));
  sum.tell({.processors = 132, .for_workers = 116});
  EXPECT_TRUE(contains(bubble_text(sum), "Side work keeps off 16 of 132 SMs.\n"));
  sum.tell({.processors = 132, .for_workers = 108, .groups_added = 1, .last_added_at = "recv"});
  EXPECT_TRUE(contains(flowing(bubble_text(sum)),
                       "keeps off 24 of 132 SMs. 1 group of 8 of them was added since a kernel of training waited for "
                       "side work, last at 'recv'."));
  sum.tell({.processors = 132, .for_workers = 100, .groups_added = 2, .last_added_at = "recv"});
  EXPECT_TRUE(contains(flowing(bubble_text(sum)), "2 groups of 8 of them were added since kernels of training waited"));
  sum.tell({.processors = 132, .for_workers = 108, .groups_added = 1, .last_added_at = "recv"});
  json const told = json::parse(bubble_json(sum))["reserved"];
  EXPECT_EQ(told, (json{{"sms", 132}, {"for_workers", 108}, {"groups_added", 1}, {"last_added_at", "recv"}}));
  EXPECT_TRUE(json::parse(bubble_json(two_gates()))["reserved"].is_null());
}

TEST(bubble_text, says_what_the_gpu_did) {
  bubble_summary sum = two_gates();
  EXPECT_TRUE(json::parse(bubble_json(sum))["gpu"].is_null());
  sum.tell(gpu_summary{});  // no GPU to ask
  EXPECT_TRUE(json::parse(bubble_json(sum))["gpu"].is_null());
  EXPECT_FALSE(contains(bubble_text(sum), "The GPU"));
  gpu_summary seen;
  seen.add({.sm_mhz = 1500, .memory_mhz = {}, .power_w = 500, .temperature_c = {}, .power_capped = true});
  seen.add({.sm_mhz = 1900, .memory_mhz = {}, .power_w = 701, .temperature_c = {}, .power_capped = false});
  seen.power_limit_w = 700;
  sum.tell(seen);
  EXPECT_TRUE(contains(flowing(bubble_text(sum)),
                       "The GPU's SMs and its power, by 2 samples: 1500 to 1900 MHz (1700 in the mean), 500 to 701 W "
                       "(600 in the mean) of 700 W allowed, clocks held down by power in 50.0 % of the samples."))
      << bubble_text(sum);
  EXPECT_EQ(json::parse(bubble_json(sum))["gpu"], (json{{"samples", 2},
                                                        {"sm_mhz", {{"min", 1500}, {"mean", 1700}, {"max", 1900}}},
                                                        {"power_w", {{"min", 500}, {"mean", 600.5}, {"max", 701}}},
                                                        {"power_limit_w", 700},
                                                        {"power_capped_share", 0.5},
                                                        {"temperature_c", nullptr}}));
  gpu_summary only_cap;
  only_cap.add({.sm_mhz = {}, .memory_mhz = {}, .power_w = {}, .temperature_c = {}, .power_capped = false});
  sum.tell(only_cap);
  EXPECT_TRUE(contains(flowing(bubble_text(sum)), "by 1 sample: clocks held down by power in 0.00 % of the samples."))
      << bubble_text(sum);
}

TEST(bubble_text, says_what_a_bound_on_slowdown_did) {
  bubble_summary sum = two_gates();
  EXPECT_TRUE(json::parse(bubble_json(sum))["steps"].is_null());
  step_report steps{.begun = 8, .timed = 5, .total = 10ms};
  sum.tell(steps);
  EXPECT_FALSE(contains(bubble_text(sum), "teps may take"));
  json told = json::parse(bubble_json(sum))["steps"];
  EXPECT_EQ(told["mean_ms"], 2);
  EXPECT_TRUE(told["max_slowdown_pct"].is_null() && told["withheld"].is_null());
  steps.max_slowdown = 0.005;
  steps.withheld = 6;
  steps.chance = 0.2;
  sum.tell(steps);
  EXPECT_TRUE(
      contains(flowing(bubble_text(sum)),
               "Steps may take 0.50 % longer in the mean, so 6 of 8 had no side work; how much longer one with it "
               "takes is not known yet; 20.00 % of those to come may have it."));
  told = json::parse(bubble_json(sum))["steps"];
  EXPECT_EQ((std::vector<json>{told["marked"], told["withheld"], told["chance"]}), (std::vector<json>{8, 6, 0.2}));
  EXPECT_TRUE(told["ci95_pct"].is_null() && told["noise_pct"].is_null() && told["steps_to_know"].is_null());
  steps.noise = 0.01;
  steps.steps_to_know = 900;
  sum.tell(steps);
  EXPECT_TRUE(contains(flowing(bubble_text(sum)), "will be known to half of the bound after about 900 steps."));
  steps.slowdown = slowdown_interval{-0.0025, -0.00001, 0.0025};
  sum.tell(steps);
  EXPECT_TRUE(contains(flowing(bubble_text(sum)), "takes 0.00 % longer (95 % interval: -0.25 % to 0.25 %)"));
  EXPECT_FALSE(contains(bubble_text(sum), "about 900 steps"));  // it is known
  sum.tell(step_report{.max_slowdown = 0.005});
  EXPECT_TRUE(contains(flowing(bubble_text(sum)), "no step was marked, so no side work ran: call step."));
  EXPECT_EQ(json::parse(bubble_json(sum))["steps"]["max_slowdown_pct"], 0.5);
}

TEST(bubble_text, says_what_the_cap_did_once_steps_are_marked) {
  bubble_summary sum = two_gates();
  step_report steps{.slowdown_cap = 0.01};
  sum.tell(steps);
  EXPECT_FALSE(contains(bubble_text(sum), "gives way"));
  steps = {.begun = 900,
           .timed = 890,
           .total = 890ms,
           .slowdown_cap = 0.01,
           .withheld = 700,
           .chance = 0.15,
           .noise = 0.01,
           .steps_to_know = 900};
  steps.slowdown = slowdown_interval{0.05, 0.06, 0.07};
  sum.tell(steps);
  EXPECT_TRUE(
      contains(flowing(bubble_text(sum)),
               "Side work that is known to make a step more than 1.00 % longer gives way; 700 of 900 had no side work; "
               "one with it takes 6.00 % longer (95 % interval: 5.00 % to 7.00 %); 15.00 % of those to come "
               "may have it."))
      << bubble_text(sum);
  json const told = json::parse(bubble_json(sum))["steps"];
  EXPECT_EQ((std::vector<json>{told["slowdown_cap_pct"], told["withheld"]}), (std::vector<json>{1, 700}));
  EXPECT_TRUE(told["max_slowdown_pct"].is_null());
}

}  // namespace
}  // namespace lull
