// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <lull/device/atomic_integer.hpp>
#include <lull/device/side_task.hpp>
#include <lull/graph/components/component_forest.hpp>

namespace lull {

/// What a run of connected components does, one pass after the other.
enum class components_pass : std::uint32_t {
  hook,  // each vertex to the lowest of itself and its first two neighbours
  near,  // joins by the first four edges of each root
  far,   // … by the first eight of each vertex outside the largest tree
  rest,  // … by all edges of those
  over
};

/// Where a run stands; written between two phases, by one team. At the end all is zero but the pass and the trials.
struct components_progress {
  using element = std::uint32_t;  // all that it is made of
  components_pass pass;
  std::uint32_t flattening;  // 1: the pass is done, and its trees are made flat
  std::uint32_t deep;        // 1: a vertex was too far from its root for one phase
  std::uint32_t open;        // 1: an edge may still join two trees
  std::uint32_t giant;       // root of the largest tree, as far as a sample shows
  std::uint32_t trials;      // that are over
};

/// Connected components, edges without a direction: the label of a vertex is the lowest id of its component.
///
/// `parent` holds a forest, made `trials` times from the start; what follows holds within a trial. It never leads to a
/// higher id, so the root of a tree is its lowest vertex. An edge joins the trees of its ends: the higher root gets a
/// vertex of the other tree as its parent. After each pass but the first the trees are made flat, by as many phases as
/// their depth takes. Items are groups of `Group` vertices, and in `rest` tiles of `Tile` edges, whatever rows they
/// belong to: there a hub's edges spread over tiles.
///
/// In a symmetric graph, where each edge is there in both directions, `far` and `rest` leave out the vertices of the
/// largest tree, so that most edges are never read. That is allowed because each end has the edge in its own row: it is
/// lost only if both ends are left out, and then both are in that tree. A vertex that comes into it during the pass may
/// be left out for the same reason. `rest` follows only if `far` left something open: a longer row outside that tree,
/// or a join given up. In any other graph `rest` takes the place of `far`, and reads every edge once.
///
/// Bounds: a join climbs `max_climb` steps from both ends, in `near` `near_climb`, and then gives up; so does a vertex
/// on its way to the root when trees are made flat. A word of the progress tells, and the pass, or the phase, is
/// repeated with flatter trees; `near` is not, since the next pass joins what it gave up.
/// A join from a flat tree needs a second step only where another thread has joined two trees meanwhile, so that each
/// repetition has fewer trees. A phase that flattens makes the ways to the roots a `max_climb`-th as long.
///
/// Which trees are joined first depends on timing, and with it `parent` between two phases, and how many phases there
/// are. The end does not: the trees are then the components, their roots the lowest vertices, and all are flat. Doing
/// an item again changes nothing that is right, for parents only fall, to vertices of the same component.
///
/// Sources: Sutton, Ben-Nun, Barak, "Optimizing parallel graph connectivity computation via subgraph sampling", IPDPS
/// 2018, section III (few neighbours first, then without the largest component); Jaiganesh, Burtscher, "A
/// high-performance connected components implementation for GPUs", HPDC 2018, section 3 (each vertex starts at a lower
/// neighbour; joining by compare-exchange).
template <std::uint32_t Group, std::uint32_t Tile, int Threads = 256, int BlocksPerSm = 0>
struct basic_components {
  static constexpr std::uint32_t group = Group;
  static constexpr std::uint32_t tile = Tile;
  static constexpr std::uint32_t samples = 128;
  static constexpr std::uint32_t max_climb = detail::component_forest::max_climb;
  static constexpr team_shape shape{.threads = Threads,
                                    .shared_bytes = std::max({1 + Group, Tile, samples}) * sizeof(std::uint32_t),
                                    .blocks_per_sm = BlocksPerSm};

  std::uint64_t const* offsets;   // (vertices + 1,) u64, in edges
  std::uint32_t const* targets;   // (edges,) u32
  std::uint32_t const* tile_row;  // (tiles + 1,) u32, the row of the tile's first edge; after them the last vertex
  std::uint32_t* parent;          // (vertices,) u32
  components_progress* progress;  // (1,) zero at the start
  std::uint64_t edges;
  std::uint32_t vertices;
  std::uint32_t symmetric;  // 1: each edge is there in both directions
  std::uint32_t trials;     // how often the run is done, from the start; 1 at least

  LULL_HD std::uint64_t groups() const noexcept { return (std::uint64_t{vertices} + Group - 1) / Group; }
  LULL_HD std::uint64_t tiles() const noexcept { return (edges + Tile - 1) / Tile; }

