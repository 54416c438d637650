// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace lull {

/// Returns a kernel's name for people: with its namespaces and template arguments, without its parameters, cut after a
/// hundred characters.
std::string readable_name(std::string const& mangled);

/// Returns whether a kernel of this readable name waits for kernels of other GPUs: one of NCCL or NVSHMEM.
bool waits_for_peers(std::string_view name);

}  // namespace lull
