// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include <lull/host/cuda/owned.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/measure/cuda/stream_words.hpp>

namespace lull {

/// A chain of short kernels on a trainer's CUDA stream, while other streams wait on the device for its end. On the
/// current device; one thread calls it. Throws cuda_error.
class pending_chain {
 public:
  using enqueueing = std::function<void()>;

  /// At most 950 kernels: the driver holds about a thousand launches. Blocks until the device is done.
  explicit pending_chain(int kernels);
  /// Blocks until the device is done.
  ~pending_chain();
  pending_chain(pending_chain const&) = delete;
  pending_chain& operator=(pending_chain const&) = delete;

  /// Enqueues the kernels on the trainer's `stream`, then on others by `waits`; returns the time from the start of a
  /// kernel to the start of the next, in ns. A kernel keeps the trainer's stream back until all of it is enqueued,
  /// so each wait is pending from the chain's first kernel on. That kernel ends by itself after 100 ms, and so do waits
  /// for the end; then throws limit_error. Blocks until the device is done.
  double kernel_ns(stream_handle stream, enqueueing const& waits);

  /// Enqueues a wait of that stream for the end of the chain, and a kernel after it. Called by `waits`.
  void wait_for_end(stream_handle stream);

 private:
  /// What the chain's kernels write on the device.
  struct stamps {
    std::uint64_t first;  // start of the first kernel, ns
    std::uint64_t last;   // start of the last
    std::uint32_t expired;
  };

  int const kernels_;
  std::uint32_t round_ = 0;  // of the word that lets the trainer's stream go: it only grows
  mapped_word go_;           // that word
  device_buffer samples_;
  device_buffer stamps_;
  cuda_event end_{event_timing::off};
};

}  // namespace lull
