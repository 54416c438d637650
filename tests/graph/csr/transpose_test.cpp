// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <lull/graph/csr/degrees.hpp>
#include <lull/graph/csr/transpose.hpp>
#include <lull/graph/load/generate.hpp>

#include <lull/host/error.hpp>
#include <lull/tests/graph/csr/machine_graph.hpp>

namespace lull {
namespace {

using test::rows;

TEST(transpose, turns_edges_round) {
  EXPECT_TRUE(transpose(rows({{1, 2}, {}, {2, 0, 0}})) == rows({{2, 2}, {0}, {0, 2}}));
  EXPECT_TRUE(transpose(rows({{}, {}})) == rows({{}, {}}));
  EXPECT_TRUE(transpose(rows({{}, {}, {2}, {}, {2}, {}})) == rows({{}, {}, {2, 4}, {}, {}, {}}));
}

TEST(transpose, takes_weights_along_and_keeps_the_order_of_equal_edges) {
  EXPECT_TRUE(transpose(rows({{1, 0, 1}, {1}}, {1, 2, 3, 4})) == rows({{0}, {0, 0, 1}}, {2, 1, 3, 4}));
}

TEST(transpose, twice_sorts_the_rows_only) {
  EXPECT_TRUE(transpose(transpose(rows({{2, 1}, {0, 0}, {2, 0, 1}}, {1, 2, 3, 4, 5, 6, 7}))) ==
              rows({{1, 2}, {0, 0}, {0, 1, 2}}, {2, 1, 3, 4, 6, 7, 5}));
  auto const graph = generate_kronecker({.scale = 13, .seed = 3});
  auto const once = transpose(graph, 1);
  auto const twice = transpose(once, 1);
  EXPECT_TRUE(transpose(transpose(twice)) == twice);
  EXPECT_TRUE(out_degrees(twice) == out_degrees(graph));
  EXPECT_TRUE(graph.targets != twice.targets);
  for (unsigned const threads : {2U, 3U, 8U}) {
    EXPECT_TRUE(transpose(graph, threads) == once) << threads;
    EXPECT_TRUE(transpose(once, threads) == twice) << threads;
  }
}

TEST(transpose, twice_is_the_same_where_rows_are_sorted) {
  auto graph = generate_uniform({.scale = 9});
  for (std::size_t edge = 0; edge < graph.edges(); edge += 3) {  // not symmetric any more
    graph.targets[edge] = static_cast<std::uint32_t>(edge % 512);
  }
  auto const sorted = transpose(transpose(graph));
  EXPECT_TRUE(transpose(transpose(sorted)) == sorted);
  EXPECT_FALSE(transpose(sorted) == sorted);
}

TEST(degrees, count_edges_out_and_in) {
  auto const graph = rows({{1, 2, 2}, {}, {2, 1}});
  EXPECT_EQ(out_degrees(graph), (host_array<std::uint64_t>{3, 0, 2}));
  EXPECT_EQ(in_degrees(graph), (host_array<std::uint64_t>{0, 2, 3}));
}

TEST(degrees, in_is_out_of_the_transposed) {
  auto graph = generate_kronecker({.scale = 12});
  for (std::size_t edge = 0; edge < graph.edges(); edge += 2) {
    graph.targets[edge] = static_cast<std::uint32_t>(edge % 7);  // contended by all threads
  }
  for (unsigned const threads : {1U, 4U}) {
    EXPECT_EQ(in_degrees(graph, threads), out_degrees(transpose(graph), threads));
  }
}

TEST(machine_graph, is_as_on_the_host_on_cpu_threads) {
  auto const executor = make_executor({.kind = executor_kind::threads});
  load_graph_kernels(*executor);
  for (auto const& [name, graph] : test::odd_graphs()) {
    SCOPED_TRACE(name);
    test::expect_as_on_host(*executor, graph);
  }
}

TEST(machine_graph, obeys_the_machines_memory_limit) {
  csr const graph = generate_uniform({.scale = 8});
  auto const executor = make_executor({.kind = executor_kind::threads, .memory_limit_bytes = graph.size_bytes() + 100});
  machine_csr const there{*executor, graph};
  EXPECT_THROW(transpose(*executor, there), limit_error);
  EXPECT_THROW(in_degrees(*executor, there), limit_error);
}

}  // namespace
}  // namespace lull
