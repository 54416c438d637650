// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <lull/graph/csr/neighbour_rows.hpp>
#include <lull/graph/kcore/verify_kcore.hpp>
#include <lull/host/error.hpp>
#include <vector>

namespace lull {
namespace {

std::string number(std::uint64_t value) { return std::to_string(value); }

class kcore_verifier {
 public:
  kcore_verifier(csr const& graph, std::span<std::uint32_t const> cores, unsigned threads)
      : rows_(graph, threads), cores_(cores), left_(cores.size()) {
    rows_.for_each_vertex(threads, [&](std::uint32_t vertex) {
      auto const row = rows_.of(vertex);
      left_[vertex] = static_cast<std::uint32_t>(std::count_if(
          row.begin(), row.end(), [&](std::uint32_t neighbour) { return cores_[neighbour] >= cores_[vertex]; }));
    });
  }

  verification run() {
    for (std::uint32_t vertex = 0; vertex < left_.size(); ++vertex) {
      if (left_[vertex] < cores_[vertex]) {
        return {false, told(vertex) + ", but only " + number(left_[vertex]) + " of its " +
                           number(rows_.of(vertex).size()) + " neighbours have that or more"};
      }
    }
    let_go();
    for (std::uint32_t vertex = 0; vertex < left_.size(); ++vertex) {
      if (left_[vertex] > cores_[vertex]) {
        return {false, told(vertex) + ", but is in a subgraph whose vertices have " + number(cores_[vertex] + 1ULL) +
                           " neighbours in it"};
      }
    }
    std::uint32_t const largest = *std::max_element(cores_.begin(), cores_.end());
    return {true,
            "each of " + number(cores_.size()) + " vertices has its core number; the largest is " + number(largest)};
  }

 private:
  std::string told(std::uint32_t vertex) const {
    return "vertex " + number(vertex) + " has the core number " + number(cores_[vertex]);
  }

  /// Each vertex that goes is counted no longer by its neighbours of the same number. A count ends at the number where
  /// the vertex goes, and above it where it stays.
  void let_go() {
    std::vector<std::uint32_t> going;
    for (std::uint32_t vertex = 0; vertex < left_.size(); ++vertex) {
      if (left_[vertex] == cores_[vertex]) going.push_back(vertex);
    }
    while (!going.empty()) {
      std::uint32_t const vertex = going.back();
      going.pop_back();
      for (std::uint32_t const neighbour : rows_.of(vertex)) {
        if (cores_[neighbour] != cores_[vertex] || left_[neighbour] == cores_[neighbour]) continue;
        if (--left_[neighbour] == cores_[neighbour]) going.push_back(neighbour);
      }
    }
  }

  detail::neighbour_rows rows_;
  std::span<std::uint32_t const> const cores_;
  std::vector<std::uint32_t> left_;  // (vertices,) neighbours of its number or more that have not gone
};

}  // namespace

verification verify_kcore(csr const& graph, std::span<std::uint32_t const> cores, unsigned threads) {
  validate(graph);
  if (cores.size() != graph.vertices())
    throw usage_error("verify_kcore: " + number(cores.size()) + " core numbers for " + number(graph.vertices()) +
                      " vertices");
  return kcore_verifier{graph, cores, detail::set_up_threads(threads)}.run();
}

}  // namespace lull
