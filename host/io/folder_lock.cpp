// SPDX-License-Identifier: Apache-2.0
#include <lull/host/io/folder_lock.hpp>

#include <cerrno>
#include <filesystem>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <unistd.h>

#include <lull/host/error.hpp>

namespace lull {

namespace {

/// The descriptors of all locks of this process. A forked child shares them, and a lock lasts as long as one of its
/// descriptors. So the child closes its own; otherwise a data loader that outlives a killed training would keep the
/// folder.
class held_descriptors {
 public:
  static held_descriptors& of_process() {
    static auto* const only = new held_descriptors;  // reachable while the process ends
    return *only;
  }

  /// Returns a negative number if the folder cannot be opened.
  int open(std::string const& folder) {
    std::lock_guard const lock{guard_};
    int const made = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (made >= 0) all_.insert(made);
    return made;
  }
  /// Closes the descriptor, unless a fork has: another file may have its number by now.
  void close(int descriptor) {
    std::lock_guard const lock{guard_};
    if (all_.erase(descriptor) != 0) ::close(descriptor);
  }

 private:
  held_descriptors() {
    ::pthread_atfork([] { of_process().guard_.lock(); }, [] { of_process().guard_.unlock(); },
                     [] { of_process().leave_to_parent(); });
  }
  void leave_to_parent() {
    for (int const each : all_) ::close(each);
    all_.clear();
    guard_.unlock();
  }

  std::mutex guard_;
  std::set<int> all_;
};

}  // namespace

folder_lock::folder_lock(std::optional<std::string> const& folder) {
  if (!folder) return;
  std::error_code ignored;
  std::filesystem::create_directories(*folder, ignored);
  descriptor_ = held_descriptors::of_process().open(*folder);
  if (descriptor_ < 0 || ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
  bool const held = errno == EWOULDBLOCK;
  held_descriptors::of_process().close(std::exchange(descriptor_, -1));
  if (held)
    throw usage_error{"checkpoint folder " + *folder +
                      ": another process saves its jobs there: wait until it ends, or name another folder"};
}

folder_lock::~folder_lock() {
  if (descriptor_ >= 0) held_descriptors::of_process().close(descriptor_);
}

}  // namespace lull
