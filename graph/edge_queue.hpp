// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/device/atomic_integer.hpp>
#include <lull/device/side_task.hpp>

namespace lull {

/// How far a queue is filled: so many vertices, and so many edges of theirs, in one word. So one addition to the end of
/// the queue reserves room for vertices, and their place in the sum of edges with it.
struct queue_mark {
  static constexpr int edge_bits = 33;
  static constexpr std::uint64_t max_edges = (std::uint64_t{1} << edge_bits) - 1;
  static constexpr std::uint64_t max_vertices = (std::uint64_t{1} << (64 - edge_bits)) - 1;

  std::uint64_t word = 0;

  LULL_HD static constexpr queue_mark of(std::uint64_t vertices, std::uint64_t edges) noexcept {
    return {vertices << edge_bits | edges};
  }
  LULL_HD constexpr std::uint32_t vertices() const noexcept { return static_cast<std::uint32_t>(word >> edge_bits); }
  LULL_HD constexpr std::uint64_t edges() const noexcept { return word & max_edges; }

  friend LULL_HD constexpr queue_mark operator+(queue_mark a, queue_mark b) noexcept { return {a.word + b.word}; }
  friend LULL_HD constexpr queue_mark operator-(queue_mark a, queue_mark b) noexcept { return {a.word - b.word}; }
  friend constexpr bool operator==(queue_mark, queue_mark) = default;

  struct add {
    LULL_HD constexpr queue_mark operator()(queue_mark a, queue_mark b) const noexcept { return a + b; }
  };
};

/// What lies between two marks of a queue: a frontier.
struct queue_range {
  queue_mark begin;
  queue_mark end;

  LULL_HD constexpr std::uint32_t vertices() const noexcept { return end.vertices() - begin.vertices(); }
  LULL_HD constexpr std::uint64_t edges() const noexcept { return end.edges() - begin.edges(); }
};

/// A vertex to put into a queue, with its edges; one without any is not put there.
struct queue_entry {
  std::uint32_t vertex = 0;
  std::uint64_t edges = 0;
};

/// Team storage for up to `Edges` edges in a row of a queue's: which vertices they belong to, and where they lie.
template <std::uint32_t Edges>
struct edge_piece {
  std::uint64_t row[Edges];     // (vertices,) where the piece's first edge would lie if it were of this vertex
  std::uint32_t first[Edges];   // (vertices,) the vertex's first edge, counted from the piece's first
  std::uint32_t vertex[Edges];  // (vertices,)
  queue_mark reserved;          // for append

  /// The place in `vertex` of the vertex that the edge belongs to; `vertices` are in the piece.
  LULL_HD std::uint32_t owner(std::uint32_t edge, std::uint32_t vertices) const noexcept {
    std::uint32_t low = 0;
    for (std::uint32_t high = vertices; high - low > 1;) {
      std::uint32_t const middle = (low + high) / 2;
      (first[middle] <= edge ? low : high) = middle;
    }
    return low;
  }
};

/// Edges of an item, as far as the range has them, and how many vertices they belong to.
struct loaded_piece {
  std::uint32_t edges;
  std::uint32_t vertices;
};

/// Vertices in a row with the running sum of their edges, so that the edges of a part of the queue fall into items of
/// equal numbers of edges, whatever the degrees: a hub spreads over thousands of items, and an item never has more
/// vertices than edges, since each vertex in a queue has one at least. No phase is needed to make the sum: who
/// appends reserves places and edges by one atomic addition.
///
/// In which order teams append depends on timing, and so does the order of the vertices: this stores at a place that an
/// atomic addition named, of which atomic_integer warns. A task that uses the queue has to see to it that the order
/// decides only which item visits which edge, and has to overwrite the queue before it ends, so that it ends alike each
/// time. It must not call `leaving()` in an item that appends: a chunk that was handed back would append twice.
///
/// Sources: Merrill, Garland, Grimshaw, "Scalable GPU graph traversal", PPoPP 2012, section 5 (gathering by equal parts
/// of edges); Davidson, Baxter, Garland, Owens, "Work-efficient parallel GPU methods for single-source shortest paths",
/// IPDPS 2014, section 4 (load balancing by search).
struct edge_queue {
  std::uint32_t* vertex;      // (capacity,)
  std::uint64_t* first_edge;  // (capacity,) edges of the vertices before it
  // (items of all edges,) or null: the place of the vertex that an item's first edge belongs to, as `note_starts` wrote
  // it. What an older frontier left there is found out, and the vertex searched for. Ranges must begin at edge 0.
  std::uint32_t* start = nullptr;

  /// For the items of `Edges` edges: where those begin that begin in a vertex's edges, but for the later ones of a hub.
  template <std::uint32_t Edges>
  LULL_HD void note_starts(queue_mark at, std::uint64_t edges) const noexcept {
    constexpr std::uint64_t max_notes = 16;  // the store of one does not wait for another
    std::uint64_t const item = (at.edges() + Edges - 1) / Edges;
    std::uint64_t const behind = (at.edges() + edges + Edges - 1) / Edges;
    for (std::uint64_t i = item; i < behind && i < item + max_notes; ++i) start[i] = at.vertices();
  }

