// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <fstream>
#include <initializer_list>
#include <lull/graph/csr/csr.hpp>
#include <lull/tests/support/gzip.hpp>
#include <lull/tests/support/test_folder.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace lull::test {

/// A file of this size with the text at its beginning, middle and end. The holes between take no place on the disk.
inline void write_sparse(std::string const& path, std::string const& text, std::uint64_t bytes) {
  std::ofstream file{path, std::ios::binary};
  for (std::uint64_t const at : {std::uint64_t{0}, (bytes - text.size()) / 2, bytes - text.size()}) {
    file.seekp(static_cast<std::streamoff>(at));
    file << text;
  }
}

/// A graph written out by hand, row by row.
inline csr rows(std::initializer_list<std::initializer_list<std::uint32_t>> targets) {
  csr graph;
  graph.offsets.push_back(0);
  for (auto const& row : targets) {
    graph.targets.insert(graph.targets.end(), row);
    graph.offsets.push_back(graph.targets.size());
  }
  return graph;
}

/// The same with weights, edge by edge.
inline csr rows(std::initializer_list<std::initializer_list<std::uint32_t>> targets,
                std::vector<float> const& weights) {
  csr graph = rows(targets);
  graph.weights.assign(weights.begin(), weights.end());
  return graph;
}

}  // namespace lull::test
