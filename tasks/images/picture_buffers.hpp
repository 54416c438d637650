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

/// Where batches stand on the machine while they are resized: buffers of equal size, used in turn. Not thread-safe.
class picture_buffers {
 public:
  /// `bytes`: of a buffer. Throws limit_error.
  picture_buffers(executor& executor, std::uint32_t buffers, std::size_t bytes);

  /// A picture to be resized, with its tables.
  struct given {
    resize_plan plan;
    std::span<unsigned char const> staged;  // (plan.staged_bytes(),)
  };
  /// Writes the batch of this number into its buffer, which must be free; the pictures, at most picture_batch::most,
  /// must fit. The copies go on by themselves: staged bytes stay as they are, and the batch is not fed, until
  /// `arrived`.
  void put(std::uint64_t number, std::span<given const> pictures);
  bool arrived() { return in_->done(); }
  /// Reads what has become of a batch: pictures in the order of `put`, each (plan.out.bytes(),). There when `left`.
  void take(std::uint64_t number, std::span<std::span<unsigned char> const> into);
  bool left() { return out_->done(); }
  /// Waits for both.
  void settle();

  std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(memory_.size()); }
  std::size_t bytes() const noexcept { return bytes_; }
  picture_batch const* batches() const noexcept { return batches_.data(); }
  /// What the task writes: of all buffers.
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
