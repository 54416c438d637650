// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <lull/device/atomic_integer.hpp>
#include <lull/graph/csr/neighbour_rows.hpp>
#include <lull/graph/parallel.hpp>
#include <lull/graph/triangles/verify_triangles.hpp>
#include <lull/host/error.hpp>
#include <numeric>
#include <random>
#include <vector>

namespace lull {
namespace {

using row = std::span<std::uint32_t const>;

constexpr std::size_t max_parts = 1024;  // of places, each one apart from the next

/// Vertices have their places by falling degree, and rows hold places, rising.
class neighbourhoods {
 public:
  neighbourhoods(csr const& graph, unsigned threads) : rows_(graph, threads), vertex_(vertices()), place_(vertices()) {
    std::iota(vertex_.begin(), vertex_.end(), 0U);
    std::stable_sort(vertex_.begin(), vertex_.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return rows_.of(a).size() > rows_.of(b).size(); });
    for (std::uint32_t place = 0; place < vertices(); ++place) place_[vertex_[place]] = place;
    rows_.for_each_vertex(threads, [&](std::uint32_t vertex) {
      auto const there = rows_.of(vertex);
      std::transform(there.begin(), there.end(), there.begin(),
                     [&](std::uint32_t neighbour) { return place_[neighbour]; });
      std::sort(there.begin(), there.end());
    });
  }

  std::uint32_t vertices() const { return rows_.vertices(); }
  std::uint32_t vertex_at(std::uint32_t place) const { return vertex_[place]; }
  /// Vertices that may be in a triangle: those at lower places.
  std::uint32_t with_two_neighbours() const {
    auto const end = std::partition_point(vertex_.begin(), vertex_.end(),
                                          [&](std::uint32_t vertex) { return rows_.of(vertex).size() >= 2; });
    return static_cast<std::uint32_t>(end - vertex_.begin());
  }
  row at(std::uint32_t place) const { return rows_.of(vertex_[place]); }
  row later_than(std::uint32_t place) const {
    row const neighbours = at(place);
    return {std::upper_bound(neighbours.begin(), neighbours.end(), place), neighbours.end()};
  }

 private:
  detail::neighbour_rows rows_;
  host_array<std::uint32_t> vertex_;  // (vertices,), by place
  host_array<std::uint32_t> place_;   // (vertices,), by vertex
};

/// A bit a vertex.
class marks {
 public:
  explicit marks(std::uint32_t vertices) : words_((vertices + 63ULL) / 64) {}

  bool has(std::uint32_t place) const { return (words_[place / 64] >> (place % 64) & 1) != 0; }
  void set(row places) {
    for (auto const place : places) words_[place / 64] |= 1ULL << (place % 64);
  }
  void clear(row places) {
    for (auto const place : places) words_[place / 64] = 0;
  }

 private:
  std::vector<std::uint64_t> words_;
};

/// Triangles at each place, found at their first one.
host_array<std::uint64_t> count_all(neighbourhoods const& graph, unsigned threads) {
  host_array<std::uint64_t> counts;
  counts.assign(graph.vertices(), 0);
  auto const parts = std::min<std::size_t>(max_parts, graph.vertices());
  detail::for_each_part(parts, threads, [&](std::size_t part) {
    marks marked{graph.vertices()};
    for (auto at = part; at < graph.vertices(); at += parts) {
      auto const first = static_cast<std::uint32_t>(at);
      row const there = graph.later_than(first);
      marked.set(there);
      std::uint64_t of_first = 0;
      for (auto const second : there) {
        std::uint64_t found = 0;
        for (auto const third : graph.later_than(second)) {
          if (marked.has(third)) {
            ++found;
            atomic_integer{counts[third]}.fetch_add(1);  // sums are read after the threads were joined
          }
        }
        atomic_integer{counts[second]}.fetch_add(found);
        of_first += found;
      }
      atomic_integer{counts[first]}.fetch_add(of_first);
      marked.clear(there);
    }
  });
  return counts;
}

/// Triangles at one place: half the paths of three edges that come back to it.
std::uint64_t count_at(neighbourhoods const& graph, std::uint32_t place, marks& marked) {
  row const there = graph.at(place);
  marked.set(there);
  std::uint64_t paths = 0;
  for (auto const second : there) {
    row const further = graph.at(second);
    paths += static_cast<std::uint64_t>(
        std::count_if(further.begin(), further.end(), [&](std::uint32_t third) { return marked.has(third); }));
  }
  marked.clear(there);
  return paths / 2;
}

std::uint64_t steps_of_all(neighbourhoods const& graph) {
  std::uint64_t steps = 0;
  for (std::uint32_t place = 0; place < graph.vertices(); ++place) {
    auto const later = graph.later_than(place).size();
    steps += later * (graph.at(place).size() - later);
  }
  return steps;
}

std::string number(std::uint64_t value) { return std::to_string(value); }

class triangles_verifier {
 public:
  triangles_verifier(csr const& graph, std::span<std::uint64_t const> counts, std::uint64_t total,
                     triangles_check const& check)
      : threads_(detail::set_up_threads(check.threads)), graph_(graph, threads_), counts_(counts), total_(total) {
    if (steps_of_all(graph_) <= check.max_steps) {
      compare_all();
    } else {
      compare_some(check.sample);
    }
  }

