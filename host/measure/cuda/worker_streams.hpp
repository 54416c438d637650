// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include <lull/host/cuda/owned.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/measure/cuda/green_context.hpp>

namespace lull {

/// CUDA streams such as a runtime launches workers on: of the lowest priority, and of a green context that leaves two
/// groups of SMs out.
class worker_streams {
 public:
  struct one {
    stream_handle stream;
    bool green;
  };

  /// So many of each, on the current device; none of the second kind where the driver has no green contexts. Throws
  /// cuda_error.
  explicit worker_streams(int of_each);
  worker_streams(worker_streams const&) = delete;
  worker_streams& operator=(worker_streams const&) = delete;

  std::vector<one> const& all() const noexcept { return all_; }

 private:
  std::vector<one> all_;
  std::unique_ptr<green_context> context_;
  std::vector<cuda_stream> owned_;  // goes before its context
};

}  // namespace lull
