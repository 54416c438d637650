// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <filesystem>

namespace lull {

/// Returns whether a path is that folder, or below it, by their names: both absolute, or both relative, and normal.
inline bool is_within(std::filesystem::path const& path, std::filesystem::path const& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

}  // namespace lull
