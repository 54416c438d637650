// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace lull {

/// A file of the folder data/, in the tree or where it was installed, or where the environment variable LULL_DATA says.
/// Throws input_error where it is in neither; `instead` says what else to give.
std::filesystem::path shipped_file(std::string const& name, std::string const& instead);

}  // namespace lull
