// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>

#if defined(__CUDACC__)
#define LULL_HD __host__ __device__
#define LULL_COLD __noinline__  // keeps rare code and its registers out of the loop around it
#else
#define LULL_HD
#define LULL_COLD
#endif

namespace lull {

/// Memory order of one atomic operation. There are no stand-alone fences in the protocol.
enum class order { relaxed, acquire, release, acq_rel };

/// Which threads must see it: blocks of one device, or also the trainer's stream, its peers and the host.
enum class scope { device, system };

/// Where the protocol runs: its atomics, its clock and its pause. The words are plain integers in memory that the world
/// can reach. Every access to a shared word goes through the world, with its order and scope spelled out. The device
/// world uses libcu++, the threads world std::atomic_ref, the simulated world a seeded scheduler.
template <class W>
concept world = requires(std::uint64_t& word, std::uint64_t value, std::uint32_t& short_word) {
  { W::template load<order::acquire, scope::device>(word) } -> std::same_as<std::uint64_t>;
  { W::template load<order::relaxed, scope::system>(short_word) } -> std::same_as<std::uint32_t>;
  W::template store<order::release, scope::device>(word, value);
  { W::template fetch_add<order::relaxed, scope::device>(word, value) } -> std::same_as<std::uint64_t>;
  { W::template fetch_or<order::relaxed, scope::device>(word, value) } -> std::same_as<std::uint64_t>;
  { W::template fetch_and<order::release, scope::device>(word, value) } -> std::same_as<std::uint64_t>;
  W::template fetch_max<order::relaxed, scope::device>(word, value);
  { W::template compare_exchange<order::acq_rel, scope::device>(word, value, value) } -> std::same_as<bool>;
  { W::now_ns() } -> std::same_as<std::uint64_t>;
  W::pause();
};

}  // namespace lull
