// SPDX-License-Identifier: Apache-2.0
// A queue that is drained and resumed, from outside.
#include <csignal>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include <lull/tests/apps/lull/queued.hpp>
#include <lull/tests/support/forked.hpp>
#include <lull/tests/support/killed_program.hpp>

namespace lull {
namespace {

TEST_F(queued, a_drained_queue_takes_jobs_and_agents_begin_none_until_it_is_resumed) {
  EXPECT_EQ(in("queue drain", "--reason 'new disks'").text,
            "agents begin no jobs from their next look on; 0 jobs are at work, and go on\n");
  std::string const id = submit("--task compute:items=64,rounds=3");
  EXPECT_EQ(work_off().code, 0);
  json const waits = json::parse(in("jobs", "--json").text)[0];
  EXPECT_EQ(waits["state"], "queued");
  std::string const why = in("jobs", "--why " + id).text;
  EXPECT_TRUE(why.starts_with("queued: the queue is drained by ") && why.ends_with(": new disks\n")) << why;
  for (char const* const command : {"agents", "queue check"})
    EXPECT_NE(in(command).text.find("the queue is drained by "), std::string::npos) << command;
  EXPECT_EQ(in("queue check").code, 0);
  EXPECT_EQ(in("queue resume").text, "agents begin jobs again, from their next look on\n");
  EXPECT_EQ(in("queue resume").text, "the queue was not drained\n");
  EXPECT_EQ(in("agents").text.find("drained"), std::string::npos);
  EXPECT_EQ(in("jobs", "--why " + id).text, "queued: waits for an agent\n");
  EXPECT_EQ(work_off().code, 0);
  EXPECT_EQ(job(id)["state"], "done");
  EXPECT_EQ(in("queue drain", "--reason \"$(printf 'two\\nlines')\"").code, 2);
}

TEST_F(queued, a_queue_that_is_drained_with_save_has_its_jobs_saved) {
  std::string const id = submit("--task mlp:epochs=100000,hidden=64");
  pid_t const agent = test::started_program(agent_on_threads());
  test::killed_at_end const also{agent};
  ASSERT_TRUE(within_time([&] { return job(id)["state"] == "running"; }));
  EXPECT_EQ(json::parse(in("agents", "--json").text)[0]["drained"], false);
  EXPECT_EQ(in("queue drain", "--save").text,
            "agents begin no jobs from their next look on; 1 jobs are at work, and are saved\n");
  EXPECT_TRUE(within_time([&] { return job(id)["state"] == "saved"; }));
  EXPECT_EQ(json::parse(in("agents", "--json").text)[0]["drained"], true);
  bool any = false;
  for (auto const& each : std::filesystem::recursive_directory_iterator{file("spool/work")})
    any = any || (each.is_regular_file() && each.path().string().find("checkpoint-1/") != std::string::npos);
  EXPECT_TRUE(any) << "what it has done is saved";
  ASSERT_EQ(in("queue resume").code, 0);
  EXPECT_TRUE(within_time([&] { return job(id)["state"] == "running"; }));
  EXPECT_EQ(job(id)["attempts"], 2);
  ::kill(agent, SIGTERM);
  test::status_of(agent);
}

TEST_F(queued, a_drain_that_cannot_be_read_ends_with_resume) {
  ASSERT_EQ(in("queue drain").code, 0);
  folder_.write("spool/DRAINED", "");
  EXPECT_EQ(in("jobs").code, 2);
  outcome const resumed = in("queue resume");
  EXPECT_EQ(resumed.code, 0) << resumed.text;
  EXPECT_NE(resumed.text.find("agents begin jobs again"), std::string::npos) << resumed.text;
  EXPECT_EQ(in("jobs").code, 0);
}

}  // namespace
}  // namespace lull
