// SPDX-License-Identifier: Apache-2.0
#include <lull/graph/csr/csr.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <lull/host/error.hpp>
#include <string>

namespace lull {
namespace {

[[noreturn]] void refuse(std::string const& fault) { throw usage_error("not a valid graph: " + fault); }

}  // namespace

namespace detail {

void* take_pages(std::size_t bytes) {
  auto* const pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc{};
  constexpr std::size_t worth_huge_pages = 2UL * 1024 * 1024;
  if (bytes >= worth_huge_pages) {
    ::madvise(pages, bytes, MADV_HUGEPAGE);  // only a hint: there are fewer of them to take
  }
  return pages;
}

void give_pages(void* pages, std::size_t bytes) noexcept { ::munmap(pages, bytes); }

}  // namespace detail

void validate(csr const& graph) {
  auto const text = [](std::uint64_t number) { return std::to_string(number); };
  if (graph.offsets.size() < 2) refuse("it has no vertices");
  if (graph.offsets.size() - 1 > max_csr_vertices)
    refuse(text(graph.offsets.size() - 1) + " vertices, but at most " + text(max_csr_vertices) + " can be numbered");
  if (graph.offsets.front() != 0) refuse("its offsets start at " + text(graph.offsets.front()) + ", not at 0");
  auto const falls = std::is_sorted_until(graph.offsets.begin(), graph.offsets.end());
  if (falls != graph.offsets.end())
    refuse("its offsets fall at vertex " + text(static_cast<std::uint64_t>(falls - graph.offsets.begin())));
  if (graph.offsets.back() != graph.targets.size())
    refuse("its offsets end at " + text(graph.offsets.back()) + ", but it has " + text(graph.targets.size()) +
           " edges");
  auto const outside = std::find_if(graph.targets.begin(), graph.targets.end(),
                                    [vertices = graph.vertices()](std::uint32_t target) { return target >= vertices; });
  if (outside != graph.targets.end())
    refuse("edge " + text(static_cast<std::uint64_t>(outside - graph.targets.begin())) + " leads to vertex " +
           text(*outside) + ", but there are only " + text(graph.vertices()));
  if (!graph.weights.empty() && graph.weights.size() != graph.targets.size())
    refuse(text(graph.weights.size()) + " weights for " + text(graph.targets.size()) + " edges");
  auto const odd =
      std::find_if_not(graph.weights.begin(), graph.weights.end(), [](float weight) { return std::isfinite(weight); });
  if (odd != graph.weights.end())
    refuse("the weight of edge " + text(static_cast<std::uint64_t>(odd - graph.weights.begin())) + " is not finite");
}

}  // namespace lull
