// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <lull/device/side_task.hpp>
#include <lull/graph/bits.hpp>
#include <lull/graph/sweep.hpp>

namespace lull {

/// Where a run of PageRank stands; written between two sweeps, by one team.
struct pagerank_progress {
  double change;            // L1, of the ranks in the last sweep
  double dangling;          // rank of the vertices that no edge leaves
  std::uint64_t sweeps;     // done
  float base;               // what the next sweep gives each vertex without an edge
  std::uint32_t converged;  // 1: the last change is below the tolerance
};

/// What some vertices add to the progress.
struct pagerank_partial {
  using element = double;  // all that it is made of
  double change;
  double dangling;

  friend LULL_HD pagerank_partial operator+(pagerank_partial a, pagerank_partial b) noexcept {
    return {a.change + b.change, a.dangling + b.dangling};
  }
};

/// The sources of four edges in a row: one load.
struct alignas(16) source_quad {
  std::uint32_t vertex[4];
};

/// Which of 32 vertices in a row an edge enters, a bit each, and how many vertices before them one does.
struct alignas(8) entered_word {
  std::uint32_t bits;
  std::uint32_t before;
};

namespace detail {

/// Of some edges in a row: how many rows end among them, and the sum that is open after the last.
template <class Number>
struct open_row {
  std::uint32_t ends;
  Number sum;

  struct join {
    LULL_HD open_row operator()(open_row a, open_row b) const noexcept {
      return {a.ends + b.ends, b.ends != 0 ? b.sum : a.sum + b.sum};
    }
  };
};

}  // namespace detail

/// PageRank in pull direction, fp32 ranks that sum to 1, dangling mass spread evenly, duplicates and self-loops kept:
///   rank(v) = (1 - damping) / n + damping × (Σ over edges u → v of rank(u) / degree(u) + dangling mass / n)
///
/// The edges that enter a vertex are its row. Round 0 only sets the ranks to 1 / n; each further round is a sweep of
/// four phases:
///   gather   an item is a tile of `Tile` edges, whatever rows they belong to: a hub's edges spread over tiles, and a
///            tile costs the same whatever the graph. A segmented scan over the team gives each row that ends in the
///            tile what the tile holds of it, and the tile what is open at its end.
///   combine  an item is a block of `Block` tiles: what is open at the end of tiles goes to the row that it belongs to,
///            by the same scan one level up; between blocks, `advance` does so.
///   settle   an item is `settled` vertices: their new ranks.
///   fold     an item is `Block` items of settle: their change and their dangling mass; `advance` adds up the rest.
/// Rows without edges take part in settle alone; the others are numbered in their order, and that number is their place
/// in `sum`. Which item does what depends on the graph alone, and every sum is taken in an order that depends on the
/// parameters and the team's size alone: ranks are equal bit for bit whatever the grain, the grid and the preemption.
///
/// `Threads` of a team on a GPU, and `BlocksPerSm` of them on an SM, as in team_shape.
///
/// Source: Sengupta, Harris, Zhang, Owens, "Scan primitives for GPU computing", Graphics Hardware 2007 (segmented scan;
/// sparse matrix-vector product).
template <std::uint32_t Tile, std::uint32_t Block, int Threads = 256, int BlocksPerSm = 0>
struct basic_pagerank {
  static constexpr std::uint32_t tile = Tile;
  static constexpr std::uint32_t block = Block;
  static constexpr std::uint32_t settled = 4 * Threads;
  static constexpr int max_threads = Threads;
  static constexpr team_shape shape{
      .threads = Threads, .steps = 4, .shared_bytes = Tile * sizeof(float), .blocks_per_sm = BlocksPerSm};
  enum step : std::uint32_t { gather_step, combine_step, settle_step, fold_step };

  source_quad const* sources;     // (tiles × Tile / 4,) row after row; after the last edge any vertex
  std::uint32_t const* row_ends;  // (⌈tiles × Tile / 32⌉,) u32, a bit an edge: the last of its row
  std::uint32_t const* tile_row;  // (tiles + 1,) u32, rows that end before the tile
  entered_word const* entered;    // (⌈vertices / 32⌉,)
  float const* inverse_degree;    // (vertices,) f32, 1 / edges that leave; 0 where none do
  float* rank;                    // (vertices,) f32
  float* share;                   // (vertices,) f32, rank × inverse_degree
  float* sum;                     // (rows,) f32
  float* carry;                   // (tiles,) f32, of the row open at the tile's end
  double* block_carry;            // (blocks,) f64, … at the block's end
  pagerank_partial* partial;      // (settles,)
  pagerank_partial* folded;       // (folds,)
  pagerank_progress* progress;    // (1,) zero at the start
  std::uint64_t tiles;            // ⌈edges / Tile⌉
  std::uint64_t sweeps;           // at most
  double damping;
  double tolerance;
  std::uint32_t vertices;

