// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <lull/graph/csr/degrees.hpp>
#include <lull/graph/pagerank/verify_pagerank.hpp>
#include <lull/host/error.hpp>
#include <utility>
#include <vector>

// The bound.
//
// F is one exact sweep: F(r) = d A r + (1 - d) / n + d (dangling mass of r) / n. It shrinks L1 distances of
// distributions by d at least, and r* = F(r*). The run computes r' = F(r) + e, where e is the rounding of one sweep;
// let ‖e‖ ≤ ε. Its last sweep changed the ranks by ‖r' - r‖ < t. So
//   ‖r' - r*‖ ≤ ‖F(r) - F(r*)‖ + ε ≤ d ‖r - r*‖ + ε ≤ d (t + ‖r' - r*‖) + ε,
// hence
//   ‖r' - r*‖ ≤ d / (1 - d) t + ε / (1 - d).
// A run of k sweeps from 1 / n, not converged, is off the exact one by e₀ = u (1 / n rounded) and
//   eᵢ₊₁ ≤ d eᵢ + εᵢ.
//
// ε. Every term of a sweep is positive, so relative errors carry over: with u = 2⁻²⁴ and γ(k) = k u / (1 - k u), what
// passes k roundings is off by γ(k) at most, relatively. A rank reaches v through the rounding of the degree to fp32,
// the division (or a reciprocal and a product), the product with d, d's own rounding, the h_v additions of the row, and
// the addition of the base; the base comes from 1 - d, d's rounding again (d u of mass 1), a division by n, n's
// rounding, and the dangling mass with the h_D additions of its own sum. That makes at most `fixed_roundings` beside
// the chains:
//   ε ≤ Σ_v r'(v) γ(h_v + fixed) + d D γ(h_D + fixed),
// where a chain h is as long as the sum has terms, or max_chain where that is less. The change t was summed in fp32
// as well: it may be t (1 + γ(h_t + 2)) in truth.

namespace lull {
namespace {

constexpr double unit_roundoff = 0x1p-24;
constexpr double fixed_roundings = 10;
constexpr double vacuous_bound = 0.5;  // distributions are never farther apart than 2

double gamma(double roundings) {
  auto const error = roundings * unit_roundoff;
  return error < 0.5 ? error / (1 - error) : std::numeric_limits<double>::infinity();
}

class pagerank_verifier {
 public:
  pagerank_verifier(csr const& out, std::span<float const> ranks, pagerank_claim const& claim)
      : out_(out), ranks_(ranks), claim_(claim), vertices_(out.vertices()), in_degrees_(in_degrees(out)) {
    for (std::uint32_t vertex = 0; vertex < out.vertices(); ++vertex) dangling_vertices_ += dangling(vertex) ? 1 : 0;
  }

  pagerank_verdict run() {
    for (std::size_t vertex = 0; vertex < ranks_.size(); ++vertex) {
      verdict_.sum += ranks_[vertex];
      if (!std::isfinite(ranks_[vertex]) || ranks_[vertex] < 0) {
        verdict_.message = "the rank of vertex " + std::to_string(vertex) + " is " + std::to_string(ranks_[vertex]);
        return verdict_;
      }
    }
    if (!(std::abs(verdict_.sum - 1) < vacuous_bound)) {
      verdict_.message = "the ranks sum to " + std::to_string(verdict_.sum) + " instead of 1";
      return verdict_;
    }
    if (claim_.converged) {
      hold_against_solution();
    } else {
      hold_against_sweeps();
    }
    judge();
    return verdict_;
  }

 private:
  bool dangling(std::uint32_t vertex) const { return out_.offsets[vertex] == out_.offsets[vertex + 1ULL]; }

  double chain(std::uint64_t terms) const {
    return static_cast<double>(claim_.max_chain == 0 ? terms : std::min(terms, claim_.max_chain));
  }

  template <class Ranks>
  double dangling_mass(Ranks const& ranks) const {
    double mass = 0;
    for (std::uint32_t vertex = 0; vertex < out_.vertices(); ++vertex) mass += dangling(vertex) ? ranks[vertex] : 0;
    return mass;
  }

  /// What each vertex gets without an edge.
  double base(double dangling_mass) const {
    return (1 - claim_.damping + claim_.damping * dangling_mass) / static_cast<double>(vertices_);
  }

  /// ε of a sweep that gave these ranks, from ranks with this dangling mass.
  template <class Ranks>
  double sweep_rounding(Ranks const& ranks, double dangling_mass) const {
    double rounding = claim_.damping * dangling_mass * gamma(chain(dangling_vertices_) + fixed_roundings);
    for (std::uint32_t vertex = 0; vertex < out_.vertices(); ++vertex)
      rounding += ranks[vertex] * gamma(chain(in_degrees_[vertex]) + fixed_roundings);
    return rounding;
  }

  /// Adds its share of damping × amount to each vertex that an edge of `source` leads to.
  void push(std::uint32_t source, double amount, std::vector<double>& to) const {
    if (dangling(source)) return;
    auto const begin = out_.offsets[source];
    auto const end = out_.offsets[source + 1ULL];
    auto const share = claim_.damping * amount / static_cast<double>(end - begin);
    for (auto at = begin; at < end; ++at) to[out_.targets[at]] += share;
  }

