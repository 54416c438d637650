// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace lull {

/// A kernel's name as people read it: with its namespaces and template arguments, without its parameters, and cut off
/// behind a hundred characters.
std::string readable_name(std::string const& mangled);

/// Whether a kernel of this readable name waits for kernels of other GPUs: one of NCCL or NVSHMEM.
bool waits_for_peers(std::string_view name);

}  // namespace lull
