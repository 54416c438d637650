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

void process_descriptor::begin_opening() { held_descriptors::of_process().lock(); }

int process_descriptor::end_opening(int made) noexcept {
  int const code = errno;
  held_descriptors& all = held_descriptors::of_process();
  if (made >= 0) all.add(made);
  all.unlock();
  errno = code;
  return made;
}

process_descriptor::~process_descriptor() {
  if (of_ >= 0) held_descriptors::of_process().close(of_);
}

}  // namespace lull
