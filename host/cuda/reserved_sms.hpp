// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include <lull/host/cuda/driver.hpp>
#include <lull/host/cuda/owned.hpp>
#include <lull/host/executor.hpp>

namespace lull {

/// The SMs that workers may use, as a stream. The stream is of a green context that owns all groups of SMs except
/// `reserved_groups` of them, and the remainder that holds no cluster. Where green contexts fail, it is a plain stream,
/// with the SM ids to keep off.
class worker_place {
 public:
  /// `max_processors` 0: no cap. Blocks; call it at the start only. Throws usage_error if nothing would be left for
  /// workers.
  worker_place(int device, int reserved_groups, int max_processors, bool green_context);
  ~worker_place();
  worker_place(worker_place const&) = delete;
  worker_place& operator=(worker_place const&) = delete;

  cudaStream_t stream() const noexcept { return stream_.get(); }
  /// Makes another stream on the same SMs, of the lowest priority.
  cuda_stream another_stream() const;
  /// Returns the context of a graph's worker nodes; null: the device's primary context.
  CUcontext context() const noexcept { return context_; }
  placement where() const {
    std::lock_guard const lock{mutex_};
    return where_;
  }
  /// Returns the SMs that workers had at the start: grids are made for this number.
  int owned_at_start() const noexcept { return owned_at_start_; }
  /// Returns whether workers have all SMs, with no green context and no list of SM ids.
  bool has_all() const noexcept { return owned_at_start_ == processors_; }
  int processors() const noexcept { return processors_; }
  bool by_id() const noexcept { return by_sm_id_; }
  /// Reserves one more group of SMs and returns its SM ids; nothing: none can be spared.
  std::optional<sm_filter> give_up_group();
  /// Returns the plan; `kept_off` is filled where SMs are reserved by id.
  sm_filter const& plan() const noexcept { return plan_; }
  /// Returns the same reserved SMs by id, whatever the stream has: for workers in graphs, which would start later in
  /// another context.
  sm_filter const& plan_in_graphs() const noexcept { return by_id_; }

 private:
  bool try_green(int device, int reserved_groups, int max_processors, int priority);
  int keep_off(std::vector<std::vector<std::uint32_t>> const& groups, int reserved_groups, int max_processors);
  void find_spare(std::vector<std::vector<std::uint32_t>> const& groups);

  CUgreenCtx green_ = nullptr;
  CUcontext context_ = nullptr;
  cuda_stream stream_;
  sm_filter plan_{};
  sm_filter by_id_{};
  int processors_ = 0;
  int owned_at_start_ = 0;
  bool by_sm_id_ = false;
  mutable std::mutex mutex_;  // guards all that follows
  placement where_;
  std::vector<sm_filter> spare_;  // groups that workers use, in graphs too
};

}  // namespace lull
