// SPDX-License-Identifier: Apache-2.0
#include <lull/bench/graph/textbook/textbook.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <utility>

#include <lull/bench/graph/textbook/algorithms.hpp>
#include <lull/graph/csr/oriented.hpp>
#include <lull/graph/load/edge_weights.hpp>
#include <lull/graph/search_sources.hpp>
#include <lull/host/error.hpp>

namespace lull::bench {
namespace {

/// Of one search; none where the task has a list of them.
std::optional<std::uint32_t> source_of(std::string_view task, csr const& graph, option_values const& values,
                                       std::uint32_t first_id) {
  search_sources sources{task, values};
  sources.find_in(graph, first_id);
  return sources.is_list() ? std::nullopt : std::optional{sources.all().front()};
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

bool has_textbooks(std::string_view task) {
  constexpr std::string_view names[] = {"bfs", "components", "sssp", "triangles"};
  return std::ranges::find(names, task) != std::end(names);
}

std::vector<task_textbook> make_textbooks(std::string_view task, csr const& graph, option_values const& values,
                                          std::uint32_t first_id) {
  std::vector<task_textbook> made;
  auto const add = [&made](std::string name, std::string array, std::unique_ptr<textbook> kernels, int shift = 0) {
    made.push_back({std::move(name), std::move(array), shift, std::move(kernels)});
  };
  if (task == "components") add("textbook", "label", make_afforest(graph));
  if (task == "triangles") add("textbook", "total", make_tricore(orient(graph).rows));
  if (task != "bfs" && task != "sssp") return made;
  auto const source = source_of(task, graph, values, first_id);
  if (!source) return made;
  if (task == "bfs") {
    constexpr int depth = 32;  // of a label, above the parent
    add("textbook", "labels", make_direction_optimising_bfs(graph, *source), depth);
    return made;
  }
  double const delta = values.has("delta") ? values.real("delta") : near_far_delta(graph);
  add("textbook", "distances", make_near_far_sssp(graph, *source, delta, sssp_results::parents));
  add("textbook_distances", "distances", make_near_far_sssp(graph, *source, delta, sssp_results::distances));
  return made;
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
