// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/report/bubble_summary.hpp>
#include <lull/host/report/bubble_writers.hpp>
#include <lull/tests/host/report/bubbles.hpp>
#include <lull/tests/host/report/contains.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

TEST(length_histogram, percentiles_are_within_the_stated_error_over_twelve_decades) {
  length_histogram lengths;
  std::vector<std::uint64_t> all;
  for (std::uint64_t ns = 1; ns < 5'000'000'000'000; ns += 1 + ns / 37) {
    all.push_back(ns);
    lengths.add(ns);
  }
  ASSERT_EQ(lengths.count(), all.size());
  for (std::uint32_t per_mille = 1; per_mille <= 1000; ++per_mille) {
    auto const exact = static_cast<double>(all[(all.size() * per_mille + 999) / 1000 - 1]);
    EXPECT_LE(std::abs(static_cast<double>(lengths.percentile_ns(per_mille)) - exact),
              exact * length_histogram::relative_error)
        << per_mille;
  }
}

TEST(length_histogram, both_ends_are_exact) {
  length_histogram lengths;
  EXPECT_EQ(lengths.percentile_ns(500), 0U);
  lengths.add(1'234'567);
  EXPECT_EQ(lengths.percentile_ns(500), 1'234'567U);
  EXPECT_EQ(lengths.percentile_ns(1), 1'234'567U);
  for (int i = 0; i < 98; ++i) lengths.add(1'234'568);
  EXPECT_EQ(lengths.percentile_ns(1), 1'234'567U);
  lengths.add(7'654'321);
  EXPECT_LT(lengths.percentile_ns(990), 1'250'000U);  // 99 of 100
  EXPECT_EQ(lengths.percentile_ns(991), 7'654'321U);
}

TEST(length_histogram, absurd_lengths_do_not_take_memory_or_wrap) {
  length_histogram lengths;
  lengths.add(~std::uint64_t{0});
  lengths.add(5);
  EXPECT_EQ(lengths.percentile_ns(500), 5U);
  EXPECT_EQ(lengths.percentile_ns(1000), ~std::uint64_t{0});
}

TEST(length_histogram, two_added_are_as_one) {
  length_histogram odd;
  length_histogram even;
  length_histogram all;
  for (std::uint64_t ns = 1; ns < 100'000; ns += 7) {
    (ns % 2 == 0 ? even : odd).add(ns);
    all.add(ns);
  }
  odd.add(even);
  EXPECT_EQ(odd.count(), all.count());
  for (std::uint32_t per_mille : {1U, 250U, 500U, 990U, 1000U})
    EXPECT_EQ(odd.percentile_ns(per_mille), all.percentile_ns(per_mille));
}

