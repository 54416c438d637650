// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <lull/graph/betweenness/verify_betweenness.hpp>
#include <lull/graph/load/generate.hpp>
#include <lull/host/error.hpp>
#include <lull/tests/graph/betweenness/brandes.hpp>
#include <lull/tests/graph/bfs_graphs.hpp>
#include <string>
#include <utility>
#include <vector>

namespace lull {
namespace {

using namespace test;
using sources = std::vector<std::uint32_t>;
using values = std::vector<double>;

sources const from{3, 70, 3, 200};

csr const& uniform() {
  static csr const made = generate_uniform({.scale = 9});
  return made;
}

/// Two ways of different lengths and one twice, out of which an edge leads; 6 has edges to it, but none from it, and 7
/// is not reached.
csr small_graph() { return from_rows({{1, 2, 2}, {3}, {3}, {4, 6}, {5, 5}, {6, 0, 5}, {}, {0}}); }

std::string verdict_on(csr const& graph, sources const& given, values const& found) {
  auto const verdict = verify_betweenness(graph, given, found);
  return verdict.ok ? "" : verdict.message;
}

TEST(verify_betweenness, accepts_what_brandes_finds) {
  for (auto const& one : graphs(2)) {
    auto const last = one.graph.vertices() - 1;
    for (sources const& given : {sources{0}, sources{last / 2, 0, last}}) {
      EXPECT_EQ(verdict_on(one.graph, given, brandes(one.graph, given)), "") << one.name;
    }
  }
  EXPECT_EQ(verdict_on(uniform(), from, brandes(uniform(), from)), "");
}

TEST(verify_betweenness, says_what_it_looked_at) {
  auto const verdict = verify_betweenness(small_graph(), sources{0}, brandes(small_graph(), sources{0}));
  EXPECT_TRUE(verdict.ok);
  EXPECT_EQ(verdict.sum, 0 + 0 + 1 + 2 + 2 + 3);
  EXPECT_NE(verdict.message.find("1 sources: 3 vertices by the definition and the sum of all, 8, within "),
            std::string::npos)
      << verdict.message;
  EXPECT_LT(verdict.bound, 1e-13);
  EXPECT_GT(verdict.bound, 0x1p-53);
}

/// A chain of diamonds, each of which doubles the paths and splits in half what is behind it; and what lies on each of
/// its vertices, from vertex 0 on, with `behind` vertices behind the chain.
struct chain {
  std::vector<std::vector<std::uint32_t>> rows;
  values found;

