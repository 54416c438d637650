// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstdio>
#include <functional>
#include <lull/graph/sssp/verify_sssp.hpp>
#include <lull/host/error.hpp>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

namespace lull {
namespace {

constexpr std::uint64_t unreached = sssp_found::unreached;
constexpr std::uint32_t none = sssp_found::none;

class sssp_verifier {
 public:
  sssp_verifier(csr const& out, weight_kind kind, std::uint32_t source, std::span<sssp_found const> found)
      : out_(out), whole_(kind == weight_kind::whole), source_(source), found_(found), hops_(found.size(), none) {}

  sssp_verdict run(std::uint64_t sampled) {
    fault found = check_vertices();
    if (!found) found = check_edges();
    if (!found) found = check_parents();
    if (!found) found = check_hops();
    if (!found) found = check_by_dijkstra(sampled);
    if (found) return {{false, std::move(*found)}};
    std::uint64_t farthest = 0;
    std::uint32_t max_hops = 0;
    for (std::uint32_t vertex = 0; vertex < found_.size(); ++vertex) {
      if (found_[vertex].distance == unreached) continue;
      farthest = std::max(farthest, found_[vertex].distance);
      max_hops = std::max(max_hops, hops_[vertex]);
    }
    return {{true, std::to_string(reached_) + " of " + std::to_string(found_.size()) + " vertices reached, distance " +
                       text(farthest) + ", " + std::to_string(max_hops) + " edges; the nearest by Dijkstra, too"},
            reached_,
            value(farthest),
            max_hops};
  }

 private:
  using fault = std::optional<std::string>;

  std::string text(std::uint64_t distance) const {
    return text_of_distance(distance, whole_ ? weight_kind::whole : weight_kind::real);
  }
  std::string told(std::uint32_t vertex) const {
    std::uint64_t const distance = found_[vertex].distance;
    return "vertex " + std::to_string(vertex) +
           (distance == unreached ? " (not reached)" : " (distance " + text(distance) + ")");
  }
  double value(std::uint64_t distance) const {
    return whole_ ? static_cast<double>(distance) : std::bit_cast<float>(static_cast<std::uint32_t>(distance));
  }

  std::uint64_t over(std::uint64_t distance, std::uint64_t edge) const {
    float const weight = out_.weights[edge];
    if (whole_) return distance + static_cast<std::uint64_t>(weight);
    float const sum = std::bit_cast<float>(static_cast<std::uint32_t>(distance)) + weight;
    return std::bit_cast<std::uint32_t>(sum);
  }

  /// The first fault that see(from, edge, to, distance of `to` over the edge) returns, over the edges that leave
  /// reached vertices.
  template <class See>
  fault for_each_edge(See const& see) const {
    for (std::uint32_t from = 0; from < found_.size(); ++from) {
      if (found_[from].distance == unreached) continue;
      for (std::uint64_t edge = out_.offsets[from]; edge < out_.offsets[from + 1ULL]; ++edge) {
        if (fault found = see(from, out_.targets[edge], over(found_[from].distance, edge))) return found;
      }
    }
    return {};
  }

  fault check_vertices() {
    for (std::uint32_t vertex = 0; vertex < found_.size(); ++vertex) {
      auto const& [distance, parent] = found_[vertex];
      if (vertex == source_) {
        if (distance != 0) return "the source is " + told(vertex) + ", but its distance must be 0";
        if (parent != source_) return "the source, vertex " + std::to_string(vertex) + ", must be its own parent";
      }
      if (distance == unreached) {
        if (parent != none) return told(vertex) + " has a parent, vertex " + std::to_string(parent);
        continue;
      }
      ++reached_;
      if (parent >= found_.size()) return told(vertex) + " has no vertex as its parent: " + std::to_string(parent);
      if (vertex != source_ && parent == vertex) return told(vertex) + " is its own parent, but is not the source";
    }
    return {};
  }

  /// Also which parents an edge of the right length leaves: 0 in hops_.
  fault check_edges() {
    fault const found = for_each_edge([&](std::uint32_t from, std::uint32_t to, std::uint64_t distance) -> fault {
      if (distance < found_[to].distance)
        return told(to) + " is nearer: an edge leads to it from " + told(from) + ", which makes " + text(distance);
      if (distance == found_[to].distance && found_[to].parent == from) hops_[to] = 0;
      return {};
    });
    if (found) return found;
    for (std::uint32_t vertex = 0; vertex < found_.size(); ++vertex) {
      if (vertex == source_ || found_[vertex].distance == unreached || hops_[vertex] == 0) continue;
      return told(vertex) + " has as its parent " + told(found_[vertex].parent) + ", from which no edge makes that";
    }
    return {};
  }