  void hold_against_solution() {
    auto const damping = claim_.damping;
    auto const tolerance = claim_.tolerance * (1 + gamma(chain(vertices_) + 2));
    auto const mass = dangling_mass(ranks_);
    verdict_.bound = (damping * tolerance + sweep_rounding(ranks_, mass)) / (1 - damping);
    if (!(verdict_.bound < vacuous_bound)) return;
    // (I - d A) x = b with the same b > 0 for every vertex has the ranks as its solution but for scale, whatever b:
    // the dangling mass is spread like the teleport, so it only scales. And ‖(I - d A)⁻¹‖ ≤ 1 / (1 - d), so the
    // residual tells how far x is from the solution, wherever x began. It begins at the ranks under test, which saves
    // sweeps.
    std::vector<double> x(ranks_.begin(), ranks_.end());
    std::vector<double> residual(x.size());
    std::transform(x.begin(), x.end(), residual.begin(), [b = base(mass)](double value) { return b - value; });
    for (std::uint32_t vertex = 0; vertex < out_.vertices(); ++vertex) push(vertex, x[vertex], residual);

    // Pushing r out of a vertex takes |r| from ‖residual‖ and gives back d |r| at most; a sweep over all leaves at most
    // d times what was there. What is too small to matter stays where it is.
    auto const wanted = verdict_.bound / 2000 * (1 - damping);
    auto const too_small = wanted / 2 * (1 - damping) / static_cast<double>(vertices_);
    auto left = norm(residual);
    auto const max_sweeps =
        damping == 0 || left <= wanted ? 1.0 : 2 + std::ceil(std::log(wanted / 2 / left) / std::log(damping));
    while (left > wanted && static_cast<double>(verdict_.sweeps) < max_sweeps) {
      for (std::uint32_t vertex = 0; vertex < out_.vertices(); ++vertex) {
        if (std::abs(residual[vertex]) > too_small) {
          auto const amount = std::exchange(residual[vertex], 0);
          x[vertex] += amount;
          push(vertex, amount, residual);
        }
      }
      left = norm(residual);
      ++verdict_.sweeps;
    }

    // ‖x / ‖x‖ - x* / ‖x*‖‖ ≤ 2 ‖x - x*‖ / ‖x‖
    auto const scale = norm(x);
    verdict_.solver_error = 2 * left / (1 - damping) / scale;
    for (std::size_t vertex = 0; vertex < x.size(); ++vertex)
      verdict_.distance += std::abs(ranks_[vertex] - x[vertex] / scale);
  }

  void hold_against_sweeps() {
    auto const damping = claim_.damping;
    std::vector<double> ranks(vertices_, 1 / static_cast<double>(vertices_));
    std::vector<double> next(vertices_);
    verdict_.bound = unit_roundoff;
    for (verdict_.sweeps = 0; verdict_.sweeps < claim_.sweeps; ++verdict_.sweeps) {
      auto const mass = dangling_mass(ranks);
      std::fill(next.begin(), next.end(), base(mass));
      for (std::uint32_t vertex = 0; vertex < out_.vertices(); ++vertex) push(vertex, ranks[vertex], next);
      double change = 0;
      for (std::size_t vertex = 0; vertex < next.size(); ++vertex) change += std::abs(next[vertex] - ranks[vertex]);
      ranks.swap(next);
      auto const rounding = sweep_rounding(ranks, mass);
      verdict_.bound = damping * verdict_.bound + rounding;
      // Further sweeps would change less than this in sum; the run's roundings go on, up to their limit.
      if (change < 1e-14) {
        verdict_.bound = std::max(verdict_.bound, rounding / (1 - damping));
        verdict_.solver_error = change * damping / (1 - damping);
        break;
      }
    }
    for (std::size_t vertex = 0; vertex < ranks.size(); ++vertex)
      verdict_.distance += std::abs(ranks_[vertex] - ranks[vertex]);
  }

  void judge() {
    char text[240];
    if (!(verdict_.bound < vacuous_bound)) {
      std::snprintf(text, sizeof text,
                    "no useful bound (%.2g) follows from tolerance %.2g and a longest chain of additions of %llu%s",
                    verdict_.bound, claim_.tolerance, static_cast<unsigned long long>(claim_.max_chain),
                    claim_.max_chain == 0 ? " (not known): say how long it is" : "");
    } else {
      verdict_.ok = verdict_.distance + verdict_.solver_error <= verdict_.bound;
      std::snprintf(text, sizeof text, "the ranks are %.3g (L1, give or take %.1g) from %s, %s the bound of %.3g",
                    verdict_.distance, verdict_.solver_error,
                    claim_.converged ? "the solution" : "as many sweeps in double precision",
                    verdict_.ok ? "within" : "outside", verdict_.bound);
    }
    verdict_.message = text;
  }

  static double norm(std::vector<double> const& values) {
    double sum = 0;
    for (double const value : values) sum += std::abs(value);
    return sum;
  }

  csr const& out_;
  std::span<float const> ranks_;
  pagerank_claim const& claim_;
  std::uint64_t vertices_;
  host_array<std::uint64_t> in_degrees_;
  std::uint64_t dangling_vertices_ = 0;
  pagerank_verdict verdict_;
};

}  // namespace

pagerank_verdict verify_pagerank(csr const& out, std::span<float const> ranks, pagerank_claim const& claim) {
  validate(out);
  if (ranks.size() != out.vertices())
    throw usage_error("verify_pagerank: " + std::to_string(ranks.size()) + " ranks for " +
                      std::to_string(out.vertices()) + " vertices");
  if (!(claim.damping >= 0 && claim.damping < 1))
    throw usage_error("verify_pagerank: damping " + std::to_string(claim.damping) + " is outside 0 to below 1");
  if (claim.converged && !(claim.tolerance > 0))
    throw usage_error("verify_pagerank: tolerance " + std::to_string(claim.tolerance) + " is not above 0");
  return pagerank_verifier{out, ranks, claim}.run();
}

}  // namespace lull
