// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <my_task_owner.hpp>

#include <lull/host/contract/suite.hpp>
#include <lull/host/solo/solo_run.hpp>

/// The contract suite: preempted at each claim, in teams of one and of four, and on a GPU where there is one. A dozen
/// chunks are enough.
auto const joined =
    lull::join_contract<side_tasks::my_task>("my_task", [] { return std::make_unique<my_task_owner>(50'000); });

TEST(my_task, is_the_sum_of_products_at_sizes_around_a_tile) {
  auto const executor = lull::make_executor({.kind = lull::executor_kind::threads});
  for (std::uint64_t const values : {std::uint64_t{1}, side_tasks::my_task::tile - 1, side_tasks::my_task::tile,
                                     100 * side_tasks::my_task::tile + 1}) {
    my_task_owner owner{values};
    owner.prepare(*executor);
    EXPECT_FALSE(owner.verify().ok) << "before the run: the verifier sees nothing";
    EXPECT_TRUE(lull::run_to_end(owner, *executor).finished);
    EXPECT_TRUE(owner.verify().ok) << values << " values: " << owner.verify().message;
  }
}
