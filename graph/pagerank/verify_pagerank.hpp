// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/csr/csr.hpp>
#include <lull/host/task/owner.hpp>
#include <span>

namespace lull {

/// What a run of PageRank in fp32 says of itself.
struct pagerank_claim {
  double damping = 0.85;     // 0 to below 1
  double tolerance = 1e-6;   // converged: the last sweep changed the ranks by less than this, in the L1 norm
  bool converged = true;     // otherwise it ended because its sweeps were used up
  std::uint64_t sweeps = 0;  // done; counts only where not converged
  /// The most fp32 additions that any addend passes through in one sum of the run (chunk, tree and partial sums
  /// together). 0: not known, so as many as the sum has terms; with hubs of a million edges that bound is useless.
  std::uint64_t max_chain = 0;
};

struct pagerank_verdict : verification {
  double distance = 0;       // L1, of the ranks from those of the verifier
  double solver_error = 0;   // L1, of the verifier's ranks, at most
  double bound = 0;          // what distance and solver_error may come to
  double sum = 0;            // of the ranks; 1 but for what the bound allows
  std::uint64_t sweeps = 0;  // of the verifier
};

/// Checks PageRank with dangling mass spread evenly, duplicate edges and self-loops kept, ranks that sum to 1:
///   rank(v) = (1 - damping) / n + damping × (Σ over edges u → v of rank(u) / degree(u) + dangling mass / n)
/// `out` holds the edges as loaded, u → v in the row of u; `ranks`: (vertices,) f32.
///
/// Converged runs are held against the solution, found by another way than pulling sweep after sweep: in double
/// precision, by pushing residuals along out-edges until what is left of them proves the error to be below a
/// thousandth of the bound. Runs that were not are held against as many sweeps from 1 / n, in double precision, by
/// pushing. One thread; 16 bytes a vertex. How the bound comes about is told in the source.
///
/// A rank that is negative or not finite, and a bound so wide that it would prove nothing (0.5 and more), give a
/// verdict that is not ok. Throws usage_error for an invalid graph, a number of ranks other than that of the vertices,
/// a damping or tolerance out of range.
///
/// Sources: Andersen, Chung, Lang, "Local graph partitioning using PageRank vectors", FOCS 2006 (residual push); Del
/// Corso, Gullí, Romani, "Fast PageRank computation via a sparse linear system", 2005 (dangling mass by scaling);
/// Higham, "Accuracy and stability of numerical algorithms", 2nd edition, section 3.1 (γ).
pagerank_verdict verify_pagerank(csr const& out, std::span<float const> ranks, pagerank_claim const& claim);

}  // namespace lull
