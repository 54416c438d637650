// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/device/atomic_integer.hpp>
#include <lull/graph/sssp/sssp_state.hpp>

namespace lull::detail {

/// A vertex to put on a list: with its edges, into the queue of the next frontier; or among those that are far.
struct sssp_entry {
  std::uint32_t vertex = 0;
  bool is_far = false;
  std::uint32_t distance = sssp_distance::unreached;  // of what stays far, on the list already or not
  std::uint64_t edges = 0;
};

/// Room on both lists, and the least distance of what stays far.
struct sssp_room {
  queue_mark near;
  std::uint32_t far = 0;
  std::uint32_t least = sssp_distance::unreached;

  LULL_HD static sssp_room of(sssp_entry const& one) noexcept {
    return {one.edges != 0 ? queue_mark::of(1, one.edges) : queue_mark{}, one.is_far ? 1U : 0U, one.distance};
  }
  struct add {
    LULL_HD sssp_room operator()(sssp_room a, sssp_room b) const noexcept {
      return {a.near + b.near, a.far + b.far, a.least < b.least ? a.least : b.least};
    }
  };
};

template <std::uint32_t Piece>
struct sssp_storage {
  edge_piece<Piece> piece;
  std::uint32_t distance[Piece];  // (vertices of the piece,)
  sssp_room reserved;
  sssp_progress now;  // where one team does the waves by itself: nearer than the machine's memory
};

/// Collective. Appends the threads' entries to the lists that `now` says, whose ends several teams may move. One thread
/// of the team tells of the least distance.
template <std::uint32_t Piece, std::uint32_t Entries>
LULL_HD void append(sssp_state const& on, sssp_progress& now, sssp_entry const (&entries)[Entries],
                    std::uint32_t* far_list, sssp_room& reserved, auto const& team) noexcept {
  sssp_room::add const add;
  sssp_room mine{};
  for (sssp_entry const& one : entries) mine = add(mine, sssp_room::of(one));
  sssp_room at = team.exclusive_scan(mine, sssp_room{}, add);
  if (team.rank() == team.size() - 1) {
    sssp_room const all = add(at, mine);
    reserved.near = {all.near.word != 0 ? atomic_integer{now.tail}.fetch_add(all.near.word) : 0};
    auto const far = std::uint64_t{all.far};
    reserved.far = all.far != 0 ? static_cast<std::uint32_t>(atomic_integer{now.far_tail}.fetch_add(far)) : 0;
    if (all.least != sssp_distance::unreached) atomic_integer{now.far_min}.fetch_min(std::uint64_t{all.least});
  }
  team.sync();
  at = add(at, reserved);
  edge_queue const& queue = on.frontiers[1 - now.turned];
  for (sssp_entry const& one : entries) {
    if (one.edges != 0) {
      queue.vertex[at.near.vertices()] = one.vertex;
      queue.first_edge[at.near.vertices()] = at.near.edges();
      queue.note_starts<Piece>(at.near, one.edges);
    }
    if (one.is_far) far_list[at.far] = one.vertex;
    at = add(at, sssp_room::of(one));
  }
}

/// An edge of the frontier.
struct sssp_edge {
  std::uint32_t source;
  std::uint32_t target;
  std::uint32_t length;  // of the path to the source and over the edge
};

/// What `relax` does with an edge: makes the distance of its target less, and puts that on one of the lists, once.
struct sssp_relaxing {
  sssp_state const& on;
  sssp_progress& now;
  std::uint32_t* distance = on.distance(now.search);
  std::uint32_t limit = static_cast<std::uint32_t>(now.limit);
  std::uint32_t next_wave = static_cast<std::uint32_t>(now.wave + 1);
  std::uint32_t bucket = static_cast<std::uint32_t>(now.bucket);

  /// What tells whether the edge helps, loaded before that is asked of several edges.
  LULL_HD std::uint32_t look(sssp_edge const& edge) const noexcept {
    return atomic_integer{distance[edge.target]}.load();
  }
  LULL_HD static bool helps(sssp_edge const& edge, std::uint32_t seen) noexcept { return edge.length < seen; }
  LULL_HD sssp_entry visit(sssp_edge const& edge) const noexcept {
    std::uint32_t const vertex = edge.target;
    std::uint64_t const edges = on.degree(vertex);  // before it is known to count: that saves a wait
    if (atomic_integer{distance[vertex]}.fetch_min(edge.length) <= edge.length || edges == 0) return {};
    if (edge.length < limit) {
      bool const is_first = atomic_integer{on.waved[vertex]}.fetch_max(next_wave) < next_wave;
      return {.vertex = vertex, .edges = is_first ? edges : 0};
    }
    atomic_integer const put_far{on.put_far[vertex]};
    bool const is_first = put_far.load() < bucket && put_far.fetch_max(bucket) < bucket;
    return {.vertex = vertex, .is_far = is_first, .distance = edge.length};
  }
};

/// What `tree` does with an edge that a shortest path takes: makes the label of its target less, and appends that where
/// it had none. An edge that leads too far is one only if its target is not reached: distances are final by then, so
/// whether there is such an edge does not depend on timing.
struct sssp_growing {
  sssp_state const& on;
  sssp_progress& now;
  std::uint32_t const* distance = on.distance(now.search);
  std::uint64_t* label = on.label(now.search);
  std::uint64_t hops = now.depth + 1;

