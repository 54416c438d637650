// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace lull {

/// Folders whose code an agent may run. No other user but root can change them, or what leads to them.
class allowed_folders {
 public:
  /// A file of code, and the allowed folder that it is in; absolute, without links.
  struct code {
    std::filesystem::path folder;
    std::filesystem::path file;
  };

  /// Throws usage_error for a folder that is missing, or that others can change.
  explicit allowed_folders(std::vector<std::string> const& folders);

  /// Returns nothing if the file is in none of the folders, or is not there.
  std::optional<code> find_file(std::filesystem::path const& named) const;
  /// … by the name that Python imports it with.
  std::optional<code> find_module(std::string const& name) const;

 private:
  std::vector<std::filesystem::path> folders_{};
};

/// Throws usage_error if another user but root could put something else there. `path`: absolute, without links.
void refuse_if_others_can_change(std::filesystem::path const& path);

/// … anything in that folder, which code from it may import. A folder with very many files is refused, too.
void refuse_if_others_can_change_any(std::filesystem::path const& folder);

}  // namespace lull
