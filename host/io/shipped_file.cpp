// SPDX-License-Identifier: Apache-2.0
#include <lull/host/io/shipped_file.hpp>

#include <dlfcn.h>

#include <cstdlib>
#include <vector>

#include <lull/host/error.hpp>

namespace lull {
namespace {

using std::filesystem::path;

constexpr int max_depth = 3;  // folders between a prefix and what is installed in it: lib/x86_64-linux-gnu/liblull.so

/// Adds data folders of the prefix in which a program or library is installed, wherever the prefix was moved.
void add_installed(path file, std::vector<path>& folders) {
  if (!file.is_absolute()) return;  // a program's name as the shell received it
  for (int depth = 0; depth < max_depth; ++depth) {
    file = file.parent_path();
    std::error_code ignored;
    if (path const data = file / LULL_DATA_IN_PREFIX; is_directory(data, ignored)) folders.push_back(data);
  }
}

std::vector<path> data_folders() {
  if (char const* const wanted = std::getenv("LULL_DATA"); wanted != nullptr && *wanted != '\0') return {wanted};
  std::vector<path> folders;
  std::error_code ignored;
  add_installed(std::filesystem::read_symlink("/proc/self/exe", ignored), folders);
  if (Dl_info here{}; ::dladdr(reinterpret_cast<void const*>(&shipped_file), &here) != 0) {
    add_installed(here.dli_fname, folders);
  }
  folders.insert(folders.end(), {LULL_DATA_DIR, LULL_INSTALLED_DATA_DIR});
  return folders;
}

}  // namespace

std::filesystem::path shipped_file(std::string const& name, std::string const& instead) {
  std::string tried;
  for (path const& folder : data_folders()) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(folder / name, ignored)) return folder / name;
    tried += (tried.empty() ? "" : " or ") + folder.string();
  }
  throw input_error(name, 0,
                    "not found in " + tried +
                        "; name the folder that holds it in the environment variable LULL_DATA, or give " + instead);
}

}  // namespace lull
