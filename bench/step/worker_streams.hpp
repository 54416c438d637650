// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <lull/host/cuda/driver.hpp>
#include <lull/host/cuda/owned.hpp>

namespace lull::bench {

/// Streams such as a runtime launches workers on: of the lowest priority, and of a green context that leaves two groups
/// of SMs out.
class worker_streams {
 public:
  struct one {
    cudaStream_t stream;
    bool green;
  };

  /// So many of each; none of the second kind where the driver has no green contexts.
  explicit worker_streams(int of_each);
  ~worker_streams();
  worker_streams(worker_streams const&) = delete;
  worker_streams& operator=(worker_streams const&) = delete;

  std::vector<one> const& all() const noexcept { return all_; }
  /// The first of a kind; null: there is none.
  cudaStream_t any(bool green) const noexcept;

 private:
  std::vector<one> all_;
  std::vector<cuda_stream> owned_;
  CUgreenCtx context_ = nullptr;
};

}  // namespace lull::bench
