// SPDX-License-Identifier: Apache-2.0
// The commands about a queue, from outside.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/tests/apps/lull/queued.hpp>
#include <lull/tests/support/effort.hpp>
#include <lull/tests/support/forked.hpp>
#include <lull/tests/support/killed_program.hpp>

namespace lull {
namespace {

TEST_F(queued, a_task_is_done_with_the_bytes_of_one_that_was_run) {
  std::string const id = submit(training("queued.safetensors") + " --name train --priority 5 --user alice");
  json const waits = json::parse(in("jobs", "--json").text)[0];
  EXPECT_EQ(waits["state"], "queued");
  EXPECT_EQ(waits["reason"], "waits for an agent");
  EXPECT_EQ(waits["user"], "alice");
  outcome const worked = work_off();
  EXPECT_EQ(worked.code, 0) << worked.text;
  EXPECT_EQ(job(id)["state"], "done") << worked.text;
  ASSERT_EQ(ask("run --executor threads " + training(file("plain.safetensors"))).code, 0);
  EXPECT_EQ(content(file("queued.safetensors")), content(file("plain.safetensors")));
  EXPECT_NE(in("logs", id).text.find("epoch"), std::string::npos);
  EXPECT_NE(in("jobs").text.find("1 more are over"), std::string::npos);
  EXPECT_NE(in("jobs", "--all").text.find("done"), std::string::npos);
}

TEST_F(queued, an_agent_that_is_killed_again_and_again_loses_nothing) {
  std::string const id = submit(training("killed.safetensors"));
  std::mt19937 random{20'261'130};
  std::vector<std::string> const agent = agent_on_threads();
  for (std::uint64_t i = 0; i < trials(6); ++i) {
    test::program(agent, std::chrono::milliseconds{100 + random() % 400});
    in("release", id);  // where two agents have died of it
  }
  outcome const last = work_off();
  EXPECT_EQ(last.code, 0) << last.text;
  EXPECT_EQ(job(id)["state"], "done") << last.text;
  ASSERT_EQ(ask("run --executor threads " + training(file("plain.safetensors"))).code, 0);
  EXPECT_EQ(content(file("killed.safetensors")), content(file("plain.safetensors")));
}

TEST_F(queued, a_document_may_be_many_jobs_and_await_others) {
  folder_.write("many.json", R"({"schema": "lull.job/1", "name": "model ${seed}",
    "run": {"task": "mlp", "options": {"epochs": 1, "hidden": 16, "seed": "${seed}", "model": "m${seed}.safetensors"}},
    "array": {"seed": [1, 2, 3]}})");
  outcome const ids = in("submit", "many.json");
  ASSERT_EQ(ids.code, 0) << ids.text;
  std::string const first = ids.text.substr(0, ids.text.find('\n'));
  folder_.write("last.json", R"({"schema": "lull.job/1", "run": {"command": ["cp", "m1.safetensors", "copy"]},
    "priority": 9, "after": {"jobs": [")" +
                                 first + "\"]}}");
  std::string const last = submit("last.json");
  EXPECT_EQ(in("jobs", "--why " + last).text, "queued: waits for job " + first + ", which is queued\n");
  outcome const worked = work_off("--jobs 2 --allow-commands");
  EXPECT_EQ(worked.code, 0) << worked.text;
  EXPECT_EQ(job(last)["state"], "done") << worked.text;
  EXPECT_EQ(content(file("copy")), content(file("m1.safetensors")));
  EXPECT_TRUE(std::filesystem::exists(file("m3.safetensors")));
}

TEST_F(queued, commands_run_only_where_they_are_allowed) {
  folder_.write("touch.json", R"({"schema": "lull.job/1", "run": {"command": ["touch", "touched"]}})");
  std::string const id = submit("touch.json");
  EXPECT_EQ(work_off().code, 0);
  EXPECT_EQ(job(id)["state"], "queued") << "another agent may run it";
  EXPECT_FALSE(std::filesystem::exists(file("touched")));
  work_off("--allow-commands");
  EXPECT_EQ(job(id)["state"], "done");
  EXPECT_TRUE(std::filesystem::exists(file("touched")));
}

TEST_F(queued, users_cancel_hold_release_and_retry) {
  std::string const id = submit("--task compute:items=1000");
  EXPECT_EQ(in("hold", id).code, 0);
  EXPECT_EQ(in("jobs", "--why " + id).text, "held: held by its user\n");
  EXPECT_EQ(work_off().code, 0);
  EXPECT_EQ(job(id)["state"], "held") << "an agent passes over it";
  EXPECT_EQ(in("hold", id).code, 2) << "twice";
  EXPECT_EQ(in("release", id).code, 0);
  EXPECT_EQ(in("release", id).code, 2);
  EXPECT_EQ(in("retry", id).code, 2) << "it is not over";
  EXPECT_EQ(in("cancel", id).code, 0);
  EXPECT_EQ(in("cancel", id).code, 2);
  EXPECT_EQ(in("retry", id).code, 0);
  EXPECT_EQ(work_off().code, 0);
  EXPECT_EQ(job(id)["state"], "done");
  EXPECT_EQ(in("retry", id).code, 2) << "it is done";
}

TEST_F(queued, an_agent_that_is_asked_to_stop_saves_its_job) {
  std::string const id = submit("--task mlp:epochs=100000,hidden=64");
  pid_t const agent = test::started_program(agent_on_threads());
  test::killed_at_end const also{agent};
  ASSERT_TRUE(within_time([&] { return job(id)["state"] == "running"; }));
  EXPECT_NE(in("agents").text.find("CPU threads"), std::string::npos);
  ::kill(agent, SIGTERM);
  int const status = test::status_of(agent);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 130) << status;
  EXPECT_EQ(job(id)["state"], "saved");
  EXPECT_EQ(job(id)["reason"], "its agent was stopped");
}

TEST_F(queued, each_checkpoint_in_a_folder_is_a_job_once_although_the_watch_is_killed) {
  std::filesystem::create_directory(file("checkpoints"));
  folder_.write("each.json", R"({"schema": "lull.job/1", "name": "evaluate",
    "run": {"command": ["sh", "-c", "cat \"$0\"/weights >> seen", "${each}"]}})");
  std::vector<std::string> const watch{LULL_PROGRAM,        "submit",   "--queue", address(),        "--each",
                                       file("checkpoints"), "--marker", "DONE",    file("each.json")};
  auto const save = [&](int step) {
    std::string const name = "checkpoints/step-" + std::to_string(step);
    std::filesystem::create_directory(file(name));
    folder_.write(name + "/weights", std::to_string(step) + "\n");
    folder_.write(name + "/DONE", "");
  };
  std::mt19937 random{20'261'130};
  for (int step = 1; step <= 4; ++step) {
    save(step);
    test::program(watch, std::chrono::milliseconds{random() % 300});
  }
  pid_t const watches = test::forked([&] {
    std::vector<char*> words;
    for (std::string const& each : watch) words.push_back(const_cast<char*>(each.c_str()));
    words.push_back(nullptr);
    if (freopen("/dev/null", "w", stdout) == nullptr || ::chdir(folder_.path().c_str()) != 0) ::_exit(126);
    ::execv(LULL_PROGRAM, words.data());
  });
  test::killed_at_end const also{watches};
  save(5);
  EXPECT_TRUE(within_time([&] { return json::parse(in("jobs", "--json --all").text).size() == 5; }));
  ::kill(watches, SIGTERM);
  EXPECT_EQ(test::status_of(watches), 0);
  EXPECT_EQ(json::parse(in("jobs", "--json --all").text).size(), 5U) << "each once";
}

TEST_F(queued, a_queue_is_checked) {
  outcome const found = in("queue check");
  EXPECT_EQ(found.code, 0);
  EXPECT_EQ(found.text, address() + ": 0 jobs, 0 agents\nnothing wrong was found\n");
  std::filesystem::permissions(file("spool"), std::filesystem::perms::all);
  EXPECT_EQ(in("queue check").code, 1);
  EXPECT_NE(in("queue check").text.find("wrong: the folder"), std::string::npos);
}

TEST_F(queued, jobs_that_have_been_over_are_removed_and_awaited_ones_stay) {
  std::string const done = submit("--task compute:items=64,rounds=3");
  std::string const cancelled = submit("--task compute:items=64,rounds=3");
  ASSERT_EQ(in("cancel", cancelled).code, 0);
  ASSERT_EQ(work_off().code, 0);
  std::string const log = file("spool/work/" + done.substr(done.size() - 1) + "/" + done);
  EXPECT_TRUE(std::filesystem::exists(log));
  std::ofstream{file("after.json")} << R"({"schema": "lull.job/1", "run": {"task": "compute"}, "after": {"jobs": [")"
                                    << cancelled << R"("], "if": "any"}})";
  std::string const waits = submit("after.json");
  json const early = json::parse(in("queue clean", "--older 1h --json").text);
  EXPECT_EQ(early["removed"].size(), 0U);
  EXPECT_EQ(early["kept"][done], "it was over later than that");
  outcome const cleaned = in("queue clean", "--older 0s");
  EXPECT_EQ(cleaned.code, 0);
  EXPECT_EQ(cleaned.text, "removed 1 jobs\nkept 1: a job awaits it\n");
  EXPECT_FALSE(std::filesystem::exists(log));
  json const left = json::parse(in("jobs", "--all --json").text);
  EXPECT_EQ(left.size(), 2U);
  EXPECT_EQ(in("show", done).code, 2);
  EXPECT_EQ(in("show", waits).code, 0);
}

