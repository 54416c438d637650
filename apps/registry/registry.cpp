// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/registry/registry.hpp>

#include <array>
#include <vector>

#include <lull/graph/betweenness/betweenness_owner.hpp>
#include <lull/graph/bfs/bfs_owner.hpp>
#include <lull/graph/components/components_owner.hpp>
#include <lull/graph/graph_sgd/graph_sgd_owner.hpp>
#include <lull/graph/kcore/kcore_owner.hpp>
#include <lull/graph/pagerank/pagerank_owner.hpp>
#include <lull/graph/sssp/sssp_owner.hpp>
#include <lull/graph/triangles/triangles_owner.hpp>
#include <lull/host/task/library_loader.hpp>
#include <lull/tasks/images/images_owner.hpp>
#include <lull/tasks/mlp/mlp_owner.hpp>
#include <lull/tasks/product/product_owner.hpp>
#include <lull/tasks/synthetic_owner.hpp>

namespace lull {

std::span<task_entry const> registry() {
  static std::array const entries{pagerank_entry(),  bfs_entry(),      components_entry(),  sssp_entry(),
                                  triangles_entry(), kcore_entry(),    betweenness_entry(), graph_sgd_entry(),
                                  images_entry(),    mlp_entry(),      classify_entry(),    product_entry(),
                                  compute_entry(),   streaming_entry()};
  return entries;
}

std::span<task_options const> known_tasks() {
  static std::vector<task_options> const known = [] {
    std::vector<task_options> made;
    for (task_entry const& each : registry()) made.push_back({each.name, each.help, each.options});
    return made;
  }();
  return known;
}

task_entry const& entry_of(std::string_view name) {
  std::span<task_options const> const known = known_tasks();
  return registry()[static_cast<std::size_t>(&detail::find_task(name, known) - known.data())];
}

task_options library_task(std::string const& path, std::string_view name) {
  task_entry const& found = task_in(path, name);
  return {found.name, found.help, found.options};
}

task_entry const& entry_of(task_request const& request) {
  return request.shared_library.empty() ? entry_of(request.name) : task_in(request.shared_library, request.name);
}

}  // namespace lull
