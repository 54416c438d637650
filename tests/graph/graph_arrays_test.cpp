// SPDX-License-Identifier: Apache-2.0
// The arrays of each task over a graph: a checkpoint finds them by name, and they take what the owner says.
#include <gtest/gtest.h>

#include <cstdint>
#include <lull/graph/betweenness/betweenness_owner.hpp>
#include <lull/graph/bfs/bfs_owner.hpp>
#include <lull/graph/components/components_owner.hpp>
#include <lull/graph/graph_sgd/graph_sgd_owner.hpp>
#include <lull/graph/kcore/kcore_owner.hpp>
#include <lull/graph/pagerank/pagerank_owner.hpp>
#include <lull/graph/sssp/sssp_owner.hpp>
#include <lull/graph/triangles/triangles_owner.hpp>
#include <lull/tests/graph/graph_file.hpp>
#include <lull/tests/graph/owner_calls.hpp>
#include <string>
#include <vector>

namespace lull {
namespace {

using test::settings;
using names = std::vector<std::string>;

/// The arrays' names, of a task with these options, after it was seen to take what it said.
names names_of(task_entry const& entry, settings const& given) {
  auto const machine = make_executor({.kind = executor_kind::threads});
  auto const owner = test::owner_of(entry, given);
  std::uint64_t const said = owner->needs(executor_kind::threads).machine_bytes;
  std::uint64_t const before = machine->taken_bytes().now;
  owner->prepare(*machine);
  std::uint64_t const taken = machine->taken_bytes().now - before;
  EXPECT_LE(taken, said) << entry.name;
  EXPECT_GE(4 * taken, said) << entry.name;
  names made;
  for (task_array const& each : owner->arrays()) made.push_back(each.array.name + ' ' + format_shape(each.array));
  return made;
}

/// Names, types and shapes are the format of checkpoints: one that was written before must be readable.
TEST(graph_arrays, have_the_names_that_checkpoints_know) {
  test::test_folder const folder;
  settings const grid{{"grid", "4"}};  // 16 vertices, 48 edges
  settings const several{{"grid", "4"}, {"sources", folder.write("list", "0\n3\n")}, {"at_once", "2"}};
  EXPECT_EQ(names_of(bfs_entry(), grid),
            (names{"labels U64 (1, 16)", "queue_vertices U32 (16,)", "queue_edges U64 (16,)", "frontier_0 U32 (1,)",
                   "frontier_1 U32 (1,)", "open U32 (1,)", "progress U64 (1, 13)"}));
  EXPECT_EQ(names_of(bfs_entry(), several),
            (names{"labels U64 (32,)", "words U64 (4, 16)", "queue_vertices U32 (3, 16)", "queue_edges U64 (3, 16)",
                   "progress U64 (1, 13)"}));
  EXPECT_EQ(
      names_of(betweenness_entry(), grid),
      (names{"totals F64 (16,)", "depths U32 (16,)", "values U8 (16, 16)", "level_vertices U32 (16,)",
             "level_edges U64 (16,)", "level_begins U64 (17,)", "next_vertices U32 (16,)", "next_edges U64 (16,)",
             "long_0_vertices U32 (1,)", "long_0_edges U64 (1,)", "long_1_vertices U32 (1,)", "long_1_edges U64 (1,)",
             "part_sums_0 U8 (1, 16)", "part_sums_1 U8 (1, 16)", "progress U64 (1, 11)"}));
  EXPECT_EQ(names_of(components_entry(), grid), (names{"label U32 (16,)", "progress U32 (1, 6)"}));
  EXPECT_EQ(names_of(kcore_entry(), grid), (names{"core I32 (16,)", "queue_vertices U32 (16,)", "queue_edges U64 (16,)",
                                                  "list_0 U32 (8,)", "list_1 U32 (4,)", "progress U64 (1, 13)"}));
  EXPECT_EQ(names_of(pagerank_entry(), grid),
            (names{"rank F32 (16,)", "share F32 (16,)", "sum F32 (16,)", "carry F32 (1,)", "block_carry F64 (1,)",
                   "partial F64 (1, 2)", "folded F64 (1, 2)", "progress U8 (1, 32)"}));
  EXPECT_EQ(names_of(sssp_entry(), grid),
            (names{"distances U32 (1, 16)", "labels U64 (1, 16)", "frontier_0_vertices U32 (16,)",
                   "frontier_0_edges U64 (16,)", "frontier_1_vertices U32 (16,)", "frontier_1_edges U64 (16,)",
                   "starts_0 U32 (1,)", "starts_1 U32 (1,)", "far_0 U32 (16,)", "far_1 U32 (16,)", "waved U32 (16,)",
                   "put_far U32 (16,)", "progress U64 (1, 16)"}));
  EXPECT_EQ(names_of(triangles_entry(), grid), (names{"counts U64 (16,)", "total U64 (1,)"}));
  EXPECT_EQ(
      names_of(
          graph_sgd_entry(),
          {{"users", "20"}, {"items", "10"}, {"count", "100"}, {"factors", "8"}, {"epochs", "3"}, {"groups", "2"}}),
      (names{"user_factors F32 (20, 8)", "item_factors F32 (10, 8)", "square F64 (2,)", "held_out_square F64 (2,)",
             "folded F64 (1,)", "epoch_square F64 (2, 3)", "stopped U32 (1,)"}));
}

}  // namespace
}  // namespace lull
