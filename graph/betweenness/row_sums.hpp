// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/device/atomic_integer.hpp>
#include <lull/graph/betweenness/wide_number.hpp>
#include <lull/graph/edge_queue.hpp>

namespace lull::detail {

/// The order in which a row of numbers is added up, whichever threads do it: parts of `Part` numbers from the row's
/// first on, of which the last takes what is left over as well; in a part, groups of some numbers one after the other,
/// then the groups' sums one after the other. A row of several parts becomes a row of the parts' sums, which is added
/// up in the same way.
template <std::uint32_t Part>
struct row_parts {
  static_assert(Part >= 4 && Part <= 64 && (Part & (Part - 1)) == 0, "a place in a part fits into a byte");
  static constexpr std::uint32_t group = Part >= 64 ? 8 : 2;
  static constexpr std::uint32_t longest = 2 * Part - 1;

  LULL_HD static constexpr std::uint64_t of(std::uint64_t numbers) noexcept {
    return numbers < 2 * Part ? 1 : numbers / Part;
  }

  /// Where a number of a row stands.
  struct place {
    std::uint64_t part;
    std::uint32_t at;    // in the part
    std::uint32_t left;  // numbers of the part from there on
  };
  LULL_HD static constexpr place find(std::uint64_t position, std::uint64_t numbers) noexcept {
    std::uint64_t const last = of(numbers) - 1;
    std::uint64_t const part = position / Part < last ? position / Part : last;
    std::uint64_t const end = part == last ? numbers : (part + 1) * Part;
    return {part, static_cast<std::uint32_t>(position - part * Part), static_cast<std::uint32_t>(end - position)};
  }
};

/// Team storage.
template <std::uint32_t Piece, std::uint32_t Part>
struct row_sums_storage {
  static constexpr std::uint32_t room = Piece + row_parts<Part>::longest;

