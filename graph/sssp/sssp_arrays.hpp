// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <lull/graph/csr/csr.hpp>
#include <lull/graph/load/edge_weights.hpp>
#include <lull/graph/read_in_strips.hpp>
#include <lull/graph/search_total.hpp>
#include <lull/graph/sssp/sssp.hpp>
#include <lull/graph/sssp/verify_sssp.hpp>
#include <lull/host/array.hpp>
#include <lull/host/error.hpp>
#include <lull/host/task/owner.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace lull {

/// What searches for shortest paths work on, on a machine; `Task` is a basic_sssp. Movable; must go before the machine
/// does.
template <class Task>
class sssp_arrays {
 public:
  /// `out` holds the edges as loaded and must be valid; its own weights are not looked at. `weights` has one for each
  /// edge, and is freed when they are on the machine. `kind` is what kind_of_weights says of them.
  /// `sources`: one for each search, at least one, each a vertex. `delta`: how far a bucket reaches, above 0; rounded
  /// up where weights are whole. Throws limit_error, with the figures, where the machine's memory does not suffice or
  /// the graph is larger than a queue can be; std::bad_alloc where that of the host does not suffice.
  sssp_arrays(executor& executor, csr const& out, host_array<float> weights, weight_kind kind,
              std::span<std::uint32_t const> sources, double delta)
      : executor_(&executor),
        vertices_(out.vertices()),
        edges_(out.edges()),
        kind_(kind),
        delta_(word_of_delta(delta)) {
    if (vertices_ > queue_mark::max_vertices || edges_ > queue_mark::max_edges) {
      throw limit_error("sssp: a graph of " + std::to_string(vertices_) + " vertices and " + std::to_string(edges_) +
                        " edges is too large: it can have " + std::to_string(queue_mark::max_vertices) +
                        " vertices and " + std::to_string(queue_mark::max_edges) + " edges");
    }
    try {
      fill(executor, out, std::move(weights), sources);
    } catch (limit_error const& reason) {
      throw limit_error("shortest paths over " + std::to_string(vertices_) + " vertices and " + std::to_string(edges_) +
                        " edges from " + std::to_string(sources.size()) + " sources take " +
                        std::to_string(bytes(vertices_, edges_, sources.size())) +
                        " bytes of the machine: " + reason.what());
    }
  }

  /// Of all arrays together.
  static std::uint64_t bytes(std::uint64_t vertices, std::uint64_t edges, std::uint64_t searches) noexcept {
    constexpr std::uint64_t of_lists =
        2 * (2 * sizeof(std::uint32_t) + sizeof(std::uint64_t)) + 2 * sizeof(std::uint32_t);
    return (vertices + 1) * sizeof(std::uint64_t) + 2 * (edges + starts(edges)) * sizeof(std::uint32_t) +
           vertices * (of_lists + searches * (sizeof(std::uint32_t) + sizeof(std::uint64_t))) +
           searches * sizeof(std::uint32_t) + sizeof(sssp_progress);
  }

  Task task() const noexcept {
    return {{.offsets = offsets_.data(),
             .targets = targets_.data(),
             .weights = weights_.data(),
             .sources = sources_.data(),
             .distances = distances_.data(),
             .labels = labels_.data(),
             .frontiers = {frontier(0), frontier(1)},
             .far = {far_[0].data(), far_[1].data()},
             .waved = waved_.data(),
             .put_far = put_far_.data(),
             .starts = starts(edges_),
             .progress = progress_.data(),
             .graph = {.edges = edges_,
                       .vertices = vertices_,
                       .searches = static_cast<std::uint32_t>(sources_.size()),
                       .kind = kind_,
                       .delta = delta_}}};
  }

  /// Those that a run writes; the others are made from the graph alone.
  std::vector<task_array> written() const {
    return {array_of("distances", distances_, {sources_.size(), vertices_}),
            array_of("labels", labels_, {sources_.size(), vertices_}),
            array_of("frontier_0_vertices", vertices_of_[0]),
            array_of("frontier_0_edges", edges_of_[0]),
            array_of("frontier_1_vertices", vertices_of_[1]),
            array_of("frontier_1_edges", edges_of_[1]),
            array_of("starts_0", starts_of_[0]),
            array_of("starts_1", starts_of_[1]),
            array_of("far_0", far_[0]),
            array_of("far_1", far_[1]),
            array_of("waved", waved_),
            array_of("put_far", put_far_),
            array_of("progress", progress_)};
  }

  /// Distances and labels stay: each search begins with its own (docs/decisions/frontiers-with-their-edges.md).
  void reset() {
    for (auto& one : vertices_of_) one.fill_zero();
    for (auto& one : edges_of_) one.fill_zero();
    for (auto& one : starts_of_) one.fill_zero();
    for (auto& one : far_) one.fill_zero();
    waved_.fill_zero();
    put_far_.fill_zero();
    progress_.fill_zero();
  }