TEST_F(queued, a_job_without_a_document_is_removed_like_another) {
  std::string const lost = submit("--task compute:items=64,rounds=3");
  std::filesystem::remove(file("spool/documents/" + lost.substr(lost.size() - 1) + "/" + lost + ".json"));
  ASSERT_EQ(work_off().code, 0);  // it is refused
  outcome const cleaned = in("queue clean", "--older 0s");
  EXPECT_EQ(cleaned.code, 0);
  EXPECT_EQ(cleaned.text, "removed 1 jobs\n");
}

TEST_F(queued, a_checkpoint_whose_job_was_removed_is_not_submitted_again) {
  std::filesystem::create_directories(file("saved/one"));
  std::ofstream{file("each.json")} << R"({"schema": "lull.job/1", "run": {"task": "compute"}, "labels": {"each": ")"
                                   << file("saved/one") << "\"}}";
  ASSERT_EQ(in("cancel", submit("each.json")).code, 0);
  EXPECT_EQ(in("queue clean", "--older 0s").text,
            "removed 0 jobs\nkept 1: its file is there, and would be submitted again\n");
  std::filesystem::remove_all(file("saved/one"));
  EXPECT_EQ(in("queue clean", "--older 0s").text, "removed 1 jobs\n");
}

TEST_F(queued, what_cannot_be_is_refused) {
  auto const refuses = [&](std::string const& command, std::string const& rest, std::string const& why) {
    outcome const found = in(command, rest);
    EXPECT_EQ(found.code, 2) << command << " " << rest << "\n" << found.text;
    EXPECT_NE(found.text.find(why), std::string::npos) << found.text;
  };
  refuses("submit", "", "give one JOB.json or more, or --task");
  refuses("submit", "none.json", "none.json");
  refuses("submit", "--task nothing", "unknown task");
  refuses("submit", "--task mlp:epohs=3", "epohs");
  refuses("submit", "--task compute --deadline soon", "it is a time in UTC");
  refuses("submit", "--task compute --at-most 0s", "must be above 0");
  refuses("submit", "--task compute --name ''", "\"name\" is one line");
  folder_.write("wrong.json", "{\"schema\": \"lull.job/1\",\n\"rum\": 1}");
  refuses("submit", "wrong.json", "wrong.json:2: unknown key \"rum\"");
  folder_.write("option.json", R"({"schema": "lull.job/1", "run": {"task": "mlp", "options": {"epohs": 3}}})");
  refuses("submit", "option.json", "epohs");
  EXPECT_EQ(in("jobs", "--json").text, "[]\n") << "nothing was submitted";
  for (char const* const command : {"show", "cancel", "hold", "release", "retry", "logs"}) {
    refuses(command, "00000000000000000000", "there is no job");
    refuses(command, "nonsense", "is no job's id");
  }
  refuses("jobs", "--why nonsense", "is no job's id");
  refuses("queue init", "--folder /work", "--folder is for postgresql://");
  std::string const id = submit("--task compute");
  refuses("logs", id, "has not been begun");
  for (std::string const& address : {std::string{"redis://x"}, std::string{"spool:"}, "spool:" + file("missing")}) {
    outcome const found = ask("jobs --queue " + address);
    EXPECT_EQ(found.code, 2) << address;
  }
  EXPECT_EQ(ask("jobs", "unset LULL_QUEUE; ").code, 2);
  EXPECT_EQ(ask("jobs", "LULL_QUEUE=" + address() + " ").code, 0);
}

}  // namespace
}  // namespace lull
