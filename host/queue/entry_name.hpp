// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <lull/host/queue/store.hpp>

namespace lull::queue {

/// Spells an entry as the name of a file; `entry_of` reads it back.
std::string name_of(job_entry const& entry);
/// Returns nothing for another name.
std::optional<job_entry> entry_of(std::string_view name);

}  // namespace lull::queue
