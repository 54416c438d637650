// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <lull/device/side_task.hpp>
#include <lull/graph/csr.hpp>

namespace lull {

/// Where a run of PageRank stands; written between two sweeps, by one team.
struct pagerank_progress {
  double change;            // L1, of the ranks in the last sweep
  double dangling;          // rank of the vertices that no edge leaves
  std::uint64_t sweeps;     // done
  float base;               // what the next sweep gives each vertex without an edge
  std::uint32_t converged;  // 1: the last change is below the tolerance
};

/// What some tiles add to the progress.
struct pagerank_partial {
  double change;
  double dangling;

  friend LULL_HD pagerank_partial operator+(pagerank_partial a, pagerank_partial b) noexcept {
    return {a.change + b.change, a.dangling + b.dangling};
  }
};

namespace detail {

/// The sum of a row so far, which goes on in the next thread; left to right, sums of the same row are added.
struct open_row {
  std::uint32_t row;
  float sum;

  struct join {
    LULL_HD open_row operator()(open_row a, open_row b) const noexcept {
      return a.row == b.row ? open_row{b.row, a.sum + b.sum} : b;
    }
  };
};

}  // namespace detail

/// PageRank in pull direction, fp32 ranks that sum to 1, dangling mass spread evenly, duplicates and self-loops kept:
///   rank(v) = (1 - damping) / n + damping × (Σ over edges u → v of rank(u) / degree(u) + dangling mass / n)
///
/// An item of work is a tile of `Tile` positions on the merge path of row ends and edges: at position offsets[v + 1] +
/// v row v ends, at the others stand the edges in their order. So a hub's edges spread over tiles, empty rows are
/// bounded, too, and a tile costs the same whatever the graph. A row open at a tile's end is carried: `settle` adds its
/// parts up in the order of tiles, a block of `Block` tiles that lies in one row as one part. Round 0 only sets the
/// ranks to 1 / n; each further round is a sweep of four phases: gather, combine, settle, fold. Which tile does what
/// depends on the graph alone, and every sum is taken in an order that depends on Tile, Block and the team's size
/// alone: ranks are equal bit for bit whatever the grain, the grid and the preemption.
///
/// Source: Merrill, Garland, "Merge-based parallel sparse matrix-vector multiplication", SC 2016.
template <std::uint32_t Tile, std::uint32_t Block>
struct basic_pagerank {
  static constexpr std::uint32_t tile = Tile;
  static constexpr std::uint32_t block = Block;
  static constexpr int most_threads = 256;
  static constexpr team_shape shape{.threads = most_threads,
                                    .steps = 4,
                                    .shared_bytes = (Tile + 1) * sizeof(float),
                                    .blocks_per_sm = 6};
  enum step : std::uint32_t { gather_step, combine_step, settle_step, fold_step };

  csr_ref in;                     // edges turned round: row v holds the sources of the edges that enter v
  std::uint32_t const* tile_row;  // (tiles + 1,) u32, rows that end before the tile
  float const* inverse_degree;    // (vertices,) f32, 1 / edges that leave; 0 where none do
  float* rank;                    // (vertices,) f32
  float* share;                   // (vertices,) f32, rank × inverse_degree
  float* sum;                     // (vertices,) f32, of the tile in which the row ends
  float* carry;                   // (tiles,) f32, of the row open at the tile's end
  double* block_carry;            // (blocks,) f64, where the block lies in one row
  pagerank_partial* partial;      // (tiles,)
  pagerank_partial* folded;       // (blocks,)
  pagerank_progress* progress;    // (1,) zero at the start
  std::uint64_t tiles;            // ⌈(vertices + edges) / Tile⌉
  std::uint64_t blocks;           // ⌈tiles / Block⌉
  std::uint64_t combines;         // blocks, or 0 where no row is so long that it holds a block of tiles
  std::uint64_t sweeps;           // at most
  double damping;
  double tolerance;

  /// The most fp32 additions that an addend of a row's sum passes through.
  static constexpr std::uint64_t longest_chain(std::uint32_t team_size) noexcept {
    return team_size == 1 ? Tile / 4 + 6 : (Tile + team_size - 1) / team_size + team_size + 2;
  }

  LULL_HD std::uint64_t extent(position at, std::uint64_t) const noexcept {
    switch (at.step) {
      case gather_step:
        if (at.round == 0) return 0;
        return progress->converged != 0 || progress->sweeps >= sweeps ? finished : tiles;
      case combine_step:
        return at.round == 0 ? 0 : combines;
      case settle_step:
        return tiles;
      default:
        return blocks;
    }
  }

