// SPDX-License-Identifier: Apache-2.0
// Needs GoogleTest; no other installed header does.
#pragma once

#include <cstdlib>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include <lull/host/contract/contract.hpp>
#include <lull/host/error.hpp>
#include <lull/host/executor.hpp>

namespace lull {

/// Where a task is held to its contract.
enum class contract_on { every_executor, threads, cuda };

namespace detail {

class contract_test final : public testing::Test {
 public:
  explicit contract_test(std::function<void()> const& body) : body_(body) {}
  void TestBody() override { body_(); }

 private:
  std::function<void()> const body_;
};

/// Returns whether LULL_CONTRACT=brief is set: then tasks are preempted less often, for tools that make them slow.
inline bool is_brief() {
  char const* const asked = std::getenv("LULL_CONTRACT");
  return asked != nullptr && std::string_view{asked} == "brief";
}
inline constexpr contract_effort brief_effort{.every_k = 2, .random_runs = 1, .owners = 4};

/// Checks the contract on `blocks` blocks of `width` CPU threads.
inline void expect_kept_on_threads(contract_case const& which, int blocks, int width, contract_effort effort) {
  if (is_brief()) effort = brief_effort;
  auto const executor = make_executor({.kind = executor_kind::threads, .processors = blocks, .team_width = width});
  EXPECT_EQ(contract_violation(which, *executor, effort), "");
}

/// An executor on a GPU. Brief: on eight SMs, or on 24 for a task that fills an SM, as some do under a tool.
inline std::unique_ptr<executor> executor_on_cuda(contract_case const& which) {
  if (!is_brief()) return make_executor({.kind = executor_kind::cuda});
  auto few = make_executor({.kind = executor_kind::cuda, .reserved_groups = 0, .processors = 8});
  try {
    few->load(which.type.cuda, 0);
    return few;
  } catch (usage_error const&) {  // too few SMs
    few.reset();
    return make_executor({.kind = executor_kind::cuda, .reserved_groups = 0, .processors = 24});
  }
}

/// Checks the contract on a GPU, never with two kernels at once, so that compute-sanitizer can run it. Of tasks whose
/// shared memory fills an SM the slowest tool would take more than minutes.
inline void expect_kept_on_cuda(contract_case const& which) {
  if (std::string const why = why_no_cuda(0); !why.empty()) GTEST_SKIP() << "NOT RUN: " << why;
  if (is_brief() && which.type.cuda.shape.shared_bytes > max_shared_bytes / 2)
    GTEST_SKIP() << "NOT RUN: it fills an SM, and brief is for eight SMs";
  auto const executor = executor_on_cuda(which);
  EXPECT_EQ(contract_violation(which, *executor, is_brief() ? brief_effort : contract_effort{}), "");
}

}  // namespace detail

/// Adds a task's tests, NAME_contract.is_kept_…, to the program; one runs on a GPU if the task was built with nvcc.
/// Call before RUN_ALL_TESTS.
inline bool join_contract(contract_case which, contract_on where = contract_on::every_executor,
                          std::source_location from = std::source_location::current()) {
  auto const shared = std::make_shared<contract_case const>(std::move(which));
  std::string const suite = shared->name + "_contract";
  auto const add = [&](char const* name, auto body) {
    testing::RegisterTest(
        suite.c_str(), name, nullptr, nullptr, from.file_name(), static_cast<int>(from.line()),
        [shared, body]() -> testing::Test* { return new detail::contract_test{[shared, body] { body(*shared); }}; });
  };
  if (where != contract_on::cuda) {
    add("is_kept_by_one_block_alone",
        [](contract_case const& task) { detail::expect_kept_on_threads(task, 1, 1, {}); });
    add("is_kept_by_teams_of_one", [](contract_case const& task) { detail::expect_kept_on_threads(task, 3, 1, {}); });
    add("is_kept_by_teams_of_four", [](contract_case const& task) {
      detail::expect_kept_on_threads(task, 2, 4, {.every_k = 4, .random_runs = 3});
    });
  }
  if (where != contract_on::threads && shared->type.cuda) add("is_kept_on_cuda", detail::expect_kept_on_cuda);
  return true;
}

/// Joins a task in one line of a test's source, with lull_contract(…) for the same task in its CMakeLists.txt: auto
/// const joined = lull::join_contract<my_task>("my_task", make_owner);
template <side_task Task>
bool join_contract(std::string name, std::function<std::unique_ptr<task_owner>()> make_owner,
                   contract_on where = contract_on::every_executor,
                   std::source_location from = std::source_location::current()) {
  return join_contract(under_contract<Task>(std::move(name), std::move(make_owner)), where, from);
}

}  // namespace lull
