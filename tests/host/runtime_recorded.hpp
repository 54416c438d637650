// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/runtime.hpp>
#include <lull/host/threads/stream.hpp>
#include <lull/tests/host/recording_executor.hpp>
#include <lull/tests/support/cursor_state.hpp>
#include <lull/tests/support/halt.hpp>
#include <lull/tests/support/log_lines.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull {

/// A runtime on a machine that records what it is asked, and a trainer's stream.
class runtime_recorded : public testing::Test {
 protected:
  static runtime_options options(runtime_mode mode = runtime_mode::on, launch_time launch = launch_time::at_close,
                                 std::optional<closing> how = closing{}) {
    runtime_options made;
    made.mode = mode;
    made.tuning.launch = launch;
    made.tuning.close = how;
    made.tuning.armed_ahead = std::chrono::seconds{10};  // at once: when the bubble will open is not a test's to say
    return made;
  }
  std::unique_ptr<runtime> make(runtime_options options = runtime_recorded::options()) {
    options.log = log_.function();
    return std::make_unique<runtime>(std::make_unique<recording_executor>(seen), std::move(options));
  }
  /// Submits a job that some bubbles do not end, not even long ones, as on a busy machine.
  job submit(runtime& side, std::string const& name) { return side.submit(description(name)); }
  /// Submits a job whose chunks poll until they have to leave, and are handed back.
  job submit_endless(runtime& side) {
    arrays_.push_back(std::make_unique<probe_arrays>(std::vector<std::uint64_t>{1 << 10}));
    probe_task endless = arrays_.back()->task();
    endless.polls = ~std::uint32_t{0};
    return side.submit(endless, "endless");
  }
  /// `polls`: of a chunk.
  job_description description(std::string const& name, std::uint32_t polls = 256) {
    arrays_.push_back(std::make_unique<probe_arrays>(std::vector<std::uint64_t>{1 << 18}));
    seen.name(arrays_.back()->extents.data(), name);
    probe_task slow = arrays_.back()->task();
    slow.polls = polls;
    return describe(slow, name);
  }
  static void await(job const& task, job_state state) {
    await_that([&] { return task.progress().state == state; });
  }
  void one_bubble(runtime& side, char const* where = "wait") { side.close(side.open(&trainer, site{where}), &trainer); }
  /// The trainer's stream comes to the bubble when its host has closed it, however busy the machine is: a host that is
  /// seen to be late gets other workers.
  calls calls_of_one_bubble(runtime& side) {
    halt ahead;
    trainer.enqueue(ahead.operation());
    one_bubble(side);
    return seen.take();
  }
  std::vector<std::string> log() const { return log_.now(); }
  /// Returns the log once it has so many lines.
  std::vector<std::string> log_of(std::size_t lines) { return log_.when(lines); }

  record seen;
  threads_stream trainer;

 private:
  test::log_lines log_;
  std::vector<std::unique_ptr<probe_arrays>> arrays_;
};

}  // namespace lull