  edge_piece<Piece> piece;
  wide_number term[room];    // of a number; then at the first of a group the sum of that; then at that of a part
  std::uint16_t mark[room];  // place in its part × 256 + numbers that are left of it; 0: of a part of another item
  std::uint64_t skipped;     // numbers of the first row that stand before the piece
  std::uint64_t in_last;     // numbers of the last row
  std::uint32_t has_long;    // 1: a row of several parts begins in the piece
};

/// Where the sums of the parts of long rows go to, and the rows with their numbers of parts. A row's parts lie at its
/// first number's place / Part and after it, so rows of several parts share none.
struct long_rows {
  edge_queue queue;
  std::uint64_t& tail;
  wide_number* sums;
};

/// Collective. An item of a queue of rows: adds up the parts whose first number is among its `Piece` numbers. So it
/// goes through fewer than Piece + 2 × Part of them. Which additions are made does not depend on the order of the
/// queue, nor on the team: what belongs to a part follows from its row.
///
/// `rows` has begin(vertex), where its row begins, and count(vertex), how many numbers it has; load(places, terms), for
/// some places, of which ~0 are none; done(vertices, sums) for rows that are added up, of which ~0 are none.
template <std::uint32_t Piece, std::uint32_t Part>
LULL_HD void sum_rows(auto const& rows, edge_queue const& from, queue_range range, std::uint64_t item,
                      row_sums_storage<Piece, Part>& storage, long_rows const& longs, queue_mark& reserved,
                      auto const& team) noexcept {
  using parts = row_parts<Part>;
  constexpr std::uint32_t flight = 4;  // numbers that a thread loads at once
  constexpr std::uint64_t nowhere = ~std::uint64_t{0};
  edge_piece<Piece>& piece = storage.piece;
  auto const rank = static_cast<std::uint32_t>(team.rank());
  auto const size = static_cast<std::uint32_t>(team.size());
  loaded_piece const loaded = from.load_item(
      piece, range, item, [&](std::uint32_t vertex, std::uint32_t) { return rows.begin(vertex); }, team);
  std::uint32_t const count = loaded.edges;
  std::uint32_t const owners = loaded.vertices;
  std::uint32_t const last = owners - 1;
  if (rank == 0) {
    storage.skipped = piece.row[0] - rows.begin(piece.vertex[0]);
    storage.has_long = 0;
  }
  if (rank == size - 1) storage.in_last = rows.count(piece.vertex[last]);
  team.sync();

  auto const skipped = [&](std::uint32_t owner) { return owner == 0 ? storage.skipped : 0; };
  auto const count_of = [&](std::uint32_t owner) {
    return owner == last ? storage.in_last : piece.first[owner + 1] - piece.first[owner] + skipped(owner);
  };
  auto const find = [&](std::uint32_t at, std::uint32_t owner) {
    return parts::find(at - piece.first[owner] + skipped(owner), count_of(owner));
  };
  std::uint32_t const all = count + find(count - 1, last).left - 1;

  for (std::uint32_t begin = 0; begin < all; begin += flight * size) {
    std::uint64_t place[flight];
    for (std::uint32_t i = 0; i < flight; ++i) {
      std::uint32_t const at = begin + i * size + rank;
      place[i] = nowhere;
      if (at >= all) continue;
      std::uint32_t const owner = at < count ? piece.owner(at, owners) : last;
      auto const [part, in_part, left] = find(at, owner);
      bool const ours = in_part <= at && at - in_part < count;
      storage.mark[at] = static_cast<std::uint16_t>(ours ? in_part << 8 | left : 0);
      if (!ours) continue;
      place[i] = piece.row[owner] + at;
      if (part == 0 && in_part == 0 && count_of(owner) >= 2 * Part) atomic_integer{storage.has_long}.fetch_max(1);
    }
    rows.load(place, [&](std::uint32_t i, wide_number term) { storage.term[begin + i * size + rank] = term; });
  }
  team.sync();
  auto const add_up = [&](std::uint32_t at, std::uint32_t end, std::uint32_t step) {
    wide_number sum = storage.term[at];
    for (std::uint32_t i = at + step; i < end; i += step) sum = sum + storage.term[i];
    storage.term[at] = sum;
  };
  for (std::uint32_t at = rank; at < all; at += size) {
    std::uint32_t const left = storage.mark[at] & 0xff;
    if (left == 0 || (storage.mark[at] >> 8) % parts::group != 0) continue;
    add_up(at, at + (left < parts::group ? left : parts::group), 1);
  }
  team.sync();
  for (std::uint32_t at = rank; at < count; at += size) {
    std::uint32_t const mark = storage.mark[at];
    if (mark == 0 || mark >> 8 != 0) continue;
    add_up(at, at + mark, parts::group);
    std::uint32_t const owner = piece.owner(at, owners);
    if (count_of(owner) < 2 * Part) continue;
    longs.sums[(piece.row[owner] - skipped(owner) + piece.first[owner]) / Part + find(at, owner).part] =
        storage.term[at];
  }
  team.sync();
  constexpr std::uint32_t pair = 2;  // rows that a thread ends at once
  for (std::uint32_t begin = 0; begin < owners; begin += pair * size) {
    std::uint32_t vertex[pair];
    wide_number sum[pair];
    queue_entry entry[pair];
    for (std::uint32_t i = 0; i < pair; ++i) {
      std::uint32_t const owner = begin + i * size + rank;
      vertex[i] = ~0U;
      if (owner >= owners || skipped(owner) != 0) continue;  // its first part is of another item
      std::uint64_t const numbers = count_of(owner);
      if (numbers < 2 * Part) {
        vertex[i] = piece.vertex[owner];
        sum[i] = storage.term[piece.first[owner]];
      } else {
        entry[i] = {piece.vertex[owner], parts::of(numbers)};
      }
    }
    rows.done(vertex, sum);
    if (storage.has_long != 0) longs.queue.append(longs.tail, entry, reserved, team);
  }
}

}  // namespace lull::detail
