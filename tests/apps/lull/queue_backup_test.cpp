// SPDX-License-Identifier: Apache-2.0
// A queue that is copied and restored, from outside.
#include <csignal>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include <lull/tests/apps/lull/queued.hpp>
#include <lull/tests/support/forked.hpp>

namespace lull {
namespace {

TEST_F(queued, a_job_that_runs_is_copied_and_goes_on_in_the_restored_queue) {
  std::string const id = submit(training("restored.safetensors"));
  std::string const waits = submit("--task compute:items=64,rounds=3");
  pid_t const agent = test::forked([&] {
    if (freopen("/dev/null", "w", stderr) == nullptr || ::chdir(folder_.path().c_str()) != 0) ::_exit(126);
    ::execl(LULL_PROGRAM, LULL_PROGRAM, "agent", "--queue", address().c_str(), "--executor", "threads", nullptr);
  });
  test::killed_at_end const also{agent};
  EXPECT_TRUE(within_time([&] { return job(id)["state"] == "running" || job(id)["state"] == "done"; }));
  outcome const copied = in("queue backup", "--to copy/");
  EXPECT_EQ(copied.code, 0) << copied.text;
  EXPECT_EQ(copied.text, file("copy") + " has 2 jobs\n");
  EXPECT_EQ(in("queue backup", "--to copy").code, 2) << "it is there already";
  test::kill_child(agent);
  std::filesystem::remove_all(file("spool"));
  EXPECT_EQ(in("queue restore", "--from copy").text,
            address() + " has 2 jobs; those that ran go on when an agent has watched for a lease\n");
  EXPECT_EQ(in("queue restore", "--from copy").code, 2) << "it is there already";
  outcome const worked = work_off();
  EXPECT_EQ(worked.code, 0) << worked.text;
  for (std::string const& each : {id, waits}) EXPECT_EQ(job(each)["state"], "done") << worked.text;
  ASSERT_EQ(ask("run --executor threads " + training(file("plain.safetensors"))).code, 0);
  EXPECT_EQ(content(file("restored.safetensors")), content(file("plain.safetensors")));
  EXPECT_EQ(in("queue restore", "--from spool --queue spool:" + file("more")).code, 2) << "--queue twice";
  outcome const wrong = ask("queue restore --from " + folder_.path().string() + " --queue spool:" + file("more"));
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.text.find("is no spool"), std::string::npos) << wrong.text;
  EXPECT_FALSE(std::filesystem::exists(file("more")));
}

}  // namespace
}  // namespace lull
