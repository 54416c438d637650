// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <lull/graph/csr/csr.hpp>
#include <lull/graph/csr/transpose.hpp>

namespace lull::test {

/// A graph in which as many edges enter vertex v as `entering[v]` says, from vertices all over the graph. At least one
/// vertex.
inline csr graph_entered_by(std::vector<std::uint32_t> const& entering) {
  csr in;
  in.offsets.push_back(0);
  std::uint64_t state = 1;
  for (std::uint32_t const edges : entering) {
    for (std::uint32_t i = 0; i < edges; ++i) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      in.targets.push_back(static_cast<std::uint32_t>((state >> 33) % entering.size()));
    }
    in.offsets.push_back(in.targets.size());
  }
  validate(in);
  return transpose(in);
}

}  // namespace lull::test