  LULL_HD std::uint64_t extent(position, std::uint64_t) const noexcept {
    if (progress->pass == components_pass::over) return finished;
    return progress->pass == components_pass::rest && progress->flattening == 0 ? tiles() : groups();
  }

  LULL_HD void operator()(chunk c, auto const& team) const noexcept {
    components_progress const now{progress->pass, progress->flattening, 0, 0, progress->giant, 0};
    for (std::uint64_t item = c.begin; item < c.end; ++item) {
      if (now.flattening != 0) {
        flatten(item, team);
      } else if (now.pass == components_pass::hook) {
        hook(item, team);
      } else if (now.pass == components_pass::near) {
        if (!join_first<4, true>(item, now.giant, team)) return;
      } else if (now.pass == components_pass::far) {
        if (!join_first<8, false>(item, now.giant, team)) return;
      } else {
        join_tile(item, now.giant, team);
      }
    }
  }

  LULL_HD void advance(position, auto const& team) const noexcept {
    components_progress now = *progress;
    if (now.flattening == 0 && now.pass != components_pass::hook) {
      now.flattening = 1;
    } else if (now.deep != 0) {
      now.deep = 0;
    } else {
      now.flattening = 0;
      now.pass = pass_after(now);
      now.open = 0;
      if (now.pass == components_pass::over && ++now.trials < trials) now.pass = components_pass::hook;
      bool const leaves_out = now.pass == components_pass::far || now.pass == components_pass::rest;
      now.giant = symmetric != 0 && leaves_out ? largest(team) : 0;
    }
    team.sync();  // all have read it
    if (team.rank() == 0) *progress = now;
  }

 private:
  using forest = detail::component_forest;
  static constexpr std::uint32_t none = forest::none;
  static constexpr std::uint32_t at_once = 8;  // edges whose loads a thread has in flight
  static constexpr std::uint32_t abreast = forest::abreast;
  static constexpr std::uint32_t hooked = 2;      // neighbours
  static constexpr std::uint32_t near_climb = 4;  // steps of a join of roots; what it gives up has flat trees later
  static_assert(Tile % at_once == 0, "a tile falls into groups of edges, one for each thread");

  LULL_HD components_pass pass_after(components_progress const& ended) const noexcept {
    switch (ended.pass) {
      case components_pass::hook:
        return components_pass::near;
      case components_pass::near:
        return symmetric != 0 ? components_pass::far : components_pass::rest;
      default:
        return ended.open != 0 ? components_pass::rest : components_pass::over;
    }
  }

  LULL_HD forest trees() const noexcept { return {parent}; }

  LULL_HD static void raise(std::uint32_t& word) noexcept {
    atomic_integer const flag{word};
    if (flag.load() == 0) flag.fetch_max(1);
  }

  /// The vertices of a group that a thread of a team has: each `stride`-th.
  struct own_vertices {
    std::uint32_t at;
    std::uint32_t stride;
    std::uint32_t end;

    LULL_HD bool more() const noexcept { return at < end; }
    LULL_HD bool has(std::uint32_t i) const noexcept { return i * stride < end - at; }
    LULL_HD std::uint32_t operator[](std::uint32_t i) const noexcept { return at + i * stride; }
    LULL_HD void skip(std::uint32_t count) noexcept { at = has(count) ? at + count * stride : end; }
  };

  LULL_HD own_vertices vertices_of(std::uint64_t item, auto const& team) const noexcept {
    auto const begin = static_cast<std::uint32_t>(item * Group);
    std::uint32_t const end = vertices - begin < Group ? vertices : begin + Group;
    auto const rank = static_cast<std::uint32_t>(team.rank());
    return {rank < end - begin ? begin + rank : end, static_cast<std::uint32_t>(team.size()), end};
  }

  /// All loads come first: a store would hold up those after it.
  LULL_HD void hook(std::uint64_t item, auto const& team) const noexcept {
    constexpr std::uint32_t count = 4;
    for (own_vertices own = vertices_of(item, team); own.more(); own.skip(count)) {
      std::uint64_t begin[count];
      std::uint64_t end[count];
      std::uint32_t lowest[count];
      for (std::uint32_t i = 0; i < count; ++i) {
        begin[i] = own.has(i) ? offsets[own[i]] : 0;
        end[i] = own.has(i) ? offsets[own[i] + std::uint64_t{1}] : 0;
        lowest[i] = own[i];
      }
      std::uint32_t target[count][hooked];
      for (std::uint32_t i = 0; i < count; ++i) {
        for (std::uint32_t k = 0; k < hooked; ++k) target[i][k] = k < end[i] - begin[i] ? targets[begin[i] + k] : none;
      }
      for (std::uint32_t i = 0; i < count; ++i) {
        for (std::uint32_t k = 0; k < hooked; ++k) lowest[i] = target[i][k] < lowest[i] ? target[i][k] : lowest[i];
        if (own.has(i)) parent[own[i]] = lowest[i];
      }
    }
  }

