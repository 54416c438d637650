// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lull::c {

/// Another job of this process has the name: that is an error, or NAME-2, NAME-3 and so on is tried.
enum class if_taken { refuse, number };

/// The name that a job of this process is saved under in a folder: its own as long as this lives, and so is the folder
/// this process's. Thread-safe.
class checkpoint_name {
 public:
  /// Makes the folder. Throws usage_error where the name cannot be a file's or is taken, or another process has the
  /// folder.
  checkpoint_name(std::string const& folder, std::string const& name, if_taken otherwise);
  ~checkpoint_name();
  checkpoint_name(checkpoint_name const&) = delete;
  checkpoint_name& operator=(checkpoint_name const&) = delete;

  std::string const& folder() const noexcept { return folder_; }
  std::string const& name() const noexcept { return name_; }

 private:
  std::string folder_;  // absolute, without links
  std::string name_;
};

}  // namespace lull::c
