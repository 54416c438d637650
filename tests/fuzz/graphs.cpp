// SPDX-License-Identifier: Apache-2.0
// Graphs, lists of their vertices, and ratings.
#include <lull/tests/fuzz/readers.hpp>

#include <lull/graph/csr/csr.hpp>
#include <lull/graph/graph_sgd/ratings.hpp>
#include <lull/graph/load/load.hpp>
#include <lull/graph/load/vertex_list.hpp>
#include <lull/host/io/host_memory.hpp>

namespace lull::fuzz {
namespace {

free_memory const memory{max_machine_bytes, "the fuzzer"};

void read_graph(std::string_view input, char const* suffix) {
  csr const graph = load_graph(file_of(input, suffix), {.threads = 1, .memory = memory});
  validate(graph);
  require(graph.edges() != 0, "a graph has edges");
}

}  // namespace

void read_edge_list(std::string_view input) { read_graph(input, ".el"); }
void read_weighted_edge_list(std::string_view input) { read_graph(input, ".wel"); }
void read_matrix_market(std::string_view input) { read_graph(input, ".mtx"); }
void read_dimacs(std::string_view input) { read_graph(input, ".gr"); }
void read_metis(std::string_view input) { read_graph(input, ".graph"); }

void read_vertices(std::string_view input) {
  constexpr std::uint64_t vertices = 1000;
  for (std::uint32_t const each : read_vertex_list(file_of(input, ".txt"), vertices))
    require(each < vertices, "a listed vertex exists");
}

void read_rating_lines(std::string_view input) {
  ratings const found = read_ratings(file_of(input, ".csv"), {.memory = memory});
  require(!found.all.empty(), "there are ratings");
  for (rating const& each : found.all) {
    require(each.user < found.users && each.item < found.items, "users and items are counted");
    require(each.value - each.value == 0, "a rating is finite");
  }
}

}  // namespace lull::fuzz
