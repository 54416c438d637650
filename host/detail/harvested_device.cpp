// SPDX-License-Identifier: Apache-2.0
#include <lull/host/detail/harvested_device.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include <lull/host/detail/forks.hpp>
#include <lull/host/error.hpp>

namespace lull::detail {

namespace {

/// For each device 1 + the forks of the process whose runtime harvests it; 0: free. Atomic words, because a child could
/// find a lock held for ever.
std::array<std::atomic<std::uint64_t>, harvested_device::max_devices> harvested{};

std::size_t checked(int device) {
  if (device < 0 || static_cast<std::size_t>(device) >= harvested.size()) {
    throw usage_error{"CUDA device " + std::to_string(device) + " is out of range: it must be 0 to " +
                      std::to_string(harvested.size() - 1)};
  }
  return static_cast<std::size_t>(device);
}

}  // namespace

harvested_device::harvested_device(int device) : device_(checked(device)) {
  std::uint64_t const ours = 1 + forks_now();
  // relaxed: it publishes nothing, because runtimes share no memory
  if (harvested[device_].exchange(ours, std::memory_order_relaxed) == ours) {
    throw usage_error{"another runtime of this process harvests CUDA device " + std::to_string(device) +
                      " already: submit to that one, end it first, or use mode observe"};
  }
}

harvested_device::~harvested_device() { harvested[device_].store(0, std::memory_order_relaxed); }

}  // namespace lull::detail
