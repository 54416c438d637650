// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

namespace lull::trainer {

/// Moments on the device's clock (%globaltimer, ns). `first` words start at ~0, `last` words at 0.
struct stamps {
  std::uint64_t first;
  std::uint64_t last_in;
  std::uint64_t end;
  std::uint64_t khz = 0;  // of an SM that waited, meanwhile; by wait_nccl_shape alone
};

/// One thread that waits. `stamp`, if any, gets the moment of its end, when a closing edge is due.
void wait_one_thread(cudaStream_t stream, std::uint64_t ns, std::uint64_t* stamp);

/// A wait in the shape of NCCL's own send/receive kernel: 16 blocks in clusters of 4, 640 threads, 96 registers, 104 KB
/// of shared memory. Lasts `ns` from its first block; `when` gets its moments.
void wait_nccl_shape(cudaStream_t stream, std::uint64_t ns, stamps* when);

/// A training kernel of `blocks` × `threads`, `fma` dependent multiply-adds a thread; `when` may be null.
void burst(cudaStream_t stream, int blocks, int threads, int fma, stamps* when);

/// Writes the moment when the stream comes here.
void stamp(cudaStream_t stream, std::uint64_t* when);

/// Random bf16 values in (−1, 1) from a seed, for matrix products that draw the power real ones draw.
void fill_random_bf16(cudaStream_t stream, void* values, std::uint64_t count, std::uint64_t seed);

/// Loads all kernels above with the carve-out that fits beside a worker. Throws cuda_error.
void load();

}  // namespace lull::trainer