  /// The most fp32 additions that an addend of a row's sum passes through.
  static constexpr std::uint64_t max_chain(std::uint32_t team_size) noexcept {
    std::uint32_t const walk = (groups + team_size - 1) / team_size + flight;
    return 2 * walk + team_size + 4;
  }

  LULL_HD std::uint64_t blocks() const noexcept { return detail::parts(tiles, Block); }
  LULL_HD std::uint64_t settles() const noexcept { return detail::parts(vertices, settled); }
  LULL_HD std::uint64_t folds() const noexcept { return detail::parts(settles(), Block); }

  LULL_HD std::uint64_t extent(position at, std::uint64_t) const noexcept {
    switch (at.step) {
      case gather_step:
        if (at.round == 0) return 0;
        return progress->converged != 0 || progress->sweeps >= sweeps ? finished : tiles;
      case combine_step:
        return at.round == 0 ? 0 : blocks();
      case settle_step:
        return settles();
      default:
        return folds();
    }
  }

  LULL_HD void operator()(chunk c, auto const& team) const noexcept {
    for (std::uint64_t item = c.begin; item < c.end; ++item) {
      switch (c.at.step) {
        case gather_step:
          gather(item, team);
          break;
        case combine_step:
          combine(item, team);
          break;
        case settle_step:
          settle(item, c.at.round == 0, team);
          break;
        default:
          fold(item, team);
      }
    }
  }

  LULL_HD void advance(position ended, auto const& team) const noexcept {
    if (ended.step == combine_step && ended.round != 0) carry_on(block_carry, 0, blocks(), Block, team);
    if (ended.step != fold_step) return;
    pagerank_partial const all = total(folded, 0, folds(), team);
    if (team.rank() != 0) return;
    double const teleport = 1 - damping + damping * all.dangling;
    *progress = {.change = all.change,
                 .dangling = all.dangling,
                 .sweeps = ended.round,
                 .base = static_cast<float>(teleport / static_cast<double>(vertices)),
                 .converged = ended.round != 0 && all.change < tolerance ? 1U : 0U};
  }

 private:
  static_assert((Tile & (Tile - 1)) == 0 && Tile >= 4, "a tile is a power of two of edges");
  using open_sum = detail::open_row<float>;

  /// Edges that a thread asks for at once.
  static constexpr std::uint32_t flight = Tile / Threads < 4 ? 4 : Tile / Threads < 16 ? Tile / Threads : 16;
  static constexpr std::uint32_t groups = Tile / flight;
  static_assert((flight & (flight - 1)) == 0, "with as many threads a tile falls into no groups of equal size");

  /// `flight` edges.
  struct edge_group {
    float share[flight];
    std::uint32_t ends;  // a bit an edge
  };

  LULL_HD edge_group group_at(std::uint64_t at) const noexcept {
    constexpr std::uint32_t quads = flight / 4;
    source_quad source[quads];
    for (std::uint32_t i = 0; i < quads; ++i) source[i] = sources[at * quads + i];
    std::uint64_t const edge = at * flight;
    edge_group group;
    group.ends = row_ends[edge / 32] >> (edge % 32) & ((1U << flight) - 1);
    for (std::uint32_t i = 0; i < flight; ++i) group.share[i] = share[source[i / 4].vertex[i % 4]];
    return group;
  }

  /// Collective, for a team of `groups`: the thread's own group. Neighbours load neighbouring edges, whose sources
  /// often lie in one sector, since rows are sorted; then the team's storage turns them round.
  LULL_HD edge_group group_of_team(std::uint64_t item, std::uint32_t rank_here, auto const& team) const noexcept {
    auto const* const source = &sources[item * (Tile / 4)].vertex[0];
    auto* const turned = static_cast<float*>(team.shared());  // (Tile,)
    std::uint64_t const edge = item * Tile + rank_here * flight;
    edge_group group;
    group.ends = row_ends[edge / 32] >> (edge % 32) & ((1U << flight) - 1);
    std::uint32_t from[flight];
    for (std::uint32_t i = 0; i < flight; ++i) from[i] = source[rank_here + i * groups];
    for (std::uint32_t i = 0; i < flight; ++i) group.share[i] = share[from[i]];
    for (std::uint32_t i = 0; i < flight; ++i) turned[rank_here + i * groups] = group.share[i];
    team.sync();
    for (std::uint32_t i = 0; i < flight; ++i) group.share[i] = turned[rank_here * flight + i];
    return group;
  }

