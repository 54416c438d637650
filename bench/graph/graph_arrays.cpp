// SPDX-License-Identifier: Apache-2.0
// Writes the graph that a task's options name, for programs that cannot make it: graph_arrays TASK[:OPTION=VALUE,…]
// FOLDER puts offsets.u64, targets.u32 and, where edges have weights, weights.f32 there, without headers.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <lull/apps/registry/registry.hpp>
#include <lull/bench/graph/asked_graph.hpp>
#include <lull/bench/guarded.hpp>
#include <lull/host/task/task_request.hpp>

namespace {

void write(std::filesystem::path const& file, auto const& array) {
  std::ofstream out{file, std::ios::binary};
  out.write(reinterpret_cast<char const*>(array.data()), static_cast<std::streamsize>(array.size() * sizeof array[0]));
  if (!out.flush()) throw std::runtime_error{"cannot write " + file.string()};
}

}  // namespace

int main(int argc, char** argv) {
  return lull::bench::guarded("graph_arrays", [&] {
    if (argc != 3) {
      std::fprintf(stderr, "graph_arrays TASK[:OPTION=VALUE,...] FOLDER\n");
      return 2;
    }
    lull::task_request const asked = lull::parse_task(argv[1], lull::known_tasks());
    lull::csr const graph = lull::bench::asked_graph(asked);
    std::filesystem::path const folder = argv[2];
    write(folder / "offsets.u64", graph.offsets);
    write(folder / "targets.u32", graph.targets);
    if (!graph.weights.empty()) write(folder / "weights.f32", graph.weights);
    return 0;
  });
}
