// SPDX-License-Identifier: Apache-2.0
#include <lull/host/task/output_files.hpp>

#include <string>

#include <lull/host/io/atomic_file.hpp>

namespace lull {

std::vector<std::filesystem::path> output_files(option_values const& values,
                                                std::vector<std::string_view> const& options) {
  std::vector<std::filesystem::path> files;
  for (std::string_view const option : options) {
    if (values.has(option)) files.push_back(values.path(option));
  }
  return files;
}

void check_output_files(std::string_view task, option_values const& values,
                        std::vector<std::string_view> const& options) {
  for (std::string_view const option : options) {
    if (values.has(option)) check_writable(std::string{task} + ": " + std::string{option} + "=", values.path(option));
  }
}

}  // namespace lull
