// SPDX-License-Identifier: Apache-2.0
#include <lull/host/io/process_descriptor.hpp>

#include <cerrno>
#include <mutex>
#include <set>

#include <pthread.h>
#include <unistd.h>

namespace lull {

namespace {

/// The open ones of this process.
class held_descriptors {
 public:
  static held_descriptors& of_process() {
    static auto* const only = new held_descriptors;  // reachable while the process ends
    return *only;
  }

  void lock() { guard_.lock(); }
  void unlock() { guard_.unlock(); }
  void add(int made) { all_.insert(made); }
  /// Returns whether it was there.
  bool remove(int descriptor) {
    std::lock_guard const lock{guard_};
    return all_.erase(descriptor) != 0;
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

process_descriptor::no_fork::no_fork() { held_descriptors::of_process().lock(); }

process_descriptor::no_fork::~no_fork() {
  int const code = errno;
  held_descriptors::of_process().unlock();
  errno = code;
}

void process_descriptor::no_fork::keep(int descriptor) const {
  int const code = errno;
  if (descriptor >= 0) held_descriptors::of_process().add(descriptor);
  errno = code;
}

/// Closed without the lock: the last close of a connection may wait for its other end.
process_descriptor::~process_descriptor() {
  if (of_ >= 0 && held_descriptors::of_process().remove(of_)) ::close(of_);
}

}  // namespace lull
