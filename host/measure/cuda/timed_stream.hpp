// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lull/host/cuda/check.hpp>
#include <lull/host/cuda/owned.hpp>

namespace lull {

/// Two events around what is enqueued on a stream.
class stream_timer {
 public:
  /// Milliseconds of all that `enqueue` does on the stream. Blocks until it is done.
  double ms(cudaStream_t stream, auto const& enqueue) {
    LULL_CUDA(cudaEventRecord(begin_.get(), stream));
    enqueue();
    LULL_CUDA(cudaEventRecord(end_.get(), stream));
    LULL_CUDA(cudaStreamSynchronize(stream));
    float found = 0;
    LULL_CUDA(cudaEventElapsedTime(&found, begin_.get(), end_.get()));
    return static_cast<double>(found);
  }

 private:
  cuda_event begin_;
  cuda_event end_;
};

/// A stream of its own with such events.
class timed_stream {
 public:
  cudaStream_t get() const noexcept { return stream_.get(); }
  double ms(auto const& enqueue) { return timer_.ms(stream_.get(), enqueue); }

 private:
  cuda_stream stream_{0};
  stream_timer timer_;
};

}  // namespace lull
