// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace lull {

class cuda_memory;

namespace detail {

void begin_lending(cuda_memory& memory);  // once
/// What is lent by then stays lent.
void end_lending(cuda_memory& memory) noexcept;

}  // namespace detail

/// Device memory for a pool of another library's that takes it through two functions, as PyTorch's do. Such a function
/// names no runtime: the memory is the runtime's of `device` that made its stream for captures last and lives, within
/// its memory_limit_bytes. It is not filled. Null: there is no such runtime, or it has no more. Thread-safe, also while
/// a stream is being captured; waits for no kernel of the trainer's.
void* allocate_for_pool(int device, std::size_t bytes) noexcept;
/// Nothing uses `memory` any more. It may outlive its runtime.
void release_from_pool(void* memory, int device) noexcept;

}  // namespace lull