  /// Collective. Appends the threads' entries at `end`, which several teams move.
  template <std::uint32_t Entries>
  LULL_HD void append(std::uint64_t& end, queue_entry const (&entries)[Entries], queue_mark& reserved,
                      auto const& team) const noexcept {
    queue_mark mine{};
    for (queue_entry const& one : entries) mine = mine + taken_by(one);
    queue_mark at = team.exclusive_scan(mine, queue_mark{}, queue_mark::add{});
    if (team.rank() == team.size() - 1) {
      std::uint64_t const all = (at + mine).word;
      reserved = {all != 0 ? atomic_integer{end}.fetch_add(all) : 0};
    }
    team.sync();
    at = at + reserved;
    for (queue_entry const& one : entries) {
      if (one.edges != 0) {
        vertex[at.vertices()] = one.vertex;
        first_edge[at.vertices()] = at.edges();
      }
      at = at + taken_by(one);
    }
  }

  /// Collective. The place in `range` of the vertex that the edge belongs to, to all.
  LULL_HD std::uint32_t find(queue_range range, std::uint64_t edge, auto const& team) const noexcept {
    constexpr std::uint32_t looks = 2;  // of a thread at once: with 8, teams look at more places than a piece has edges
    auto const size = static_cast<std::uint32_t>(team.size());
    std::uint32_t low = range.begin.vertices();
    std::uint32_t high = range.end.vertices();
    while (high - low > 1) {
      std::uint32_t const parts = size * looks + 1;
      std::uint32_t const width = (high - low + parts - 1) / parts;
      std::uint32_t before = 0;  // looks that found a vertex whose edges begin no later
      for (std::uint32_t i = 0; i < looks; ++i) {
        std::uint64_t const at = low + (std::uint64_t{i} * size + static_cast<std::uint32_t>(team.rank()) + 1) * width;
        if (at < high && first_edge[at] <= edge) ++before;
      }
      low += team.sum(before) * width;
      high = high - low < width ? high : low + width;
    }
    return low;
  }

  /// Collective. Fills `piece` with the edges [begin, begin + count) of the range, of which there are so many; returns
  /// how many vertices they belong to. `row(vertex, place)` is where the edges of the vertex begin that comes to this
  /// place of the piece.
  template <std::uint32_t Edges>
  LULL_HD std::uint32_t load(edge_piece<Edges>& piece, queue_range range, std::uint64_t begin, std::uint32_t count,
                             auto const& row, auto const& team) const noexcept {
    std::uint32_t const from = first_owner<Edges>(range, begin, team);
    std::uint32_t const vertices = range.end.vertices() - from;
    std::uint32_t mine = 0;
    for (auto at = static_cast<std::uint32_t>(team.rank()); at < vertices;
         at += static_cast<std::uint32_t>(team.size())) {
      std::uint64_t const first = first_edge[from + at];
      if (first >= begin + count) break;
      std::uint32_t const of = vertex[from + at];
      piece.vertex[at] = of;
      piece.first[at] = first <= begin ? 0 : static_cast<std::uint32_t>(first - begin);
      piece.row[at] = row(of, at) + begin - first;  // may wrap around until an edge is added
      ++mine;
    }
    std::uint32_t const all = team.sum(mine);
    team.sync();
    return all;
  }

  /// Collective. The same for an item of the range, which falls into items of `Edges` edges.
  template <std::uint32_t Edges>
  LULL_HD loaded_piece load_item(edge_piece<Edges>& piece, queue_range range, std::uint64_t item, auto const& row,
                                 auto const& team) const noexcept {
    std::uint64_t const begin = range.begin.edges() + item * Edges;
    std::uint64_t const left = range.end.edges() - begin;
    std::uint32_t const count = left < Edges ? static_cast<std::uint32_t>(left) : Edges;
    return {count, load(piece, range, begin, count, row, team)};
  }

 private:
  /// Collective. As find, which is left out where it need not search.
  template <std::uint32_t Edges>
  LULL_HD std::uint32_t first_owner(queue_range range, std::uint64_t begin, auto const& team) const noexcept {
    if (begin == range.begin.edges()) return range.begin.vertices();
    if (start != nullptr) {
      std::uint32_t const noted = start[begin / Edges];
      std::uint32_t const end = range.end.vertices();
      if (noted >= range.begin.vertices() && noted < end && first_edge[noted] <= begin &&
          (noted + 1 == end || first_edge[noted + 1] > begin)) {
        return noted;
      }
    }
    return find(range, begin, team);
  }

  LULL_HD static constexpr queue_mark taken_by(queue_entry const& one) noexcept {
    return one.edges != 0 ? queue_mark::of(1, one.edges) : queue_mark{};
  }
};

}  // namespace lull
