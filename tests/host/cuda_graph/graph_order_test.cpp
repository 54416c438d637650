// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdint>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/cuda_graph/graph_order.hpp>
#include <lull/host/cuda_graph/graph_task.hpp>
#include <lull/host/cuda_graph/kernel_name.hpp>
#include <lull/host/error.hpp>
#include <lull/host/task/counter_random.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;
using numbers = std::vector<std::uint32_t>;

TEST(graph_order, of_independent_nodes_the_smallest_comes_first) {
  EXPECT_EQ(topological_order(4, {}), (numbers{0, 1, 2, 3}));
  std::vector<graph_edge> const edges{{3, 0}, {2, 1}};
  EXPECT_EQ(topological_order(4, edges), (numbers{2, 1, 3, 0}));
  EXPECT_EQ(topological_order(0, {}), numbers{});
}

TEST(graph_order, puts_every_node_behind_what_it_depends_on) {
  counter_random const random{11, 0};
  for (std::uint64_t turn = 0; turn < 200; ++turn) {
    std::uint32_t const count = 2 + static_cast<std::uint32_t>(random.at(turn) % 60);
    numbers rank(count);
    std::iota(rank.begin(), rank.end(), 0U);
    for (std::uint32_t at = count - 1; at > 0; --at) std::swap(rank[at], rank[random.at(turn * 1'000 + at) % (at + 1)]);
    std::vector<graph_edge> edges;
    for (std::uint64_t draw = 0; draw < 3 * count; ++draw) {
      auto const one = static_cast<std::uint32_t>(random.at(turn * 77'777 + 2 * draw) % count);
      auto const other = static_cast<std::uint32_t>(random.at(turn * 77'777 + 2 * draw + 1) % count);
      if (one != other) edges.push_back(rank[one] < rank[other] ? graph_edge{one, other} : graph_edge{other, one});
    }
    numbers const order = topological_order(count, edges);
    numbers place(count);
    for (std::uint32_t at = 0; at < count; ++at) place[order[at]] = at;
    ASSERT_EQ(std::accumulate(place.begin(), place.end(), 0U), count * (count - 1) / 2);
    for (auto const& [from, to] : edges) ASSERT_LT(place[from], place[to]);
  }
}

TEST(graph_order, a_cycle_is_refused) {
  std::vector<graph_edge> const edges{{0, 1}, {1, 2}, {2, 1}};
  EXPECT_THROW(topological_order(3, edges), usage_error);
}

TEST(graph_cut, segments_hold_as_many_nodes_as_take_about_the_time_and_a_longer_one_stands_alone) {
  std::vector<std::chrono::nanoseconds> const nodes{40us, 40us, 30us, 500us, 10us, 110us, 50us, 90us, 60us};
  EXPECT_EQ(cut_by_time(nodes, 100us), (numbers{3, 1, 1, 1, 2, 1}));
  EXPECT_EQ(cut_by_time(nodes, 1ns), numbers(nodes.size(), 1));
  EXPECT_EQ(cut_by_time(nodes, 1s), numbers{9});
  EXPECT_EQ(cut_by_time({}, 100us), numbers{});
}

TEST(graph_cut, what_a_stamp_alone_or_the_shortest_node_took_is_the_stamp) {
  std::vector<std::uint64_t> const stamps{1'000, 8'000, 15'000, 122'000, 128'000};
  EXPECT_EQ(without_stamps(stamps), (std::vector<std::chrono::nanoseconds>{2us, 102us, 1us}));
  std::vector<std::uint64_t> const one_node{1'000, 6'000, 3'000'000};
  EXPECT_EQ(without_stamps(one_node), (std::vector<std::chrono::nanoseconds>{2'990us}));
  EXPECT_TRUE(without_stamps({}).empty());
}

TEST(graph_cut, is_told_in_a_line) {
  cut_graph const cut{
      .nodes = 390, .segments = 60, .step = 5'400us, .max_node = 462'500ns, .max_node_name = "wgrad", .program = {}};
  EXPECT_EQ(text_of(cut), "390 nodes in 60 segments, 90.0 us each in the mean; the longest node takes 462.5 us: wgrad");
  EXPECT_EQ(text_of(cut_graph{}), "0 nodes in 0 segments, 0.0 us each in the mean; the longest node takes 0.0 us: ");
}

TEST(graph_cut, stretches_hold_about_ten_segments_and_a_fifth_of_a_step_at_most) {
  std::vector<std::chrono::nanoseconds> const even(120, 100us);
  EXPECT_EQ(stretches_of(even, 100us), numbers(12, 10));
  EXPECT_EQ(stretches_of(std::span{even}.first(20), 100us), numbers(5, 4));
  EXPECT_EQ(stretches_of(std::span{even}.first(4), 100us), numbers{});  // each would be one segment
  EXPECT_EQ(stretches_of({}, 100us), numbers{});
  std::vector<std::chrono::nanoseconds> uneven(40, 10us);
  uneven.front() = 1ms;
  EXPECT_EQ(stretches_of(uneven, 100us), numbers{});  // fewer than four: one would come again too soon
}

TEST(graph_cut, what_bubbles_closed_on_is_told_in_a_line) {
  EXPECT_EQ(text_of(std::span<closed_piece const>{}), "no bubble closed while it ran");
  std::vector<closed_piece> const pieces{
      {2, 450us, "wgrad"}, {6, 100us, "norm"}, {90, 1'500ns, "copy"}, {2, 20us, "add"}};
  EXPECT_EQ(text_of(pieces),
            "100 bubbles closed while it ran, and waited at most for what was under way: p50 1.5 us, p99 450.0 us, max "
            "450.0 us; most for 2 times 450.0 us: wgrad; 6 times 100.0 us: norm; 90 times 1.5 us: copy");
}

TEST(graph_cut, kernels_have_names_that_people_read) {
  EXPECT_EQ(readable_name("nvjet_sm90_tst_192x128_64x5_1x2_h_bz_coopB_bias_TNT"),
            "nvjet_sm90_tst_192x128_64x5_1x2_h_bz_coopB_bias_TNT");
  EXPECT_EQ(readable_name("_ZN4lull4test12apply_kernelEPjj"), "lull::test::apply_kernel");
  EXPECT_EQ(readable_name("_ZN12_GLOBAL__N_13addIfEEvPT_PFvvE"), "add<float>");
  EXPECT_EQ(readable_name("_ZN2at6native29vectorized_elementwise_kernelILi2EfEEvT0_"),
            "at::native::vectorized_elementwise_kernel<2, float>");
  EXPECT_EQ(readable_name(std::string(300, 'k')), std::string(97, 'k') + "...");
  EXPECT_EQ(readable_name(""), "");
}

TEST(graph_cut, kernels_that_wait_for_other_gpus_are_known_by_their_names) {
  for (char const* const name : {"_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE",
                                 "ncclKernel_Generic_4", "nvshmemi_proxy_quiet"}) {
    EXPECT_TRUE(waits_for_peers(readable_name(name))) << name;
  }
  for (char const* const name : {"", "add", "_ZN2at6native29vectorized_elementwise_kernelILi2EfEEvT0_"}) {
    EXPECT_FALSE(waits_for_peers(readable_name(name))) << name;
  }
}

}  // namespace
}  // namespace lull
