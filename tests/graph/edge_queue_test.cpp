// SPDX-License-Identifier: Apache-2.0
// The frontiers by themselves, in a team of one; in larger ones breadth-first search tests them.
#include <gtest/gtest.h>

#include <algorithm>
#include <lull/graph/bfs/vertex_bitmap.hpp>
#include <lull/graph/bits.hpp>
#include <lull/graph/edge_queue.hpp>
#include <numeric>
#include <vector>

namespace lull {
namespace {

struct team_of_one {
  int rank() const noexcept { return 0; }
  int size() const noexcept { return 1; }
  void sync() const noexcept {}
  template <class T>
  T sum(T value) const noexcept {
    return value;
  }
  template <class T, class Op>
  T exclusive_scan(T, T first, Op) const noexcept {
    return first;
  }
};

/// A queue of vertices 100, 101, … with so many edges each.
class QueueOf {
 public:
  explicit QueueOf(std::vector<std::uint64_t> const& degrees) : vertices_(degrees.size()), edges_(degrees.size()) {
    queue_mark reserved;
    for (std::size_t i = 0; i < degrees.size(); ++i) {
      queue_entry const one[]{{static_cast<std::uint32_t>(100 + i), degrees[i]}};
      queue().append(tail, one, reserved, team_of_one{});
    }
  }

  edge_queue queue() { return {vertices_.data(), edges_.data()}; }
  queue_range all() const { return {{}, {tail}}; }

  std::uint64_t tail = 0;