  /// No trees are joined meanwhile, so what is a root stays one.
  LULL_HD void flatten(std::uint64_t item, auto const& team) const noexcept {
    constexpr std::uint32_t count = 4;
    for (own_vertices own = vertices_of(item, team); own.more(); own.skip(count)) {
      std::uint32_t first[count];
      std::uint32_t at[count];
      std::uint32_t above[count];
      for (std::uint32_t i = 0; i < count; ++i) first[i] = trees().parent_of(own.has(i) ? own[i] : own[0]);
      for (std::uint32_t i = 0; i < count; ++i) at[i] = first[i];
      bool climbing = true;
      for (std::uint32_t step = 0; climbing && step < max_climb; ++step) {
        climbing = false;
        for (std::uint32_t i = 0; i < count; ++i) above[i] = trees().parent_of(at[i]);
        for (std::uint32_t i = 0; i < count; ++i) {
          climbing |= above[i] != at[i];
          at[i] = above[i];
        }
      }
      for (std::uint32_t i = 0; i < count; ++i) {
        if (own.has(i) && at[i] != first[i]) atomic_integer{parent[own[i]]}.fetch_min(at[i]);
      }
      if (climbing) raise(progress->deep);
    }
  }

  /// Collective. Joins by the first `Reach` edges of some vertices of a group: of the roots, or of all outside the
  /// largest tree. These are listed first, so that each thread has as many; the order of the list depends on timing,
  /// but it only says which thread does what. False: the team leaves, as it may with some joins done, since to join
  /// again what is joined changes nothing. What it gave up by then it tells: its vertex may no longer be outside the
  /// largest tree when the chunk is done again, and so would not be listed.
  template <std::uint32_t Reach, bool RootsOnly>
  LULL_HD bool join_first(std::uint64_t item, std::uint32_t giant, auto const& team) const noexcept {
    auto* const count = static_cast<std::uint32_t*>(team.shared());
    std::uint32_t* const listed = count + 1;  // (Group,), in any order
    team.sync();                              // with those of the item before
    if (team.rank() == 0) *count = 0;
    team.sync();
    constexpr std::uint32_t width = 4;
    for (own_vertices own = vertices_of(item, team); own.more(); own.skip(width)) {
      bool asked[width];
      std::uint64_t edges_here[width];
      for (std::uint32_t i = 0; i < width; ++i) {
        std::uint32_t const above = own.has(i) ? trees().parent_of(own[i]) : giant;
        asked[i] = own.has(i) && (RootsOnly ? above == own[i] : above != giant);
      }
      for (std::uint32_t i = 0; i < width; ++i) {
        edges_here[i] = asked[i] ? offsets[own[i] + std::uint64_t{1}] - offsets[own[i]] : 0;
      }
      for (std::uint32_t i = 0; i < width; ++i) {
        if (edges_here[i] != 0) listed[atomic_integer{*count}.fetch_add(1)] = own[i];
      }
    }
    team.sync();
    std::uint32_t const all = *count;
    auto const size = static_cast<std::uint32_t>(team.size());
    bool open = false;
    bool left = false;
    for (std::uint32_t first_listed = 0; first_listed < all; first_listed += size) {
      left = first_listed != 0 && first_listed % (Group / 4) == 0 && team.leaving();
      if (left) break;
      std::uint32_t const i = first_listed + static_cast<std::uint32_t>(team.rank());
      if (i >= all) continue;
      std::uint32_t const vertex = listed[i];
      std::uint64_t const begin = offsets[vertex];
      std::uint64_t const edges_here = offsets[vertex + std::uint64_t{1}] - begin;
      std::uint32_t target[Reach];
      for (std::uint32_t k = 0; k < Reach; ++k) target[k] = k < edges_here ? targets[begin + k] : vertex;
      for (std::uint32_t first = 0; first < Reach; first += abreast) {
        forest::pairs pairs;
        for (std::uint32_t i = 0; i < abreast; ++i) pairs.set(i, vertex, target[first + i]);
        open |= trees().join(pairs, RootsOnly ? near_climb : max_climb);
      }
      if (!RootsOnly && edges_here > Reach) open |= !trees().joined(vertex, giant);
    }
    if (open && !RootsOnly) raise(progress->open);
    return !left;
  }

