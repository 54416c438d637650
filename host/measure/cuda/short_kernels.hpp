// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/host/executor.hpp>

namespace lull::trainer {

inline constexpr int stir_blocks = 132;  // one an SM of an H100 or H200
inline constexpr int stir_threads = 256;

// Launches on CUDA streams; all of them only enqueue. Throw cuda_error.

/// A short training kernel: `rounds` steps of a chaotic map on each value, which keeps values in [−1, 1] random. `at`
/// gets the moment when the first block starts, of the device's clock (%globaltimer, ns); a null `at` takes none.
void stir(stream_handle stream, float* values, std::uint64_t count, int rounds, std::uint64_t* at);

/// One thread that does nothing, for a wait that something must follow.
void nothing(stream_handle stream);

/// One thread that waits until `word`, the device's or the host's, is at least `value`, at most `limit_ns`; adds 1 to
/// `expired` where that was too short.
void wait_for_word(stream_handle stream, std::uint32_t* word, std::uint32_t value, std::uint64_t limit_ns,
                   std::uint32_t* expired);

/// Loads the kernels above. Blocks until the device is done.
void load_short_kernels();

}  // namespace lull::trainer
