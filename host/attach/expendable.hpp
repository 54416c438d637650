// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lull::attach {

/// Makes this process the first that the system ends when memory runs out. The calling thread, and those that it
/// starts, leave the CPU to other processes (nice 10). Where the system refuses one of these, nothing changes.
void become_expendable() noexcept;

}  // namespace lull::attach
