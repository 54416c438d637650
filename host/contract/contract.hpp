// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>

#include <lull/host/contract/preempted.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/job.hpp>
#include <lull/host/task/owner.hpp>

namespace lull {

/// A task under contract. Keep it small: some dozen chunks at its own grain and some hundred in all, because each is
/// preempted many times.
struct contract_case {
  std::string name;
  std::function<std::unique_ptr<task_owner>()> make_owner;
  task_type type;  // of preempted<Task>
  functor_bytes (*wrap)(functor_bytes const& task, preemption* with);

  friend void PrintTo(contract_case const& which, std::ostream* out) { *out << which.name; }
};

/// Makes a case. CMake's lull_contract() gives the wrapped task its workers.
template <side_task Task>
contract_case under_contract(std::string name, std::function<std::unique_ptr<task_owner>()> make_owner) {
  static_assert(side_task<preempted<Task>>, "with a pointer beside it, the functor no longer fits a slot");
  return {std::move(name), std::move(make_owner), type_of<preempted<Task>>(),
          [](functor_bytes const& task, preemption* with) {
            functor_bytes wrapped;
            std::memcpy(wrapped.bytes + offsetof(preempted<Task>, task), task.bytes, sizeof(Task));
            std::memcpy(wrapped.bytes + offsetof(preempted<Task>, with), &with, sizeof with);
            return wrapped;
          }};
}

struct contract_effort {
  std::uint64_t every_k = 8;      // preempted at each k-th claim, poll and end, k from 1 to this
  std::uint64_t random_runs = 6;  // with a random k in each bubble
  std::uint64_t owners = 40;      // that the job passes through in one run, about; 1: there is no such run
  std::uint64_t seed = 1;
  std::uint64_t max_bubbles = 20'000;                           // of one run: a task that needs more hangs
  std::chrono::nanoseconds longest = std::chrono::seconds{60};  // of the uninterrupted run; a longer one hangs
};

/// Runs the task uninterrupted, then preempted and handed back in every way that `effort` says. Holds each run against
/// the contract of a side task:
/// - each item is committed exactly once;
/// - all arrays have the same bits, also with another grain and after poisoning all that the task writes;
/// - the task's own verifier accepts the result;
/// - a block leaves within one chunk of the close;
/// - the end is the same when new owners continue in mid-run with the job's arrays and cursor alone, unless the task
/// keeps an account of its files instead of arrays.
/// An owner serves a fed task in each run: when its input comes must not show in its arrays. Returns the first
/// violation with its run; empty: the contract holds. Makes and prepares owners, two at a time; blocks for as long as
/// the runs take. Throws what an owner throws, and as run_to_end() for an impossible machine or grain.
std::string contract_violation(contract_case const& which, executor& executor, contract_effort const& effort = {});

}  // namespace lull