  /// Of a group in which no row ends.
  LULL_HD static float total_of(edge_group const& group) noexcept {
    float part[4] = {group.share[0], group.share[1], group.share[2], group.share[3]};
    for (std::uint32_t i = 4; i < flight; ++i) part[i % 4] += group.share[i];
    return (part[0] + part[1]) + (part[2] + part[3]);
  }

  LULL_HD static open_sum behind(open_sum before, edge_group const& group) noexcept {
    if (group.ends == 0) return {before.ends, before.sum + total_of(group)};
    float open = 0;
    for (std::uint32_t i = 0; i < flight; ++i) {
      open += group.share[i];
      if ((group.ends >> i & 1) != 0) open = 0;
    }
    return {before.ends + detail::ones(group.ends), open};
  }

  /// As above, and stores the sums of the rows that end in the group; `to`: that of the tile's first.
  LULL_HD static open_sum end_rows(open_sum before, edge_group const& group, float* to) noexcept {
    if (group.ends == 0) return {before.ends, before.sum + total_of(group)};
    for (std::uint32_t i = 0; i < flight; ++i) {
      before.sum += group.share[i];
      if ((group.ends >> i & 1) != 0) {
        to[before.ends] = before.sum;
        before = {before.ends + 1, 0};
      }
    }
    return before;
  }

  /// Collective. Each thread has as many groups of edges in a row: it tells those after it how many rows end in them
  /// and what is open at their end, learns the same of those before it, and ends its rows.
  LULL_HD void gather(std::uint64_t item, auto const& team) const noexcept {
    auto const rank_here = static_cast<std::uint32_t>(team.rank());
    auto const size = static_cast<std::uint32_t>(team.size());
    float* const to = sum + tile_row[item];
    open_sum open{};
    if (size == groups) {  // as on a GPU
      edge_group const group = group_of_team(item, rank_here, team);
      open = team.exclusive_scan(behind({}, group), open_sum{}, typename open_sum::join{});
      open = end_rows(open, group, to);
    } else {
      std::uint32_t const each = (groups + size - 1) / size;
      std::uint64_t const begin = item * groups + least(rank_here * each, groups);
      std::uint64_t const end = item * groups + least((rank_here + 1) * each, groups);
      if (size != 1) {
        for (std::uint64_t at = begin; at < end; ++at) open = behind(open, group_at(at));
        open = team.exclusive_scan(open, open_sum{}, typename open_sum::join{});
      }
      for (std::uint64_t at = begin; at < end; ++at) open = end_rows(open, group_at(at), to);
    }
    if (rank_here == size - 1) carry[item] = open.sum;
  }

  /// Collective.
  LULL_HD void combine(std::uint64_t item, auto const& team) const noexcept {
    std::uint64_t const begin = item * Block;
    double const open = carry_on(carry, begin, least(begin + Block, tiles), 1, team);
    if (team.rank() == team.size() - 1) block_carry[item] = open;
  }

  /// Collective. Parts of `width` tiles each, of which [begin, end) are looked at: what is open at the end of a part
  /// goes into the sum of the row that ends next. The last rank gets what is open at the end of all.
  template <class Number>
  LULL_HD double carry_on(Number const* open_at_end, std::uint64_t begin, std::uint64_t end, std::uint32_t width,
                          auto const& team) const noexcept {
    using open_row = detail::open_row<double>;
    auto const rank_here = static_cast<std::uint64_t>(team.rank());
    auto const size = static_cast<std::uint64_t>(team.size());
    std::uint64_t const each = (end - begin + size - 1) / size;
    std::uint64_t const mine = least(begin + rank_here * each, end);
    std::uint64_t const mine_end = least(mine + each, end);
    auto const row_before = [&](std::uint64_t part) { return tile_row[least(part * width, tiles)]; };
    auto const part_at = [&](std::uint64_t part) {
      return open_row{row_before(part + 1) - row_before(part), open_at_end[part]};
    };
    open_row open{};
    for (std::uint64_t part = mine; part < mine_end; ++part) open = typename open_row::join{}(open, part_at(part));
    open = team.exclusive_scan(open, open_row{}, typename open_row::join{});
    for (std::uint64_t part = mine; part < mine_end; ++part) {
      open_row const here = part_at(part);
      if (here.ends != 0) {
        float& row = sum[row_before(part)];
        row = static_cast<float>(row + open.sum);
      }
      open = typename open_row::join{}(open, here);
    }
    return open.sum;
  }

