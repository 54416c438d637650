// SPDX-License-Identifier: Apache-2.0
// Items hold each lookup exactly once, within their limits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <lull/graph/csr/oriented.hpp>
#include <lull/graph/triangles/triangles_plan.hpp>
#include <lull/tests/graph/triangle_graphs.hpp>
#include <map>
#include <span>
#include <tuple>
#include <vector>

namespace lull {
namespace {

/// What an item does: an element of the streamed row is looked up in a piece of the searched one.
using lookup = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint64_t>;

/// By the definition of the work: for each edge the shorter list, in each piece of the other row.
std::map<lookup, int> expected_lookups(csr const& rows, std::uint32_t list) {
  std::map<lookup, int> made;
  for (std::uint32_t u = 0; u < rows.vertices(); ++u) {
    for (auto at = rows.offsets[u]; at < rows.offsets[u + 1ULL]; ++at) {
      auto const v = rows.targets[at];
      std::uint64_t const up_to_v = at - rows.offsets[u];
      std::uint64_t const of_v = rows.offsets[v + 1ULL] - rows.offsets[v];
      auto const [searched, streamed] = of_v <= up_to_v ? std::pair{u, v} : std::pair{v, u};
      auto const begin = rows.offsets[searched];
      auto const end = rows.offsets[searched + 1ULL];
      for (std::uint64_t i = 0; i < std::min(up_to_v, of_v); ++i) {
        auto const key = rows.targets[rows.offsets[streamed] + i];
        for (auto piece = begin; piece < end; piece += list) ++made[{searched, streamed, key, piece}];
      }
    }
  }
  return made;
}

std::vector<triangle_pair> pairs_of(triangles_plan const& plan) {
  std::vector<triangle_pair> all;
  visit_pairs(plan, [&](std::span<triangle_pair const> some) { all.insert(all.end(), some.begin(), some.end()); });
  return all;
}

/// What the items do, read as the task reads them.
std::map<lookup, int> planned_lookups(csr const& rows, triangles_plan const& plan, triangles_limits const& limits) {
  std::map<lookup, int> made;
  std::vector<triangle_pair> const pairs = pairs_of(plan);
  for (triangle_item const& item : plan.items) {
    EXPECT_GE(item.lookups, item.pairs);
    EXPECT_GE(item.pairs, 1);
    EXPECT_LE(item.lookups, limits.lookups);
    EXPECT_LE(item.pairs, limits.pairs);
    EXPECT_LE(item.list_size, limits.list);
    std::uint64_t max_row = 0;
    std::uint32_t done = 0;
    for (std::uint64_t at = item.pair_begin; at < item.pair_begin + std::uint64_t{item.pairs}; ++at) {
      triangle_pair const& pair = pairs[at];
      auto const begin = rows.offsets[pair.searched];
      auto const end = rows.offsets[pair.searched + 1ULL];
      std::uint64_t const list_end = item.list_begin + std::uint64_t{item.list_size};
      auto const piece = std::max<std::uint64_t>(begin, item.list_begin);
      max_row = std::max(max_row, std::min(end, list_end) - piece);
      bool const whole = piece == begin && end <= list_end;
      EXPECT_TRUE(whole || max_row == item.list_size) << "a piece of a row has items of its own";
      std::uint32_t const skip = at == item.pair_begin ? item.skip : 0;
      bool const last = at + 1 == item.pair_begin + std::uint64_t{item.pairs};
      std::uint32_t const take = last ? item.lookups - done : pairs[at + 1].before - pair.before - skip;
      EXPECT_GE(take, 1U);
      for (std::uint32_t i = skip; i < skip + take; ++i) {
        ++made[{pair.searched, pair.streamed, rows.targets[rows.offsets[pair.streamed] + i], piece}];
      }
      done += take;
    }
    EXPECT_EQ(done, item.lookups);
    EXPECT_EQ(max_row, item.max_row);
  }
  return made;
}

TEST(triangles_plan, has_each_lookup_once_within_its_limits) {
  for (auto const& [name, graph] : test::triangle_graphs()) {
    csr const rows = orient(graph).rows;
    for (triangles_limits const limits : {triangles_limits{4096, 512, 2048}, {32, 8, 16}, {1, 1, 9}, {5, 1000, 7}}) {
      SCOPED_TRACE(name + ", lookups " + std::to_string(limits.lookups));
      triangles_plan const plan = plan_triangles(rows, limits);
      EXPECT_TRUE(planned_lookups(rows, plan, limits) == expected_lookups(rows, limits.list));
      EXPECT_TRUE(std::ranges::is_sorted(pairs_of(plan), {}, &triangle_pair::searched));
    }
  }
}

TEST(triangles_plan, fills_its_items) {
  csr const rows = orient(generate_kronecker({.scale = 12})).rows;
  triangles_plan const plan = plan_triangles(rows, {.lookups = 1024, .pairs = 512, .list = 2048});
  std::uint64_t lookups = 0;
  for (auto const& item : plan.items) lookups += item.lookups;
  EXPECT_GT(lookups, plan.items.size() * 900);
}

TEST(triangles_plan, is_the_same_on_any_number_of_threads) {
  csr const rows = orient(generate_kronecker({.scale = 12})).rows;
  auto const bytes_of = [&](unsigned threads) {
    triangles_plan const plan = plan_triangles(rows, {.lookups = 1024, .pairs = 64, .list = 128}, threads);
    std::vector<triangle_pair> const all = pairs_of(plan);
    auto const pairs = std::as_bytes(std::span{all});
    auto const items = std::as_bytes(std::span{plan.items});
    std::vector<std::byte> bytes{pairs.begin(), pairs.end()};
    bytes.insert(bytes.end(), items.begin(), items.end());
    return bytes;
  };
  auto const expected = bytes_of(1);
  EXPECT_TRUE(bytes_of(2) == expected);
  EXPECT_TRUE(bytes_of(7) == expected);
}

}  // namespace
}  // namespace lull
