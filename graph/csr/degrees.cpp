// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <lull/graph/csr/degrees.hpp>
#include <lull/graph/csr/device_csr.hpp>
#include <lull/graph/parallel.hpp>
#include <span>
#include <vector>

namespace lull {
namespace {

constexpr std::uint64_t range_length = 1ULL << 16;
constexpr std::size_t max_counting_parts = 4;  // each takes 4 bytes a vertex

/// Calls work(at) for each at below `length`, by ranges on several threads.
template <class Work>
void for_each_at(std::uint64_t length, unsigned threads, Work const& work) {
  detail::for_each_part((length + range_length - 1) / range_length, detail::set_up_threads(threads),
                        [&](std::size_t part) {
                          auto const begin = part * range_length;
                          auto const end = std::min(begin + range_length, length);
                          for (auto at = begin; at < end; ++at) work(at);
                        });
}

device_array<std::uint64_t> copied(executor& executor, host_array<std::uint64_t> const& degrees) {
  return {executor, std::span<std::uint64_t const>{degrees}};
}

/// Few have a high degree: those are compared, the others counted.
template <class Degree>
host_array<std::uint32_t> falling(std::span<Degree const> degrees) {
  constexpr std::uint64_t high = 1ULL << 16;
  std::vector<std::uint64_t> ends(high + 1);  // of the places of this degree and of higher ones; `high`: or more
  for (std::uint64_t const degree : degrees) ++ends[std::min(degree, high)];
  for (auto degree = high; degree > 0; --degree) ends[degree - 1] += ends[degree];
  auto const compared = static_cast<std::ptrdiff_t>(ends[high]);
  host_array<std::uint32_t> places(degrees.size());
  for (auto place = static_cast<std::uint32_t>(degrees.size()); place-- > 0;)
    places[--ends[std::min<std::uint64_t>(degrees[place], high)]] = place;
  std::stable_sort(places.begin(), places.begin() + compared,
                   [&](std::uint32_t a, std::uint32_t b) { return degrees[a] > degrees[b]; });
  return places;
}

}  // namespace

host_array<std::uint64_t> out_degrees(csr const& graph, unsigned threads) {
  host_array<std::uint64_t> degrees(graph.vertices());
  for_each_at(graph.vertices(), threads,
              [&](std::uint64_t vertex) { degrees[vertex] = graph.offsets[vertex + 1] - graph.offsets[vertex]; });
  return degrees;
}

/// Each thread counts on its own, without atomics.
host_array<std::uint64_t> in_degrees(csr const& graph, unsigned threads) {
  auto const parts = std::min<std::size_t>(detail::set_up_threads(threads), max_counting_parts);
  std::vector<host_array<std::uint32_t>> counts(parts);
  detail::for_each_part(parts, threads, [&](std::size_t part) {
    counts[part].assign(graph.vertices(), 0);
    auto* const count = counts[part].data();
    auto const end = graph.edges() * (part + 1) / parts;
    for (auto edge = graph.edges() * part / parts; edge < end; ++edge) ++count[graph.targets[edge]];
  });
  host_array<std::uint64_t> degrees(graph.vertices());
  for_each_at(graph.vertices(), threads, [&](std::uint64_t vertex) {
    degrees[vertex] = 0;
    for (auto const& of_part : counts) degrees[vertex] += of_part[vertex];
  });
  return degrees;
}

device_array<std::uint64_t> out_degrees(executor& executor, machine_csr const& graph, stream_handle stream) {
  if (executor.kind() == executor_kind::cuda) return detail::out_degrees_on_device(executor, graph, stream);
  return copied(executor, out_degrees(read(executor, graph)));
}

device_array<std::uint64_t> in_degrees(executor& executor, machine_csr const& graph, stream_handle stream) {
  if (executor.kind() == executor_kind::cuda) return detail::in_degrees_on_device(executor, graph, stream);
  return copied(executor, in_degrees(read(executor, graph)));
}

host_array<std::uint32_t> by_falling_degree(std::span<std::uint64_t const> degrees) { return falling(degrees); }
host_array<std::uint32_t> by_falling_degree(std::span<std::uint32_t const> degrees) { return falling(degrees); }

}  // namespace lull
