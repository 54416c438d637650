// SPDX-License-Identifier: Apache-2.0
#include <lull/host/cuda/device_range.hpp>

#include <algorithm>
#include <string>
#include <utility>

#include <lull/host/cuda/driver.hpp>
#include <lull/host/error.hpp>

namespace lull {

namespace {

CUmemLocation on(int device) { return {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}; }

std::size_t rounded(std::size_t bytes) {
  constexpr std::size_t unit = device_range::granularity;
  return std::max<std::size_t>(1, (bytes + unit - 1) / unit) * unit;
}

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

device_range::device_range(int device, std::size_t bytes)
    : device_(device), bytes_(rounded(bytes)), memory_(std::make_unique<device_piece>(device, bytes_)) {
  LULL_DRIVER(driver().reserve_addresses(&at_, bytes_, granularity, 0, 0));
  try {
    map(memory_->get(), bytes_);
  } catch (...) {
    driver().free_addresses(at_, bytes_);
    throw;
  }
}

device_range::~device_range() {
  unmap();
  driver().free_addresses(at_, bytes_);
}

/// The same piece again and again, where it is smaller than the range. Throws with nothing mapped.
void device_range::map(CUmemGenericAllocationHandle piece, std::size_t piece_bytes) {
  std::size_t mapped = 0;
  try {
    for (; mapped < bytes_; mapped += piece_bytes)
      LULL_DRIVER(driver().map_memory(at_ + mapped, piece_bytes, 0, piece, 0));
    CUmemAccessDesc const access{.location = on(device_), .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    LULL_DRIVER(driver().set_access(at_, bytes_, &access, 1));
  } catch (...) {
    if (mapped != 0) driver().unmap_memory(at_, mapped);
    throw;
  }
}

void device_range::unmap() noexcept {
  if (memory_ != nullptr || instead_ != nullptr) driver().unmap_memory(at_, bytes_);
}

void device_range::withdraw(std::shared_ptr<device_piece const> instead) {
  if (is_away()) return;
  unmap();
  memory_.reset();
  map(instead->get(), instead->bytes());
  instead_ = std::move(instead);
}

void device_range::restore() {
  if (!is_away()) return;
  auto memory = std::make_unique<device_piece>(device_, bytes_);
  unmap();
  instead_.reset();
  map(memory->get(), bytes_);
  memory_ = std::move(memory);
}

}  // namespace lull
