// SPDX-License-Identifier: Apache-2.0
// Marks of steps whose moments have not yet reached the trainer's stream.
#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>

#include <lull/host/detail/runtime/trainer_steps.hpp>
#include <lull/host/threads/executor.hpp>
#include <lull/host/threads/stream.hpp>

namespace lull::detail {
namespace {

using namespace std::chrono_literals;

/// A machine on which something happens while a moment is enqueued.
class busy_machine final : public threads_executor {
 public:
  busy_machine() : threads_executor{{.kind = executor_kind::threads, .processors = 1}} {}
  void note(stream_handle stream, stream_moment& when) override {
    if (meanwhile) meanwhile();
    threads_executor::note(stream, when);
  }
  std::function<void()> meanwhile;
};

std::uint64_t timed(trainer_steps& steps, threads_stream& trainer) {
  trainer.synchronize();
  steps.collect({}, false);
  return steps.report().timed;
}

TEST(trainer_steps, that_is_skipped_while_its_beginning_is_enqueued_says_nothing) {
  busy_machine machine;
  threads_stream trainer;
  trainer_steps::log_function const log;
  trainer_steps steps{machine, true, 0, 0, log};
  for (int step = 0; step < 4; ++step) {
    machine.meanwhile = step == 2 ? [&] { steps.skip(); } : std::function<void()>{};
    steps.next(&trainer);
  }
  EXPECT_EQ(timed(steps, trainer), 2U) << "of three that are over the last was skipped";
}

TEST(trainer_steps, is_read_while_another_beginning_is_enqueued) {
  busy_machine machine;
  threads_stream trainer;
  trainer_steps::log_function const log;
  trainer_steps steps{machine, true, 0, 0, log};
  steps.next(&trainer);
  steps.next(&trainer);
  std::uint64_t seen = 0;
  machine.meanwhile = [&] { seen = timed(steps, trainer); };  // under a lock it would wait for itself
  steps.next(&trainer);
  EXPECT_EQ(seen, 1U);
}

}  // namespace
}  // namespace lull::detail
