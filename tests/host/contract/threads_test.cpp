// SPDX-License-Identifier: Apache-2.0
// The contract on CPU threads, in teams of one and of four; and that the suite can fail.
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/host/solo/solo_run.hpp>
#include <lull/host/threads/executor.hpp>
#include <lull/tests/host/contract/cases.hpp>
#include <lull/tests/host/contract/fed_probe_owner.hpp>
#include <lull/tests/host/contract/probe_owner.hpp>

namespace lull {
namespace {

threads_executor machine_of(int blocks, int width) {
  return threads_executor{{.kind = executor_kind::threads, .processors = blocks, .team_width = width}};
}

[[maybe_unused]] bool const joined = (join_shipped(contract_on::threads), true);

#if !defined(__SANITIZE_THREAD__)  // a mutant races, and ThreadSanitizer would say so
using mutant = probe_task::mutant;

std::string violation_of(mutant how, int blocks, int width) {
  threads_executor executor = machine_of(blocks, width);
  auto const broken = under_contract<probe_task>("mutant", [how] { return std::make_unique<probe_owner>(how); });
  return contract_violation(broken, executor);
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
  threads_executor executor = machine_of(1, 1);
  auto const forgetful = under_contract<probe_task>("forgetful", [] { return std::make_unique<forgetful_owner>(); });
  std::string const found = contract_violation(forgetful, executor);
  EXPECT_NE(found.find("after reset(): check that reset() restores"), std::string::npos) << found;
}

/// Notes the content of its first array when it is reset.
class looking_owner final : public probe_owner {
 public:
  explicit looking_owner(std::vector<unsigned>& seen) : seen_(seen) {}
  void prepare(executor& executor) override {
    executor_ = &executor;
    probe_owner::prepare(executor);
  }
  void reset() override {
    unsigned char first = 0;
    executor_->read(&first, arrays().front().memory, 1);
    seen_.push_back(first);
    probe_owner::reset();
  }

 private:
  std::vector<unsigned>& seen_;
  executor* executor_ = nullptr;
};

TEST(contract_suite, poisons_so_that_what_is_added_to_it_is_no_number) {
  threads_executor executor = machine_of(1, 1);
  std::vector<unsigned> seen;
  auto const looking = under_contract<probe_task>("looking", [&] { return std::make_unique<looking_owner>(seen); });
  EXPECT_EQ(contract_violation(looking, executor), "");
  ASSERT_GT(seen.size(), 2U);
  EXPECT_EQ(seen[0], 0xffU);
  EXPECT_NE(seen[1], 0xffU);
  EXPECT_EQ(seen[2], 0xffU);
}

/// Makes its arrays again while the job still points to the old ones.
class moving_owner final : public probe_owner {
 public:
  void prepare(executor& executor) override {
    executor_ = &executor;
    probe_owner::prepare(executor);
  }
  void reset() override { probe_owner::prepare(*executor_); }

 private:
  executor* executor_ = nullptr;
};

TEST(contract_suite, an_owner_whose_reset_moves_its_arrays_is_told_so) {
  threads_executor executor = machine_of(1, 1);
  auto const moving = under_contract<probe_task>("moving", [] { return std::make_unique<moving_owner>(); });
  std::string const found = contract_violation(moving, executor);
  EXPECT_NE(found.find("reset() moved the arrays"), std::string::npos) << found;
}

class grainless_owner final : public probe_owner {
 public:
  job_description describe() const override {
    job_description made = probe_owner::describe();
    made.grain = 0;
    return made;
  }
};

TEST(contract_suite, a_grain_of_no_items_is_refused) {
  threads_executor executor = machine_of(1, 1);
  auto const grainless = under_contract<probe_task>("grainless", [] { return std::make_unique<grainless_owner>(); });
  EXPECT_THROW(contract_violation(grainless, executor), usage_error);
  grainless_owner owner;
  owner.prepare(executor);
  EXPECT_THROW(run_to_end(owner, executor), usage_error);
}

std::string violation_of_fed(fed_probe_owner::feeds how, bool hasty = false) {
  threads_executor executor = machine_of(2, 1);
  return contract_violation(
      under_contract<fed_probe>("fed", [=] { return std::make_unique<fed_probe_owner>(how, hasty); }), executor);
}

TEST(contract_suite, finds_who_does_not_wait_for_input) {
  std::string const found = violation_of_fed(fed_probe_owner::feeds::none, true);
  EXPECT_NE(found.find("is not that of all rows in their order"), std::string::npos) << found;
}

TEST(contract_suite, waits_for_input_only_while_an_owner_serves) {
  std::string const found = violation_of_fed(fed_probe_owner::feeds::none);
  EXPECT_NE(found.find("the task starves, and its owner no longer feeds it"), std::string::npos) << found;
}

TEST(contract_suite, passes_on_what_an_owner_throws_while_it_serves) {
  EXPECT_THROW(violation_of_fed(fed_probe_owner::feeds::one_and_throws), std::runtime_error);
}

/// Promises input for ever.
class idle_owner final : public starving_owner {
 public:
  void serve(job& about) override {
    while (!about.wait(std::chrono::milliseconds{1})) continue;
  }
};

TEST(contract_suite, an_owner_that_feeds_nothing_fails_by_the_limit_of_time) {
  threads_executor executor = machine_of(1, 1);
  auto const idle = under_contract<probe_task>("idle", [] { return std::make_unique<idle_owner>(); });
  std::string const found = contract_violation(idle, executor, {.longest = std::chrono::milliseconds{50}});
  EXPECT_NE(found.find("its owner has not fed it within 50ms"), std::string::npos) << found;
  idle_owner owner;
  owner.prepare(executor);
  EXPECT_FALSE(run_to_end(owner, executor, {.at_most = std::chrono::milliseconds{50}}).finished);
}

TEST(contract_suite, a_task_without_end_fails_by_the_limit_of_time) {
  threads_executor executor = machine_of(1, 1);
  auto const endless = under_contract<probe_task>("endless", [] {
    return std::make_unique<probe_owner>(probe_task::mutant::none, std::numeric_limits<std::uint32_t>::max());
  });
  std::string const found = contract_violation(endless, executor, {.longest = std::chrono::milliseconds{50}});
  EXPECT_NE(
      found.find("the task did not finish within 50ms, and reached round 0: check that extent returns lull::finished"),
      std::string::npos)
      << found;
}

TEST(contract_suite, a_task_without_end_fails_by_the_limit_of_bubbles) {
  threads_executor executor = machine_of(1, 1);
  auto const probe = under_contract<probe_task>("probe", [] { return std::make_unique<probe_owner>(); });
  std::string const found = contract_violation(probe, executor, {.every_k = 1, .max_bubbles = 5});
  EXPECT_NE(found.find("the task did not finish in 5 bubbles"), std::string::npos) << found;
}

}  // namespace
}  // namespace lull
