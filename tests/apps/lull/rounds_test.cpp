// SPDX-License-Identifier: Apache-2.0
// What owners say of their rounds, held against runs to the end.
#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <lull/apps/registry/registry.hpp>
#include <lull/host/io/shipped_file.hpp>
#include <lull/host/solo/solo_run.hpp>
#include <lull/tests/support/test_folder.hpp>

namespace lull {
namespace {

struct counted {
  std::uint64_t max_phases;  // as the owner says
  std::uint64_t phases;      // that were opened
};

counted run(std::string const& task) {
  task_request const request = parse_task(task, known_tasks());
  auto const executor = make_executor({.kind = executor_kind::threads});
  auto const owner = entry_of(request).make(request.values);
  owner->prepare(*executor);
  job_description const job = owner->describe();
  std::uint64_t const most = owner->max_rounds() * job.type.threads.shape.steps;
  solo_run const done = run_to_end(*owner, *executor);
  EXPECT_TRUE(done.finished) << task;
  return {most, done.phases};
}

TEST(max_rounds, are_those_of_a_run_that_nothing_ends_early) {
  for (std::string const task : {"compute:items=10,rounds=7", "streaming:items=4,rounds=5", "mlp:hidden=8,epochs=2",
                                 "pagerank:kronecker=8,sweeps=5,tolerance=1e-30", "triangles:kronecker=8,trials=3"}) {
    counted const found = run(task);
    EXPECT_EQ(found.phases, found.max_phases) << task;
  }
}

TEST(max_rounds, bound_a_run_that_ends_early) {
  test::test_folder const files;
  std::filesystem::create_directories(files.path() / "in");
  for (char const* name : {"a.png", "b.png", "c.png"}) {
    std::filesystem::copy_file(shipped_file("chelsea.png", "nothing"), files.path() / "in" / name);
  }
  for (std::string const& task : {std::string{"pagerank:kronecker=8,sweeps=500"},
                                  "images:width=20,in=" + files.at("in") + ",out=" + files.at("out")}) {
    counted const found = run(task);
    EXPECT_LE(found.phases, found.max_phases) << task;
    EXPECT_GT(found.phases, 0U) << task;
  }
}

}  // namespace
}  // namespace lull
