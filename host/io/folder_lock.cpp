// SPDX-License-Identifier: Apache-2.0
#include <lull/host/io/folder_lock.hpp>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>

#include <lull/host/error.hpp>

namespace lull {

folder_lock::folder_lock(std::optional<std::string> const& folder) {
  if (!folder) return;
  std::error_code ignored;
  std::filesystem::create_directories(*folder, ignored);
  descriptor_ =
      process_descriptor::opened_by([&] { return ::open(folder->c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (!descriptor_ || ::flock(descriptor_.get(), LOCK_EX | LOCK_NB) == 0) return;
  bool const held = errno == EWOULDBLOCK;
  descriptor_ = {};
  if (held)
    throw usage_error{"checkpoint folder " + *folder +
                      ": another process saves its jobs there: wait until it ends, or name another folder"};
}

}  // namespace lull
