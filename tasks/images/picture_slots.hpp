// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <lull/host/array.hpp>
#include <lull/host/owner.hpp>
#include <lull/tasks/images/filter.hpp>
#include <lull/tasks/images/image.hpp>
#include <lull/tasks/images/resize.hpp>

namespace lull {

/// How one picture is resized.
struct resize_plan {
  image_shape in;
  image_shape out;  // of the same channels and bits
  image_filter filter = image_filter::lanczos3;
  std::int32_t logo_x = 0;
  std::int32_t logo_y = 0;

  /// What a slot needs for it.
  std::size_t bytes() const noexcept;
};

/// Where batches stand on the machine while they are resized: slots of equal size, used in turn. Not thread-safe.
class picture_slots {
 public:
  /// `bytes`: of a slot. Throws limit_error.
  picture_slots(executor& machine, std::uint32_t slots, std::size_t bytes);

  /// A picture to be resized, and its pixels.
  struct given {
    resize_plan plan;
    std::span<std::uint8_t const> pixels;  // (plan.in.bytes(),)
  };
  /// Writes the batch of this number into its slot, which must be free; the pictures, at most picture_batch::most, must fit. Blocks for
  /// its own copies.
  void put(std::uint64_t number, std::span<given const> pictures);
  /// Reads what has become of a batch: pictures in the order of `put`. Blocks for its own copies.
  void take(std::uint64_t number, std::span<std::vector<std::uint8_t>> into);

  std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(memory_.size()); }
  std::size_t bytes() const noexcept { return bytes_; }
  picture_batch const* batches() const noexcept { return batches_.data(); }
  /// What the task writes: of all slots.
  std::vector<task_array> arrays() const;

 private:
  executor& machine_;
  std::size_t bytes_;
  machine_array<picture_batch> batches_;               // (slots,)
  std::vector<machine_array<unsigned char>> memory_;  // (slots,) of (bytes,)
  std::vector<picture_batch> standing_;               // (slots,) what stands there
};

}  // namespace lull