  /// Of the rows from `first` to `last`, the one that holds the edge.
  LULL_HD std::uint32_t row_of(std::uint64_t edge, std::uint32_t first, std::uint32_t last) const noexcept {
    while (first < last) {
      std::uint32_t const middle = first + (last - first + 1) / 2;
      if (offsets[middle] <= edge) {
        first = middle;
      } else {
        last = middle - 1;
      }
    }
    return first;
  }

  /// Collective. First each thread finds the rows of some edges that follow each other, for the team's storage; then
  /// neighbours load neighbouring edges.
  LULL_HD void join_tile(std::uint64_t item, std::uint32_t giant, auto const& team) const noexcept {
    auto const rank = static_cast<std::uint32_t>(team.rank());
    auto const size = static_cast<std::uint32_t>(team.size());
    auto* const roots = static_cast<std::uint32_t*>(team.shared());  // (Tile,) of the edges' rows
    std::uint64_t const begin = item * Tile;
    auto const here = static_cast<std::uint32_t>(edges - begin < Tile ? edges - begin : Tile);
    std::uint32_t const last = tile_row[item + 1];
    std::uint32_t row = tile_row[item];
    std::uint32_t const left_out = symmetric != 0 ? giant : none;
    if (symmetric != 0 && last - row < Tile) {
      std::uint32_t outside = 0;
      for (std::uint32_t i = rank; i <= last - row; i += size) {
        outside +=
            trees().parent_of(row + i) != giant && offsets[row + i] != offsets[row + i + std::uint64_t{1}] ? 1 : 0;
      }
      if (team.sum(outside) == 0) return;  // as most tiles do
    }
    team.sync();  // with those of the item before
    for (std::uint32_t at = rank * at_once; at < here; at += size * at_once) {
      std::uint64_t row_end = 0;
      std::uint32_t root = none;
      for (std::uint32_t i = at; i < at + at_once && i < here; ++i) {
        if (begin + i >= row_end) {
          row = row_of(begin + i, row, last);
          row_end = offsets[row + std::uint64_t{1}];
          root = trees().parent_of(row);
        }
        roots[i] = root;
      }
    }
    team.sync();
    bool open = false;
    for (std::uint32_t at = rank; at < here; at += size * at_once) {
      std::uint32_t a[at_once];
      std::uint32_t b[at_once];
      for (std::uint32_t i = 0; i < at_once; ++i) {
        std::uint32_t const edge = at + i * size;
        a[i] = edge < here ? roots[edge] : left_out;
        b[i] = a[i] != left_out ? targets[begin + edge] : none;
      }
      for (std::uint32_t i = 0; i < at_once; ++i) b[i] = b[i] != none ? trees().parent_of(b[i]) : a[i];
      for (std::uint32_t first = 0; first < at_once; first += abreast) {
        forest::pairs pairs;
        for (std::uint32_t i = 0; i < abreast; ++i) pairs.set(i, a[first + i], b[first + i]);
        open |= trees().join(pairs);
      }
    }
    if (open) raise(progress->open);
  }

  /// Collective. Of flat trees the root that most of some vertices have, which are spread evenly over all. Of equal
  /// ones the lowest.
  LULL_HD std::uint32_t largest(auto const& team) const noexcept {
    auto* const roots = static_cast<std::uint32_t*>(team.shared());  // (samples,)
    auto const rank = static_cast<std::uint32_t>(team.rank());
    auto const size = static_cast<std::uint32_t>(team.size());
    for (std::uint32_t i = rank; i < samples; i += size) {
      roots[i] = parent[std::uint64_t{i} * vertices / samples];
    }
    team.sync();
    std::uint64_t best = 0;  // how many, and after them the root's complement
    for (std::uint32_t i = rank; i < samples; i += size) {
      std::uint64_t alike = 0;
      for (std::uint32_t k = 0; k < samples; ++k) alike += roots[k] == roots[i] ? 1 : 0;
      best = higher(best, alike << 32 | (none - roots[i]));
    }
    std::uint64_t const before = team.exclusive_scan(best, std::uint64_t{0}, take_higher{});
    // Only the last thread knows all: the others get it by the sum.
    std::uint64_t const of_all = team.sum(rank == size - 1 ? higher(before, best) : 0);
    return none - static_cast<std::uint32_t>(of_all);
  }

  LULL_HD static std::uint64_t higher(std::uint64_t a, std::uint64_t b) noexcept { return a < b ? b : a; }
  struct take_higher {
    LULL_HD std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const noexcept { return higher(a, b); }
  };
};

using components = basic_components<1024, 2048, 256, 4>;

static_assert(is_side_task<components>() && has_advance<components>);

}  // namespace lull
