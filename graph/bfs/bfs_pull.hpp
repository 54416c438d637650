// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/device/atomic_integer.hpp>
#include <lull/graph/bfs/bfs_state.hpp>
#include <lull/graph/bits.hpp>

namespace lull::detail {

/// The phases of breadth-first search that deal with bitmaps, for teams of up to `Width` threads. Calls are collective.
template <std::uint32_t Piece, std::uint32_t Probes, std::uint32_t Width>
struct bfs_puller {
  static constexpr std::uint32_t marked = 4 * quad * Width;     // vertices of an item of mark
  static constexpr std::uint32_t pulled = quad * Width;         // … of pull
  static constexpr std::uint32_t collected = 2 * quad * Width;  // … of collect

  /// Team storage.
  struct mark_storage {
    unsigned char bits[marked / quad];  // of a quad, reached at this depth, and not reached
  };
  struct pull_storage {
    unsigned char bits[pulled / quad];  // of a quad, reached
    queue_mark reserved;
  };
  struct rest_storage {
    edge_piece<Piece> piece;
    std::uint32_t hit[Piece];  // of a vertex, the first edge from the frontier
  };

  bfs_state const& on;

  /// The frontier and what is open, as bitmaps, from the labels.
  LULL_HD void mark(std::uint64_t item, mark_storage& storage, auto const& team) const noexcept {
    std::uint64_t const* const label = on.label();
    std::uint64_t const depth = on.progress->depth;
    std::uint64_t const first = item * marked;
    for (auto i = static_cast<std::uint32_t>(team.rank()); i < marked / quad;
         i += static_cast<std::uint32_t>(team.size())) {
      std::uint64_t const vertex = first + i * quad;
      std::uint64_t seen[quad];
      for (std::uint32_t j = 0; j < quad; ++j) seen[j] = vertex + j < on.graph.vertices ? label[vertex + j] : 0;
      std::uint32_t both = 0;
      for (std::uint32_t j = 0; j < quad; ++j) {
        if (vertex + j >= on.graph.vertices) continue;
        if (bfs_label::depth(seen[j]) == depth) both |= 1U << j;
        if (seen[j] == bfs_label::unreached) both |= 1U << (j + quad);
      }
      storage.bits[i] = static_cast<unsigned char>(both);
    }
    team.sync();
    for_each_word(first, marked, storage.bits, team, [&](std::uint64_t word, unsigned char const* bits) {
      on.frontier().words[word] = join_quads([&](std::uint32_t i) { return std::uint32_t{bits[i]}; });
      on.open.words[word] =
          join_quads([&](std::uint32_t i) { return std::uint32_t{bits[i]} >> quad; }) & on.entered.words[word];
    });
  }

  /// Up to `Probes` edges of each vertex that is open.
  LULL_HD void pull(std::uint64_t item, pull_storage& storage, auto const& team) const noexcept {
    std::uint64_t const first = item * pulled;
    auto const size = static_cast<std::uint32_t>(team.size());
    std::uint32_t reached = 0;
    for (std::uint32_t at = 0; at < Width; at += size) {
      std::uint32_t const mine = at + static_cast<std::uint32_t>(team.rank());
      std::uint64_t const vertex = first + std::uint64_t{mine} * quad;
      probed now{};
      if (mine < Width && vertex < on.graph.vertices) now = probe(static_cast<std::uint32_t>(vertex));
      std::uint64_t const counts = team.sum(std::uint64_t{ones(now.more)} << 32 | ones(now.reached));
      reached += static_cast<std::uint32_t>(counts);
      if (counts >> 32 != 0) {
        queue_entry entries[quad];
        for (std::uint32_t i = 0; i < quad; ++i) {
          if ((now.more >> i & 1) == 0) continue;
          entries[i].vertex = static_cast<std::uint32_t>(vertex) + i;
          entries[i].edges = on.in_offsets[vertex + i + 1] - on.in_offsets[vertex + i] - Probes;
        }
        on.queue.append(on.progress->tail, entries, storage.reserved, team);
      }
      if (mine < Width) storage.bits[mine] = static_cast<unsigned char>(now.reached);
    }
    team.sync();
    for_each_word(first, pulled, storage.bits, team, [&](std::uint64_t word, unsigned char const* bits) {
      std::uint32_t const found = join_quads([&](std::uint32_t i) { return std::uint32_t{bits[i]}; });
      on.next().words[word] = found;
      if (found != 0) on.open.words[word] &= ~found;
    });
    add_found(reached, team);
  }

