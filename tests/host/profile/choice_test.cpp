// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/host/profile/choice.hpp>
#include <lull/host/report/bubble_writers.hpp>
#include <lull/tests/host/report/bubbles.hpp>
#include <lull/tests/support/test_folder.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

work_profile work(std::string const& label, double in_1ms, double in_10ms, double items_per_s = 1000) {
  return {.task = "mlp",
          .label = label,
          .machine_bytes = 1 << 20,
          .items_per_s = items_per_s,
          .lengths = {{.longest = 1ms, .harvest = in_1ms}, {.longest = 10ms, .harvest = in_10ms}}};
}

machine_profiles of(std::vector<work_profile> works) { return {"0.2.0", "threads", "", std::move(works)}; }

double harvest_in(std::chrono::nanoseconds length) {
  return prospects_of(of({work("one", 0.6, 0.9)}), {.sites = {{length, 0.25}}}).front().harvest;
}

TEST(choice, a_bubbles_harvest_is_that_of_profiled_bubbles_of_its_length) {
  EXPECT_DOUBLE_EQ(harvest_in(1ms), 0.6);
  EXPECT_DOUBLE_EQ(harvest_in(10ms), 0.9);
  EXPECT_NEAR(harvest_in(3'162'278ns), 0.75, 1e-6) << "half way in the logarithm";
  EXPECT_DOUBLE_EQ(harvest_in(100ms), 0.9);
  EXPECT_DOUBLE_EQ(harvest_in(800us), 0.5) << "0.4 ms are lost in each";
  EXPECT_DOUBLE_EQ(harvest_in(400us), 0);
  EXPECT_DOUBLE_EQ(harvest_in(100us), 0);
}

TEST(choice, the_one_that_does_most_in_a_trainers_bubbles_is_the_best) {
  machine_profiles const known = of({work("quick to start", 0.9, 0.9, 1000), work("fast", 0.1, 0.9, 2000)});
  auto const brief = prospects_of(known, {.sites = {{1ms, 0.5}}});
  ASSERT_EQ(brief.size(), 2U);
  EXPECT_EQ(known.works[brief[0].work].label, "quick to start");
  EXPECT_DOUBLE_EQ(*brief[0].items_per_s, 1000 * 0.9 * 0.5);
  EXPECT_DOUBLE_EQ(*brief[1].items_per_s, 2000 * 0.1 * 0.5);
  auto const both = prospects_of(known, {.sites = {{1ms, 0.1}, {10ms, 0.4}}});
  EXPECT_EQ(known.works[both[0].work].label, "fast");
  EXPECT_DOUBLE_EQ(both[0].harvest, (0.1 * 0.1 + 0.9 * 0.4) / 0.5);
}

TEST(choice, whole_jobs_count_where_they_are_known_of_all) {
  machine_profiles known = of({work("small items", 0.9, 0.9, 5000), work("large items", 0.9, 0.9, 10)});
  idle_time const idle{.sites = {{1ms, 0.5}}};
  known.works[0].jobs_per_s = 0.1;
  EXPECT_EQ(prospects_of(known, idle).front().work, 0U);
  known.works[1].jobs_per_s = 0.2;
  auto const found = prospects_of(known, idle);
  EXPECT_EQ(found.front().work, 1U);
  EXPECT_DOUBLE_EQ(*found.front().jobs_per_s, 0.2 * 0.9 * 0.5);
  known.works[0].jobs_per_s.reset();
  known.works[1].task = "images";
  EXPECT_THROW(prospects_of(known, idle), usage_error) << "items of unlike tasks";
  known = of({work("one", 0.9, 0.9)});
  known.works[0].items_per_s.reset();
  EXPECT_THROW(prospects_of(known, idle), usage_error);
}