  /// Hops, by the ways from parent to parent; each vertex is gone over twice at most.
  fault check_parents() {
    constexpr std::uint32_t open = 0;
    hops_[source_] = 1;  // one more than it has, so that 0 can be what is open
    std::vector<std::uint32_t> way;
    for (std::uint32_t vertex = 0; vertex < found_.size(); ++vertex) {
      if (hops_[vertex] != open) continue;
      way.clear();
      std::uint32_t at = vertex;
      for (; hops_[at] == open; at = found_[at].parent) {
        if (way.size() > found_.size()) return "the parents of " + told(vertex) + " make a cycle";
        way.push_back(at);
      }
      std::uint32_t hops = hops_[at];
      while (!way.empty()) {
        hops_[way.back()] = ++hops;
        way.pop_back();
      }
    }
    for (std::uint32_t& each : hops_) {
      if (each != none) --each;
    }
    return {};
  }

  fault check_hops() const {
    return for_each_edge([&](std::uint32_t from, std::uint32_t to, std::uint64_t distance) -> fault {
      if (to == source_ || distance != found_[to].distance || hops_[from] + 1 > hops_[to]) return {};
      if (hops_[from] + 1 < hops_[to])
        return told(to) + " has " + std::to_string(hops_[to]) + " hops, but one more than " + told(from) + " are " +
               std::to_string(hops_[from] + 1);
      if (from < found_[to].parent)
        return told(to) + " has as its parent " + told(found_[to].parent) + ", but " + std::to_string(from) +
               " is as good, and lower";
      return {};
    });
  }

  fault check_by_dijkstra(std::uint64_t sampled) const {
    using reach = std::pair<std::uint64_t, std::uint32_t>;  // distance, vertex
    std::priority_queue<reach, std::vector<reach>, std::greater<>> next;
    std::vector<std::uint64_t> nearest(found_.size(), unreached);
    nearest[source_] = 0;
    next.emplace(0, source_);
    for (std::uint64_t settled = 0; !next.empty() && settled < sampled;) {
      auto const [distance, from] = next.top();
      next.pop();
      if (distance != nearest[from]) continue;  // it was made nearer since
      ++settled;
      if (distance != found_[from].distance)
        return told(from) + " has distance " + text(distance) + " by Dijkstra's algorithm";
      for (std::uint64_t edge = out_.offsets[from]; edge < out_.offsets[from + 1ULL]; ++edge) {
        std::uint64_t const made = over(distance, edge);
        std::uint64_t& least = nearest[out_.targets[edge]];
        if (made >= least) continue;
        least = made;
        next.emplace(made, out_.targets[edge]);
      }
    }
    return {};
  }

  csr const& out_;
  bool const whole_;
  std::uint32_t const source_;
  std::span<sssp_found const> const found_;
  std::vector<std::uint32_t> hops_;  // (vertices,)
  std::uint64_t reached_ = 0;
};

}  // namespace

std::string text_of_distance(std::uint64_t distance, weight_kind kind) {
  if (distance == unreached) return "inf";
  if (kind == weight_kind::whole) return std::to_string(distance);
  char text[32];
  float const value = std::bit_cast<float>(static_cast<std::uint32_t>(distance));
  return {text, static_cast<std::size_t>(std::snprintf(text, sizeof text, "%.9g", static_cast<double>(value)))};
}

sssp_verdict verify_sssp(csr const& out, weight_kind kind, std::uint32_t source, std::span<sssp_found const> found,
                         std::uint64_t sampled) {
  validate(out);
  if (out.weights.size() != out.edges()) throw usage_error("verify_sssp: the graph has no weights");
  if (found.size() != out.vertices())
    throw usage_error("verify_sssp: " + std::to_string(found.size()) + " results for " +
                      std::to_string(out.vertices()) + " vertices");
  if (source >= out.vertices())
    throw usage_error("verify_sssp: the source is vertex " + std::to_string(source) + ", but the graph has " +
                      std::to_string(out.vertices()));
  return sssp_verifier{out, kind, source, found}.run(sampled);
}

}  // namespace lull
