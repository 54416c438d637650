// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/runtime.hpp>
#include <lull/host/threads/stream.hpp>
#include <lull/tests/support/cursor_state.hpp>
#include <lull/tests/support/forked.hpp>
#include <lull/tests/support/log_lines.hpp>
#include <lull/tests/support/test_folder.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull::test {

/// A runtime on CPU threads that shares its bubbles, with a trainer's stream that adds up what it computes.
class sharing_trainer {
 public:
  explicit sharing_trainer(std::string const& address, runtime_options options = {})
      : side_(std::make_unique<runtime>(with(address, std::move(options), log_))) {}
  ~sharing_trainer() {
    side_.reset();
    stream.synchronize();
  }
  sharing_trainer(sharing_trainer const&) = delete;
  sharing_trainer& operator=(sharing_trainer const&) = delete;

  runtime& side() noexcept { return *side_; }
  log_lines& log() noexcept { return log_; }
  /// One step: a bubble of that length, and what the trainer computes.
  counted step(std::chrono::nanoseconds length = std::chrono::microseconds{300}, char const* where = "wait") {
    counted what = counted::off;
    {
      bubble const idle{*side_, &stream, site{where}};
      what = idle.what();
      stream.enqueue([length] { std::this_thread::sleep_for(length); });
    }
    stream.enqueue([this] { loss_ = loss_after(loss_); });
    stream.synchronize();
    ++steps_;
    return what;
  }
  std::uint64_t opened() { return side_->counts()[counted::opened]; }
  /// Returns whether each step computed once, in order.
  bool is_exact() const {
    std::uint64_t loss = 1;
    for (std::uint64_t i = 0; i < steps_; ++i) loss = loss_after(loss);
    return loss == loss_;
  }

  threads_stream stream;

 private:
  static runtime_options with(std::string const& address, runtime_options options, log_lines& log) {
    options.executor = {
        .kind = executor_kind::threads, .reserve_bytes = options.executor.reserve_bytes, .processors = 2};
    options.share = address;
    options.log = log.function();
    return options;
  }
  static std::uint64_t loss_after(std::uint64_t loss) noexcept { return probe_task::mix(loss + 1); }

  log_lines log_;
  std::unique_ptr<runtime> side_;
  std::uint64_t loss_ = 1;
  std::uint64_t steps_ = 0;
};

inline runtime_options attached_options(std::string const& address) {
  runtime_options made;
  made.executor = {.kind = executor_kind::threads, .processors = 2};
  made.attach = address;
  return made;
}

/// Runs in another process, which exits with what `work` returns. Call it while this process has one thread.
inline pid_t process_of(std::function<int()> const& work) {
  pid_t const child = ::fork();
  if (child != 0) return child;
  int code = 100;
  try {
    code = work();
  } catch (std::exception const& problem) {
    std::string const line = std::string{problem.what()} + '\n';
    if (::write(2, line.data(), line.size()) < 0) code = 101;
  }
  ::_exit(code);
}

/// Chunks of a job that some bubbles do not end.
inline probe_arrays slow_arrays() { return probe_arrays{{3'000, 5, 2'000}}; }
inline probe_task slow_task(probe_arrays& arrays) {
  probe_task slow = arrays.task();
#if defined(__SANITIZE_THREAD__)
  slow.polls = 100;  // a look takes so much longer there
#else
  slow.polls = 5'000;
#endif
  return slow;
}

/// Attaches and runs a job to its end. Returns 0 if every item ran exactly once, with the right value.
inline int attached_job(std::string const& address, int priority = 0, probe_arrays arrays = slow_arrays()) {
  runtime side{attached_options(address)};
  job_description what = describe(slow_task(arrays), "attached");
  what.priority = priority;
  job const task = side.submit(what);
  if (!task.wait(long_enough)) return 1;
  return task.progress().state == job_state::finished && arrays.wrong() == nullptr ? 0 : 2;
}

/// Two processes that meet at a socket.
class attached : public testing::Test {
 protected:
  std::string socket() const { return folder_.at("socket"); }
  std::string address() const { return "unix:" + socket(); }
  /// Trains until the child ends; returns its exit code.
  static int train_until_over(sharing_trainer& trainer, pid_t child) {
    int status = -1;
    bool const ended = within_time([&] {
      trainer.step();
      return ::waitpid(child, &status, WNOHANG) == child;
    });
    if (!ended) kill_child(child);
    return ended && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  static bool has_said(sharing_trainer& trainer, std::string const& words) {
    return within_time([&] {
      auto const lines = trainer.log().now();
      return std::any_of(lines.begin(), lines.end(),
                         [&](std::string const& each) { return each.find(words) != std::string::npos; });
    });
  }

  test_folder folder_;
};

}  // namespace lull::test
