// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace lull {

namespace detail {
void* take_pages(std::size_t bytes);  // throws std::bad_alloc
void give_pages(void* pages, std::size_t bytes) noexcept;
}  // namespace detail

/// Leaves the elements that a vector makes on its own uninitialised: a graph's arrays are written in full by their
/// maker, and zeroing them first would cost a second pass over memory, on one thread. Large arrays are pages of their
/// own, huge ones where the machine has them: freed, they go back at once, whatever the heap around them looks like.
template <class T>
struct uninitialised_allocator {
  using value_type = T;
  static constexpr std::size_t min_paged_bytes = 64UL * 1024;

  uninitialised_allocator() = default;
  template <class Other>
  uninitialised_allocator(uninitialised_allocator<Other> const&) noexcept {}

  T* allocate(std::size_t count) {
    if (count < min_paged_bytes / sizeof(T)) return std::allocator<T>{}.allocate(count);
    if (count > static_cast<std::size_t>(-1) / 2 / sizeof(T)) throw std::bad_array_new_length{};
    return static_cast<T*>(detail::take_pages(count * sizeof(T)));
  }
  void deallocate(T* at, std::size_t count) noexcept {
    if (count < min_paged_bytes / sizeof(T)) {
      std::allocator<T>{}.deallocate(at, count);
    } else {
      detail::give_pages(at, count * sizeof(T));
    }
  }

  template <class Other>
  void construct(Other* at) noexcept(std::is_nothrow_default_constructible_v<Other>) {
    ::new (static_cast<void*>(at)) Other;
  }
  template <class Other, class... Arguments>
  void construct(Other* at, Arguments&&... arguments) {
    ::new (static_cast<void*>(at)) Other(std::forward<Arguments>(arguments)...);
  }

  bool operator==(uninitialised_allocator const&) const = default;
};

/// A vector whose `resize` and counting constructor leave new elements unwritten.
template <class T>
using host_array = std::vector<T, uninitialised_allocator<T>>;

/// A graph as device code sees it: passed by value, owns nothing. The edges of vertex v are
/// targets[offsets[v]] … targets[offsets[v + 1] - 1]. Only a validated graph may reach a kernel.
struct csr_ref {
  std::uint64_t const* offsets;  // (vertices + 1,) u64, in edges
  std::uint32_t const* targets;  // (edges,) u32, each below vertices
  float const* weights;          // (edges,) f32, or null
  std::uint64_t edges;
  std::uint32_t vertices;
};
static_assert(std::is_trivially_copyable_v<csr_ref> && std::is_standard_layout_v<csr_ref>);

/// How large a graph is.
struct graph_extent {
  std::uint64_t vertices = 0;
  std::uint64_t edges = 0;

  /// Of the graph without weights.
  std::uint64_t bytes() const noexcept {
    return (vertices + 1) * sizeof(std::uint64_t) + edges * sizeof(std::uint32_t);
  }
  /// As messages name it: `3 vertices and 5 edges`; `kind` before `edges`, with a space.
  std::string text(char const* kind = "") const {
    return std::to_string(vertices) + " vertices and " + std::to_string(edges) + ' ' + kind + "edges";
  }
};

/// A directed graph in host memory, rows compressed (CSR). Duplicate edges and self-loops are edges like any other.
struct csr {
  host_array<std::uint64_t> offsets;  // (vertices + 1,) u64, in edges
  host_array<std::uint32_t> targets;  // (edges,) u32
  host_array<float> weights;          // (edges,) f32, or empty

  std::uint32_t vertices() const noexcept {
    return offsets.empty() ? 0 : static_cast<std::uint32_t>(offsets.size() - 1);
  }
  std::uint64_t edges() const noexcept { return targets.size(); }
  graph_extent extent() const noexcept { return {vertices(), edges()}; }
  std::uint64_t size_bytes() const noexcept {
    return offsets.size() * sizeof(std::uint64_t) + targets.size() * sizeof(std::uint32_t) +
           weights.size() * sizeof(float);
  }

  /// Valid as long as the owner lives and its arrays are not resized.
  csr_ref ref() const noexcept {
    return {.offsets = offsets.data(),
            .targets = targets.data(),
            .weights = weights.empty() ? nullptr : weights.data(),
            .edges = edges(),
            .vertices = vertices()};
  }

  bool operator==(csr const&) const = default;
};

/// The most vertices a graph can have: ids are 32 bits wide, and their number must be, too.
inline constexpr std::uint64_t max_csr_vertices = 0xffff'ffff;

/// Throws usage_error, naming the first fault, unless the graph holds what its arrays promise: at least one vertex,
/// offsets that start at 0, never fall and end at the number of edges, every target below `vertices`, and a finite
/// weight for each edge or none at all. Anything made by hand passes through here before a kernel may see it;
/// the loaders and generators of this folder return valid graphs.
void validate(csr const& graph);

}  // namespace lull
