// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

namespace lull::bench {

// Launches; all of them only enqueue. Moments are of the device's clock (%globaltimer, ns); a null `at` takes none.

/// Notes the moment, then stores `value`, which publishes all that the stream did before.
void set_word(cudaStream_t stream, std::uint32_t* word, std::uint32_t value, std::uint64_t* at);

/// What stands for a worker: 112 blocks of 1,024 threads for 20 µs. `first` becomes the least moment of a block's
/// start, `last` the greatest.
void stand_in(cudaStream_t stream, std::uint64_t* first, std::uint64_t* last);
void const* stand_in_kernel() noexcept;

/// Loads the kernels above, and the short ones of the trainer (host/measure/cuda/short_kernels.hpp). Blocks until the
/// device is done.
void load_step_kernels();

}  // namespace lull::bench
