// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace lull::test {

/// x[i] = 3 × x[i] + y[i] + node, for about `ns`: the result of several nodes depends on their order and number.
void apply_node(cudaStream_t stream, std::uint32_t* x, std::uint32_t const* y, std::uint32_t count, std::uint32_t node,
                std::uint64_t ns);
std::uint32_t applied_node(std::uint32_t x, std::uint32_t y, std::uint32_t node);

/// x[i] = 3 × x[i] + y[i] + node, by a kernel that lets the next one begin at once, and waits for the one before.
void apply_early_node(cudaStream_t stream, std::uint32_t* x, std::uint32_t const* y, std::uint32_t count,
                      std::uint32_t node);

/// Counts its runs; the first takes about `ns`.
void slow_first_node(cudaStream_t stream, std::uint32_t* runs, std::uint64_t ns);

/// Each of `blocks` blocks, in clusters of two, notes how many blocks its cluster has.
void note_clusters(cudaStream_t stream, std::uint32_t* found, std::uint32_t blocks);

/// A kernel that has a name as NCCL's, and does nothing.
void exchange_node(cudaStream_t stream);

/// Notes each SM that it runs on: 2,000 blocks, into (1024,) words.
void note_sms(cudaStream_t stream, std::uint32_t* sms);

/// The same as a kernel of a module, which is bound to the current device's context.
class module_kernel {
 public:
  module_kernel();
  ~module_kernel();
  module_kernel(module_kernel const&) = delete;
  module_kernel& operator=(module_kernel const&) = delete;
  void note_sms(cudaStream_t stream, std::uint32_t* sms) const;

 private:
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
};

}  // namespace lull::test