  /// Collective. New ranks; `first`: those to start from.
  LULL_HD void settle(std::uint64_t item, bool first, auto const& team) const noexcept {
    auto const begin = static_cast<std::uint32_t>(item * settled);
    auto const size = static_cast<std::uint32_t>(team.size());
    some_vertices some{begin, static_cast<std::uint32_t>(team.rank()), size, least(settled, vertices - begin)};
    float const base = first ? 1 / static_cast<float>(vertices) : progress->base;
    pagerank_partial part{};
    for (std::uint32_t done = 0; done < settled; done += vertices_at_once * size) {
      part = part + settle_some(some, base, first);
      some.at += vertices_at_once * size;
    }
    part = team.sum(part);
    if (team.rank() == 0) partial[item] = part;
  }

  static constexpr std::uint32_t vertices_at_once = settled / Threads;

  /// Those at, at + stride, … from `begin` on, below `count`.
  struct some_vertices {
    std::uint32_t begin;
    std::uint32_t at;
    std::uint32_t stride;
    std::uint32_t count;

    LULL_HD bool has(std::uint32_t i) const noexcept { return at + i * stride < count; }
    /// One that there is, whether it has this one or not.
    LULL_HD std::uint32_t vertex(std::uint32_t i) const noexcept { return begin + (has(i) ? at + i * stride : 0); }
  };

  /// All loads come first: a store would hold up those after it.
  LULL_HD pagerank_partial settle_some(some_vertices const& some, float base, bool first) const noexcept {
    auto const d = static_cast<float>(damping);
    entered_word word[vertices_at_once];
    float next[vertices_at_once];
    float before[vertices_at_once];
    float inverse[vertices_at_once];
    for (std::uint32_t i = 0; i < vertices_at_once; ++i) {
      std::uint32_t const vertex = some.vertex(i);
      word[i] = entered[vertex / 32];
      before[i] = !first && some.has(i) ? rank[vertex] : base;  // another thread's is being written
      inverse[i] = inverse_degree[vertex];
    }
    for (std::uint32_t i = 0; i < vertices_at_once; ++i) {
      next[i] = first ? base : base + d * sum_of(some.vertex(i), word[i]);
    }
    pagerank_partial part{};
    for (std::uint32_t i = 0; i < vertices_at_once; ++i) {
      if (!some.has(i)) continue;
      std::uint32_t const vertex = some.vertex(i);
      rank[vertex] = next[i];
      share[vertex] = next[i] * inverse[i];
      part.change += next[i] < before[i] ? before[i] - next[i] : next[i] - before[i];
      if (inverse[i] == 0) part.dangling += next[i];
    }
    return part;
  }

  LULL_HD float sum_of(std::uint32_t vertex, entered_word word) const noexcept {
    std::uint32_t const bit = 1U << (vertex % 32);
    return (word.bits & bit) != 0 ? sum[word.before + detail::ones(word.bits & (bit - 1))] : 0;
  }

  /// Collective.
  LULL_HD void fold(std::uint64_t item, auto const& team) const noexcept {
    std::uint64_t const begin = item * Block;
    pagerank_partial const all = total(partial, begin, least(begin + Block, settles()), team);
    if (team.rank() == 0) folded[item] = all;
  }

  /// Collective. The sum over [begin, end), to all.
  LULL_HD static pagerank_partial total(pagerank_partial const* from, std::uint64_t begin, std::uint64_t end,
                                        auto const& team) noexcept {
    pagerank_partial part{};
    for (std::uint64_t at = begin + static_cast<std::uint64_t>(team.rank()); at < end;
         at += static_cast<std::uint64_t>(team.size())) {
      part = part + from[at];
    }
    return team.sum(part);
  }

  LULL_HD static std::uint32_t least(std::uint32_t a, std::uint32_t b) noexcept { return a < b ? a : b; }
  LULL_HD static std::uint64_t least(std::uint64_t a, std::uint64_t b) noexcept { return a < b ? a : b; }
};

using pagerank = basic_pagerank<2048, 1024, 256, 4>;

static_assert(is_side_task<pagerank>() && has_advance<pagerank>);

}  // namespace lull
