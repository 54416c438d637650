// SPDX-License-Identifier: Apache-2.0
// The suite gives a job to one new owner after another: only that finds state that an owner does not declare.
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/contract/contract.hpp>
#include <lull/host/threads/executor.hpp>
#include <lull/tests/host/contract/fed_probe_owner.hpp>
#include <lull/tests/host/contract/probe_owner.hpp>

namespace lull {
namespace {

template <class Task, class Make>
std::string violation_of(Make const& make, int width, contract_effort const& effort = {}) {
  threads_executor executor{{.kind = executor_kind::threads, .processors = width == 1 ? 3 : 2, .team_width = width}};
  return contract_violation(under_contract<Task>("mutant", make), executor, effort);
}

/// Expects that all other checks of the suite pass, and this one fails.
template <class Task, class Make>
void expect_found_between_owners(Make const& make, int width) {
  EXPECT_EQ(violation_of<Task>(make, width, {.owners = 1}), "");
  std::string const found = violation_of<Task>(make, width);
  EXPECT_NE(found.find("by several owners"), std::string::npos) << found;
  EXPECT_NE(found.find("check that arrays() has all"), std::string::npos) << found;
}

/// Puts all its arrays back, but declares all but one of them, or none.
class undeclared_owner final : public probe_owner {
 public:
  static constexpr std::size_t all = 4;

  explicit undeclared_owner(std::size_t which) : which_(which) {}
  std::vector<task_array> arrays() const override {
    std::vector<task_array> made = probe_owner::arrays();
    if (which_ == all) return {};
    made.erase(made.begin() + static_cast<std::ptrdiff_t>(which_));
    return made;
  }

 private:
  std::size_t const which_;
};

class undeclared : public testing::TestWithParam<std::tuple<std::size_t, int>> {};
TEST_P(undeclared, arrays_are_found) {
  auto const [which, width] = GetParam();
  expect_found_between_owners<probe_task>([which] { return std::make_unique<undeclared_owner>(which); }, width);
}
INSTANTIATE_TEST_SUITE_P(each, undeclared,  // but `errors`, which no run writes
                         testing::Combine(testing::Values(0, 1, 3, undeclared_owner::all), testing::Values(1, 4)));

TEST(undeclared_input, is_found) {
  auto const make = [] { return std::make_unique<fed_probe_owner>(fed_probe_owner::feeds::all_undeclared); };
  expect_found_between_owners<fed_probe>(make, 1);
  expect_found_between_owners<fed_probe>(make, 4);
}

/// Runs the suite with two kinds of owner: the first, and all later ones.
std::string violation_of_changing(std::vector<std::uint64_t> first, std::vector<std::uint64_t> later) {
  bool made = false;
  return violation_of<probe_task>(
      [&] {
        return std::make_unique<probe_owner>(probe_task::mutant::none, 2, std::exchange(made, true) ? later : first);
      },
      1);
}

TEST(new_owners, that_make_other_arrays_are_told_so) {
  std::string const found = violation_of_changing({9, 9, 9}, {9, 9, 9, 9});
  EXPECT_NE(found.find("a new owner of the same input makes other arrays"), std::string::npos) << found;
}

TEST(new_owners, whose_task_has_no_end_are_told_so) {
  std::string const found = violation_of_changing({30, 1, 1, 1, 1, 1}, {30, 30, 30, 30, 30, 30});
  EXPECT_NE(found.find("the task goes on after the items of an uninterrupted run"), std::string::npos) << found;
}

}  // namespace
}  // namespace lull
