// SPDX-License-Identifier: Apache-2.0
// The contract on CPU threads, in teams of one and of four; and that the suite can fail.
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <lull/host/threads/executor.hpp>
#include <lull/tests/contract/cases.hpp>
#include <lull/tests/contract/probe_owner.hpp>

namespace lull {
namespace {

threads_executor machine_of(int blocks, int width) {
  return threads_executor{{.kind = executor_kind::threads, .processors = blocks, .team_width = width}};
}

[[maybe_unused]] bool const joined = (join_shipped(contract_on::threads), true);

#if !defined(__SANITIZE_THREAD__)  // a mutant races, and ThreadSanitizer would say so
using mutant = probe_task::mutant;

std::string violation_of(mutant how, int blocks, int width) {
  threads_executor machine = machine_of(blocks, width);
  auto const broken = under_contract<probe_task>("mutant", [how] { return std::make_unique<probe_owner>(how); });
  return contract_violation(broken, machine);
}

class contract_mutants : public testing::TestWithParam<mutant> {};
TEST_P(contract_mutants, are_caught_in_teams_of_four) { EXPECT_NE(violation_of(GetParam(), 2, 4), ""); }
INSTANTIATE_TEST_SUITE_P(each, contract_mutants,
                         testing::Values(mutant::skips_a_chunk, mutant::runs_twice, mutant::stores_early,
                                         mutant::no_barrier));

class contract_mutants_alone : public testing::TestWithParam<mutant> {};
TEST_P(contract_mutants_alone, are_caught_in_teams_of_one) { EXPECT_NE(violation_of(GetParam(), 3, 1), ""); }
INSTANTIATE_TEST_SUITE_P(each, contract_mutants_alone,  // a team of one needs no barrier
                         testing::Values(mutant::skips_a_chunk, mutant::runs_twice, mutant::stores_early));
#endif

TEST(contract_suite, finds_what_reset_forgot) {
  threads_executor machine = machine_of(1, 1);
  auto const forgetful = under_contract<probe_task>("forgetful", [] { return std::make_unique<forgetful_owner>(); });
  EXPECT_NE(contract_violation(forgetful, machine), "");
}

TEST(contract_suite, a_task_without_end_fails_by_the_limit_of_bubbles) {
  threads_executor machine = machine_of(1, 1);
  auto const probe = under_contract<probe_task>("probe", [] { return std::make_unique<probe_owner>(); });
  std::string const found = contract_violation(probe, machine, {.every_k = 1, .most_bubbles = 5});
  EXPECT_NE(found.find("no end in 5 bubbles"), std::string::npos) << found;
}

}  // namespace
}  // namespace lull
