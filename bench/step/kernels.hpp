// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

namespace lull::bench {

// Launches; all of them only enqueue. Moments are of the device's clock (%globaltimer, ns); a null `at` takes none.

/// Notes the moment, then stores `value`, which publishes all that the stream did before.
void set_word(cudaStream_t stream, std::uint32_t* word, std::uint32_t value, std::uint64_t* at);

/// Loads the kernels above, and the short ones of the trainer (host/measure/cuda/short_kernels.hpp). Blocks until the
/// device is done.
void load_step_kernels();

}  // namespace lull::bench
