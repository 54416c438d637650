// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/host/cuda/driver.hpp>
#include <lull/host/cuda/owned.hpp>
#include <lull/host/executor.hpp>

namespace lull {

/// The SMs that workers may use, as a stream: of a green context that owns all groups of SMs but `rooms` of them, and the
/// remainder that holds no cluster; where green contexts fail, a plain stream and the SM ids to keep off.
class worker_place {
 public:
  /// `most_processors` 0: no cap. Blocks; for start only. Throws usage_error when nothing would be left for workers.
  worker_place(int device, int rooms, int most_processors, bool green_context);
  ~worker_place();
  worker_place(worker_place const&) = delete;
  worker_place& operator=(worker_place const&) = delete;

  cudaStream_t stream() const noexcept { return stream_.get(); }
  /// What a graph's worker nodes run in; null: the device's primary context.
  CUcontext context() const noexcept { return context_; }
  placement const& where() const noexcept { return where_; }
  /// `kept_off` filled where rooms are by SM id.
  room_plan const& plan() const noexcept { return plan_; }
  /// The same rooms by SM id, whatever the stream has: for workers in graphs, which would start later in another context.
  room_plan const& plan_in_graphs() const noexcept { return by_id_; }

 private:
  bool try_green(int device, int rooms, int most_processors, int priority);
  int keep_off(int rooms, int most_processors);

  CUgreenCtx green_ = nullptr;
  CUcontext context_ = nullptr;
  cuda_stream stream_;
  placement where_;
  room_plan plan_{};
  room_plan by_id_{};
};

}  // namespace lull
