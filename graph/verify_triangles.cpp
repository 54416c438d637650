// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <lull/device/atomic_integer.hpp>
#include <lull/graph/parallel.hpp>
#include <lull/graph/transpose.hpp>
#include <lull/graph/verify_triangles.hpp>
#include <lull/host/error.hpp>
#include <numeric>
#include <random>
#include <vector>

namespace lull {
namespace {

using row = std::span<std::uint32_t const>;

constexpr std::size_t max_parts = 1024;  // of vertices, each one apart from the next: hubs are spread over parts

/// Simple and undirected. Vertices have their places by falling degree, and rows hold places, rising.
class neighbourhoods {
 public:
  neighbourhoods(csr const& graph, unsigned threads)
      : begins_(graph.offsets.size()), sizes_(graph.vertices()), place_(graph.vertices()) {
    csr const in = transpose(graph, threads);
    for (std::size_t vertex = 0; vertex < begins_.size(); ++vertex) {
      begins_[vertex] = graph.offsets[vertex] + in.offsets[vertex];
    }
    all_.resize(begins_.back());
    for_each_vertex(threads, [&](std::uint32_t vertex) { join(graph, in, vertex); });

    vertex_.resize(vertices());
    std::iota(vertex_.begin(), vertex_.end(), 0U);
    std::stable_sort(vertex_.begin(), vertex_.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return sizes_[a] > sizes_[b]; });
    for (std::uint32_t place = 0; place < vertices(); ++place) {
      place_[vertex_[place]] = place;
    }
    for_each_vertex(threads, [&](std::uint32_t vertex) {
      auto* const to = all_.data() + begins_[vertex];
      std::transform(to, to + sizes_[vertex], to, [&](std::uint32_t neighbour) { return place_[neighbour]; });
      std::sort(to, to + sizes_[vertex]);
    });
  }

  std::uint32_t vertices() const { return static_cast<std::uint32_t>(sizes_.size()); }
  std::uint32_t vertex_at(std::uint32_t place) const { return vertex_[place]; }
  /// Vertices that may be in a triangle: those at lower places.
  std::uint32_t with_two_neighbours() const {
    auto const end =
        std::partition_point(vertex_.begin(), vertex_.end(), [&](std::uint32_t vertex) { return sizes_[vertex] >= 2; });
    return static_cast<std::uint32_t>(end - vertex_.begin());
  }
  row at(std::uint32_t place) const {
    auto const vertex = vertex_[place];
    return {all_.data() + begins_[vertex], sizes_[vertex]};
  }
  row later_than(std::uint32_t place) const {
    row const neighbours = at(place);
    return {std::upper_bound(neighbours.begin(), neighbours.end(), place), neighbours.end()};
  }

 private:
  template <class Work>
  void for_each_vertex(unsigned threads, Work const& work) const {
    auto const parts = std::min<std::size_t>(max_parts, vertices());
    detail::for_each_part(parts, threads, [&](std::size_t part) {
      for (auto vertex = part; vertex < vertices(); vertex += parts) {
        work(static_cast<std::uint32_t>(vertex));
      }
    });
  }

  void join(csr const& graph, csr const& in, std::uint32_t vertex) {
    auto* const begin = all_.data() + begins_[vertex];
    auto* end = begin;
    for (csr const* const side : {&graph, &in}) {
      end = std::copy(side->targets.data() + side->offsets[vertex], side->targets.data() + side->offsets[vertex + 1ULL],
                      end);
    }
    std::sort(begin, end);
    end = std::remove(begin, std::unique(begin, end), vertex);
    sizes_[vertex] = static_cast<std::uint64_t>(end - begin);
  }

  host_array<std::uint64_t> begins_;  // (vertices + 1,)
  host_array<std::uint64_t> sizes_;   // (vertices,)
  host_array<std::uint32_t> all_;     // rows, with what is left of duplicates between them
  host_array<std::uint32_t> vertex_;  // (vertices,), by place
  host_array<std::uint32_t> place_;   // (vertices,), by vertex
};

/// A bit a vertex.
class marks {
 public:
  explicit marks(std::uint32_t vertices) : words_((vertices + 63ULL) / 64) {}

  bool has(std::uint32_t place) const { return (words_[place / 64] >> (place % 64) & 1) != 0; }
  void set(row places) {
    for (auto const place : places) {
      words_[place / 64] |= 1ULL << (place % 64);
    }
  }
  void clear(row places) {
    for (auto const place : places) {
      words_[place / 64] = 0;
    }
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
    for (std::uint32_t place = 0; place < graph_.vertices(); ++place) {
      compare(graph_.vertex_at(place), right[place]);
    }
    conclude(std::accumulate(right.begin(), right.end(), std::uint64_t{0}) / 3, "found another way");
  }

  void compare_some(std::uint64_t sample) {
    std::vector<std::uint32_t> chosen(graph_.with_two_neighbours());
    std::iota(chosen.begin(), chosen.end(), 0U);
    std::shuffle(chosen.begin(), chosen.end(), std::mt19937_64{1});
    chosen.resize(std::min<std::uint64_t>(sample, chosen.size()));
    marks marked{graph_.vertices()};
    for (auto const place : chosen) {
      compare(graph_.vertex_at(place), count_at(graph_, place, marked));
    }
    auto const sum = std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
    if (wrong_ == 0 && sum % 3 != 0) {
      verdict_.message = "the counts of all vertices add up to " + number(sum) + ", which is not divisible by 3";
      return;
    }
    conclude(sum / 3, "a third of the counts' sum");
  }

  void compare(std::uint32_t vertex, std::uint64_t right) {
    ++verdict_.compared;
    if (counts_[vertex] == right) {
      return;
    }
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
  if (counts.size() != graph.vertices()) {
    throw usage_error("verify_triangles: " + std::to_string(counts.size()) + " counts for " +
                      std::to_string(graph.vertices()) + " vertices");
  }
  return triangles_verifier{graph, counts, total, check}.verdict();
}

}  // namespace lull
