// SPDX-License-Identifier: Apache-2.0
#include <lull/tests/host/contract/cases.hpp>

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <lull/bench/images/resize_unfed.hpp>
#include <lull/graph/betweenness/betweenness.hpp>
#include <lull/graph/betweenness/betweenness_owner.hpp>
#include <lull/graph/bfs/bfs.hpp>
#include <lull/graph/bfs/bfs_owner.hpp>
#include <lull/graph/bfs/bfs_together.hpp>
#include <lull/graph/components/components.hpp>
#include <lull/graph/components/components_owner.hpp>
#include <lull/graph/graph_sgd/graph_sgd.hpp>
#include <lull/graph/graph_sgd/graph_sgd_owner.hpp>
#include <lull/graph/kcore/kcore.hpp>
#include <lull/graph/kcore/kcore_owner.hpp>
#include <lull/graph/load/generate.hpp>
#include <lull/graph/pagerank/pagerank.hpp>
#include <lull/graph/pagerank/pagerank_owner.hpp>
#include <lull/graph/sssp/sssp.hpp>
#include <lull/graph/sssp/sssp_owner.hpp>
#include <lull/graph/triangles/triangles.hpp>
#include <lull/graph/triangles/triangles_owner.hpp>
#include <lull/tasks/counted_compute.hpp>
#include <lull/tasks/images/resize.hpp>
#include <lull/tasks/product/product_owner.hpp>
#include <lull/tasks/product/tile_product.hpp>
#include <lull/tasks/synthetic.hpp>
#include <lull/tasks/synthetic_owner.hpp>
#include <lull/tests/host/contract/betweenness_owner.hpp>
#include <lull/tests/host/contract/bfs_owner.hpp>
#include <lull/tests/host/contract/components_owner.hpp>
#include <lull/tests/host/contract/fed_probe_owner.hpp>
#include <lull/tests/host/contract/image_files_owner.hpp>
#include <lull/tests/host/contract/images_owner.hpp>
#include <lull/tests/host/contract/kcore_owner.hpp>
#include <lull/tests/host/contract/mlp_owner.hpp>
#include <lull/tests/host/contract/pagerank_owner.hpp>
#include <lull/tests/host/contract/probe_owner.hpp>
#include <lull/tests/host/contract/sssp_owner.hpp>
#include <lull/tests/host/contract/tally_owner.hpp>
#include <lull/tests/host/contract/triangles_owner.hpp>
#include <lull/tests/support/pulling_probe.hpp>

