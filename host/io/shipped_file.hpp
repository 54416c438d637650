// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace lull {

/// A file of the folder data/: where the environment variable LULL_DATA says, else in the prefix that the program or
/// the library is installed in, else in the tree of the build or the prefix that it was configured with.
/// Throws input_error where it is in none; `instead` says what else to give.
std::filesystem::path shipped_file(std::string const& name, std::string const& instead);

}  // namespace lull
