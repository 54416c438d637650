// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <lull/device/atomic_integer.hpp>
#include <lull/device/side_task.hpp>

namespace lull {

/// Two ends of an edge. Elements of the row `streamed`, from its first on, are looked up in the row `searched`.
struct triangle_pair {
  std::uint32_t searched;
  std::uint32_t streamed;
  std::uint32_t before;  // lookups of all pairs before it, modulo 2³²
};

/// Some lookups in a row.
struct triangle_item {
  std::uint32_t list_begin;  // first of the edges that are searched: whole rows, or a piece of one
  std::uint32_t pair_begin;  // first of its pairs
  std::uint32_t skip;        // lookups of that pair that are of items before
  std::uint16_t list_size;   // edges
  std::uint16_t max_row;     // longest row in the list
  std::uint16_t pairs;       // each with one lookup at least
  std::uint16_t lookups;
};

/// Counts the triangles at each vertex of a simple graph whose edges are oriented from lower to higher degree
/// (graph/csr/oriented.hpp): so no row has more than √(2 m) of m edges, and each triangle u → v, u → w, v → w is found
/// at the edge u → v alone, by its third vertex w in both rows.
///
/// The edge's work is the shorter of v's row and of u's row up to v, beyond which no w can be. Each of its elements is
/// looked up in the other row by binary search. An item is a number of lookups, whatever rows they belong to: a pair of
/// long rows is spread over items, an item of short rows holds many pairs (graph/triangles/triangles_plan.hpp). Pairs
/// come by the row that is searched, so all rows that an item searches are one range of edges: it is copied into the
/// team's storage, where the searches run. Each thread does the same number of lookups. A group of threads takes
/// successive lookups, as many as the item's rows are long on average: neighbours load neighbouring elements, which are
/// sorted, so their searches follow nearly the same path.
///
/// A hit counts at its place in the list and at its pair, in the team's storage. At the end of an item each place
/// and each pair with hits makes one addition in memory, and the vertex whose row is the whole list gets the team's
/// sum. But the `hubs` vertices of highest degree, which have the lowest numbers, may stand in hundreds of an item's
/// rows, and in those of all items: a team sums them up in its storage first, and adds each once an item. These are
/// sums of integers: the counts are equal bit for bit whatever the grain, the grid, the team's size and the order of
/// the items. An item never leaves before its end, so it is counted once. Nothing but the counts is written, and no
/// item reads them: a run that was stopped between two chunks goes on with them and the cursor.
///
/// Even rounds count; an odd one, between two trials, sets the counts to zero, in items of `cleared` vertices.
///
/// `Threads` of a team on a GPU, and `BlocksPerSm` of them on an SM, as in team_shape.
///
/// Sources: Schank, Wagner, "Finding, counting and listing all triangles in large graphs", WEA 2005, section 2
/// (orientation by degree); Hu, Liu, Huang, "TriCore: parallel triangle counting on GPUs", SC 2018, section IV (binary
/// search of a streamed list in one that is kept in shared memory); Green, Yalamanchili, Munguía, "Fast triangle
/// counting on the GPU", IA³ 2014 (one intersection spread over threads by its work).
template <std::uint32_t MaxLookups, std::uint32_t MaxPairs, std::uint32_t MaxList, int Threads = 256,
          int BlocksPerSm = 0>
struct basic_triangles {
  static constexpr std::uint32_t max_lookups = MaxLookups;
  static constexpr std::uint32_t max_pairs = MaxPairs;
  static constexpr std::uint32_t max_list = MaxList;
  static constexpr std::uint32_t cleared = 2048;
  static constexpr std::uint32_t hubs = 64;

  /// A pair of the item.
  struct alignas(16) held_pair {
    std::uint32_t begin;   // its first lookup
    std::uint32_t source;  // plus a lookup's number: the edge that is looked up, modulo 2³²
    std::uint32_t row;     // that is searched: the place of its last element in the list, in the upper half its length
    std::uint32_t hits;
  };
  struct storage {
    held_pair pairs[MaxPairs + 1];    // after the last one only a begin, the end of the item
    std::uint32_t list[2 * MaxList];  // elements of rows; MaxList after each its hits
    std::uint32_t of_hubs[hubs];      // the item's, so far; a thread sets and reads the same ones
  };
  static constexpr team_shape shape{
      .threads = Threads, .steps = 1, .shared_bytes = sizeof(storage), .blocks_per_sm = BlocksPerSm};

