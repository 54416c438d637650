// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <lull/graph/betweenness/verify_betweenness.hpp>
#include <lull/host/error.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace lull {
namespace {

constexpr std::uint32_t unreached = ~0U;

/// How many shortest paths: mantissa × 2^exponent.
struct path_number {
  static constexpr int step = 8'000;  // of exponents: the product of two mantissas is finite
  static_assert(std::numeric_limits<long double>::max_exponent > 2 * step + 2);
  static constexpr long double max_mantissa = 0x1p8000L;

  long double mantissa = 0;
  std::int32_t exponent = 0;
  std::uint32_t depth = unreached;  // of the vertex that they lead to

  void add(path_number const& more) {
    if (exponent < more.exponent) {
      mantissa = std::ldexp(mantissa, exponent - more.exponent);
      exponent = more.exponent;
    }
    mantissa += exponent == more.exponent ? more.mantissa : std::ldexp(more.mantissa, more.exponent - exponent);
    if (mantissa > max_mantissa) {
      mantissa = std::ldexp(mantissa, -step);
      exponent += step;
    }
  }
};

/// A breadth-first search from one vertex that counts the paths.
class counted_search {
 public:
  counted_search(csr const& out, std::uint32_t source) : found_(out.vertices()), order_{source} {
    found_[source] = {1, 0, 0};
    for (std::size_t next = 0; next < order_.size(); ++next) {
      std::uint32_t const from = order_[next];
      for (std::uint64_t edge = out.offsets[from]; edge < out.offsets[from + 1ULL]; ++edge) {
        path_number& to = found_[out.targets[edge]];
        if (to.depth == unreached) {
          to.depth = found_[from].depth + 1;
          order_.push_back(out.targets[edge]);
        }
        if (to.depth == found_[from].depth + 1) to.add(found_[from]);
      }
    }
    order_.shrink_to_fit();
  }

  path_number const& operator[](std::uint32_t vertex) const { return found_[vertex]; }
  /// The reached ones, by rising depth.
  std::vector<std::uint32_t> const& order() const { return order_; }
  std::uint32_t depth() const { return found_[order_.back()].depth; }