  LULL_HD void operator()(chunk c, auto const& team) const noexcept {
    for (std::uint64_t item = c.begin; item < c.end; ++item) {
      switch (c.at.step) {
        case gather_step:
          if (team.size() == 1) {
            gather_alone(item);
          } else {
            gather(item, team);
          }
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
    if (ended.step != fold_step) return;
    pagerank_partial const all = total(folded, 0, blocks, team);
    if (team.rank() != 0) return;
    double const teleport = 1 - damping + damping * all.dangling;
    *progress = {.change = all.change,
                 .dangling = all.dangling,
                 .sweeps = ended.round,
                 .base = static_cast<float>(teleport / static_cast<double>(in.vertices)),
                 .converged = ended.round != 0 && all.change < tolerance ? 1U : 0U};
  }

 private:
  struct span {
    std::uint32_t row;     // the first that ends in the tile
    std::uint32_t rows;    // that end in the tile
    std::uint32_t length;  // positions
    std::uint64_t edge;    // the first

    LULL_HD std::uint32_t edges() const noexcept { return length - rows; }
  };

  LULL_HD span span_of(std::uint64_t item) const noexcept {
    std::uint64_t const begin = item * Tile;
    std::uint64_t const left = in.vertices + in.edges - begin;
    std::uint32_t const row = tile_row[item];
    return {row, tile_row[item + 1] - row, left < Tile ? static_cast<std::uint32_t>(left) : Tile, begin - row};
  }

  /// A team of one has nobody to load with, and no lanes to keep in step: row after row, without the storage.
  LULL_HD void gather_alone(std::uint64_t item) const noexcept {
    span const here = span_of(item);
    std::uint64_t const last = here.edge + here.edges();
    std::uint64_t edge = here.edge;
    for (std::uint32_t i = 0; i <= here.rows; ++i) {
      bool const ends = i < here.rows;
      std::uint64_t const end = ends ? in.offsets[here.row + std::uint64_t{i} + 1] : last;
      float value[4] = {};  // chains of additions that do not wait for each other
      for (; edge + 4 <= end; edge += 4) {
        for (std::uint32_t k = 0; k < 4; ++k) value[k] += share[in.targets[edge + k]];
      }
      for (; edge < end; ++edge) value[0] += share[in.targets[edge]];
      (ends ? sum[here.row + i] : carry[item]) = (value[0] + value[1]) + (value[2] + value[3]);
    }
  }

  /// Collective. The shares and row ends of the tile come to the storage; then each thread walks an equal piece of the
  /// merge path, and what is open at its end goes to the thread behind.
  LULL_HD void gather(std::uint64_t item, auto const& team) const noexcept {
    span const here = span_of(item);
    auto const rank_here = static_cast<std::uint32_t>(team.rank());
    auto const size = static_cast<std::uint32_t>(team.size());
    std::uint32_t const edges = here.edges();
    auto* const value = static_cast<float*>(team.shared());             // (edges,)
    auto* const end = reinterpret_cast<std::uint32_t*>(value + edges);  // (rows + 1,) from the tile's first edge
    load_shares(here, value, rank_here, size);
    for (std::uint32_t i = rank_here; i < here.rows; i += size) {
      end[i] = static_cast<std::uint32_t>(in.offsets[here.row + std::uint64_t{i} + 1] - here.edge);
    }
    if (rank_here == 0) end[here.rows] = ~0U;  // the row after them does not end here
    team.sync();

    std::uint32_t const piece = (Tile + size - 1) / size;
    std::uint32_t const begin = least(rank_here * piece, here.length);
    std::uint32_t const left = least(piece, here.length - begin);
    std::uint32_t const first_row = rows_before(begin, end, here.rows);
    std::uint32_t row = first_row;
    std::uint32_t edge = begin - row;
    float first_sum = 0;
    float row_sum = 0;
    for (std::uint32_t i = 0; i < left; ++i) {
      if (end[row] > edge) {
        row_sum += value[edge];
        ++edge;
      } else {
        if (row == first_row) {
          first_sum = row_sum;
        } else {
          sum[here.row + row] = row_sum;
        }
        row_sum = 0;
        ++row;
      }
    }
    detail::open_row const before =
        team.exclusive_scan(detail::open_row{row, row_sum}, detail::open_row{0, 0}, detail::open_row::join{});
    if (row != first_row) sum[here.row + first_row] = before.sum + first_sum;
    if (rank_here == size - 1) carry[item] = row != first_row ? row_sum : before.sum + row_sum;
  }

  LULL_HD void load_shares(span const& here, float* value, std::uint32_t rank_here, std::uint32_t size) const noexcept {
    constexpr std::uint32_t flight = 4;  // loads of a thread under way at once
    std::uint32_t const* const source = in.targets + here.edge;
    std::uint32_t const edges = here.edges();
    for (std::uint32_t at = rank_here; at < edges; at += flight * size) {
      std::uint32_t from[flight];
      float part[flight];
      for (std::uint32_t i = 0; i < flight; ++i) from[i] = source[at + i * size < edges ? at + i * size : at];
      for (std::uint32_t i = 0; i < flight; ++i) part[i] = share[from[i]];
      for (std::uint32_t i = 0; i < flight; ++i) {
        if (at + i * size < edges) value[at + i * size] = part[i];
      }
    }
  }

  /// How many of the tile's rows end before a position of it: row i ends at position end[i] + i.
  LULL_HD static std::uint32_t rows_before(std::uint32_t at, std::uint32_t const* end, std::uint32_t rows) noexcept {
    std::uint32_t low = 0;
    std::uint32_t high = least(at, rows);
    while (low < high) {
      std::uint32_t const middle = (low + high) / 2;
      if (end[middle] + middle < at) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  /// Collective. Without a row that holds the whole block there is nothing to add up.
  LULL_HD void combine(std::uint64_t item, auto const& team) const noexcept {
    std::uint64_t const begin = item * Block;
    if (begin + Block > tiles || tile_row[begin + 1] != tile_row[begin + Block]) return;
    double const all = total(carry, begin, begin + Block, team);
    if (team.rank() == 0) block_carry[item] = all;
  }

  /// Collective. The rows that end in the tile: their new ranks. `first`: the ranks to start from.
  LULL_HD void settle(std::uint64_t item, bool first, auto const& team) const noexcept {
    std::uint32_t const row = tile_row[item];
    std::uint32_t const rows = tile_row[item + 1] - row;
    float const base = first ? 1 / static_cast<float>(in.vertices) : progress->base;
    auto const d = static_cast<float>(damping);
    float const carried = first || rows == 0 ? 0.0F : carried_into(item, row, team);
    pagerank_partial part{};
    for (auto i = static_cast<std::uint32_t>(team.rank()); i < rows; i += static_cast<std::uint32_t>(team.size())) {
      float next = base;
      if (!first) {
        next += d * (sum[row + i] + (i == 0 ? carried : 0.0F));
        float const change = next - rank[row + i];
        part.change += change < 0 ? -change : change;
      }
      float const inverse = inverse_degree[row + i];
      rank[row + i] = next;
      share[row + i] = next * inverse;
      if (inverse == 0) part.dangling += next;
    }
    part = team.sum(part);
    if (team.rank() == 0) partial[item] = part;
  }

  /// Collective. The parts of the tile's first row from the tiles before it.
  LULL_HD float carried_into(std::uint64_t item, std::uint32_t row, auto const& team) const noexcept {
    std::uint64_t const begin = (in.offsets[row] + row) / Tile;  // where the row begins
    if (begin == item) return 0;
    std::uint64_t const first_block = (begin + Block - 1) / Block;
    std::uint64_t const end_block = item / Block;
    if (first_block >= end_block) return static_cast<float>(total(carry, begin, item, team));
    double part = mine(carry, begin, first_block * Block, team);
    part += mine(block_carry, first_block, end_block, team);
    part += mine(carry, end_block * Block, item, team);
    return static_cast<float>(team.sum(part));
  }

  /// Collective.
  LULL_HD void fold(std::uint64_t item, auto const& team) const noexcept {
    std::uint64_t const end = (item + 1) * Block;
    pagerank_partial const all = total(partial, item * Block, end < tiles ? end : tiles, team);
    if (team.rank() == 0) folded[item] = all;
  }

  /// The thread's share of a sum over [begin, end).
  LULL_HD static pagerank_partial mine(pagerank_partial const* from, std::uint64_t begin, std::uint64_t end,
                                       auto const& team) noexcept {
    pagerank_partial part{};
    for (std::uint64_t at = begin + static_cast<std::uint64_t>(team.rank()); at < end;
         at += static_cast<std::uint64_t>(team.size())) {
      part = part + from[at];
    }
    return part;
  }

  template <class Number>
  LULL_HD static double mine(Number const* from, std::uint64_t begin, std::uint64_t end, auto const& team) noexcept {
    double part = 0;
    for (std::uint64_t at = begin + static_cast<std::uint64_t>(team.rank()); at < end;
         at += static_cast<std::uint64_t>(team.size())) {
      part += from[at];
    }
    return part;
  }

  /// Collective. The sum over [begin, end), to all.
  LULL_HD static auto total(auto const* from, std::uint64_t begin, std::uint64_t end, auto const& team) noexcept {
    return team.sum(mine(from, begin, end, team));
  }

  LULL_HD static std::uint32_t least(std::uint32_t a, std::uint32_t b) noexcept { return a < b ? a : b; }
};

using pagerank = basic_pagerank<2048, 1024>;

static_assert(side_task<pagerank> && has_advance<pagerank>);

}  // namespace lull