  LULL_HD std::uint32_t look(sssp_edge const& edge) const noexcept { return distance[edge.target]; }
  LULL_HD static bool helps(sssp_edge const& edge, std::uint32_t seen) noexcept { return edge.length == seen; }
  LULL_HD sssp_entry visit(sssp_edge const& edge) const noexcept {
    if (edge.length == sssp_distance::unreached) {
      atomic_integer{now.too_far}.fetch_max(1);
      return {};
    }
    atomic_integer const known{label[edge.target]};
    std::uint64_t const wanted = sssp_label::of(hops, edge.source);
    if (known.load() <= wanted) return {};
    std::uint64_t const edges = on.degree(edge.target);  // before it is known to count: that saves a wait
    bool const is_first = known.fetch_min(wanted) == sssp_label::unreached;
    return {.vertex = edge.target, .edges = is_first ? edges : 0};
  }
};

/// Collective. An item of a frontier that `now` holds: does to its edges what `Way` says.
template <class Way, std::uint32_t Piece>
LULL_HD void push_piece(sssp_state const& on, sssp_storage<Piece>& storage, sssp_progress& now, std::uint64_t item,
                        auto const& team) noexcept {
  constexpr std::uint32_t flight = 4;  // edges that a thread visits at once
  constexpr std::uint32_t none = ~0U;
  Way const way{on, now};
  edge_piece<Piece>& piece = storage.piece;
  std::uint32_t* const distance = on.distance(now.search);
  auto const row = [&](std::uint32_t vertex, std::uint32_t place) {
    storage.distance[place] = atomic_integer{distance[vertex]}.load();
    return on.offsets[vertex];
  };
  auto const [count, owners] = on.frontiers[now.turned].load_item(piece, now.range, item, row, team);
  auto const rank = static_cast<std::uint32_t>(team.rank());
  auto const size = static_cast<std::uint32_t>(team.size());
  std::uint32_t* const far_list = on.far[now.far_turned];
  for (std::uint32_t at = 0; at < count; at += flight * size) {
    sssp_edge edge[flight];
    sssp_entry entry[flight];
    for (std::uint32_t i = 0; i < flight; ++i) {
      std::uint32_t const place = at + i * size + rank;
      edge[i] = {none, 0, 0};
      if (place >= count) continue;
      std::uint32_t const owner = piece.owner(place, owners);
      std::uint64_t const stored = piece.row[owner] + place;
      edge[i] = {piece.vertex[owner], on.targets[stored],
                 sssp_distance::plus(on.graph.kind, storage.distance[owner], on.weights[stored])};
    }
    decltype(way.look(edge[0])) seen[flight]{};
    for (std::uint32_t i = 0; i < flight; ++i) {
      if (edge[i].source != none) seen[i] = way.look(edge[i]);
    }
    for (std::uint32_t i = 0; i < flight; ++i) {
      if (edge[i].source != none && way.helps(edge[i], seen[i])) entry[i] = way.visit(edge[i]);
    }
    append<Piece>(on, now, entry, far_list, storage.reserved, team);
  }
}

/// Collective. An item of a bucket: of `Collected` far vertices, those that lie in it go to the frontier, those beyond
/// stay far, and those before it were relaxed since.
template <std::uint32_t Collected, std::uint32_t Piece>
LULL_HD void collect_far(sssp_state const& on, sssp_storage<Piece>& storage, std::uint64_t item,
                         auto const& team) noexcept {
  constexpr std::uint32_t flight = 4;
  sssp_progress& now = *on.progress;
  std::uint32_t const* const from = on.far[now.far_turned];
  std::uint32_t const* const distance = on.distance(now.search);
  auto const limit = static_cast<std::uint32_t>(now.limit);
  auto const before = static_cast<std::uint32_t>(now.settled);
  auto const bucket = static_cast<std::uint32_t>(now.bucket);
  std::uint64_t const begin = item * Collected;
  std::uint64_t const end = begin + Collected < now.far ? begin + Collected : now.far;
  auto const size = static_cast<std::uint64_t>(team.size());
  for (std::uint64_t at = begin; at < end; at += flight * size) {
    sssp_entry entry[flight];
    std::uint32_t found[flight];
    for (std::uint32_t i = 0; i < flight; ++i) {
      std::uint64_t const place = at + i * size + static_cast<std::uint64_t>(team.rank());
      found[i] = 0;
      if (place >= end) continue;
      entry[i].vertex = from[place];
      found[i] = distance[entry[i].vertex];
    }
    for (std::uint32_t i = 0; i < flight; ++i) {
      if (found[i] < before) continue;
      if (found[i] < limit) {
        entry[i].edges = on.degree(entry[i].vertex);
        continue;
      }
      entry[i].is_far = true;
      entry[i].distance = found[i];
      on.put_far[entry[i].vertex] = bucket;
    }
    append<Piece>(on, now, entry, on.far[1 - now.far_turned], storage.reserved, team);
  }
}

}  // namespace lull::detail
