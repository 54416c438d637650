// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/device/atomic_integer.hpp>
#include <lull/graph/kcore/kcore_state.hpp>
#include <lull/graph/kcore/target_counts.hpp>

namespace lull::detail {

/// The phases of a core decomposition that fill the queue. Calls are collective. What they count goes to the progress
/// that they are given: the machine's, or, where one team does several steps, one in its own storage, which is nearer.
template <std::uint32_t Piece, std::uint32_t Scanned>
struct kcore_peeler {
  /// Team storage.
  struct storage {
    edge_piece<Piece> piece;
    target_counts<2 * Piece> counts;
    std::uint32_t reached;  // vertices that the item has taken to the level: in `piece`, with their edges as rows
    kcore_progress now;
  };

  kcore_state const& on;

  /// An item of a wave: the frontier's vertices are no longer among the neighbours of their targets. The thread that
  /// takes a target's count of neighbours to the level or below it, one alone, appends the target. It may take away
  /// more than there were above the level, and others may take some away before they know: each gives back what it
  /// took too much, so the count ends at the level.
  LULL_HD void peel(std::uint64_t item, kcore_progress& now, storage& space, auto const& team) const noexcept {
    auto const size = static_cast<std::uint32_t>(team.size());
    auto const rank = static_cast<std::uint32_t>(team.rank());
    auto const level = static_cast<std::int32_t>(now.level);
    space.counts.clear(team);
    if (rank == 0) space.reached = 0;
    auto const [count, owners] = on.queue.load_item(
        space.piece, now.range, item, [&](std::uint32_t vertex, std::uint32_t) { return on.offsets[vertex]; }, team);
    count_targets(count, owners, level, space, team);
    team.sync();  // the rows of the piece make room for what is reached, too
    take_away(level, space, team);
    team.sync();
    for (std::uint32_t at = 0; at < space.reached; at += flight * size) {
      queue_entry reached[flight];
      for (std::uint32_t i = 0; i < flight; ++i) {
        std::uint32_t const place = at + i * size + rank;
        if (place < space.reached) reached[i] = {space.piece.vertex[place], space.piece.row[place]};
      }
      on.queue.append(now.tail, reached, space.piece.reserved, team);
    }
  }

  /// An item of a scan: appends the vertices with as many neighbours left as the level says, and finds the fewest that
  /// another one has.
  LULL_HD void scan(std::uint64_t item, kcore_progress& now, storage& space, auto const& team) const noexcept {
    auto const size = static_cast<std::uint32_t>(team.size());
    auto const rank = static_cast<std::uint32_t>(team.rank());
    auto const level = static_cast<std::int32_t>(now.level);
    bool const shortens = now.shortens != 0;
    std::uint32_t const* const from = now.list == 0 ? nullptr : on.lists[now.list - 1];
    std::uint64_t const end = (item + 1) * Scanned < now.length ? (item + 1) * Scanned : now.length;
    std::int32_t fewest = max_left;
    for (std::uint64_t at = item * Scanned; at < end; at += flight * size) {
      std::uint32_t vertex[flight]{};
      std::int32_t left[flight];
      for (std::uint32_t i = 0; i < flight; ++i) {
        std::uint64_t const place = at + i * size + rank;
        if (place < end) vertex[i] = from == nullptr ? static_cast<std::uint32_t>(place) : from[place];
      }
      for (std::uint32_t i = 0; i < flight; ++i) {
        left[i] = at + i * size + rank < end ? atomic_integer{on.core[vertex[i]]}.load() : 0;
      }
      queue_entry found[flight];
      for (std::uint32_t i = 0; i < flight; ++i) {
        if (left[i] == level) found[i] = {vertex[i], on.degree(vertex[i])};
        if (left[i] > level && left[i] < fewest) fewest = left[i];
      }
      on.queue.append(now.tail, found, space.piece.reserved, team);
      if (shortens) keep(vertex, left, level, now, space.piece.reserved, team);
    }
    lower_next(fewest, now, team);
  }

  /// The only item of its phase: up to `Steps` waves and scans, as long as each fits into one item.
  template <std::uint32_t Steps>
  LULL_HD void small(storage& space, auto const& team) const noexcept {
    kcore_progress& now = space.now;
    if (team.rank() == 0) now = *on.progress;
    team.sync();
    for (std::uint32_t step = 0; step < Steps; ++step) {
      bool const wave = now.range.edges() != 0;
      if (wave) {
        peel(0, now, space, team);
      } else {
        scan(0, now, space, team);
      }
      team.sync();
      if (team.rank() == 0) {
        if (wave) {
          now.wave_ended(on.graph);
        } else {
          now.scan_ended(on.graph);
        }
      }
      team.sync();
      if (now.phase != kcore_phase::small) break;
    }
    if (team.rank() != 0) return;
    *on.progress = now;                       // `now` may still be read by others
    on.progress->phase = kcore_phase::small;  // `advance` has to know which phase ended, and chooses again
  }

