// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

namespace lull::bench {

/// What the arrays of a stage hold.
enum class number_kind { bf16, fp32 };

/// Random values in (−1, 1), each from all bits of its source and its place: a wrong bit anywhere in a step makes the
/// next one another, while magnitudes stay.
void stir(cudaStream_t stream, number_kind numbers, void* to, void const* from, std::uint64_t count);

/// weights −= a step that is bounded whatever the gradient; they stay in [−1, 1].
void update(cudaStream_t stream, number_kind numbers, void* weights, void const* gradient, std::uint64_t count);

/// Adds to `sum` (device memory) what depends on each value's bits and place and not on the order of addition.
void add_checksum(cudaStream_t stream, number_kind numbers, std::uint64_t* sum, void const* values,
                  std::uint64_t count);

}  // namespace lull::bench