TEST(bubble_summary, one_thousand_known_lengths) {
  bubble_summary sum;
  for (int i = 1000; i >= 1; --i) sum.add(observed({.at = i * 2ms, .length = i * 1us}));
  std::vector<site_summary> const sites = sum.sites();
  ASSERT_EQ(sites.size(), 1U);
  EXPECT_EQ(sites[0].site, "recv");
  EXPECT_EQ(sites[0].bubbles, 1000U);
  EXPECT_NEAR(static_cast<double>(sites[0].p50.count()), 500e3, 500e3 / 128);
  EXPECT_NEAR(static_cast<double>(sites[0].p99.count()), 990e3, 990e3 / 128);
  EXPECT_EQ(sites[0].longest, 1ms);
  EXPECT_EQ(sites[0].total, 500'500us);
  // From the opening after 2 ms to the close of the last one, 1 ms after 2 s.
  ASSERT_TRUE(sites[0].observed && sites[0].share);
  EXPECT_EQ(*sites[0].observed, 1999ms);
  EXPECT_NEAR(*sites[0].share, 500.5 / 1999, 1e-12);
  EXPECT_FALSE(sites[0].host_ahead);
  EXPECT_EQ(sum.seen(), 1000U);
}

TEST(bubble_summary, what_a_harvest_would_bring) {
  bubble_summary sum;
  sum.add(observed({.at = 0s, .length = 29'999ns}));  // not worth it
  sum.add(observed({.at = 1ms, .length = 30us}));
  sum.add(observed({.at = 9ms, .length = 1ms}));
  site_summary const one = sum.sites().at(0);
  EXPECT_EQ(one.worth_it, 2U);
  EXPECT_EQ(one.harvestable, 30us + 1ms - 2 * 17us);
  double const idle_ns = 29'999 + 30'000 + 1'000'000;
  EXPECT_NEAR(*one.harvestable_of_idle, 996'000 / idle_ns, 1e-12);
  EXPECT_NEAR(*one.harvestable_a_second, 996'000 / 10e6, 1e-12);
}

TEST(bubble_summary, assumptions_can_be_others) {
  bubble_summary sum{{.harvest = {.worth = 10us, .start = 8us, .drain = 20us}}};
  sum.add(observed({.length = 10us}));  // never below nothing
  sum.add(observed({.length = 30us}));
  EXPECT_EQ(sum.sites().at(0).worth_it, 2U);
  EXPECT_EQ(sum.sites().at(0).harvestable, 2us);
}

TEST(bubble_summary, gates_and_sites_are_kept_apart) {
  bubble_summary const sum = two_gates();
  std::vector<site_summary> const sites = sum.sites();
  ASSERT_EQ(sites.size(), 3U);
  EXPECT_EQ(sites[0].site, "forward");
  EXPECT_EQ(sites[1].site, "backward");
  EXPECT_EQ(sites[2].gate, 1U);
  EXPECT_EQ(sites[2].site, "forward");
  EXPECT_EQ(sites[1].p50, 10ms);
  EXPECT_EQ(sites[2].total, 200us);

  std::vector<site_summary> const gates = sum.gates();
  ASSERT_EQ(gates.size(), 2U);
  EXPECT_EQ(gates[0].site, "");
  EXPECT_EQ(gates[0].bubbles, 20U);
  EXPECT_EQ(gates[0].total, 110ms);
  EXPECT_NEAR(static_cast<double>(gates[0].p50.count()), 1e6, 1e6 / 128);
  EXPECT_EQ(gates[0].longest, 10ms);
  // Both of a gate's sites are shares of the same time: 0 to 960 ms. The other gate's is its own: 5 ms to 905 ms and 20
  // µs.
  EXPECT_EQ(*gates[0].observed, 960ms);
  EXPECT_EQ(*sites[0].observed, 960ms);
  EXPECT_NEAR(*sites[0].share, 10.0 / 960, 1e-12);
  EXPECT_NEAR(*sites[1].share, 100.0 / 960, 1e-12);
  EXPECT_NEAR(*gates[0].share, 110.0 / 960, 1e-12);
  EXPECT_EQ(*gates[1].observed, 900ms + 20us);
  EXPECT_EQ(gates[1].worth_it, 0U);
  EXPECT_EQ(*gates[1].harvestable_a_second, 0);
}

TEST(bubble_summary, a_late_host_is_a_share_of_the_bubbles_of_which_it_is_known) {
  bubble_summary sum = two_gates();
  EXPECT_EQ(*sum.sites()[0].host_ahead, 0.8);
  EXPECT_EQ(*sum.sites()[1].host_ahead, 1);
  EXPECT_EQ(*sum.sites()[2].host_ahead, 0);
  EXPECT_EQ(*sum.gates()[0].host_ahead, 0.9);
  sum.add(observed({0, "forward", 2s, 1ms, {}}));
  EXPECT_EQ(*sum.sites()[0].host_ahead, 0.8);
}

TEST(bubble_summary, unknown_lengths_are_counted_and_in_no_figure) {
  bubble_summary sum;
  sum.add(observed({.at = 0s, .length = 0ns, .host_ahead = false}));
  site_summary one = sum.sites().at(0);
  EXPECT_EQ(one.bubbles, 0U);
  EXPECT_EQ(one.unknown, 1U);
  EXPECT_EQ(one.total, 0ns);
  EXPECT_FALSE(one.observed || one.share || one.host_ahead || one.harvestable_of_idle || one.harvestable_a_second);
  sum.add(observed({.at = 1s, .length = 1ms, .host_ahead = true}));
  one = sum.sites().at(0);
  EXPECT_EQ(one.bubbles, 1U);
  EXPECT_EQ(one.unknown, 1U);
  EXPECT_EQ(*one.observed, 1ms);
  EXPECT_EQ(*one.host_ahead, 1);
  EXPECT_EQ(sum.seen(), 2U);
  EXPECT_EQ(sum.latest().size(), 1U);
  EXPECT_EQ(sum.not_latest(), 0U);
}

TEST(bubble_summary, unknown_moments_count_but_not_towards_shares) {
  bubble_summary sum;
  bubble_report lost = observed({.length = 4ms});
  lost.opened_ns = 0;
  sum.add(lost);
  EXPECT_EQ(sum.sites()[0].total, 4ms);
  EXPECT_FALSE(sum.sites()[0].share);
  EXPECT_EQ(sum.not_latest(), 1U);
  sum.add(observed({.at = 0ms, .length = 1ms}));
  sum.add(observed({.at = 9ms, .length = 1ms}));
  EXPECT_EQ(sum.sites()[0].total, 6ms);
  EXPECT_NEAR(*sum.sites()[0].share, 0.2, 1e-12);
}

TEST(bubble_report, a_close_that_two_workers_saw_is_as_sure_as_its_first_sight) {
  bubble_report both;
  both.current.record.not_saw_ns = ~std::uint64_t{5'000};
  both.current.record.since_look_ns = 900;
  both.successor.record.not_saw_ns = ~std::uint64_t{4'500};
  EXPECT_EQ(both.record().since_look_ns, 0U);
  both.successor.record.not_saw_ns = ~std::uint64_t{5'500};
  EXPECT_EQ(both.record().since_look_ns, 900U);
}

TEST(bubble_report, what_two_workers_did_is_summed_up) {
  bubble_report both;
  both.current.record.chunks = 3;
  both.current.record.items = std::uint64_t{1} << 33;
  both.successor.record.chunks = 4;
  both.successor.record.items = 5;
  EXPECT_EQ(both.record().chunks, 7U);
  EXPECT_EQ(both.record().items, (std::uint64_t{1} << 33) + 5);
}

TEST(bubble_summary, what_a_harvest_brought) {
  bubble_summary sum;
  sum.add(harvested({.at = 0ms, .length = 1ms}));
  sum.add(harvested({.at = 2ms, .length = 3ms}));
  sum.add(observed({.at = 6ms, .length = 1ms}));
  site_summary::side_work const side = sum.gates().at(0).side;
  EXPECT_EQ(side.bubbles, 2U);
  EXPECT_EQ(side.time, 4'020us);  // of four blocks each
  EXPECT_NEAR(*side.of_idle, 4.02 / 5, 1e-9);
  EXPECT_EQ(side.items, 2000U);
  EXPECT_EQ(side.chunks, 200U);
  EXPECT_EQ(side.handed_back, 6U);
  EXPECT_EQ(side.lease_exits, 4U);
  EXPECT_EQ(side.waited, 500us);
  latest_bubble const first = sum.latest().at(0);
  EXPECT_EQ(first.work_from_ns, 10'000);
  EXPECT_EQ(first.work_until_ns, 1'020'000);
  EXPECT_EQ(sum.latest().at(2).work_until_ns, 0);
}

TEST(bubble_summary, nothing) {
  bubble_summary const sum;
  EXPECT_TRUE(sum.sites().empty() && sum.gates().empty() && sum.latest().empty());
}

TEST(bubble_summary, beyond_the_bound_the_latest_stay_and_the_figures_hold_all) {
  bubble_summary sum;
  constexpr int all = static_cast<int>(bubble_summary::max_latest) + 1000;
  for (int i = 0; i < all; ++i) sum.add(observed({.at = i * 1ms, .length = 100us}));
  EXPECT_EQ(sum.sites()[0].bubbles, static_cast<std::uint64_t>(all));
  std::vector<latest_bubble> const latest = sum.latest();
  ASSERT_EQ(latest.size(), bubble_summary::max_latest);
  EXPECT_EQ(sum.not_latest(), 1000U);
  EXPECT_EQ(latest.front().opened_ns, begin_ns + 1'000'000'000);
  EXPECT_EQ(latest.back().opened_ns, begin_ns + (all - 1) * 1'000'000LL);
}

TEST(bubble_summary, knows_where_device_memory_was_free) {
  auto const bubble = [](char const* at, std::optional<std::uint64_t> free, std::chrono::nanoseconds length = 1ms) {
    bubble_report made = observed({.site = at, .length = length});
    made.free_bytes = free;
    return made;
  };
  bubble_summary sum;
  sum.add(bubble("full", {}));
  EXPECT_FALSE(sum.sites().front().min_free_bytes);
  EXPECT_FALSE(contains(bubble_text(sum), "memory"));
  EXPECT_TRUE(contains(bubble_json(sum), "\"min_free_bytes\": null"));
  for (std::uint64_t const free : {5, 3, 4}) sum.add(bubble("full", free << 30));
  EXPECT_TRUE(contains(bubble_text(sum), "\n  least device memory free: 3.0 GiB at 'full'\n"));
  sum.add(bubble("empty", std::uint64_t{9} << 30, 0ns));  // of a bubble of unknown length, too
  EXPECT_TRUE(contains(bubble_text(sum), "\n  least device memory free: 3.0 GiB at 'full' to 9.0 GiB at 'empty'\n"));
  EXPECT_EQ(sum.gates().front().min_free_bytes, std::uint64_t{3} << 30);
  EXPECT_EQ(sum.sites()[1].min_free_bytes, std::uint64_t{9} << 30);
  EXPECT_TRUE(contains(bubble_json(sum), "\"min_free_bytes\": 9663676416"));
}

TEST(bubble_summary, sites_beyond_the_bound_are_summed_up_by_gate) {
  bubble_summary sum;
  for (int i = 0; i < 300; ++i) sum.add(observed({.site = std::to_string(i), .length = 1ms}));
  sum.add(observed({.site = "0", .length = 1ms}));
  sum.add(observed({.gate = 7, .site = "late", .length = 2ms}));
  std::vector<site_summary> const sites = sum.sites();
  ASSERT_EQ(sites.size(), bubble_summary::max_sites + 2);
  EXPECT_EQ(sum.in_other_sites(), 300 - bubble_summary::max_sites + 1);
  EXPECT_EQ(sum.seen(), 302U);
  EXPECT_EQ(sites[0].bubbles, 2U);
  EXPECT_EQ(sites[bubble_summary::max_sites].site, bubble_summary::other_sites);
  EXPECT_EQ(sites[bubble_summary::max_sites].bubbles, 300 - bubble_summary::max_sites);
  EXPECT_EQ(sum.gates()[0].bubbles, 301U);
  EXPECT_EQ(sites.back().gate, 7U);
  EXPECT_EQ(sites.back().longest, 2ms);
}

}  // namespace
}  // namespace lull