  chain(std::uint32_t count, std::uint32_t behind) {
    for (std::uint32_t at = 0; at < count; ++at) {
      std::uint32_t const first = 3 * at;
      rows.insert(rows.end(), {{first + 1, first + 2}, {first + 3}, {first + 3}});
      double const all = behind + 3.0 * (count - at);
      found.insert(found.end(), {at == 0 ? 0 : all, (all - 2) / 2, (all - 2) / 2});
    }
  }
};

TEST(verify_betweenness, counts_paths_beyond_a_long_double) {
  chain made{20'000, 0};
  made.rows.emplace_back();
  made.found.push_back(0);
  EXPECT_EQ(verdict_on(from_rows(made.rows), {0}, made.found), "");
  made.found[3] -= 1;  // it is the highest all the same
  made.found[1] += 1;
  EXPECT_NE(verdict_on(from_rows(made.rows), {0}, made.found).find("but by the definition 59997"), std::string::npos);
}

/// A vertex to which one way leads with 2^8,000 paths, the other with twice as many, in either order.
TEST(verify_betweenness, adds_numbers_of_paths_about_the_largest_mantissa) {
  constexpr std::uint32_t count = 8'000;
  constexpr std::uint32_t end = 3 * count;
  for (bool const more_first : {false, true}) {
    chain made{count, 6};
    std::vector<std::uint32_t> const next =
        more_first ? std::vector{end + 1, end + 2, end + 3} : std::vector{end + 3, end + 1, end + 2};
    made.rows.insert(made.rows.end(), {next, {end + 4}, {end + 4}, {end + 5}, {end + 6}, {end + 6}, {}});
    made.found.insert(made.found.end(), {6, 5 / 6.0, 5 / 6.0, 4 / 3.0, 2 / 3.0, 1 / 3.0, 0});
    EXPECT_EQ(verdict_on(from_rows(made.rows), {0}, made.found), "") << more_first;
  }
}

TEST(verify_betweenness, rejects_what_is_no_centrality) {
  values const right = brandes(small_graph(), sources{0});
  for (double const wrong : {-1e-300, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity()}) {
    for (std::uint32_t const vertex : {1U, 7U}) {
      values found = right;
      found[vertex] = wrong;
      EXPECT_NE(verdict_on(small_graph(), sources{0}, found).find("which is no centrality"), std::string::npos);
    }
  }
}

TEST(verify_betweenness, rejects_anything_where_no_path_goes_on) {
  values found = brandes(small_graph(), sources{0});
  found[7] = 1e-300;
  EXPECT_EQ(verdict_on(small_graph(), sources{0}, found),
            "vertex 7 has 1e-300, but searches reach only 0 vertices deeper than it");
  std::swap(found[7], found[0]);  // the source's own
  EXPECT_NE(verdict_on(small_graph(), sources{0}, found), "");
  std::swap(found[0], found[5]);  // the deepest
  EXPECT_NE(verdict_on(small_graph(), sources{0}, found), "");
}

TEST(verify_betweenness, rejects_a_value_that_is_a_bit_off) {
  values const right = brandes(uniform(), from);
  double const bound = verify_betweenness(uniform(), from, right).bound;
  auto const highest = std::max_element(right.begin(), right.end()) - right.begin();
  for (double const factor : {1 + 3 * bound, 1 - 3 * bound}) {
    values found = right;
    found[static_cast<std::size_t>(highest)] *= factor;
    EXPECT_NE(verdict_on(uniform(), from, found).find("but by the definition"), std::string::npos);
  }
  values found = right;
  for (double& each : found) each *= 1 + 3 * bound;
  EXPECT_NE(verdict_on(uniform(), from, found).find("add up to"), std::string::npos);
}

/// What a mistake in the algorithm would come to.
TEST(verify_betweenness, rejects_other_centralities) {
  csr const& graph = uniform();
  values const right = brandes(graph, from);
  auto const rejected = [&](values const& found) { return !verdict_on(graph, from, found).empty(); };
  EXPECT_TRUE(rejected(values(right.size(), 0))) << "nothing was run";
  EXPECT_TRUE(rejected(brandes(graph, sources{3, 70, 3}))) << "a source is missing";
  EXPECT_TRUE(rejected(brandes(graph, sources{3, 70, 200}))) << "one that is named twice counts once";
  values found = right;
  for (double& each : found) each *= 2;
  EXPECT_TRUE(rejected(found)) << "both ends count";
  found = right;
  for (double& each : found) each /= static_cast<double>(from.size());
  EXPECT_TRUE(rejected(found)) << "the mean";
  found = right;
  found[70] += 1;
  EXPECT_TRUE(rejected(found)) << "an end of its own path";
  csr single = graph;  // duplicates count once
  for (std::uint32_t vertex = 0; vertex < graph.vertices(); ++vertex) {
    auto const begin = single.targets.begin() + static_cast<std::ptrdiff_t>(graph.offsets[vertex]);
    auto const end = single.targets.begin() + static_cast<std::ptrdiff_t>(graph.offsets[vertex + 1ULL]);
    std::sort(begin, end);
    std::fill(std::unique(begin, end), end, vertex);  // a loop is on no path
  }
  EXPECT_TRUE(rejected(brandes(single, from)));
  EXPECT_EQ(verdict_on(single, from, brandes(single, from)), "");
}

/// Which the sum of all does not see.
TEST(verify_betweenness, rejects_what_lies_on_another_vertex) {
  values found = brandes(uniform(), from);
  std::vector<std::uint32_t> order(found.size());
  for (std::uint32_t vertex = 0; vertex < order.size(); ++vertex) order[vertex] = vertex;
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return found[a] > found[b]; });
  found[order[0]] -= 0.5;
  found[order[1]] += 0.5;
  EXPECT_NE(verdict_on(uniform(), from, found).find("but by the definition"), std::string::npos);
  found[order[0]] += 0.5;
  found[order[1]] -= 0.5;
  std::swap(found[order[0]], found[order[5]]);
  EXPECT_NE(verdict_on(uniform(), from, found).find("but by the definition"), std::string::npos);
}

/// Values that add up to what they should, and of which the highest is right.
TEST(verify_betweenness, looks_at_drawn_vertices) {
  csr const wide = from_rows({{1, 2, 3, 4}, {5, 6, 6}, {5}, {5}, {5}, {}, {}});
  values found = brandes(wide, sources{0});
  EXPECT_EQ(found, (values{0, 1.25, 0.25, 0.25, 0.25, 0, 0}));
  found[2] += 1e-3;
  found[3] -= 1e-3;
  int seen = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed)
    seen += verify_betweenness(wide, sources{0}, found, 2, seed).ok ? 0 : 1;
  EXPECT_GT(seen, 10);  // 2 of 10 edges lead to one of them
  EXPECT_LT(seen, 40);
  EXPECT_TRUE(verify_betweenness(wide, sources{0}, found, 0).ok) << "none is drawn";
}

TEST(verify_betweenness, refuses_what_it_cannot_check) {
  EXPECT_THROW(verify_betweenness(small_graph(), sources{0}, values(3)), usage_error);
  EXPECT_THROW(verify_betweenness(small_graph(), sources{}, values(8)), usage_error);
  EXPECT_THROW(verify_betweenness(small_graph(), sources{0, 8}, values(8)), usage_error);
  EXPECT_THROW(verify_betweenness({}, sources{0}, values{}), usage_error);
}

}  // namespace
}  // namespace lull