 private:
  std::vector<path_number> found_;
  std::vector<std::uint32_t> order_;
};

/// What lies on the vertex of the paths from one source.
long double dependent_on(std::uint32_t vertex, std::uint32_t source, counted_search const& from_source,
                         counted_search const& from_vertex) {
  path_number const& to_it = from_source[vertex];
  if (vertex == source || to_it.depth == unreached) return 0;
  long double sum = 0;
  for (std::uint32_t const target : from_vertex.order()) {
    path_number const& behind = from_vertex[target];
    path_number const& all = from_source[target];
    if (target == vertex || to_it.depth + behind.depth != all.depth) continue;
    sum += std::ldexp(to_it.mantissa * behind.mantissa / all.mantissa, to_it.exponent + behind.exponent - all.exponent);
  }
  return sum;
}

std::string digits(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

class betweenness_verifier {
 public:
  betweenness_verifier(csr const& out, std::span<std::uint32_t const> sources, std::span<double const> found)
      : out_(out), sources_(sources), found_(found), deeper_(found.size()) {}

  betweenness_verdict run(std::uint64_t drawn, std::uint64_t seed) {
    for (std::uint32_t vertex = 0; vertex < found_.size(); ++vertex) {
      if (!(found_[vertex] >= 0) || std::isinf(found_[vertex])) return fault(name(vertex) + ", which is no centrality");
    }
    choose(drawn, seed);
    for (std::uint32_t const source : sources_) search(source);
    bound_of_errors();
    for (std::uint32_t vertex = 0; vertex < found_.size(); ++vertex) {
      if (found_[vertex] > static_cast<double>(deeper_[vertex]) * (1 + bound_))
        return fault(name(vertex) + ", but searches reach only " + std::to_string(deeper_[vertex]) +
                     " vertices deeper than it");
    }
    long double all = 0;
    for (double const each : found_) all += each;
    if (!near(all, static_cast<long double>(sum_)))
      return fault("the centralities add up to " + digits(static_cast<double>(all)) +
                   ", but the depths of searches to " + std::to_string(sum_));
    for (chosen const& each : chosen_) {
      if (!near(found_[each.vertex], each.sum))
        return fault(name(each.vertex) + ", but by the definition " + digits(static_cast<double>(each.sum)));
    }
    betweenness_verdict made =
        fault(std::to_string(sources_.size()) + " sources: " + std::to_string(chosen_.size()) +
              " vertices by the definition and the sum of all, " + std::to_string(sum_) + ", within " + digits(bound_));
    made.ok = true;
    return made;
  }

 private:
  struct chosen {
    std::uint32_t vertex;
    counted_search behind;
    long double sum;
  };

  std::string name(std::uint32_t vertex) const {
    return "vertex " + std::to_string(vertex) + " has " + digits(found_[vertex]);
  }
  betweenness_verdict fault(std::string message) const {
    return {{false, std::move(message)}, static_cast<double>(sum_), bound_};
  }

  /// The highest, and some that an edge leaves.
  void choose(std::uint64_t drawn, std::uint64_t seed) {
    auto const highest = static_cast<std::uint32_t>(std::max_element(found_.begin(), found_.end()) - found_.begin());
    chosen_.push_back({highest, {out_, highest}, 0});
    if (out_.edges() == 0) return;
    std::mt19937_64 random{seed};
    for (std::uint64_t i = 0; i < drawn; ++i) {
      // The end of an edge: one that searches are likely to go through.
      std::uint32_t const vertex = out_.targets[random() % out_.edges()];
      chosen_.push_back({vertex, {out_, vertex}, 0});
    }
  }

  void search(std::uint32_t source) {
    counted_search const from{out_, source};
    depth_ = std::max(depth_, from.depth());
    std::uint64_t deeper = 0;
    std::uint64_t level = 0;
    auto const& order = from.order();
    for (std::size_t at = order.size(); at-- > 0;) {
      std::uint32_t const depth = from[order[at]].depth;
      bool const is_last = at + 1 == order.size() || from[order[at + 1]].depth != depth;
      if (is_last) deeper += std::exchange(level, 0);
      ++level;
      if (order[at] == source) continue;
      deeper_[order[at]] += deeper;
      sum_ += depth - 1;
    }
    for (chosen& each : chosen_) each.sum += dependent_on(each.vertex, source, from, each.behind);
  }

  void bound_of_errors() {
    std::uint64_t degree = 1;
    for (std::uint32_t vertex = 0; vertex < out_.vertices(); ++vertex)
      degree = std::max(degree, out_.offsets[vertex + 1ULL] - out_.offsets[vertex]);
    std::vector<std::uint64_t> entering(found_.size());
    for (std::uint32_t const target : out_.targets) degree = std::max(degree, ++entering[target]);
    auto const stages = static_cast<std::uint64_t>(std::bit_width(degree) + 5) / 6;
    auto const additions = static_cast<double>(std::min<std::uint64_t>(degree, 24 * stages));
    double const task = depth_ * (3 * additions + 3) + static_cast<double>(sources_.size());
    double const own = 3.0 * depth_ * static_cast<double>(degree) + static_cast<double>(found_.size());
    bound_ = 2 * (task * 0x1p-53 + own * 0x1p-64);
  }

  bool near(long double a, long double b) const {
    return std::abs(a - b) <= static_cast<long double>(bound_) * std::max(a, b) + 0x1p-700L;
  }

  csr const& out_;
  std::span<std::uint32_t const> const sources_;
  std::span<double const> const found_;
  std::vector<std::uint64_t> deeper_;  // (vertices,) than it, of all searches
  std::vector<chosen> chosen_;
  std::uint64_t sum_ = 0;
  std::uint32_t depth_ = 0;
  double bound_ = 0;
};

}  // namespace

betweenness_verdict verify_betweenness(csr const& out, std::span<std::uint32_t const> sources,
                                       std::span<double const> found, std::uint64_t drawn, std::uint64_t seed) {
  validate(out);
  if (found.size() != out.vertices())
    throw usage_error("verify_betweenness: " + std::to_string(found.size()) + " values for " +
                      std::to_string(out.vertices()) + " vertices");
  if (sources.empty()) throw usage_error("verify_betweenness: no sources");
  for (std::uint32_t const source : sources) {
    if (source >= out.vertices())
      throw usage_error("verify_betweenness: a source is vertex " + std::to_string(source) + ", but the graph has " +
                        std::to_string(out.vertices()));
  }
  return betweenness_verifier{out, sources, found}.run(drawn, seed);
}

std::uint64_t verify_betweenness_bytes(std::uint64_t vertices) noexcept {
  constexpr std::uint64_t searches = 4;  // of one source, and of three vertices
  return vertices * (searches * (sizeof(path_number) + 2 * sizeof(std::uint32_t)) + 2 * sizeof(std::uint64_t));
}

}  // namespace lull