 private:
  std::vector<std::uint32_t> vertices_;
  std::vector<std::uint64_t> edges_;
};

TEST(edge_queue, a_mark_counts_vertices_and_edges) {
  auto const most = queue_mark::of(queue_mark::max_vertices, queue_mark::max_edges);
  EXPECT_EQ(most.vertices(), queue_mark::max_vertices);
  EXPECT_EQ(most.edges(), queue_mark::max_edges);
  auto const sum = queue_mark::of(3, std::uint64_t{1} << 32) + queue_mark::of(4, std::uint64_t{1} << 31);
  EXPECT_EQ(sum, queue_mark::of(7, 3 * (std::uint64_t{1} << 31)));
  EXPECT_EQ(sum - queue_mark::of(4, 5), queue_mark::of(3, 3 * (std::uint64_t{1} << 31) - 5));
}

TEST(edge_queue, appends_what_has_edges) {
  std::vector<std::uint32_t> vertices(4);
  std::vector<std::uint64_t> edges(4);
  edge_queue const queue{vertices.data(), edges.data()};
  queue_mark reserved;
  std::uint64_t tail = 0;
  queue_entry const first[]{{7, 3}, {8, 0}, {9, 5}};
  queue.append(tail, first, reserved, team_of_one{});
  queue_entry const none[]{{1, 0}, {2, 0}};
  queue.append(tail, none, reserved, team_of_one{});
  queue_entry const last[]{{6, 1}};
  queue.append(tail, last, reserved, team_of_one{});
  EXPECT_EQ(vertices, (std::vector<std::uint32_t>{7, 9, 6, 0}));
  EXPECT_EQ(edges, (std::vector<std::uint64_t>{0, 3, 8, 0}));
  EXPECT_EQ(queue_mark{tail}, queue_mark::of(3, 9));
}

TEST(edge_queue, finds_the_vertex_of_an_edge) {
  for (std::size_t const count : {1U, 2U, 8U, 9U, 10U, 81U, 500U}) {
    std::vector<std::uint64_t> degrees(count);
    for (std::size_t i = 0; i < count; ++i) degrees[i] = 1 + i * 7 % 5;
    QueueOf made{degrees};
    std::uint64_t edge = 0;
    for (std::uint32_t vertex = 0; vertex < count; ++vertex) {
      for (std::uint64_t i = 0; i < degrees[vertex]; ++i, ++edge) {
        ASSERT_EQ(made.queue().find(made.all(), edge, team_of_one{}), vertex) << edge << " of " << count;
      }
    }
  }
}

/// Pieces of a range meet each edge of its vertices once, wherever the range begins.
TEST(edge_queue, pieces_meet_each_edge_once) {
  std::vector<std::uint64_t> const degrees{3, 1, 1, 40, 1, 7, 8, 9, 16, 1, 1, 1, 1, 1, 1, 1, 1, 1, 200, 2};
  QueueOf made{degrees};
  for (std::uint32_t from = 0; from < degrees.size(); ++from) {
    std::uint64_t const before = std::accumulate(degrees.begin(), degrees.begin() + from, std::uint64_t{0});
    queue_range const range{queue_mark::of(from, before), {made.tail}};
    std::vector<std::uint64_t> met;  // vertex × 1000 + edge of its row
    edge_piece<8> piece;
    for (std::uint64_t begin = range.begin.edges(); begin < range.end.edges(); begin += 8) {
      auto const count = static_cast<std::uint32_t>(std::min<std::uint64_t>(8, range.end.edges() - begin));
      std::uint32_t const vertices = made.queue().load(
          piece, range, begin, count, [](std::uint32_t vertex, std::uint32_t) { return std::uint64_t{vertex} * 1000; },
          team_of_one{});
      ASSERT_LE(vertices, count);
      for (std::uint32_t edge = 0; edge < count; ++edge) {
        std::uint32_t const owner = piece.owner(edge, vertices);
        ASSERT_LT(owner, vertices);
        met.push_back(piece.row[owner] + edge);
        ASSERT_EQ(met.back() / 1000, piece.vertex[owner]);
      }
    }
    std::vector<std::uint64_t> expected;
    for (std::uint32_t i = from; i < degrees.size(); ++i) {
      for (std::uint64_t edge = 0; edge < degrees[i]; ++edge) expected.push_back((100 + i) * 1000 + edge);
    }
    EXPECT_EQ(met, expected) << "from " << from;
    met.clear();
    std::vector<std::uint32_t> places;
    for (std::uint64_t item = 0; item * 8 < range.edges(); ++item) {
      auto const [edges, vertices] = made.queue().load_item(
          piece, range, item,
          [&](std::uint32_t vertex, std::uint32_t place) {
            places.push_back(place);
            return std::uint64_t{vertex} * 1000;
          },
          team_of_one{});
      ASSERT_EQ(places.size(), vertices);
      for (std::uint32_t place = 0; place < vertices; ++place) EXPECT_EQ(places[place], place);
      places.clear();
      for (std::uint32_t edge = 0; edge < edges; ++edge) met.push_back(piece.row[piece.owner(edge, vertices)] + edge);
    }
    EXPECT_EQ(met, expected) << "by items, from " << from;
  }
}

/// A note of where an item begins is taken if it is right, whatever an older queue has left there.
TEST(edge_queue, noted_starts_are_only_taken_where_they_are_right) {
  std::vector<std::uint64_t> const degrees{3, 1, 1, 40, 1, 7, 8, 9, 16, 1, 1, 1, 1, 1, 1, 1, 1, 1, 400, 2};
  QueueOf made{degrees};
  auto const items = static_cast<std::uint32_t>((made.all().edges() + 7) / 8);
  std::vector<std::uint32_t> noted(items, 77);
  edge_queue queue = made.queue();
  queue.start = noted.data();
  for (std::uint32_t i = 0; i < degrees.size(); ++i) {
    queue.note_starts<8>(queue_mark::of(i, queue.first_edge[i]), degrees[i]);
  }
  std::vector<std::uint32_t> right(items);
  for (std::uint32_t item = 0; item < items; ++item) {
    right[item] = made.queue().find(made.all(), item * 8, team_of_one{});
    bool const is_late = item >= 16 && right[item - 16] == right[item];  // of a hub
    EXPECT_EQ(noted[item], is_late ? 77U : right[item]) << item;
  }
  for (std::uint32_t const wrong : {0U, 5U, 19U, 20U, ~0U}) {
    noted.assign(items, wrong);
    edge_piece<8> piece;
    for (std::uint32_t item = 0; item < items; ++item) {
      queue.load_item(
          piece, made.all(), item, [](std::uint32_t, std::uint32_t) { return std::uint64_t{0}; }, team_of_one{});
      EXPECT_EQ(piece.vertex[0], 100 + right[item]) << item << ", noted " << wrong;
    }
  }
}

TEST(edge_queue, a_bitmap_adds_and_removes) {
  std::vector<std::uint32_t> words(vertex_bitmap::words_of(65));
  ASSERT_EQ(words.size(), 3U);
  vertex_bitmap const set{words.data()};
  for (std::uint32_t const vertex : {0U, 31U, 32U, 35U, 64U}) set.add(vertex);
  EXPECT_EQ(words, (std::vector<std::uint32_t>{0x8000'0001, 9, 1}));
  EXPECT_TRUE(set.has(31) && set.has(64) && !set.has(33));
  EXPECT_EQ(set.bits(28, quad), 8U);
  EXPECT_EQ(set.bits(32, quad), 9U);
  set.remove(31);
  set.remove(32);
  EXPECT_EQ(words, (std::vector<std::uint32_t>{1, 8, 1}));
  EXPECT_EQ(join_quads([](std::uint32_t i) { return 0xf0U + i; }), 0x7654'3210U);
}

TEST(edge_queue, counts_bits) {
  EXPECT_EQ(detail::ones(0), 0U);
  EXPECT_EQ(detail::ones(0xffff'ffff), 32U);
  EXPECT_EQ(detail::ones(0x8000'0101), 3U);
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(detail::lowest(0xffff'ffffU << i), i);
  EXPECT_EQ(detail::ones_of_word(0), 0U);
  EXPECT_EQ(detail::ones_of_word(0x8000'0001'0000'0100U), 3U);
  EXPECT_EQ(detail::ones_of_word(~std::uint64_t{0}), 64U);
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(detail::lowest_of_word(~std::uint64_t{0} << i), i);
}

}  // namespace
}  // namespace lull
