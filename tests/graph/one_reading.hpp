// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <lull/host/solo/solo_run.hpp>
#include <lull/host/task/owner.hpp>
#include <lull/host/threads/executor.hpp>
#include <lull/tests/graph/owner_calls.hpp>
#include <utility>
#include <vector>

namespace lull::test {

/// Counts the bytes that the host reads.
class machine_that_is_read final : public threads_executor {
 public:
  machine_that_is_read() : threads_executor({.kind = executor_kind::threads, .processors = 2}) {}
  void read(void* to, void const* from, std::size_t bytes) override {
    bytes_ += bytes;
    threads_executor::read(to, from, bytes);
  }
  /// Since it was asked last.
  std::uint64_t bytes() { return std::exchange(bytes_, 0); }

 private:
  std::uint64_t bytes_ = 0;
};

/// The results of many searches lie on the machine: figures and lines of a run that is over share one reading of them,
/// and a run after that has its own. The owner's first figure is how many vertices were reached.
inline void expect_one_reading(task_entry const& entry, settings const& given) {
  auto const values_of = [](task_owner const& owner) {
    std::vector<double> values;
    for (auto const& each : owner.figures()) values.push_back(each.value);
    return values;
  };
  machine_that_is_read machine;
  auto const task = owner_of(entry, given);
  task->prepare(machine);
  run_to_end(*task, machine);
  machine.bytes();
  auto const figures = values_of(*task);
  std::uint64_t const all = machine.bytes();
  auto const lines = task->write();
  EXPECT_LT(machine.bytes(), all / 10);
  task->reset();
  EXPECT_GT(figures.front(), 0);
  EXPECT_EQ(values_of(*task).front(), 0) << "nothing is found yet";  // vertices reached, whatever the arrays hold
  run_to_end(*task, machine);
  machine.bytes();
  EXPECT_EQ(task->write(), lines);
  EXPECT_GE(machine.bytes(), all);
  EXPECT_EQ(values_of(*task), figures);
}

}  // namespace lull::test
