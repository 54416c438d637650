// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

namespace lull {

/// Refuses a missing folder, and the same folder for both, before any work is done. Throws input_error, usage_error.
void check_input(std::filesystem::path const& in, std::filesystem::path const& out);
/// Checks the folder, or the nearest existing one above it. Throws usage_error.
void check_output(std::filesystem::path const& out);
/// Makes the folder. Throws usage_error.
void make_output(std::filesystem::path const& out);

/// Returns the files of a folder by name, without hidden ones; none without a folder.
std::vector<std::filesystem::path> files_of(std::filesystem::path const& in);
/// Removes a killed run's temporary files, `.NAME.NUMBER.NUMBER.tmp`.
void remove_torn_results(std::filesystem::path const& out);

}  // namespace lull