  /// The other edges of vertices that have more than `Probes`. Of a vertex's edges in the piece only the first from the
  /// frontier counts: its label is changed once, however many there are.
  LULL_HD void rest(std::uint64_t item, rest_storage& storage, auto const& team) const noexcept {
    constexpr std::uint32_t none = ~0U;
    edge_piece<Piece>& piece = storage.piece;
    auto const rank = static_cast<std::uint32_t>(team.rank());
    auto const size = static_cast<std::uint32_t>(team.size());
    for (std::uint32_t i = rank; i < Piece; i += size) storage.hit[i] = none;
    auto const [count, owners] = on.queue.load_item(
        piece, on.progress->range, item,
        [&](std::uint32_t vertex, std::uint32_t) { return on.in_offsets[vertex] + Probes; }, team);
    vertex_bitmap const frontier = on.frontier();
    for (std::uint32_t edge = rank; edge < count; edge += size) {
      std::uint32_t const owner = piece.owner(edge, owners);
      if (frontier.has(on.in_sources[piece.row[owner] + edge])) atomic_integer{storage.hit[owner]}.fetch_min(edge);
    }
    team.sync();
    std::uint64_t* const label = on.label();
    std::uint64_t const depth = on.progress->depth + 1;
    std::uint32_t reached = 0;
    for (std::uint32_t owner = rank; owner < owners; owner += size) {
      if (storage.hit[owner] == none) continue;
      std::uint32_t const vertex = piece.vertex[owner];
      std::uint32_t const source = on.in_sources[piece.row[owner] + storage.hit[owner]];
      if (atomic_integer{label[vertex]}.fetch_min(bfs_label::of(depth, source)) != bfs_label::unreached) continue;
      on.next().add(vertex);
      on.open.remove(vertex);
      ++reached;
    }
    add_found(team.sum(reached), team);
  }

  /// The frontier, from its bitmap to the queue.
  LULL_HD void collect(std::uint64_t item, queue_mark& reserved, auto const& team) const noexcept {
    vertex_bitmap const from = on.frontier();
    auto const size = static_cast<std::uint32_t>(team.size());
    for (std::uint32_t at = 0; at < Width; at += size) {
      std::uint32_t const mine = at + static_cast<std::uint32_t>(team.rank());
      std::uint64_t const vertex = item * collected + std::uint64_t{mine} * (2 * quad);
      std::uint32_t left = mine < Width && vertex < on.graph.vertices ? from.bits(vertex, 2 * quad) : 0;
      while (team.sum(left != 0 ? 1U : 0U) != 0) {
        queue_entry found[quad];
        for (queue_entry& one : found) {
          if (left == 0) continue;
          one.vertex = static_cast<std::uint32_t>(vertex) + lowest(left);
          left &= left - 1;
          one.edges = on.degree(one.vertex);
        }
        on.queue.append(on.progress->tail, found, reserved, team);
      }
    }
  }

 private:
  /// Of a quad, a bit a vertex.
  struct probed {
    std::uint32_t reached;
    std::uint32_t more;  // not reached, but with edges that were not looked at
  };

  LULL_HD probed probe(std::uint32_t vertex) const noexcept {
    std::uint32_t left = on.open.bits(vertex, quad);
    if (left == 0) return {};
    std::uint64_t row[quad]{};
    std::uint32_t edges[quad]{};  // up to one more than are looked at
    for (std::uint32_t i = 0; i < quad; ++i) {
      if ((left >> i & 1) == 0) continue;
      row[i] = on.in_offsets[vertex + i];
      std::uint64_t const all = on.in_offsets[vertex + i + 1ULL] - row[i];
      edges[i] = all > Probes ? Probes + 1 : static_cast<std::uint32_t>(all);
    }
    vertex_bitmap const frontier = on.frontier();
    std::uint64_t* const label = on.label() + vertex;
    std::uint64_t const depth = on.progress->depth + 1;
    std::uint32_t reached = 0;
    for (std::uint32_t step = 0; step < Probes && left != 0; ++step) {
      std::uint32_t source[quad]{};
      bool hit[quad];
      for (std::uint32_t i = 0; i < quad; ++i) {
        if ((left >> i & 1) != 0) source[i] = on.in_sources[row[i] + step];
      }
      for (std::uint32_t i = 0; i < quad; ++i) hit[i] = (left >> i & 1) != 0 && frontier.has(source[i]);
      for (std::uint32_t i = 0; i < quad; ++i) {
        if ((left >> i & 1) == 0) continue;
        if (hit[i]) {
          label[i] = bfs_label::of(depth, source[i]);
          reached |= 1U << i;
        }
        if (hit[i] || step + 1 == edges[i]) left &= ~(1U << i);
      }
    }
    return {reached, left};
  }

  LULL_HD void add_found(std::uint32_t count, auto const& team) const noexcept {
    if (team.rank() == 0 && count != 0) atomic_integer{on.progress->found}.fetch_add(count);
  }

  /// Calls visit(word, bits of its quads) for the words of `count` vertices from `first` on.
  LULL_HD void for_each_word(std::uint64_t first, std::uint32_t count, unsigned char const* bits, auto const& team,
                             auto const& visit) const noexcept {
    std::uint64_t const words = vertex_bitmap::words_of(on.graph.vertices);
    for (auto i = static_cast<std::uint32_t>(team.rank()); i < count / 32;
         i += static_cast<std::uint32_t>(team.size())) {
      if (first / 32 + i < words) visit(first / 32 + i, bits + i * quads_of_word);
    }
  }
};

}  // namespace lull::detail
