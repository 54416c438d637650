// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <lull/graph/csr/transpose.hpp>
#include <lull/graph/load/generate.hpp>
#include <lull/graph/load/load.hpp>
#include <lull/graph/pagerank/verify_pagerank.hpp>
#include <lull/host/error.hpp>
#include <span>

#include <lull/tests/graph/graph_file.hpp>

namespace lull {
namespace {

using test::rows;

struct solved {
  std::string name;
  csr graph;
  std::function<std::vector<double>(double damping)> ranks;
};

/// Graphs whose ranks can be written down.
std::vector<solved> solved_graphs() {
  return {
      {"star to a dangling centre", rows({{}, {0}, {0}, {0}, {0}}),
       [](double d) {
         auto const leaf = 1 / (5 + 4 * d);
         return std::vector{leaf * (1 + 4 * d), leaf, leaf, leaf, leaf};
       }},
      {"star both ways", rows({{1, 2, 3, 4}, {0}, {0}, {0}, {0}}),
       [](double d) {
         auto const centre = ((1 - d) / 5 + d) / (1 + d);  // centre = (1 - d) / 5 + d (1 - centre)
         auto const leaf = (1 - centre) / 4;
         return std::vector{centre, leaf, leaf, leaf, leaf};
       }},
      {"cycle", rows({{1}, {2}, {3}, {0}}), [](double) { return std::vector(4, 0.25); }},
      {"all dangling", rows({{}, {}, {}}), [](double) { return std::vector(3, 1.0 / 3); }},
      {"one vertex", rows({{0}}), [](double) { return std::vector{1.0}; }},
      {"disconnected", rows({{1}, {0}, {3}, {3}, {}}),  // a cycle, a path into a loop, a vertex alone
       [](double d) {
         // b is what each gets without an edge: (1 - d) / 5 + d r4 / 5, and r4 = b
         auto const b = (1 - d) / (5 - d);
         return std::vector{b / (1 - d), b / (1 - d), b, b * (1 + d) / (1 - d), b};
       }},
      {"self-loop", rows({{0}, {0}}),
       [](double d) {
         return std::vector{(1 + d) / 2, (1 - d) / 2};
       }},
      {"self-loop beside another edge", rows({{0, 1}, {0}}),
       [](double d) {
         auto const second = ((1 - d) / 2 + d / 2) / (1 + d / 2);  // r1 = (1 - d) / 2 + d (1 - r1) / 2
         return std::vector{1 - second, second};
       }},
      {"duplicates", rows({{1, 1, 2}, {0}, {0}}),
       [](double d) {
         auto const first = ((1 - d) / 3 + d) / (1 + d);
         return std::vector{first, (1 - d) / 3 + d * first * 2 / 3, (1 - d) / 3 + d * first / 3};
       }},
  };
}

std::vector<float> in_floats(std::vector<double> const& ranks) { return {ranks.begin(), ranks.end()}; }

TEST(verify_pagerank, accepts_the_ranks_of_solved_graphs) {
  for (auto const& [name, graph, ranks] : solved_graphs()) {
    for (double const damping : {0.0, 0.5, 0.85, 0.99}) {
      auto const verdict = verify_pagerank(graph, in_floats(ranks(damping)), {.damping = damping, .tolerance = 1e-6});
      EXPECT_TRUE(verdict.ok) << name << " " << damping << ": " << verdict.message;
      EXPECT_LT(verdict.distance, 2e-7 + verdict.solver_error) << name << " " << damping;
      EXPECT_LE(verdict.solver_error, verdict.bound / 900) << name << " " << damping;
      EXPECT_NEAR(verdict.sum, 1, 2e-7) << name;
      EXPECT_GE(verdict.bound, damping / (1 - damping) * 1e-6);
      EXPECT_LE(verdict.bound, (damping * 1e-6 + 40 * 6e-8) / (1 - damping));
    }
  }
}

TEST(verify_pagerank, finds_the_solution_from_anywhere) {
  // Ranks that are far off: the distance is then that of the closed form from them, which only a solver can know.
  for (auto const& [name, graph, ranks] : solved_graphs()) {
    for (double const damping : {0.5, 0.85, 0.99}) {
      auto const exact = ranks(damping);
      std::vector<float> far(exact.size(), 0.0F);
      far.back() = 1;
      double distance = 0;
      for (std::size_t vertex = 0; vertex < exact.size(); ++vertex) {
        distance += std::abs(far[vertex] - exact[vertex]);
      }
      auto const verdict = verify_pagerank(graph, far, {.damping = damping});
      EXPECT_NEAR(verdict.distance, distance, verdict.solver_error + 1e-12) << name << " " << damping;
      EXPECT_LE(verdict.solver_error, verdict.bound / 900) << name << " " << damping;
      EXPECT_EQ(verdict.ok, distance == 0) << name;
    }
  }
}

TEST(verify_pagerank, rejects_perturbed_ranks) {
  for (auto const& [name, graph, ranks] : solved_graphs()) {
    if (graph.vertices() == 1) {
      continue;  // there is only one distribution
    }
    auto const exact = in_floats(ranks(0.85));
    auto const bound = verify_pagerank(graph, exact, {}).bound;
    for (std::size_t vertex = 0; vertex + 1 < exact.size(); ++vertex) {
      auto moved = exact;  // from one vertex to the next: the sum stays
      moved[vertex] += static_cast<float>(bound);
      moved[vertex + 1] -= static_cast<float>(bound);
      EXPECT_FALSE(verify_pagerank(graph, moved, {}).ok) << name;
      moved = exact;
      moved[vertex] += static_cast<float>(bound / 4);
      moved[vertex + 1] -= static_cast<float>(bound / 4);
      EXPECT_TRUE(verify_pagerank(graph, moved, {}).ok) << name;
    }
    auto scaled = exact;
    for (float& rank : scaled) {
      rank *= 1.00002F;
    }
    auto const verdict = verify_pagerank(graph, scaled, {});
    EXPECT_FALSE(verdict.ok) << name;
    EXPECT_NEAR(verdict.sum, 1.00002, 1e-6);
  }
}

TEST(verify_pagerank, rejects_what_is_no_distribution) {
  auto const graph = rows({{1}, {0}});
  auto const check = [&](std::vector<float> const& ranks, std::string const& expected) {
    auto const verdict = verify_pagerank(graph, ranks, {});
    EXPECT_FALSE(verdict.ok);
    EXPECT_NE(verdict.message.find(expected), std::string::npos) << verdict.message;
  };
  check({1.5F, -0.5F}, "the rank of vertex 1 is -0.5");
  check({std::numeric_limits<float>::quiet_NaN(), 0.5F}, "the rank of vertex 0 is");
  check({0.5F, std::numeric_limits<float>::infinity()}, "the rank of vertex 1 is inf");
  check({0, 0}, "sum to 0.0");
  check({1e30F, 1e30F}, "instead of 1");
  EXPECT_TRUE(verify_pagerank(graph, std::vector{0.5F, 0.5F}, {}).ok);
}

TEST(verify_pagerank, refuses_bad_usage) {
  auto graph = rows({{1}, {0}});
  std::vector<float> const ranks{0.5F, 0.5F};
  EXPECT_THROW(verify_pagerank(graph, std::vector{1.0F}, {}), usage_error);
  EXPECT_THROW(verify_pagerank(graph, ranks, {.damping = 1}), usage_error);
  EXPECT_THROW(verify_pagerank(graph, ranks, {.damping = -0.1}), usage_error);
  EXPECT_THROW(verify_pagerank(graph, ranks, {.damping = std::nan("")}), usage_error);
  EXPECT_THROW(verify_pagerank(graph, ranks, {.tolerance = 0}), usage_error);
  graph.targets[0] = 2;
  EXPECT_THROW(verify_pagerank(graph, ranks, {}), usage_error);
}

TEST(verify_pagerank, a_bound_that_proves_nothing_is_not_ok) {
  auto const graph = rows({{1}, {0}});
  auto const verdict = verify_pagerank(graph, std::vector{0.5F, 0.5F}, {.tolerance = 0.1});  // 0.57
  EXPECT_FALSE(verdict.ok);
  EXPECT_NE(verdict.message.find("no useful bound"), std::string::npos) << verdict.message;
}

/// What is wrong with a run, to see that it is found.
enum class flaw { none, no_dangling, no_loops, no_duplicates, degrees_of_the_other_side };

struct run {
  std::vector<float> ranks;
  std::uint64_t sweeps = 0;
  bool converged = false;
};

/// In fp32, by halves: no addend passes through more than 32 additions.
float sum_of(std::span<float const> terms) {
  if (terms.size() <= 2) {
    return terms.empty() ? 0 : terms.front() + (terms.size() == 2 ? terms.back() : 0);
  }
  return sum_of(terms.first(terms.size() / 2)) + sum_of(terms.subspan(terms.size() / 2));
}
constexpr std::uint64_t chain = 32;

/// PageRank as a task would do it: fp32, in-edges, sweep after sweep.
run pull(csr const& out, float damping, float tolerance, std::uint64_t max_sweeps, flaw flawed = flaw::none) {
  auto const in = transpose(out);
  auto const n = out.vertices();
  run result{std::vector<float>(n, 1.0F / static_cast<float>(n))};
  std::vector<float> share(n), next(n), terms;
  while (!result.converged && result.sweeps < max_sweeps) {
    terms.clear();
    for (std::uint32_t vertex = 0; vertex < n; ++vertex) {
      auto const& rows = flawed == flaw::degrees_of_the_other_side ? in : out;
      auto const degree = rows.offsets[vertex + 1ULL] - rows.offsets[vertex];
      if (degree == 0 && flawed != flaw::no_dangling) {
        terms.push_back(result.ranks[vertex]);
      }
      share[vertex] = degree == 0 ? 0 : result.ranks[vertex] / static_cast<float>(degree);
    }
    auto const base = (1 - damping) / static_cast<float>(n) + damping * sum_of(terms) / static_cast<float>(n);
    for (std::uint32_t vertex = 0; vertex < n; ++vertex) {
      terms.clear();
      for (auto at = in.offsets[vertex]; at < in.offsets[vertex + 1ULL]; ++at) {
        bool const loop = in.targets[at] == vertex;
        bool const duplicate = at > in.offsets[vertex] && in.targets[at] == in.targets[at - 1];
        if (!(loop && flawed == flaw::no_loops) && !(duplicate && flawed == flaw::no_duplicates)) {
          terms.push_back(share[in.targets[at]]);
        }
      }
      next[vertex] = base + damping * sum_of(terms);
    }
    terms.resize(n);
    std::transform(next.begin(), next.end(), result.ranks.begin(), terms.begin(),
                   [](float after, float before) { return std::abs(after - before); });
    result.ranks.swap(next);
    ++result.sweeps;
    result.converged = sum_of(terms) < tolerance;
  }
  return result;
}

/// Graphs with all that can go wrong: hubs, dangling vertices, duplicates, self-loops, and no symmetry.
std::vector<csr> real_graphs() {
  std::vector<csr> graphs;
  graphs.push_back(load_graph(LULL_DATA_FOLDER "/debian12-packages.el.gz"));
  for (auto const make : {&generate_kronecker, &generate_uniform}) {
    auto graph = make({.scale = 10});
    for (std::size_t edge = 0; edge < graph.edges(); edge += 5) {
      graph.targets[edge] = static_cast<std::uint32_t>(edge % 1000);
    }
    graphs.push_back(std::move(graph));
  }
  return graphs;
}

TEST(verify_pagerank, accepts_converged_runs_and_no_looser_ones) {
  for (auto const& graph : real_graphs()) {
    for (float const tolerance : {1e-4F, 1e-6F}) {
      auto const good = pull(graph, 0.85F, tolerance, 1000);
      ASSERT_TRUE(good.converged);
      pagerank_claim const claim{.tolerance = tolerance, .max_chain = chain};
      auto const verdict = verify_pagerank(graph, good.ranks, claim);
      EXPECT_TRUE(verdict.ok) << verdict.message;
      EXPECT_NE(verdict.message.find("within"), std::string::npos) << verdict.message;
      EXPECT_LT(verdict.distance, 0.85 / 0.15 * tolerance);
      EXPECT_LT(verdict.bound, 0.85 / 0.15 * tolerance + 2e-5);
      EXPECT_GT(verdict.sweeps, 0);
      EXPECT_GE(verify_pagerank(graph, good.ranks, {.tolerance = tolerance}).bound, verdict.bound);
      auto const loose = pull(graph, 0.85F, tolerance * 1000, 1000);
      auto const rejected = verify_pagerank(graph, loose.ranks, claim);
      EXPECT_FALSE(rejected.ok) << rejected.message;
      EXPECT_NE(rejected.message.find("outside"), std::string::npos) << rejected.message;
    }
  }
}

TEST(verify_pagerank, rejects_flawed_runs) {
  pagerank_claim const claim{.max_chain = chain};
  auto const graphs = real_graphs();
  auto const rejects = [&](csr const& graph, flaw flawed) {
    auto const verdict = verify_pagerank(graph, pull(graph, 0.85F, 1e-6F, 1000, flawed).ranks, claim);
    EXPECT_FALSE(verdict.ok) << static_cast<int>(flawed) << verdict.message;
  };
  for (auto const& graph : graphs) {
    rejects(graph, flaw::degrees_of_the_other_side);
  }
  // the graph of packages has neither loops nor duplicates, the uniform one no dangling vertices
  rejects(graphs[0], flaw::no_dangling);
  rejects(graphs[1], flaw::no_dangling);
  rejects(graphs[1], flaw::no_loops);
  rejects(graphs[2], flaw::no_loops);
  rejects(graphs[1], flaw::no_duplicates);
  rejects(graphs[2], flaw::no_duplicates);
}

TEST(verify_pagerank, holds_unconverged_runs_against_as_many_sweeps) {
  for (auto const& graph : real_graphs()) {
    for (std::uint64_t const sweeps : {0U, 1U, 2U, 5U, 12U}) {
      auto const good = pull(graph, 0.85F, 0, sweeps);
      ASSERT_FALSE(good.converged);
      pagerank_claim claim{.converged = false, .sweeps = sweeps, .max_chain = chain};
      auto const verdict = verify_pagerank(graph, good.ranks, claim);
      EXPECT_TRUE(verdict.ok) << sweeps << ": " << verdict.message;
      EXPECT_EQ(verdict.sweeps, sweeps);
      EXPECT_LT(verdict.bound, 2e-5);
      claim.sweeps = sweeps + 1;
      if (sweeps < 12) {  // by then a sweep of the uniform graph changes less than the bound
        EXPECT_FALSE(verify_pagerank(graph, good.ranks, claim).ok) << sweeps;
      }
      if (sweeps > 0) {
        auto const flawed = pull(graph, 0.85F, 0, sweeps, flaw::degrees_of_the_other_side);
        claim.sweeps = sweeps;
        EXPECT_FALSE(verify_pagerank(graph, flawed.ranks, claim).ok) << sweeps;
      }
    }
  }
}

TEST(verify_pagerank, many_sweeps_end_when_nothing_changes_any_more) {
  auto const graph = real_graphs()[2];
  auto const ranks = pull(graph, 0.85F, 0, 300).ranks;
  auto const verdict =
      verify_pagerank(graph, ranks, {.converged = false, .sweeps = 1'000'000'000'000, .max_chain = chain});
  EXPECT_TRUE(verdict.ok) << verdict.message;
  EXPECT_LT(verdict.sweeps, 1000);
}

}  // namespace
}  // namespace lull
