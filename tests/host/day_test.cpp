// SPDX-License-Identifier: Apache-2.0
// A day of training without its waits: what a runtime takes does not grow with bubbles, steps, sites and jobs.
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <lull/host/array.hpp>
#include <lull/host/job_memory.hpp>
#include <lull/host/report/bubble_summary.hpp>
#include <lull/host/runtime.hpp>
#include <lull/host/threads/stream.hpp>
#include <lull/tasks/synthetic.hpp>
#include <lull/tests/support/effort.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull {
namespace {

constexpr std::uint64_t steps_of_an_hour = is_sanitized ? 360 : 3'600;  // one a second
constexpr std::uint64_t hours = 24;

/// Returns the resident memory of this process.
std::uint64_t resident_bytes() {
  std::ifstream in{"/proc/self/statm"};
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  in >> all >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

/// A trainer of four bubbles a step, and a job after another.
class trained {
 public:
  void hour() {
    for (std::uint64_t i = 0; i < steps_of_an_hour; ++i) step();
  }
  /// Returns the machine's memory in use while there is no job.
  std::uint64_t taken_bytes() {
    task_.cancel();
    EXPECT_TRUE(task_.wait(std::chrono::seconds{10}));
    array_ = {};
    return executor_of(side_).taken_bytes().now;
  }
  std::uint64_t jobs() const { return jobs_; }
  runtime& side() { return side_; }

 private:
  void step() {
    if (!task_ || task_.wait(std::chrono::nanoseconds{0})) submit();
    side_.step(&trainer_);
    for (char const* const name : {"first receive", "receive", "send", "last send"}) {
      bubble const inside{side_, &trainer_, site{name}};
      trainer_.enqueue([] {});
    }
    trainer_.synchronize();
  }
  void submit() {
    auto const memory = std::make_shared<job_memory>();
    job_memory::scope const its{memory};
    array_ = {executor_of(side_), 100'000};
    job_description what = describe(compute_task{array_.data(), 16, 100, 4}, "job " + std::to_string(jobs_ % 16));
    what.memory = memory;
    task_ = side_.submit(std::move(what));
    ++jobs_;
  }

  threads_stream trainer_;
  runtime side_{{.executor = {.kind = executor_kind::threads, .memory_limit_bytes = 2 << 20, .processors = 1},
                 .max_reports = 100,
                 .tuning = {.min_bubble = std::chrono::nanoseconds{0}}}};
  device_array<float> array_;
  job task_;
  std::uint64_t jobs_ = 0;
};

TEST(runtime, of_a_day_takes_no_more_than_that_of_an_hour) {
  trained work;
  work.hour();
  std::uint64_t const taken = work.taken_bytes();
  std::uint64_t const resident = resident_bytes();
  for (std::uint64_t i = 1; i < hours; ++i) work.hour();
  EXPECT_EQ(work.taken_bytes(), taken);
  if (!is_sanitized) {
    // It stays below 7 MB, also after four days: rings and names fill, and the allocator keeps what jobs gave back.
    EXPECT_LT(resident_bytes(), resident + (std::uint64_t{10} << 20));
  }
  EXPECT_GT(work.jobs(), hours);
  EXPECT_TRUE(within_time([&] { return work.side().summary().seen() == work.side().counts()[counted::opened]; }));
  // Few on a busy computer: bubbles that come before the next job is placed are not opened.
  EXPECT_GT(work.side().counts()[counted::opened], hours * steps_of_an_hour / 20);
  EXPECT_LE(work.side().take_bubbles().size(), 100U);
}

}  // namespace
}  // namespace lull
