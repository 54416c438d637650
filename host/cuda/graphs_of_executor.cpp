// SPDX-License-Identifier: Apache-2.0
// What gated graphs need of the executor.
#include <cstddef>
#include <utility>
#include <vector>

#include <lull/host/cuda/device_guard.hpp>
#include <lull/host/cuda/executor.hpp>
#include <lull/host/cuda/pool_memory.hpp>

namespace lull {

namespace {
constexpr std::size_t max_capture_streams = 1024;
}  // namespace

worker_place const& cuda_executor::place_of_graphs() {
  cuda_device_guard const here{device_};
  std::lock_guard const lock{loaded_mutex_};
  return find_place_of_graphs();
}

/// Call under the lock.
worker_place const& cuda_executor::find_place_of_graphs() {
  if (place_.has_all() && graphs_ == nullptr) graphs_ = std::make_unique<worker_place>(device_, 1, 0, true);
  worker_place const& found = place_.has_all() ? *graphs_ : place_;
  if (found.context() == nullptr) {
    throw usage_error{green_context_
                          ? "a CUDA graph runs only where green contexts keep it off reserved SMs, and here they fail: "
                            "update the driver"
                          : "a CUDA graph runs only where green contexts keep it off reserved SMs: set green_context"};
  }
  return found;
}

cudaStream_t cuda_executor::capture_stream() {
  cuda_device_guard const here{device_};
  std::lock_guard const lock{loaded_mutex_};
  if (captures_.size() >= max_capture_streams)
    throw limit_error{"1,024 streams for captures exist already: reuse one whose graph is over"};
  captures_.reserve(captures_.size() + 1);
  cuda_stream made = find_place_of_graphs().another_stream();
  if (captures_.empty()) detail::begin_lending(memory_);
  return captures_.emplace_back(std::move(made)).get();
}

void cuda_executor::bury(std::shared_ptr<void const> what) noexcept {
  std::lock_guard const lock{buried_mutex_};
  try {
    cuda_device_guard const here{device_};
    buried& added = buried_.emplace_back(buried{std::move(what), std::nullopt});
    cuda_event ended{event_timing::off};
    LULL_CUDA(cudaEventRecord(ended.get(), place_.stream()));
    added.ended = std::move(ended);
  } catch (std::exception const&) {  // the executor frees it at its end
  }
}

void cuda_executor::free_leftovers() {
  cuda_device_guard const here{device_};
  std::vector<buried> gone;  // destroyed under no lock, so that other threads can bury meanwhile
  std::lock_guard const lock{buried_mutex_};
  auto const is_used = [](buried const& each) { return !each.ended || !is_done(cudaEventQuery(each.ended->get())); };
  std::vector<buried> kept;
  for (buried& each : buried_) (is_used(each) ? kept : gone).push_back(std::move(each));
  buried_ = std::move(kept);
}

}  // namespace lull
