// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/csr/csr.hpp>

namespace lull {

struct generate_options {
  unsigned scale = 0;         // 2^scale vertices, 1 to 28
  unsigned edge_factor = 16;  // generated edges a vertex, 1 to 256; symmetrised there are twice as many
  std::uint64_t seed = 1;
  unsigned threads = 0;  // 0: those of the machine; the graph does not depend on it
};

/// A graph like those of social networks: few hubs, many vertices of small degree or none. Kronecker (R-MAT) edges with
/// A = 0.57, B = C = 0.19, D = 0.05, vertices renumbered at random, symmetrised (each generated edge in both
/// directions, a self-loop twice), duplicates and self-loops kept, no weights. A row holds its edges in the order of
/// generation. Random numbers come from a counter, so the same options give the same graph everywhere. The memory holds
/// about 2.5 times the finished graph for a moment: 1.4 GB at scale 22. Throws usage_error outside the limits,
/// limit_error where memory does not suffice.
///
/// Source: Graph500 specification, section 3.2; parameters and symmetrising as in the GAP benchmark suite (Beamer,
/// Asanović, Patterson 2015, graph `Kron`).
csr generate_kronecker(generate_options const& options);

/// A graph without structure: both ends of each edge uniform over the vertices; all else as above.
///
/// Source: GAP benchmark suite, graph `Urand` (Erdős and Rényi).
csr generate_uniform(generate_options const& options);

/// A mesh: `side`² vertices in rows, numbered row by row, each joined to its neighbours above, to the left, to the
/// right and below, in this order; no weights. So it has 4 × side × (side - 1) edges and, from a corner, 2 × side - 1
/// levels. `side`: 2 to 16384. `threads`: 0 for those of the machine. Takes the finished graph's memory. Throws
/// usage_error outside the limits, limit_error where memory does not suffice.
csr generate_grid(std::uint32_t side, unsigned threads = 0);

}  // namespace lull
