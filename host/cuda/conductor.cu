// SPDX-License-Identifier: Apache-2.0
#include <lull/host/cuda/conductor.hpp>

#include <lull/device/conductor.hpp>
#include <lull/device/cuda_world.cuh>

namespace lull {

namespace detail {

namespace {

/// Below the 120 graphs that one run of a graph may launch next to its end.
constexpr std::uint32_t max_in_a_row = 100;

using kept = kept_conducting<cuda_world>;

/// What the conductors of an executor tell each other, in device memory. Only one works at a time.
struct relay {
  kept* goes_on;           // its segment is claimed, and go_on must launch it
  std::uint32_t in_a_row;  // launches since begin_kernel or go_on ran last
};

/// Launches the first of a row. When all that follows has ended, go_on runs.
struct first_launcher {
  relay* at;
  cudaGraphExec_t going_on;  // of go_on
  __device__ bool operator()(void* executable) const noexcept {
    at->in_a_row = 1;
    return cudaGraphLaunch(going_on, cudaStreamGraphTailLaunch) == cudaSuccess &&
           cudaGraphLaunch(static_cast<cudaGraphExec_t>(executable), cudaStreamGraphFireAndForget) == cudaSuccess;
  }
};

constexpr unsigned warp = 32;
constexpr std::size_t sector = 32;  // bytes, of the L2

/// Takes every `threads`-th sector, from the one of its `number`.
__device__ void keep(void const* at, std::size_t bytes, unsigned number, unsigned threads) {
  for (std::size_t byte = number * sector; byte < bytes; byte += threads * sector)
    ptx::keep(static_cast<std::byte const*>(at) + byte);
}

/// Launches from a segment's last node: next to the end of its graph, 1.4 us earlier than after it
/// (docs/decisions/gated-graphs.md).
struct next_launcher {
  relay* at;
  kept* mine;
  __device__ bool operator()(void* executable) const noexcept {
    if (at->in_a_row == max_in_a_row) {
      at->goes_on = mine;
      return true;
    }
    at->in_a_row += 1;
    graph_segment const* const behind = &mine->graph.segments[mine->following()];
    bool const launched =
        cudaGraphLaunch(static_cast<cudaGraphExec_t>(executable), cudaStreamGraphFireAndForgetAsSibling) == cudaSuccess;
    keep(behind, sizeof *behind, 0, 1);
    return launched;
  }
};

__global__ void __launch_bounds__(32)
    begin_kernel(__grid_constant__ worker_params const params, relay* at, cudaGraphExec_t going_on) {
  conductor<cuda_world, first_launcher>::begin(params, {at, going_on});
}

__global__ void __launch_bounds__(32) go_on(relay* at) {
  kept* const mine = at->goes_on;
  at->goes_on = nullptr;
  if (mine != nullptr) conductor<cuda_world, first_launcher>::launch_claimed(*mine, {at, cudaGetCurrentGraphExec()});
}

/// The first thread looks. Meanwhile the other warp asks the L2 to keep what each look reads. Otherwise a segment's
/// data evict it, and each look waits 1 us for memory (docs/decisions/gated-graphs.md).
__global__ void __launch_bounds__(proceed_threads) proceed_behind_segment(kept* mine, relay* at) {
  if (threadIdx.x == 0) conductor<cuda_world, next_launcher>::proceed(*mine, {at, mine});
  if (threadIdx.x < warp) return;
  unsigned const lane = threadIdx.x % warp;
  keep(mine, sizeof *mine, lane, warp);
  keep(at, sizeof *at, lane, warp);
  keep(mine->params.gate.line, sizeof(gate_line), lane, warp);
  keep(mine->params.slot, offsetof(slot_line, functor), lane, warp);
}

__global__ void stamp_now(std::uint64_t* at) { *at = cuda_world::now_ns(); }

__device__ std::size_t thread_of_grid() { return std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ std::size_t threads_of_grid() { return std::size_t{gridDim.x} * blockDim.x; }

template <class Word>
__device__ bool is_aligned(copied_bytes const& c) {
  auto const word = [](auto value) { return reinterpret_cast<std::size_t>(value) % sizeof(Word) == 0; };
  return word(c.to) && word(c.from) &&
         (c.to_pitch | c.from_pitch | c.to_slice | c.from_slice | c.width) % sizeof(Word) == 0;
}

template <class Word>
__device__ void copy_words(copied_bytes const& c) {
  std::size_t const columns = c.width / sizeof(Word);
  for (std::size_t at = thread_of_grid(); at < columns * c.height * c.depth; at += threads_of_grid()) {
    std::size_t const column = at % columns * sizeof(Word);
    std::size_t const row = at / columns % c.height;
    std::size_t const slice = at / columns / c.height;
    auto const* const from =
        static_cast<unsigned char const*>(c.from) + slice * c.from_slice + row * c.from_pitch + column;
    auto* const to = static_cast<unsigned char*>(c.to) + slice * c.to_slice + row * c.to_pitch + column;
    *reinterpret_cast<Word*>(to) = *reinterpret_cast<Word const*>(from);
  }
}

/// Returns how many 16-byte words the array holds if it is aligned to them; the remaining bytes are moved one by one.
__device__ std::size_t words_of(std::size_t addresses, std::size_t bytes) {
  return addresses % sizeof(uint4) == 0 ? bytes / sizeof(uint4) : 0;
}

/// Copies in wide words, and without divisions.
__device__ void copy_row(copied_bytes const& c) {
  auto const address = [](auto* of) { return reinterpret_cast<std::size_t>(of); };
  std::size_t const words = words_of(address(c.to) | address(c.from), c.width);
  for (std::size_t at = thread_of_grid(); at < words; at += threads_of_grid())
    static_cast<uint4*>(c.to)[at] = static_cast<uint4 const*>(c.from)[at];
  for (std::size_t at = words * sizeof(uint4) + thread_of_grid(); at < c.width; at += threads_of_grid())
    static_cast<unsigned char*>(c.to)[at] = static_cast<unsigned char const*>(c.from)[at];
}

__global__ void __launch_bounds__(256) copy_bytes(__grid_constant__ copied_bytes const c) {
  if (c.height == 1 && c.depth == 1) {
    copy_row(c);
  } else if (is_aligned<std::uint64_t>(c)) {
    copy_words<std::uint64_t>(c);
  } else {
    copy_words<unsigned char>(c);
  }
}

template <class Element>
__device__ void fill_elements(filled_bytes const& f) {
  for (std::size_t at = thread_of_grid(); at < f.width * f.height; at += threads_of_grid()) {
    auto* const row = static_cast<unsigned char*>(f.to) + at / f.width * f.pitch;
    reinterpret_cast<Element*>(row)[at % f.width] = static_cast<Element>(f.value);
  }
}

template <class Element>
__device__ void fill_row(filled_bytes const& f) {
  std::size_t const bytes = f.width * sizeof(Element);
  std::size_t const words = words_of(reinterpret_cast<std::size_t>(f.to), bytes);
  auto const value = static_cast<Element>(f.value);
  std::uint32_t const word = sizeof(Element) == 4   ? value
                             : sizeof(Element) == 2 ? value * 0x10001U
                                                    : value * 0x1010101U;
  for (std::size_t at = thread_of_grid(); at < words; at += threads_of_grid())
    static_cast<uint4*>(f.to)[at] = {word, word, word, word};
  constexpr std::size_t in_a_word = sizeof(uint4) / sizeof(Element);
  for (std::size_t at = words * in_a_word + thread_of_grid(); at < f.width; at += threads_of_grid())
    static_cast<Element*>(f.to)[at] = value;
}

template <class Element>
__device__ void fill(filled_bytes const& f) {
  if (f.height == 1) {
    fill_row<Element>(f);
  } else {
    fill_elements<Element>(f);
  }
}

__global__ void __launch_bounds__(256) fill_bytes(__grid_constant__ filled_bytes const f) {
  if (f.element == 4) fill<std::uint32_t>(f);
  if (f.element == 2) fill<std::uint16_t>(f);
  if (f.element == 1) fill<std::uint8_t>(f);
}

}  // namespace

worker_kernel conducting_worker() {
  return {.resident = reinterpret_cast<void const*>(&begin_kernel), .shape = gated_graph::shape, .conducts = true};
}

void const* going_on_kernel() noexcept { return reinterpret_cast<void const*>(&go_on); }
void const* proceed_kernel() noexcept { return reinterpret_cast<void const*>(&proceed_behind_segment); }
std::size_t kept_bytes() noexcept { return sizeof(kept); }
std::size_t relay_bytes() noexcept { return sizeof(relay); }
void const* stamp_kernel() noexcept { return reinterpret_cast<void const*>(&stamp_now); }
void const* copy_kernel() noexcept { return reinterpret_cast<void const*>(&copy_bytes); }
void const* fill_kernel() noexcept { return reinterpret_cast<void const*>(&fill_bytes); }

}  // namespace detail
}  // namespace lull