  sssp_progress progress() const { return progress_.read().front(); }

  /// Of the searches that are done; `out` is the graph as loaded. Distances of floats are told by their bits.
  search_total total(csr const& out) const {
    search_total all;
    for (std::uint64_t search = 0, done = progress().search; search < done; ++search) {
      all.add(detail::total_of_words(*executor_, of_search(distances_, search), 1, out, std::identity{}));
    }
    return all;
  }

  /// Of one search.
  std::vector<sssp_found> found(std::uint64_t search) const {
    std::vector<sssp_found> made(vertices_);
    for_each_of(distances_, search, [&](std::uint64_t vertex, std::uint32_t distance) {
      if (distance != sssp_distance::unreached) made[vertex].distance = distance;
    });
    for_each_of(labels_, search, [&](std::uint64_t vertex, std::uint64_t label) {
      if (label != sssp_label::unreached) made[vertex].parent = sssp_label::parent(label);
    });
    return made;
  }

 private:
  static std::uint64_t starts(std::uint64_t edges) noexcept { return edges / Task::piece + 1; }
  edge_queue frontier(int which) const noexcept {
    return {vertices_of_[which].data(), edges_of_[which].data(), starts_of_[which].data()};
  }

  template <class T>
  T const* of_search(device_array<T> const& from, std::uint64_t search) const noexcept {
    return from.data() + search * vertices_;
  }

  /// Calls visit(vertex, word) for each vertex, on several threads.
  template <class T>
  void for_each_of(device_array<T> const& from, std::uint64_t search, auto const& visit) const {
    detail::read_in_strips(*executor_, of_search(from, search), vertices_, 1,
                           [&](std::uint64_t vertex, std::span<T const> words) {
                             for (T const word : words) visit(vertex++, word);
                           });
  }

  std::uint32_t word_of_delta(double delta) const noexcept {
    if (kind_ == weight_kind::real) return std::bit_cast<std::uint32_t>(static_cast<float>(delta));
    constexpr double max = 0xffff'ffff;
    return static_cast<std::uint32_t>(std::min(std::max(std::ceil(delta), 1.0), max));
  }

  void write_weights(std::span<float const> weights) {
    std::vector<std::uint32_t> some(std::size_t{1} << 16);  // all at once would be as many as the edges
    for (std::size_t begin = 0; begin < weights.size(); begin += some.size()) {
      auto const part = weights.subspan(begin, std::min(some.size(), weights.size() - begin));
      std::transform(part.begin(), part.end(), some.begin(), [whole = kind_ == weight_kind::whole](float weight) {
        weight += 0.0F;  // of two zeros the positive one
        return whole ? static_cast<std::uint32_t>(weight) : std::bit_cast<std::uint32_t>(weight);
      });
      weights_.write(std::span{some}.first(part.size()), begin);
    }
  }

  void fill(executor& executor, csr const& out, host_array<float> weights, std::span<std::uint32_t const> sources) {
    offsets_ = {executor, std::span<std::uint64_t const>{out.offsets}};
    targets_ = {executor, std::span<std::uint32_t const>{out.targets}};
    weights_ = {executor, edges_};
    write_weights(weights);
    weights = host_array<float>{};  // `{}` would only clear it
    sources_ = {executor, sources};
    distances_ = {executor, sources.size() * vertices_};
    labels_ = {executor, sources.size() * vertices_};
    for (auto& one : vertices_of_) one = {executor, vertices_};
    for (auto& one : edges_of_) one = {executor, vertices_};
    for (auto& one : starts_of_) one = {executor, starts(edges_)};
    for (auto& one : far_) one = {executor, vertices_};
    waved_ = {executor, vertices_};
    put_far_ = {executor, vertices_};
    progress_ = {executor, 1};
  }

  executor* executor_;
  std::uint32_t vertices_;
  std::uint64_t edges_;
  weight_kind kind_;
  std::uint32_t delta_;
  device_array<std::uint64_t> offsets_;
  device_array<std::uint32_t> targets_;
  device_array<std::uint32_t> weights_;
  device_array<std::uint32_t> sources_;
  device_array<std::uint32_t> distances_;
  device_array<std::uint64_t> labels_;
  device_array<std::uint32_t> vertices_of_[2];  // the queues of frontiers
  device_array<std::uint64_t> edges_of_[2];
  device_array<std::uint32_t> starts_of_[2];
  device_array<std::uint32_t> far_[2];
  device_array<std::uint32_t> waved_;
  device_array<std::uint32_t> put_far_;
  device_array<sssp_progress> progress_;
};

}  // namespace lull