  std::uint32_t const* offsets;  // (vertices + 1,) u32, in edges
  std::uint32_t const* targets;  // (edges,) u32, each row rising
  triangle_pair const* pairs;    // (pairs,)
  triangle_item const* items;    // (item_count,)
  std::uint64_t* counts;         // (vertices,) u64, zero at the start
  std::uint64_t* total;          // (1,) u64, zero at the start
  std::uint64_t item_count;
  std::uint32_t vertices;
  std::uint32_t trials;  // how often they are counted, from the start; 1 at least

  LULL_HD std::uint64_t rounds() const noexcept { return 2 * std::uint64_t{trials} - 1; }

  LULL_HD std::uint64_t extent(position at, std::uint64_t) const noexcept {
    if (at.round >= rounds()) return finished;
    return counts_in(at) ? item_count : (std::uint64_t{vertices} + cleared - 1) / cleared;
  }

  LULL_HD void operator()(chunk c, auto const& team) const noexcept {
    if (!counts_in(c.at)) {
      for (std::uint64_t at = c.begin; at < c.end; ++at) clear(at, team);
      return;
    }
    for (std::uint64_t at = c.begin; at < c.end; ++at) {
      triangle_item const item = items[at];
      auto& space = *static_cast<storage*>(team.shared());
      set_up(item, space, team);
      team.sync();
      look_up(item, space, team);
      team.sync();
      add_up(item, space, team);  // after its collective a thread reads its own hubs alone
    }
  }

 private:
  static_assert(MaxLookups < 1U << 16 && MaxPairs < 1U << 16 && MaxList < 1U << 16);

  /// Lookups that a thread does at once: their loads and steps do not wait for each other.
  static constexpr std::uint32_t flight = 4;

  LULL_HD static bool counts_in(position at) noexcept { return at.round % 2 == 0; }

  LULL_HD void clear(std::uint64_t item, auto const& team) const noexcept {
    std::uint64_t const begin = item * cleared;
    std::uint64_t const end = vertices - begin < cleared ? vertices : begin + cleared;
    for (std::uint64_t at = begin + static_cast<std::uint64_t>(team.rank()); at < end;
         at += static_cast<std::uint64_t>(team.size())) {
      counts[at] = 0;
    }
    if (item == 0 && team.rank() == 0) *total = 0;
  }

  LULL_HD void set_up(triangle_item const& item, storage& space, auto const& team) const noexcept {
    auto const rank = static_cast<std::uint32_t>(team.rank());
    auto const size = static_cast<std::uint32_t>(team.size());
    for (std::uint32_t i = rank; i < item.list_size; i += size) {
      space.list[i] = targets[item.list_begin + i];
      space.list[MaxList + i] = 0;
    }
    for (std::uint32_t i = rank; i < hubs; i += size) space.of_hubs[i] = 0;
    std::uint32_t const before = pairs[item.pair_begin].before + item.skip;
    for (std::uint32_t i = rank; i < item.pairs; i += size) {
      triangle_pair const pair = pairs[item.pair_begin + i];
      std::uint32_t const first = pair.before - before;  // of the first pair: as much below 0 as is skipped
      std::uint32_t const row = in_list(item, offsets[pair.searched]);
      std::uint32_t const row_end = in_list(item, offsets[pair.searched + 1]);
      space.pairs[i] = {.begin = i == 0 ? 0 : first,
                        .source = offsets[pair.streamed] - first,
                        .row = (row_end - 1) | (row_end - row) << 16,
                        .hits = 0};
    }
    if (rank == 0) space.pairs[item.pairs].begin = item.lookups;
  }

  /// The place of an edge in the list, or the end of the list that is nearer to it.
  LULL_HD static std::uint32_t in_list(triangle_item const& item, std::uint32_t edge) noexcept {
    return edge < item.list_begin ? 0 : least(edge - item.list_begin, item.list_size);
  }

  LULL_HD void look_up(triangle_item const& item, storage& space, auto const& team) const noexcept {
    auto const rank = static_cast<std::uint32_t>(team.rank());
    auto const size = static_cast<std::uint32_t>(team.size());
    std::uint32_t const width = power_below(least(least(item.lookups / item.pairs, 32), size));
    std::uint32_t const groups = size / width;
    std::uint32_t const each = parts(parts(item.lookups, groups * width), flight) * flight;
    if (rank >= groups * width) return;
    std::uint32_t const begin = rank / width * width * each;
    std::uint32_t const end = least(begin + width * each, item.lookups);
    std::uint32_t const top = power_below(item.max_row);
    std::uint32_t at = begin + rank % width;
    if (at >= end) return;
    for (held_pair* pair = pair_of(at, item, space); at < end; at += flight * width) {
      search some;
      for (std::uint32_t i = 0; i < flight; ++i) {
        std::uint32_t const lookup = at + i * width;
        some.key[i] = 0;
        some.last[i] = space.list;
        some.left[i] = 0;
        some.pair[i] = pair;
        if (lookup >= end) continue;
        while (lookup >= pair[1].begin) ++pair;
        some.key[i] = targets[pair->source + lookup];
        some.last[i] += pair->row & 0xffff;
        some.left[i] = pair->row >> 16;
        some.pair[i] = pair;
      }
      some.run(top);
      for (std::uint32_t i = 0; i < flight; ++i) {
        if (some.left[i] == 0) continue;
        std::uint32_t* const first = some.last[i] - (some.left[i] - 1);
        if (*first != some.key[i]) continue;
        atomic_integer{first[MaxList]}.add(1);
        atomic_integer{some.pair[i]->hits}.add(1);
      }
    }
  }

