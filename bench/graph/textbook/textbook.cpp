// SPDX-License-Identifier: Apache-2.0
#include <lull/bench/graph/textbook/textbook.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <utility>

#include <lull/bench/graph/textbook/bfs.hpp>
#include <lull/bench/graph/textbook/components.hpp>
#include <lull/bench/graph/textbook/memory.hpp>
#include <lull/bench/graph/textbook/sssp.hpp>
#include <lull/bench/graph/textbook/triangles.hpp>
#include <lull/graph/csr/oriented.hpp>
#include <lull/graph/csr/symmetric.hpp>
#include <lull/graph/csr/transpose.hpp>
#include <lull/graph/load/edge_weights.hpp>
#include <lull/graph/search_sources.hpp>
#include <lull/host/error.hpp>

namespace lull::bench {
namespace {

using textbooks = std::vector<task_textbook>;

/// Of one search; none where the task has a list of them.
std::optional<std::uint32_t> source_of(std::string_view task, csr const& graph, option_values const& values) {
  search_sources sources{task, values};
  sources.find_in(graph);
  return sources.is_list() ? std::nullopt : std::optional{sources.all().front()};
}

textbooks for_bfs(csr const& graph, option_values const& values) {
  auto const source = source_of("bfs", graph, values);
  if (!source) return {};
  constexpr int depth = 32;  // of a label, above the parent
  textbooks made;
  made.push_back({"textbook", "labels", depth, make_direction_optimising_bfs(graph, *source)});
  return made;
}

textbooks for_components(csr const& graph, option_values const&) {
  auto const out = std::make_shared<device_graph const>(graph);
  auto const in = is_symmetric(graph) ? nullptr : std::make_shared<device_graph const>(transpose(graph));
  textbooks made;
  made.push_back({"textbook", "label", 0, make_afforest(out, in)});
  return made;
}

textbooks for_triangles(csr const& graph, option_values const&) {
  textbooks made;
  made.push_back({"textbook", "total", 0, make_tricore(orient(graph).rows)});
  return made;
}

textbooks for_sssp(csr const& graph, option_values const& values) {
  auto const source = source_of("sssp", graph, values);
  if (!source) return {};
  double const delta = values.has("delta") ? values.real("delta") : near_far_delta(graph);
  textbooks made;
  made.push_back({"textbook", "distances", 0, make_near_far_sssp(graph, *source, delta, sssp_results::parents)});
  made.push_back(
      {"textbook_distances", "distances", 0, make_near_far_sssp(graph, *source, delta, sssp_results::distances)});
  return made;
}

constexpr std::pair<std::string_view, textbooks (*)(csr const&, option_values const&)> makers[] = {
    {"bfs", for_bfs}, {"components", for_components}, {"sssp", for_sssp}, {"triangles", for_triangles}};

auto const* maker_of(std::string_view task) {
  auto const* const found =
      std::find_if(std::begin(makers), std::end(makers), [task](auto const& maker) { return maker.first == task; });
  return found == std::end(makers) ? nullptr : found;
}

/// The elements of an array on a machine, as numbers.
std::vector<std::uint64_t> read(executor& executor, task_array const& from, int shift) {
  std::size_t const width = element_bytes(from.array.type);
  std::vector<std::uint64_t> made(from.array.bytes() / width);
  auto const as = [&]<class T>(T) {
    std::vector<T> values(made.size());
    executor.read(values.data(), from.memory, values.size() * sizeof(T));
    std::transform(values.begin(), values.end(), made.begin(), [shift](T value) { return value >> shift; });
  };
  if (width == sizeof(std::uint64_t)) {
    as(std::uint64_t{});
  } else if (width == sizeof(std::uint32_t)) {
    as(std::uint32_t{});
  } else {
    throw std::runtime_error{"array " + from.array.name + " holds neither 32 nor 64 bits an element"};
  }
  return made;
}

}  // namespace

bool has_textbooks(std::string_view task) { return maker_of(task) != nullptr; }

std::vector<task_textbook> make_textbooks(std::string_view task, csr const& graph, option_values const& values) {
  auto const* const maker = maker_of(task);
  return maker == nullptr ? textbooks{} : maker->second(graph, values);
}

void compare(task_textbook const& one, executor& executor, task_owner const& owner) {
  std::vector<task_array> const arrays = owner.arrays();
  auto const array = std::find_if(arrays.begin(), arrays.end(),
                                  [&one](task_array const& each) { return each.array.name == one.array; });
  if (array == arrays.end()) throw std::runtime_error{one.name + ": the task has no array " + one.array};
  std::vector<std::uint64_t> const expected = read(executor, *array, one.shift);
  std::vector<std::uint64_t> const found = one.kernels->result();
  if (found.size() != expected.size()) {
    throw std::runtime_error{one.name + " has " + std::to_string(found.size()) + " results, the task " +
                             std::to_string(expected.size())};
  }
  auto const [differs, other] = std::mismatch(found.begin(), found.end(), expected.begin());
  if (differs == found.end()) return;
  throw std::runtime_error{one.name + ": " + one.array + "[" + std::to_string(differs - found.begin()) + "] is " +
                           std::to_string(*differs) + ", the task has " + std::to_string(*other)};
}

}  // namespace lull::bench
