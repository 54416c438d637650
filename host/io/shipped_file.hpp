// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace lull {

/// Returns a file of the folder data/. It looks in the folder of the environment variable LULL_DATA; otherwise in the
/// prefix in which the program or library is installed; otherwise in the configured build tree or prefix. Throws
/// input_error if none has the file; `instead` says what else to give.
std::filesystem::path shipped_file(std::string const& name, std::string const& instead);

}  // namespace lull
