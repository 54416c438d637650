// SPDX-License-Identifier: Apache-2.0
#include <lull/host/task/feeder_thread.hpp>

#include <utility>

namespace lull {

feeder_thread::feeder_thread(task_owner& owner, executor& executor, job handle) : handle_(std::move(handle)) {
  thread_ = std::thread{[this, &owner, &executor] {
    try {
      device_guard const here{executor};
      patient_copies const however_late;
      owner.serve(handle_);
    } catch (...) {
      problem_ = std::current_exception();
      failed_ = true;
      handle_.cancel();
    }
    over_ = true;
  }};
}

feeder_thread::~feeder_thread() {
  if (!thread_.joinable()) return;
  handle_.cancel();
  thread_.join();
}

void feeder_thread::finish() {
  thread_.join();
  if (problem_ != nullptr) std::rethrow_exception(problem_);
}

}  // namespace lull