 private:
  static constexpr std::uint32_t flight = 4;  // edges or vertices that a thread has in hand at once
  static constexpr std::int32_t max_left = 0x7fff'ffff;

  /// Counts the targets that may still change.
  LULL_HD void count_targets(std::uint32_t count, std::uint32_t owners, std::int32_t level, storage& space,
                             auto const& team) const noexcept {
    auto const size = static_cast<std::uint32_t>(team.size());
    for (auto at = static_cast<std::uint32_t>(team.rank()); at < count; at += flight * size) {
      std::uint32_t target[flight]{};
      std::int32_t left[flight];
      for (std::uint32_t i = 0; i < flight; ++i) {
        std::uint32_t const edge = at + i * size;
        if (edge < count) target[i] = on.targets[space.piece.row[space.piece.owner(edge, owners)] + edge];
      }
      for (std::uint32_t i = 0; i < flight; ++i) {
        left[i] = at + i * size < count ? atomic_integer{on.core[target[i]]}.load() : 0;
      }
      for (std::uint32_t i = 0; i < flight; ++i) {
        if (left[i] > level) space.counts.add(target[i]);
      }
    }
  }

  /// Takes the counts from the targets' neighbours, and lists those that reach the level by it.
  LULL_HD void take_away(std::int32_t level, storage& space, auto const& team) const noexcept {
    auto const size = static_cast<std::uint32_t>(team.size());
    constexpr std::uint32_t none = target_counts<2 * Piece>::none;
    for (auto at = static_cast<std::uint32_t>(team.rank()); at < space.counts.places; at += flight * size) {
      std::uint32_t vertex[flight];
      std::uint64_t edges[flight]{};
      std::int32_t times[flight]{};
      std::int32_t before[flight]{};
      for (std::uint32_t i = 0; i < flight; ++i) {
        std::uint32_t const place = at + i * size;
        vertex[i] = place < space.counts.places ? space.counts.vertex[place] : none;
        if (vertex[i] == none) continue;
        times[i] = static_cast<std::int32_t>(space.counts.times[place]);
        edges[i] = on.degree(vertex[i]);  // before it is known to count: that saves a wait
        before[i] = atomic_integer{on.core[vertex[i]]}.fetch_add(-times[i]);
      }
      for (std::uint32_t i = 0; i < flight; ++i) {
        std::int32_t const above = before[i] > level ? before[i] - level : 0;
        if (times[i] > above) atomic_integer{on.core[vertex[i]]}.add(times[i] - above);
        if (above == 0 || times[i] < above) continue;
        std::uint32_t const place = atomic_integer{space.reached}.fetch_add(1);
        space.piece.vertex[place] = vertex[i];
        space.piece.row[place] = edges[i];
      }
    }
  }

  struct sum {
    LULL_HD std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const noexcept { return a + b; }
  };
  struct least {
    LULL_HD std::int32_t operator()(std::int32_t a, std::int32_t b) const noexcept { return a < b ? a : b; }
  };

  /// Writes the threads' vertices that stay to the end of the other list.
  LULL_HD void keep(std::uint32_t const (&vertex)[flight], std::int32_t const (&left)[flight], std::int32_t level,
                    kcore_progress& now, queue_mark& reserved, auto const& team) const noexcept {
    std::uint32_t mine = 0;
    for (std::int32_t const each : left) mine += each > level ? 1 : 0;
    std::uint32_t const before = team.exclusive_scan(mine, 0U, sum{});
    if (team.rank() == team.size() - 1) reserved.word = atomic_integer{now.kept}.fetch_add(before + mine);
    team.sync();
    std::uint32_t* to = on.lists[now.other_list() - 1] + reserved.word + before;
    for (std::uint32_t i = 0; i < flight; ++i) {
      if (left[i] > level) *to++ = vertex[i];
    }
  }

  LULL_HD void lower_next(std::int32_t fewest, kcore_progress& now, auto const& team) const noexcept {
    std::int32_t const before = team.exclusive_scan(fewest, max_left, least{});
    if (team.rank() != team.size() - 1) return;
    std::int32_t const all = least{}(before, fewest);
    if (all != max_left) atomic_integer{now.next}.fetch_min(static_cast<std::uint64_t>(all));
  }
};

}  // namespace lull::detail
