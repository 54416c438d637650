// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <lull/host/array.hpp>
#include <lull/host/task/owner.hpp>
#include <lull/tasks/images/resize_plan.hpp>

namespace lull {

/// Buffers of equal size on the machine, used in turn, that hold batches while they are resized. Not thread-safe.
class picture_buffers {
 public:
  /// `bytes`: of a buffer. Throws limit_error.
  picture_buffers(executor& executor, std::uint32_t buffers, std::size_t bytes);

  /// A picture to resize, with its tables.
  struct given {
    resize_plan plan;
    std::span<unsigned char const> staged;  // (plan.staged_bytes(),)
  };
  /// Writes the batch of this number into its buffer, which must be free; the pictures, at most picture_batch::most,
  /// must fit. The copies continue by themselves: until `arrived`, the staged bytes must stay unchanged and the batch
  /// must not be fed.
  void put(std::uint64_t number, std::span<given const> pictures);
  bool arrived() { return in_->done(); }
  /// Reads the results of a batch: pictures in the order of `put`, each (plan.out.bytes(),). Complete when `left`.
  void take(std::uint64_t number, std::span<std::span<unsigned char> const> into);
  bool left() { return out_->done(); }
  /// Waits for both directions.
  void settle();

  std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(memory_.size()); }
  std::size_t bytes() const noexcept { return bytes_; }
  picture_batch const* batches() const noexcept { return batches_.data(); }
  /// Returns what the task writes: all buffers.
  std::vector<task_array> arrays() const;

 private:
  executor& executor_;
  std::size_t bytes_;
  device_array<picture_batch> batches_;              // (buffers,)
  std::vector<device_array<unsigned char>> memory_;  // (buffers,) of (bytes,)
  std::vector<picture_batch> standing_;              // (buffers,) what stands there
  std::unique_ptr<copy_lane> in_;                    // last: they wait for what is under way
  std::unique_ptr<copy_lane> out_;
};

}  // namespace lull