namespace lull {
namespace {

/// Returns a maker of the task as the command line makes it, with these options.
auto made_by(task_entry (*entry)(), std::vector<std::pair<std::string_view, std::string_view>> given) {
  return [entry, given] {
    task_entry const task = entry();
    option_values values{task.options};
    for (auto const& [name, text] : given) values.set(name, text);
    return task.make(values);
  };
}

}  // namespace

void join_shipped(contract_on where) {
  auto const a_probe = [] { return std::make_unique<probe_owner>(); };
  auto const a_pulling_probe = [] { return std::make_unique<basic_probe_owner<pulling_probe>>(); };
  auto const a_fed_probe = [] { return std::make_unique<fed_probe_owner>(); };
  auto const a_tally = [] { return std::make_unique<tally_owner>(); };
  auto const a_compute = made_by(compute_entry, {{"items", "50"}, {"rounds", "3"}, {"fma", "20"}, {"grain", "2"}});
  auto const a_streaming = made_by(streaming_entry, {{"items", "12"}, {"rounds", "4"}});
  // Deep enough to be left within a tile on a GPU; plain loops on a CPU leave between two rows.
  auto const a_product = [&](char const* leave) {
    return where == contract_on::cuda ? made_by(product_entry, {{"rows", "130"},
                                                                {"columns", "260"},
                                                                {"depth", "3000"},
                                                                {"count", "3"},
                                                                {"rounds", "2"},
                                                                {"leave", leave}})
                                      : made_by(product_entry, {{"rows", "5"},
                                                                {"columns", "260"},
                                                                {"depth", "9"},
                                                                {"count", "3"},
                                                                {"rounds", "2"},
                                                                {"leave", leave}});
  };
  auto const a_small_mlp = [] { return std::make_unique<small_mlp_owner>(); };
  auto const a_rounding_mlp = [] { return std::make_unique<small_mlp_owner>(mlp_precision::bf16); };
  auto const a_small_pagerank = [] { return std::make_unique<small_pagerank_owner>(); };
  auto const a_pagerank = made_by(pagerank_entry, {{"kronecker", "10"}, {"sweeps", "4"}});
  auto const a_small_bfs = [] {
    return std::make_unique<searches_owner<bfs_arrays<small_bfs>>>(small_bfs_graph(), std::vector{7U, 20U});
  };
  auto const a_small_bfs_together = [] {  // the second group has one search
    return std::make_unique<searches_owner<bfs_together_arrays<small_bfs_together>>>(small_bfs_graph(),
                                                                                     std::vector{7U, 20U, 7U, 3U}, 3);
  };
  auto const a_bfs_together = [] {
    std::vector<std::uint32_t> sources(64);
    for (std::uint32_t i = 0; i < 64; ++i) sources[i] = i % 60 * 17;
    return std::make_unique<searches_owner<bfs_together_arrays<bfs_together>>>(generate_kronecker({.scale = 10}),
                                                                               std::move(sources), 64);
  };
  auto const a_bfs = made_by(bfs_entry, {{"kronecker", "12"}});
  auto const a_small_sssp = [] { return std::make_unique<small_sssp_owner>(); };
  auto const a_small_betweenness = [] { return std::make_unique<small_betweenness_owner>(); };
  auto const a_betweenness = made_by(betweenness_entry, {{"kronecker", "8"}, {"samples", "2"}});
  auto const an_sssp = made_by(sssp_entry, {{"kronecker", "8"}});

  // A phase has several chunks, and what is held out several items.
  auto const a_graph_sgd = [&](char const* factors, char const* groups) {
    return made_by(graph_sgd_entry, {{"users", "150"},
                                     {"items", "140"},
                                     {"count", "1500"},
                                     {"held_out", "0.4"},
                                     {"epochs", "2"},
                                     {"factors", factors},
                                     {"groups", groups}});
  };
  auto const a_components = made_by(components_entry, {{"kronecker", "12"}});
  auto const small_directed = [] { return std::make_unique<small_components_owner>(edge_directions::one); };
  auto const small_symmetric = [] { return std::make_unique<small_components_owner>(edge_directions::both); };
  auto const a_small_triangles = [] { return std::make_unique<small_triangles_owner>(); };
  auto const a_triangles = made_by(triangles_entry, {{"kronecker", "10"}});
  auto const a_small_kcore = [] { return std::make_unique<small_kcore_owner>(); };
  auto const a_kcore = made_by(kcore_entry, {{"kronecker", "9"}});

  join_contract<probe_task>("probe", a_probe, where);
  join_contract<pulling_probe>("pulling_probe", a_pulling_probe, where);
  join_contract<fed_probe>("fed_probe", a_fed_probe, where);
  join_contract<tally>("tally", a_tally, where);
  join_contract<counted_compute_task>("compute", a_compute, where);
  join_contract<streaming_task>("streaming", a_streaming, where);
  join_contract<pagerank>("pagerank", a_pagerank, where);
  join_contract<small_pagerank>("small_pagerank", a_small_pagerank, where);
  join_contract<graph_sgd<8>>("graph_sgd_8", a_graph_sgd("8", "100"), where);
  join_contract<graph_sgd<64>>("graph_sgd_64", a_graph_sgd("64", "14"), where);
  join_contract<bfs>("bfs", a_bfs, where);
  join_contract<small_bfs>("small_bfs", a_small_bfs, where);
  join_contract<bfs_together>("bfs_together", a_bfs_together, where);
  join_contract<small_bfs_together>("small_bfs_together", a_small_bfs_together, where);
  join_contract<sssp>("sssp", an_sssp, where);
  join_contract<small_sssp>("small_sssp", a_small_sssp, where);
  join_contract<betweenness>("betweenness", a_betweenness, where);
  join_contract<small_betweenness>("small_betweenness", a_small_betweenness, where);
  join_contract<components>("components", a_components, where);
  join_contract<small_components>("small_components_directed", small_directed, where);
  join_contract<small_components>("small_components_symmetric", small_symmetric, where);
  join_contract<triangles>("triangles", a_triangles, where);
  join_contract<small_triangles>("small_triangles", a_small_triangles, where);
  join_contract<kcore>("kcore", a_kcore, where);
  join_contract<small_kcore>("small_kcore", a_small_kcore, where);
  join_contract<plain_product>("product", a_product("within"), where);
  join_contract<undivided_product>("product_behind", a_product("behind"), where);
  join_contract<saved_product>("product_saved", a_product("saved"), where);
  join_contract<mlp_task>("mlp", a_small_mlp, where);
  join_contract<mlp_task>("mlp_bf16", a_rounding_mlp, where);
  join_contract<bench::resize_unfed>("images", small_images, where);
  join_contract<resize_pictures>(
      "image_files", [] { return std::make_unique<image_files_owner>(); }, where);
}

}  // namespace lull