TEST(choice, what_does_not_fit_comes_last) {
  machine_profiles known = of({work("large", 0.9, 0.9, 2000), work("small", 0.9, 0.9, 1000)});
  known.works[0].machine_bytes = 8 << 20;
  idle_time idle{.sites = {{1ms, 0.5}}};
  EXPECT_EQ(prospects_of(known, idle).front().work, 0U) << "what is free is not known";
  idle.min_free_bytes = 8 << 20;
  EXPECT_EQ(prospects_of(known, idle).front().work, 1U) << "a sixteenth is left for others";
  idle.min_free_bytes = 9 << 20;
  EXPECT_EQ(prospects_of(known, idle).front().work, 0U);
  auto const found = prospects_of(known, idle, {.reserve_bytes = 1 << 20});
  EXPECT_EQ(found[0].work, 1U);
  EXPECT_TRUE(found[0].fits);
  EXPECT_FALSE(found[1].fits);
  EXPECT_FALSE(prospects_of(known, idle, {.reserve_bytes = 9 << 20}).front().fits);
  known.works[1].machine_bytes.reset();
  EXPECT_TRUE(prospects_of(known, idle, {.reserve_bytes = 9 << 20}).front().fits) << "its need is not known";
}

TEST(choice, a_hungry_one_runs_less_under_a_bound) {
  machine_profiles known = of({work("hungry", 0.9, 0.9, 2000), work("tame", 0.9, 0.9, 1000)});
  known.works[0].lengths[0].slowdown = {0.03, 0.035, 0.04};
  known.works[1].lengths[0].slowdown = {0.001, 0.0015, 0.002};
  idle_time const idle{.sites = {{1ms, 0.5}}};
  EXPECT_EQ(prospects_of(known, idle).front().work, 0U);
  auto const found = prospects_of(known, idle, {.max_slowdown = 0.01});
  EXPECT_EQ(found[0].work, 1U);
  EXPECT_DOUBLE_EQ(*found[1].items_per_s, 2000 * 0.9 * 0.5 / 4);
  EXPECT_DOUBLE_EQ(*found[1].slowdown, 0.04);
  known.works[0].lengths[0].slowdown.reset();
  auto const unknown = prospects_of(known, idle, {.max_slowdown = 0.01});
  EXPECT_EQ(unknown[0].work, 0U);
  EXPECT_FALSE(unknown[0].slowdown);
}

TEST(choice, idle_time_of_gates_that_overlap_is_no_more_than_all) {
  auto const found = prospects_of(of({work("one", 1, 1)}), {.sites = {{1ms, 0.8}, {1ms, 0.8}}});
  EXPECT_DOUBLE_EQ(*found.front().items_per_s, 1000);
}

bubble_summary seen() {
  bubble_summary sum = two_gates();
  bubble_report one = observed({.site = "forward", .at = std::chrono::milliseconds{999}, .length = 1ms});
  one.free_bytes = 5 << 20;
  sum.add(one);
  sum.add(observed({.site = "of unknown length", .at = std::chrono::milliseconds{999}}));
  return sum;
}

TEST(choice, idle_time_is_the_same_of_a_summary_and_of_its_file) {
  test::test_folder const folder;
  write_bubble_report(folder.at("bubbles.json"), seen());
  idle_time const read = read_idle_time(folder.at("bubbles.json"));
  idle_time const told = idle_time_of(seen());
  ASSERT_EQ(read.sites.size(), 3U);
  ASSERT_EQ(told.sites.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(read.sites[i].typical, told.sites[i].typical);
    EXPECT_DOUBLE_EQ(read.sites[i].share, told.sites[i].share);
  }
  EXPECT_EQ(read.min_free_bytes, 5U << 20);
  EXPECT_EQ(told.min_free_bytes, 5U << 20);
}

TEST(choice, without_idle_time_there_is_nothing_to_choose_by) {
  EXPECT_THROW(prospects_of(of({work("one", 0.9, 0.9)}), {}), usage_error);
  EXPECT_TRUE(idle_time_of(bubble_summary{}).sites.empty());
  test::test_folder const folder;
  for (char const* const site : {R"("p50_us": "x")", R"("p50_us": -5)", R"("p50_us": 1e300)", R"("share": 50)",
                                 R"("min_free_bytes": -1)", R"("min_free_bytes": 1e30)"}) {
    std::ofstream{folder.at("bubbles.json")} << R"({"schema": "lull.bubbles/2", "gates": [{"sites": [{)" << site
                                             << "}]}]}";
    EXPECT_THROW(read_idle_time(folder.at("bubbles.json")), input_error) << site;
  }
}

}  // namespace
}  // namespace lull
