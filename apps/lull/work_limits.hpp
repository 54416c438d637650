// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace lull {

/// Lets this process and what it starts run on some CPUs alone: "0-3,8". Throws usage_error for another text, and for
/// CPUs that it may not use.
void use_cpus_only(std::string const& cpus);

/// Lets this process allocate so much host memory at most, such as "4GiB". Throws usage_error.
void limit_host_memory(std::string const& size);

}  // namespace lull
