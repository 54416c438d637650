// SPDX-License-Identifier: Apache-2.0
#include <lull/host/cuda/early_word.hpp>

#include <array>
#include <compare>
#include <cstddef>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <lull/host/cuda/check.hpp>
#include <lull/host/cuda/driver.hpp>
#include <lull/host/cuda/early_pool.hpp>
#include <lull/host/cuda/kernels.hpp>
#include <lull/host/error.hpp>

namespace lull::detail {

namespace {

constexpr std::size_t line_bytes = 128;
constexpr std::size_t pool_words = 4096;  // of all runtimes that harvest a device in a process

/// Of one device.
struct word_pool {
  std::byte* memory = nullptr;  // (pool_words × line_bytes,)
  early_close_handle of_all;
  std::vector<std::uint32_t*> free;
};

struct mapping {
  int from;  // the device that addresses it
  std::array<std::byte, sizeof(cudaIpcMemHandle_t)> memory;
  auto operator<=>(mapping const&) const = default;
};

struct all_words {
  std::mutex mutex;
  std::map<int, word_pool> of_device;
  std::map<mapping, std::byte*> mapped;
};

all_words& words() {
  static auto* const made = new all_words;
  return *made;
}

word_pool make_pool(int device, std::function<void(void*, std::size_t)> const& zero) {
  word_pool made;
  void* memory = nullptr;
  LULL_CUDA(cudaMalloc(&memory, pool_words * line_bytes));
  made.memory = static_cast<std::byte*>(memory);
  zero(made.memory, pool_words * line_bytes);
  made.of_all.device = device;
  cudaIpcMemHandle_t exported{};
  static_assert(sizeof exported == sizeof made.of_all.memory);
  // Refused in some containers: then peers of this process alone can reach it.
  made.of_all.is_shared = cudaIpcGetMemHandle(&exported, made.memory) == cudaSuccess ? 1 : 0;
  if (made.of_all.is_shared == 0) cudaGetLastError();
  std::memcpy(made.of_all.memory.data(), &exported, sizeof exported);
  for (std::size_t i = pool_words; i-- > 0;)
    made.free.push_back(reinterpret_cast<std::uint32_t*>(made.memory + i * line_bytes));
  return made;
}

int current_device() {
  int device = 0;
  LULL_CUDA(cudaGetDevice(&device));
  return device;
}

/// Of another device of this process.
void let_address(int device) {
  int const from = current_device();
  if (from == device) return;
  int can = 0;
  LULL_CUDA(cudaDeviceCanAccessPeer(&can, from, device));
  if (can == 0)
    throw usage_error{"device " + std::to_string(from) + " cannot address device " + std::to_string(device) +
                      ", whose bubbles it shall close early"};
  cudaError_t const code = cudaDeviceEnablePeerAccess(device, 0);
  if (code == cudaErrorPeerAccessAlreadyEnabled) {
    cudaGetLastError();
  } else {
    LULL_CUDA(code);
  }
}

}  // namespace

early_word take_early_word_on(int device, std::function<void(void*, std::size_t)> const& zero) {
  all_words& all = words();
  std::lock_guard const lock{all.mutex};
  auto found = all.of_device.find(device);
  if (found == all.of_device.end()) found = all.of_device.emplace(device, make_pool(device, zero)).first;
  word_pool& pool = found->second;
  if (pool.free.empty())
    throw limit_error{"peers close bubbles of " + std::to_string(pool_words) + " sites of a device at the most early"};
  std::uint32_t* const word = pool.free.back();
  zero(word, sizeof *word);
  pool.free.pop_back();
  early_close_handle handle = pool.of_all;
  handle.address = reinterpret_cast<std::uint64_t>(word);
  handle.offset = static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(word) - pool.memory);
  return {word, handle};
}

void give_back_early_word_on(int device, std::uint32_t* word) noexcept {
  all_words& all = words();
  std::lock_guard const lock{all.mutex};
  all.of_device.at(device).free.push_back(word);
}

std::uint32_t* map_early_word(early_close_handle const& of, bool here) {
  if (here) {
    let_address(of.device);
    return reinterpret_cast<std::uint32_t*>(of.address);
  }
  if (of.is_shared == 0)
    throw usage_error{"this early_close_handle is of another process, whose driver did not share its memory"};
  all_words& all = words();
  std::lock_guard const lock{all.mutex};
  std::byte*& at = all.mapped[{current_device(), of.memory}];
  if (at == nullptr) {
    cudaIpcMemHandle_t exported{};
    std::memcpy(&exported, of.memory.data(), sizeof exported);
    void* mapped = nullptr;
    LULL_CUDA(cudaIpcOpenMemHandle(&mapped, exported, cudaIpcMemLazyEnablePeerAccess));
    at = static_cast<std::byte*>(mapped);
  }
  return reinterpret_cast<std::uint32_t*>(at + of.offset);
}

void close_early(stream_handle stream, std::uint32_t* word) {
  launch_early_close(static_cast<cudaStream_t>(stream), word);
}

}  // namespace lull::detail