  triangles_verdict verdict() const { return verdict_; }

 private:
  void compare_all() {
    auto const right = count_all(graph_, threads_);
    for (std::uint32_t place = 0; place < graph_.vertices(); ++place) compare(graph_.vertex_at(place), right[place]);
    conclude(std::accumulate(right.begin(), right.end(), std::uint64_t{0}) / 3, "found another way");
  }

  void compare_some(std::uint64_t sample) {
    std::vector<std::uint32_t> chosen(graph_.with_two_neighbours());
    std::iota(chosen.begin(), chosen.end(), 0U);
    std::shuffle(chosen.begin(), chosen.end(), std::mt19937_64{1});
    chosen.resize(std::min<std::uint64_t>(sample, chosen.size()));
    marks marked{graph_.vertices()};
    for (auto const place : chosen) compare(graph_.vertex_at(place), count_at(graph_, place, marked));
    auto const sum = std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
    if (wrong_ == 0 && sum % 3 != 0) {
      verdict_.message = "the counts of all vertices add up to " + number(sum) + ", which is not divisible by 3";
      return;
    }
    conclude(sum / 3, "a third of the counts' sum");
  }

  void compare(std::uint32_t vertex, std::uint64_t right) {
    ++verdict_.compared;
    if (counts_[vertex] == right) return;
    if (wrong_ == 0 || vertex < wrong_vertex_) {
      wrong_vertex_ = vertex;
      right_there_ = right;
    }
    ++wrong_;
  }

  void conclude(std::uint64_t right_total, char const* from) {
    auto const compared = number(verdict_.compared) + (verdict_.compared == graph_.vertices() ? "" : " sampled") +
                          (verdict_.compared == 1 ? " vertex" : " vertices");
    if (wrong_ != 0) {
      verdict_.message = "of " + compared + ", " + number(wrong_) + " have a wrong count; vertex " +
                         number(wrong_vertex_) + " is in " + number(right_there_) + " triangles, not in " +
                         number(counts_[wrong_vertex_]);
    } else if (total_ != right_total) {
      verdict_.message =
          "the total says " + number(total_) + " triangles, but there are " + number(right_total) + ", " + from;
    } else {
      verdict_.ok = true;
      verdict_.message = "the counts of " + compared + " and the total of " + number(total_) +
                         " are right: another algorithm finds the same counts, and the total is " + from;
    }
  }

  unsigned threads_;
  neighbourhoods graph_;
  std::span<std::uint64_t const> counts_;
  std::uint64_t total_;
  std::uint64_t wrong_ = 0;
  std::uint32_t wrong_vertex_ = 0;  // the first
  std::uint64_t right_there_ = 0;
  triangles_verdict verdict_;
};

}  // namespace

triangles_verdict verify_triangles(csr const& graph, std::span<std::uint64_t const> counts, std::uint64_t total,
                                   triangles_check const& check) {
  validate(graph);
  if (counts.size() != graph.vertices())
    throw usage_error("verify_triangles: " + std::to_string(counts.size()) + " counts for " +
                      std::to_string(graph.vertices()) + " vertices");
  return triangles_verifier{graph, counts, total, check}.verdict();
}

}  // namespace lull
