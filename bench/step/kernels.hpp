// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

namespace lull::bench {

inline constexpr int stir_blocks = 132;  // one an SM of an H100 or H200
inline constexpr int stir_threads = 256;

// Launches; all of them only enqueue. Moments are of the device's clock (%globaltimer, ns); a null `at` takes none.

/// A short training kernel: `rounds` steps of a chaotic map on each value, which keeps values in [−1, 1] random. `at`
/// gets the moment when the first block starts.
void stir(cudaStream_t stream, float* values, std::uint64_t count, int rounds, std::uint64_t* at);

/// One thread that does nothing, for a wait that must have something behind it.
void nothing(cudaStream_t stream);

/// One thread that waits until `word` is at least `value`, at most `limit_ns`; adds 1 to `expired` where that was too
/// short.
void wait_for_word(cudaStream_t stream, std::uint32_t* word, std::uint32_t value, std::uint64_t limit_ns,
                   std::uint32_t* expired);

/// Notes the moment, then stores `value`, which publishes all that the stream did before.
void set_word(cudaStream_t stream, std::uint32_t* word, std::uint32_t value, std::uint64_t* at);

/// What stands for a worker: 112 blocks of 1,024 threads for 20 µs. `first` becomes the least moment of a block's
/// start, `last` the greatest.
void stand_in(cudaStream_t stream, std::uint64_t* first, std::uint64_t* last);
void const* stand_in_kernel() noexcept;

/// Loads the kernels above. Blocks until the device is done.
void load_step_kernels();

}  // namespace lull::bench
