// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace lull {

class cuda_memory;

namespace detail {

void begin_lending(cuda_memory& memory);  // call once
/// What has been lent stays lent.
void end_lending(cuda_memory& memory) noexcept;

}  // namespace detail

/// Allocates device memory for another library's pool that takes it through two functions, as PyTorch's do. Such a
/// function names no runtime: the memory belongs to the living runtime of `device` that last made its stream for
/// captures, within its memory_limit_bytes. It is not zeroed. Returns null if there is no such runtime, or it has no
/// more. Thread-safe, also during a capture; waits for no kernel of the trainer.
void* allocate_for_pool(int device, std::size_t bytes) noexcept;
/// Releases `memory` after its last use. The memory may outlive its runtime.
void release_from_pool(void* memory, int device) noexcept;

}  // namespace lull
