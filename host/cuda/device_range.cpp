// SPDX-License-Identifier: Apache-2.0
#include <lull/host/cuda/device_range.hpp>

#include <string>
#include <utility>

#include <lull/host/cuda/driver.hpp>
#include <lull/host/error.hpp>

namespace lull {

namespace {

CUmemLocation on(int device) { return {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}; }

}  // namespace

device_piece::device_piece(int device, std::size_t bytes) : bytes_(bytes) {
  if (!driver().can_map_memory())
    throw usage_error{"the CUDA driver cannot map memory to addresses of a program's choice: install a newer one"};
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = on(device);
  CUresult const code = driver().create_memory(&handle_, bytes, &properties, 0);
  if (code == CUDA_ERROR_OUT_OF_MEMORY) {
    throw limit_error{"out of device memory: " + std::to_string(bytes) +
                      " bytes more are not free; choose a smaller input for the side task"};
  }
  LULL_DRIVER(code);
}

device_piece::~device_piece() { driver().release_memory(handle_); }

stray_memory::stray_memory(int device, bool with_large)
    : small_(device, small_bytes),
      large_(with_large ? std::make_unique<device_piece const>(device, large_bytes) : nullptr) {}

/// If it throws, nothing is mapped.
template <class At>
void device_range::map(At at) {
  std::size_t mapped = 0;
  try {
    while (mapped < bytes_) {
      device_piece const& piece = at(mapped);
      LULL_DRIVER(driver().map_memory(at_ + mapped, piece.bytes(), 0, piece.get(), 0));
      mapped += piece.bytes();
    }
    CUmemAccessDesc const access{.location = on(device_), .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    LULL_DRIVER(driver().set_access(at_, bytes_, &access, 1));
  } catch (...) {
    if (mapped != 0) driver().unmap_memory(at_, mapped);
    throw;
  }
}

device_range::device_range(int device, std::size_t bytes)
    : device_(device), bytes_(rounded(bytes)), memory_(std::make_unique<device_piece>(device, bytes_)) {
  LULL_DRIVER(driver().reserve_addresses(&at_, bytes_, granularity, 0, 0));
  try {
    map([this](std::size_t) -> device_piece const& { return *memory_; });
  } catch (...) {
    driver().free_addresses(at_, bytes_);
    throw;
  }
}

device_range::~device_range() {
  unmap();
  driver().free_addresses(at_, bytes_);
}

void device_range::unmap() noexcept {
  if (memory_ != nullptr || instead_ != nullptr) driver().unmap_memory(at_, bytes_);
}

void device_range::withdraw(std::shared_ptr<stray_memory const> instead) {
  if (is_away()) return;
  unmap();
  memory_.reset();
  map([&](std::size_t mapped) -> device_piece const& {
    device_piece const* const large = instead->large();
    return large != nullptr && bytes_ - mapped >= large->bytes() ? *large : instead->small();
  });
  instead_ = std::move(instead);
}

void device_range::restore() {
  if (!is_away()) return;
  auto memory = std::make_unique<device_piece>(device_, bytes_);
  unmap();
  instead_.reset();
  map([&](std::size_t) -> device_piece const& { return *memory; });
  memory_ = std::move(memory);
}

}  // namespace lull
