// SPDX-License-Identifier: Apache-2.0
// What `lull profile` makes of its measurements, and the command itself.
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <lull/apps/lull/profile.hpp>
#include <lull/tests/apps/lull/program.hpp>

namespace lull {
namespace {

report measured(double ratio, double slowdown_percent) {
  report found;
  found.executor = "cuda";
  found.time = "device";
  found.config.reserved_groups = 2;
  found.config.segment_ms = 0.5;
  found.config.tasks = {{"mlp", {{"hidden", "64"}}}};
  found.machine.gpu.emplace().state.power_w = 300;
  found.harvest.ratio = 0.9 * ratio;
  found.harvest.ratio_excluding_reserved = ratio;
  found.harvest.solo_items_per_s = 1234;
  found.harvest.taken_bytes = 5 << 19;
  found.drain_us = {.n = 3, .p50 = 4, .p99 = 9, .p999 = 9, .max = 9};
  found.training = slowdown{.pairs = 2,
                            .baseline = 100,
                            .with_side_tasks = 101,
                            .percent = slowdown_percent,
                            .ci95_percent = interval95{0.1, 0.3}};
  return found;
}

std::vector<task_profile> two_lengths() {
  return {
      {.memory = {.machine_bytes = 3 << 20}, .lengths = {{"1ms", measured(0.8, 0.2)}, {"10ms", measured(0.95, 0.1)}}}};
}

TEST(profile, appetite_is_what_all_of_the_idle_time_would_cost) {
  EXPECT_DOUBLE_EQ(appetite_percent(measured(0.8, 0.2)).value(), 0.25);
  EXPECT_FALSE(appetite_percent(measured(0, 0.2)));
  report found = measured(0.8, 0.2);
  found.training->ci95_percent = interval95{-0.1, 0.3};
  EXPECT_FALSE(appetite_percent(found));
  found.training.reset();
  EXPECT_FALSE(appetite_percent(found));
  EXPECT_FALSE(appetite_percent(report{}));
}

TEST(profile, its_json_has_the_machine_once_and_the_lengths_of_each_task) {
  json const read = json::parse(profiles_json(two_lengths()));
  EXPECT_EQ(read["schema"], "lull.profile/2");
  EXPECT_EQ(read["executor"], "cuda");
  EXPECT_EQ(read["reserved_groups"], 2);
  ASSERT_EQ(read["profiles"].size(), 1U);
  json const& profile = read["profiles"][0];
  EXPECT_EQ(profile["task"]["name"], "mlp");
  EXPECT_EQ(profile["machine_bytes"], 3 << 20);
  EXPECT_EQ(profile["taken_bytes"], 5 << 19);
  EXPECT_TRUE(profile["host_bytes"].is_null());
  EXPECT_EQ(profile["alone_items_per_s"], 1234);
  ASSERT_EQ(profile["lengths"].size(), 2U);
  json const& first = profile["lengths"][0];
  EXPECT_EQ(first["longest_bubble"], "1ms");
  EXPECT_EQ(first["segment_ms"], 0.5);
  EXPECT_EQ(first["harvest_ratio_excluding_reserved"], 0.8);
  EXPECT_EQ(first["appetite_pct"], 0.25);
  EXPECT_EQ(first["drain_us"]["p99"], 9);
  EXPECT_EQ(first["training"]["ci95_pct"], (json{0.1, 0.3}));
  EXPECT_EQ(first["power_w"], 300);
}

TEST(profile, what_was_not_measured_is_null_and_a_dash) {
  report nothing;
  nothing.config.tasks = {{"mlp", {}}};
  std::vector<task_profile> const none{{.memory = {}, .lengths = {{"1ms", nothing}}}};
  json const read = json::parse(profiles_json(none));
  for (char const* const key : {"harvest_ratio", "appetite_pct", "power_w", "segment_ms"})
    EXPECT_TRUE(read["profiles"][0]["lengths"][0][key].is_null()) << key;
  std::ostringstream out;
  print_profiles(out, none);
  EXPECT_NE(out.str().find("  1ms                    -          - /        -                 -          -\n"),
            std::string::npos)
      << out.str();
}

TEST(profile, is_a_table_of_narrow_lines) {
  std::ostringstream out;
  print_profiles(out, two_lengths());
  EXPECT_EQ(out.str(), R"(mlp: 1234 items a second alone, 2.5 MiB
  longest bubble   harvest    drain p50 / p99 us   training longer   appetite
  1ms               80.0 %        4.0 /      9.0           +0.20 %    +0.25 %
  10ms              95.0 %        4.0 /      9.0           +0.10 %    +0.11 %
harvest: work done, as time that the task needs for it alone on the same SMs, of
the bubbles' time; appetite: how much longer training would be at a harvest of
100 %; '-' where nothing can be told from the noise. JSON has the intervals.
)");
}

using profiled = program;

TEST_F(profiled, tasks_are_measured_at_each_length_and_do_not_run_to_their_end) {
  outcome const found =
      ask("profile --executor threads --task compute:rounds=1000000000 --task streaming:rounds=32768 "
          "--bubbles 1ms,2ms --pairs 2 --out " +
          file("p.json"));
  ASSERT_EQ(found.code, 0) << found.text;
  EXPECT_NE(found.text.find("CPU threads that stand for a GPU"), std::string::npos) << found.text;
  json const read = json::parse(content(file("p.json")));
  ASSERT_EQ(read["profiles"].size(), 2U);
  EXPECT_TRUE(read["profiles"][0]["alone_jobs_per_s"].is_number());
  for (json const& profile : read["profiles"]) {
    EXPECT_GT(profile["alone_items_per_s"], 0);
    EXPECT_GT(profile["taken_bytes"], 0U);
    ASSERT_EQ(profile["lengths"].size(), 2U);
    for (json const& each : profile["lengths"]) {
      EXPECT_GT(each["bubbles"]["harvested"], 0U);
      EXPECT_GT(each["harvest_ratio"], 0);
      EXPECT_EQ(each["training"]["pairs"], 2U);
    }
  }
}

TEST_F(profiled, whole_jobs_a_second_are_of_as_many_items_as_a_job_has) {
  outcome const found = ask(
      "profile --executor threads --task compute:rounds=64,items=64 --bubbles 1ms --pairs 2 --out " + file("p.json"));
  ASSERT_EQ(found.code, 0) << found.text;
  json const profile = json::parse(content(file("p.json")))["profiles"][0];
  double const items = profile["alone_items_per_s"].get<double>() / profile["alone_jobs_per_s"].get<double>();
  EXPECT_NEAR(items, 64 * 64, 64 * 64 * 0.05);
}

TEST_F(profiled, a_runtime_that_is_off_is_no_profile) {
  outcome const found =
      ask("profile --executor threads --task compute --bubbles 1ms --pairs 2 --out " + file("p.json"), "LULL=off ");
  EXPECT_EQ(found.code, 2) << found.text;
  EXPECT_NE(found.text.find("nothing is harvested: LULL"), std::string::npos) << found.text;
  EXPECT_FALSE(std::filesystem::exists(file("p.json")));
}

TEST_F(profiled, what_cannot_be_is_refused_before_anything_is_measured) {
  for (auto const& [arguments, why] : std::vector<std::pair<std::string, std::string>>{
           {"", "--task is required"},
           {"--task comput", "unknown task"},
           {"--task compute --task comput", "unknown task"},
           {"--task compute --bubbles 1ms,2", "--bubbles: \"2\" is not a duration"},
           {"--task compute --pairs 1", "--pairs"},
           {"--task compute --bubbles 1ms,60s",
            "--bubbles 60s with --pairs 6: the replays would take more than 10 min"},
           {"--task compute --out " + file("none/p.json"), "no folder"},
           {"--task compute --bubbles 1ms,1ms,1ms,1ms,1ms,1ms,1ms,1ms,1ms,1ms,1ms,1ms,1ms,1ms,1ms,1ms,1ms",
            "it may have 16"}}) {
    outcome const found = ask("profile --executor threads " + arguments);
    EXPECT_EQ(found.code, 2) << found.text;
    EXPECT_NE(found.text.find(why), std::string::npos) << found.text;
  }
}

}  // namespace
}  // namespace lull
