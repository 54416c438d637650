// SPDX-License-Identifier: Apache-2.0
#include <lull/host/io/shipped_file.hpp>

#include <cstdlib>
#include <vector>

#include <lull/host/error.hpp>

namespace lull {

std::filesystem::path shipped_file(std::string const& name, std::string const& instead) {
  using std::filesystem::path;
  std::vector<path> folders{LULL_DATA_DIR, LULL_INSTALLED_DATA_DIR};
  if (char const* const wanted = std::getenv("LULL_DATA"); wanted != nullptr && *wanted != '\0') folders = {wanted};
  std::string tried;
  for (path const& folder : folders) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(folder / name, ignored)) return folder / name;
    tried += (tried.empty() ? "" : " or ") + folder.string();
  }
  throw input_error(name, 0,
                    "not found in " + tried +
                        "; name the folder that holds it in the environment variable LULL_DATA, or give " + instead);
}

}  // namespace lull
