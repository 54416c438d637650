// SPDX-License-Identifier: Apache-2.0
#include <lull/host/task/memory_need.hpp>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/error.hpp>

namespace lull {
namespace {

constexpr std::uint64_t gib = std::uint64_t{1} << 30;

std::string refusal(std::vector<job_need> const& jobs, free_memory const& host, std::size_t memory_limit = 0) {
  auto const executor =
      make_executor({.kind = executor_kind::threads, .memory_limit_bytes = memory_limit, .processors = 1});
  try {
    check_memory(jobs, *executor, host);
    return "";
  } catch (limit_error const& refused) {
    return refused.what();
  }
}

TEST(memory_need, is_held_against_what_there_is) {
  job_need const graph{"pagerank", {2 * gib, 3 * gib, gib, "kronecker"}};  // on CPU threads all are in one memory
  EXPECT_EQ(refusal({graph}, {6 * gib, "this computer"}), "");
  EXPECT_EQ(
      refusal({graph}, {6 * gib - 1, "this computer"}),
      "not enough memory: pagerank needs 6.0 GiB, and this computer has 6.0 GiB free: lower kronecker of pagerank");
  EXPECT_EQ(
      refusal({{"mine", {9 * gib}}}, {4 * gib, "the control group /"}),
      "not enough memory: mine needs 9.0 GiB, and the control group / has 4.0 GiB free: give mine a smaller input");
  EXPECT_EQ(refusal({{"mine", {}}}, {0, "this computer"}), "") << "what is not known is not refused";
}

TEST(memory_need, of_several_jobs_counts_together) {
  job_need const first{"mlp", {3 * gib, 0, gib, "hidden"}};
  job_need const second{"mlp-2", {2 * gib, 0, gib, "hidden"}};
  free_memory const host{5 * gib, "this computer"};
  EXPECT_EQ(refusal({first}, host), "");
  EXPECT_EQ(refusal({second}, host), "");
  EXPECT_EQ(refusal({first, second}, {6 * gib, "this computer"}), "") << "one prepares at a time";
  EXPECT_EQ(refusal({first, second}, host),
            "not enough memory: mlp (4.0 GiB) and mlp-2 (3.0 GiB) together need 6.0 GiB, and this computer has 5.0 GiB "
            "free: run fewer at once, or lower hidden of mlp");
}

TEST(memory_need, is_held_against_the_memory_limit) {
  job_need const job{"streaming", {2 * gib, 0, 0, "items"}};
  free_memory const host{100 * gib, "this computer"};
  EXPECT_EQ(refusal({job}, host, 2 * gib), "");
  EXPECT_EQ(refusal({job}, host, gib),
            "not enough memory: streaming needs 2.0 GiB, and memory_limit has 1.0 GiB free: lower items of streaming, "
            "or raise memory_limit");
  EXPECT_EQ(refusal({job}, {gib, "this computer"}, 2 * gib).find("memory_limit"), std::string::npos);
}

}  // namespace
}  // namespace lull