  /// Searches side by side.
  struct search {
    std::uint32_t key[flight];
    std::uint32_t* last[flight];  // element of the row
    std::uint32_t left[flight];   // elements up to the last that may be the key; 0, too, where there is no lookup
    held_pair* pair[flight];

    /// Leaves the first element that is not below the key, and what comes after it. `top`: the highest power of two
    /// that is not above a row's length.
    LULL_HD void run(std::uint32_t top) noexcept {
      for (std::uint32_t step = top; step != 0; step /= 2) {
        std::uint32_t rest[flight];
        std::uint32_t seen[flight];
        for (std::uint32_t i = 0; i < flight; ++i) {
          rest[i] = left[i] - step;
          seen[i] = step <= left[i] ? *(last[i] - rest[i]) : ~0U;  // more than any vertex
        }
        for (std::uint32_t i = 0; i < flight; ++i) left[i] = seen[i] < key[i] ? rest[i] : left[i];
      }
    }
  };

  /// The last pair that begins at this lookup or before.
  LULL_HD static held_pair* pair_of(std::uint32_t lookup, triangle_item const& item, storage& space) noexcept {
    held_pair* pair = space.pairs;
    std::uint32_t left = item.pairs - 1U;
    for (std::uint32_t step = power_below(item.pairs); step != 0; step /= 2) {
      if (step > left || pair[step].begin > lookup) continue;
      pair += step;
      left -= step;
    }
    return pair;
  }

  /// Collective.
  LULL_HD void add_up(triangle_item const& item, storage& space, auto const& team) const noexcept {
    auto const rank = static_cast<std::uint32_t>(team.rank());
    auto const size = static_cast<std::uint32_t>(team.size());
    bool const one_row = item.max_row == item.list_size;
    for (std::uint32_t i = rank; i < item.list_size; i += size) add(space.list[i], space.list[MaxList + i], space);
    std::uint32_t found = 0;
    for (std::uint32_t i = rank; i < item.pairs; i += size) {
      std::uint32_t const hits = space.pairs[i].hits;
      if (hits == 0) continue;
      found += hits;
      triangle_pair const pair = pairs[item.pair_begin + i];
      add(pair.streamed, hits, space);
      if (!one_row) add(pair.searched, hits, space);
    }
    found = team.sum(found);  // and all hubs have theirs
    for (std::uint32_t i = rank; i < hubs; i += size) {
      if (space.of_hubs[i] != 0) atomic_integer{counts[i]}.add(space.of_hubs[i]);
    }
    if (rank != 0 || found == 0) return;
    if (one_row) atomic_integer{counts[pairs[item.pair_begin].searched]}.add(found);
    atomic_integer{*total}.add(found);
  }

  LULL_HD void add(std::uint32_t vertex, std::uint32_t triangles, storage& space) const noexcept {
    if (triangles == 0) return;
    if (vertex < hubs) {
      atomic_integer{space.of_hubs[vertex]}.add(triangles);
    } else {
      atomic_integer{counts[vertex]}.add(triangles);
    }
  }

  LULL_HD static std::uint32_t parts(std::uint32_t count, std::uint32_t size) noexcept {
    return (count + size - 1) / size;
  }
  LULL_HD static std::uint32_t least(std::uint32_t a, std::uint32_t b) noexcept { return a < b ? a : b; }
  /// The highest power of two that is not above the number, which has 16 bits.
  LULL_HD static std::uint32_t power_below(std::uint32_t number) noexcept {
    for (std::uint32_t shift = 1; shift < 16; shift *= 2) number |= number >> shift;
    return number - (number >> 1);
  }
};

using triangles = basic_triangles<2048, 256, 2048, 256, 4>;

static_assert(is_side_task<triangles>());

}  // namespace lull
