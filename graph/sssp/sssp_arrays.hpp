// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <lull/graph/csr/csr.hpp>
#include <lull/graph/graph_arrays.hpp>
#include <lull/graph/load/edge_weights.hpp>
#include <lull/graph/read_in_strips.hpp>
#include <lull/graph/search_total.hpp>
#include <lull/graph/sssp/sssp.hpp>
#include <lull/graph/sssp/verify_sssp.hpp>
#include <lull/host/task/array_table.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace lull {

/// Where searches for shortest paths stand.
struct sssp_summary {
  bool over = false;
  std::uint64_t searches = 0;  // that are done
  bool too_far = false;        // a distance is none of 32 bits
};

/// What searches for shortest paths work on, on a machine; `Task` is a basic_sssp. Movable; must go before the machine
/// does.
template <class Task>
class sssp_arrays : public functor_arrays<Task> {
  using functor_arrays<Task>::table_;
  using functor_arrays<Task>::task_;

 public:
  /// `out` holds the edges as loaded and must be valid; its own weights are not looked at. `weights` has one for each
  /// edge, and is freed when they are on the machine. `kind` is what kind_of_weights says of them.
  /// `sources`: one for each search, at least one, each a vertex. `delta`: how far a bucket reaches, above 0; rounded
  /// up where weights are whole. Throws limit_error, with the figures, where the machine's memory does not suffice or
  /// the graph is larger than a queue can be; std::bad_alloc where that of the host does not suffice.
  sssp_arrays(device_memory& memory, csr const& out, host_array<float> weights, weight_kind kind,
              std::span<std::uint32_t const> sources, double delta)
      : functor_arrays<Task>(memory, sized(out.extent(), sources.size())) {
    task_.on.graph.kind = kind;
    task_.on.graph.delta = word_of_delta(kind, delta);
    graph_extent const size = out.extent();
    detail::check_queue("sssp", size);
    detail::fill_arrays(
        "shortest paths over " + size.text() + " from " + std::to_string(sources.size()) + " sources take",
        bytes(size, sources.size()), [&] { add_arrays(table_, task_.on, out, std::move(weights), sources); });
  }

  /// Of all arrays together.
  static std::uint64_t bytes(graph_extent size, std::uint64_t searches) {
    return functor_arrays<Task>::bytes_of(
        sized(size, searches), [&](array_table& table, Task& task) { add_arrays(table, task.on, {}, {}, {}); });
  }

  sssp_progress progress() const { return table_.read(task_.on.progress).front(); }

  sssp_summary summary() const {
    sssp_progress const now = progress();
    return {.over = now.phase == sssp_phase::end, .searches = now.search, .too_far = now.too_far != 0};
  }

  /// Of the searches that are done; `out` is the graph as loaded. Distances of floats are told by their bits.
  search_total total(csr const& out) const {
    search_total all;
    for (std::uint64_t search = 0, done = summary().searches; search < done; ++search) {
      all.add(detail::total_of_words(table_.memory(), distances_of(search), 1, out, std::identity{}));
    }
    return all;
  }

  /// Of one search.
  std::vector<sssp_found> found(std::uint64_t search) const {
    std::vector<sssp_found> made(task_.on.graph.vertices);
    for_each_of(distances_of(search), [&](std::uint64_t vertex, std::uint32_t distance) {
      if (distance != sssp_distance::unreached) made[vertex].distance = distance;
    });
    for_each_of(labels_of(search), [&](std::uint64_t vertex, std::uint64_t label) {
      if (label != sssp_label::unreached) made[vertex].parent = sssp_label::parent(label);
    });
    return made;
  }

  /// Calls visit(search, what it found) for each search in order, as long as that returns true.
  void each_found(auto const& visit) const {
    for (std::uint64_t search = 0; search < task_.on.graph.searches; ++search) {
      if (!visit(search, found(search))) return;
    }
  }

 private:
  std::uint32_t const* distances_of(std::uint64_t search) const noexcept { return task_.on.distance(search); }
  std::uint64_t const* labels_of(std::uint64_t search) const noexcept { return task_.on.label(search); }

  /// Calls visit(vertex, word) for each vertex, on several threads.
  template <class T>
  void for_each_of(T const* words, auto const& visit) const {
    detail::read_in_strips(table_.memory(), words, task_.on.graph.vertices, 1,
                           [&](std::uint64_t vertex, std::span<T const> some) {
                             for (T const word : some) visit(vertex++, word);
                           });
  }

  static std::uint32_t word_of_delta(weight_kind kind, double delta) noexcept {
    if (kind == weight_kind::real) return std::bit_cast<std::uint32_t>(static_cast<float>(delta));
    constexpr double max = 0xffff'ffff;
    return static_cast<std::uint32_t>(std::min(std::max(std::ceil(delta), 1.0), max));
  }

  static void write_weights(array_table& table, sssp_state const& on, std::span<float const> weights) {
    std::vector<std::uint32_t> some(std::size_t{1} << 16);  // all at once would be as many as the edges
    for (std::size_t begin = 0; begin < weights.size(); begin += some.size()) {
      auto const part = weights.subspan(begin, std::min(some.size(), weights.size() - begin));
      std::transform(part.begin(), part.end(), some.begin(),
                     [whole = on.graph.kind == weight_kind::whole](float weight) {
                       weight += 0.0F;  // of two zeros the positive one
                       return whole ? static_cast<std::uint32_t>(weight) : std::bit_cast<std::uint32_t>(weight);
                     });
      table.write(on.weights, std::span<std::uint32_t const>{some}.first(part.size()), begin);
    }
  }

  static Task sized(graph_extent size, std::uint64_t searches) {
    Task task{};
    task.on.starts = size.edges / Task::piece + 1;
    task.on.graph.edges = size.edges;
    task.on.graph.vertices = static_cast<std::uint32_t>(size.vertices);
    task.on.graph.searches = static_cast<std::uint32_t>(searches);
    return task;
  }

  /// Each array, once. Distances and labels stay when the run is reset: each search begins with its own
  /// (docs/decisions/frontiers-with-their-edges.md).
  static void add_arrays(array_table& table, sssp_state& on, csr const& out, host_array<float> weights,
                         std::span<std::uint32_t const> sources) {
    std::uint64_t const vertices = on.graph.vertices;
    std::uint64_t const searches = on.graph.searches;
    detail::add_rows(table, graph_extent{vertices, on.graph.edges}, out, on.offsets, on.targets);
    table.input(on.weights, on.graph.edges);
    write_weights(table, on, weights);
    weights = host_array<float>{};  // `{}` would only clear it
    table.input(on.sources, searches, sources);
    table.kept(on.distances, "distances", {searches, vertices});
    table.kept(on.labels, "labels", {searches, vertices});
    detail::add_queue(table, on.frontiers[0], "frontier_0", vertices);
    detail::add_queue(table, on.frontiers[1], "frontier_1", vertices);
    table.cleared(on.frontiers[0].start, "starts_0", {on.starts});
    table.cleared(on.frontiers[1].start, "starts_1", {on.starts});
    table.cleared(on.far[0], "far_0", {vertices});
    table.cleared(on.far[1], "far_1", {vertices});
    table.cleared(on.waved, "waved", {vertices});
    table.cleared(on.put_far, "put_far", {vertices});
    table.cleared(on.progress, "progress", {1});
  }
};

}  // namespace lull
