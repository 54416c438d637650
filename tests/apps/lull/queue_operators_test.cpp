// SPDX-License-Identifier: Apache-2.0
// What operators of a queue see: its figures, who used how much, and an agent's log.
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <lull/tests/apps/lull/queued.hpp>
#include <lull/tests/support/forked.hpp>

namespace lull {
namespace {

std::vector<std::string> lines_of(std::string const& text) {
  std::vector<std::string> all;
  std::istringstream in{text};
  for (std::string line; std::getline(in, line);) all.push_back(line);
  return all;
}

class operators : public queued {
 protected:
  /// The value of a series; -1: there is none.
  std::int64_t value(std::string const& text, std::string const& name, std::string const& labels = "") const {
    std::string const series = "\n" + name + "{queue=\"" + address() + "\"" + labels + "} ";
    std::size_t const at = text.find(series);
    return at == text.npos ? -1 : std::stoll(text.substr(at + series.size()));
  }
  std::int64_t jobs(std::string const& text, std::string const& state, std::string const& user) const {
    return value(text, "lull_queue_jobs", ",state=\"" + state + "\",user=\"" + user + "\"");
  }
  void write_job(std::string const& name, std::string const& user, std::string const& command) const {
    json const job{
        {"schema", "lull.job/1"}, {"user", user}, {"run", {{"command", {"sh", "-c", command}}}}, {"attempts", 2}};
    folder_.write(name, job.dump());
  }
  /// A process of the program, which writes what goes wrong into a file.
  pid_t begin(std::vector<std::string> words) const {
    words.insert(words.begin(), LULL_PROGRAM);
    words.insert(words.end(), {"--queue", address()});
    return test::forked([&] {
      std::vector<char*> arguments;
      for (std::string& each : words) arguments.push_back(each.data());
      arguments.push_back(nullptr);
      if (freopen("/dev/null", "w", stdout) == nullptr || freopen(file("errors").c_str(), "w", stderr) == nullptr)
        ::_exit(126);
      ::execv(LULL_PROGRAM, arguments.data());
    });
  }
};

TEST_F(operators, see_jobs_by_state_and_user_and_which_agents_live) {
  write_job("good.json", "ann", "true");
  write_job("bad.json", "ben \"b\\", "exit 1");
  submit("good.json");
  submit("bad.json");
  ASSERT_EQ(work_off("--allow-commands").code, 0);
  submit("good.json");
  pid_t const agent = begin({"agent", "--executor", "threads"});  // which leaves commands to others
  test::killed_at_end const also{agent};
  ASSERT_TRUE(within_time([&] { return json::parse(in("agents", "--json").text).size() == 1; }));
  outcome first;
  auto const sees_agent = [&] {  // a busy machine may let it be silent for a lease
    first = in("queue metrics");
    return value(first.text, "lull_queue_agents", ",state=\"alive\"") == 1;
  };
  ASSERT_TRUE(within_time(sees_agent)) << first.text;
  EXPECT_EQ(first.code, 0);
  EXPECT_EQ(jobs(first.text, "done", "ann"), 1) << first.text;
  EXPECT_EQ(jobs(first.text, "queued", "ann"), 1);
  EXPECT_EQ(jobs(first.text, "running", "ann"), 0);
  std::string const ben = R"(ben \"b\\)";
  EXPECT_EQ(jobs(first.text, "failed", ben), 1) << first.text;
  EXPECT_EQ(value(first.text, "lull_queue_attempts", ",user=\"" + ben + "\""), 2);
  EXPECT_EQ(value(first.text, "lull_queue_failures", ",user=\"" + ben + "\""), 2);
  EXPECT_EQ(value(first.text, "lull_queue_deaths", ",user=\"" + ben + "\""), 0);
  EXPECT_EQ(value(first.text, "lull_queue_lost_leases", ",user=\"ann\""), 0);
  EXPECT_GE(value(first.text, "lull_queue_worked_seconds", ",user=\"ann\""), 0);
  EXPECT_GE(value(first.text, "lull_queue_oldest_waiting_seconds"), 0);
  EXPECT_GT(value(first.text, "lull_queue_metrics_timestamp_seconds"), 1'700'000'000);
  EXPECT_EQ(value(first.text, "lull_queue_agents", ",state=\"dead\""), 0);
  test::kill_child(agent);
  outcome const second = in("queue metrics");  // which looks for a lease
  EXPECT_EQ(value(second.text, "lull_queue_agents", ",state=\"alive\""), 0) << second.text;
  EXPECT_EQ(value(second.text, "lull_queue_agents", ",state=\"dead\""), 1);
}

TEST_F(operators, see_that_an_agent_lost_its_lease) {
  write_job("once.json", "ann", "[ -e begun ] || { touch begun; exec sleep 600; }");
  std::string const id = submit("once.json");
  pid_t const agent = begin({"agent", "--executor", "threads", "--allow-commands"});
  test::killed_at_end const also{agent};
  ASSERT_TRUE(within_time([&] { return job(id)["state"] == "running" && std::filesystem::exists(file("begun")); }));
  test::kill_child(agent);
  ASSERT_EQ(work_off("--allow-commands").code, 0);
  std::string const text = in("queue metrics").text;
  EXPECT_EQ(jobs(text, "done", "ann"), 1) << text;
  EXPECT_EQ(value(text, "lull_queue_attempts", ",user=\"ann\""), 2);
  EXPECT_EQ(value(text, "lull_queue_deaths", ",user=\"ann\""), 1);
  EXPECT_EQ(value(text, "lull_queue_lost_leases", ",user=\"ann\""), 1);
}

TEST_F(operators, see_each_metric_with_its_help_and_type_before_its_samples) {
  submit("--task compute");
  std::string name;
  std::size_t samples = 0;
  std::vector<std::string> const lines = lines_of(in("queue metrics").text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].starts_with("# HELP ")) {
      std::string const before = std::exchange(name, lines[i].substr(7, lines[i].find(' ', 7) - 7));
      EXPECT_NE(name, before);
      ASSERT_LT(i + 2, lines.size());
      EXPECT_EQ(lines[i + 1], "# TYPE " + name + " gauge");
      ++i;
    } else {
      EXPECT_TRUE(lines[i].starts_with(name + "{queue=")) << lines[i];
      ++samples;
    }
  }
  EXPECT_EQ(samples, 9U + 5U + 1U + 2U + 1U) << "of one user";
}

TEST_F(operators, see_a_limited_number_of_users_and_the_others_as_one) {
  std::string files;
  for (int user = 0; user < 53; ++user) {
    std::string const name = "job-" + std::to_string(user) + ".json";
    write_job(name, "user-" + std::to_string(user), "true");
    files += name + " " + (user < 50 ? name + " " : "");
  }
  ASSERT_EQ(in("submit", files).code, 0);
  std::string const text = in("queue metrics").text;
  EXPECT_EQ(jobs(text, "queued", "user-0"), 2) << text;
  EXPECT_EQ(jobs(text, "queued", "user-49"), 2);
  EXPECT_EQ(jobs(text, "queued", "user-50"), -1);
  EXPECT_EQ(jobs(text, "queued", "other"), 3);
}

TEST_F(operators, have_the_figures_in_a_file_whole_again_and_again_until_they_are_stopped) {
  std::filesystem::create_directory(file("collected"));
  std::string const out = file("collected/queue.prom");
  pid_t const writes = begin({"queue", "metrics", "--every", "1s", "--out", out});
  test::killed_at_end const also{writes};
  auto const queued_jobs = [&] {
    return std::filesystem::exists(out) ? jobs(content(out), "queued", "ann") : std::int64_t{-2};
  };
  ASSERT_TRUE(within_time([&] { return queued_jobs() == -1; }));
  submit("--task compute --user ann");
  EXPECT_TRUE(within_time([&] { return queued_jobs() == 1; }));
  // Where they cannot be written for a while, it goes on.
  std::filesystem::remove_all(file("collected"));
  auto const says = [&](char const* text) { return content(file("errors")).find(text) != std::string::npos; };
  EXPECT_TRUE(within_time([&] { return says("cannot be written now"); }));
  std::filesystem::create_directory(file("collected"));
  EXPECT_TRUE(within_time([&] { return says("are written again"); }));
  EXPECT_EQ(queued_jobs(), 1);
  ::kill(writes, SIGTERM);
  int const status = test::status_of(writes);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 130) << status;
  for (auto const& each : std::filesystem::directory_iterator{file("collected")}) EXPECT_EQ(each.path(), out);
  // A queue that cannot be read leaves the file as it was.
  std::string const before = content(out);
  std::filesystem::permissions(file("spool"), std::filesystem::perms::all);
  EXPECT_EQ(in("queue metrics", "--out " + out).code, 2);
  EXPECT_EQ(content(out), before);
}

TEST_F(operators, that_ask_for_what_cannot_be_are_told) {
  auto const refuses = [&](std::string const& command, std::string const& why) {
    outcome const found = ask(command + " --queue " + address(), "timeout 60 ");  // not for ever
    EXPECT_EQ(found.code, 2) << command << '\n' << found.text;
    EXPECT_NE(found.text.find(why), std::string::npos) << found.text;
  };
  refuses("queue metrics --every 10ms", "--every 10ms: it is 1s at least");
  refuses("queue metrics --every often", "is not a duration");
  refuses("queue metrics --out " + file("none/queue.prom"), "there is no folder");
  refuses("usage --by week", "--by week: it is user, day or user,day");
  refuses("usage --since monday", "is not a duration");
  refuses("agent --log yaml", "--log");
}

TEST_F(operators, see_what_each_user_took_by_day) {
  write_job("works.json", "ann", "sleep 1.5");
  write_job("fails.json", "ben", "exit 1");
  submit("works.json");
  submit("fails.json");
  submit("--task compute --user eve");
  ASSERT_EQ(in("hold", json::parse(in("jobs", "--json").text)[2]["id"]).code, 0);
  ASSERT_EQ(work_off("--allow-commands").code, 0);
  json const shown = json::parse(in("usage", "--json").text);
  EXPECT_EQ(shown["clock"], "agents");
  std::uint64_t done = 0, failed = 0, attempts = 0, seconds = 0;
  for (json const& each : shown["usage"]) {  // two days where it is midnight
    EXPECT_NE(each["user"], "eve") << "no agent has had it";
    EXPECT_EQ(each["day"].get<std::string>().size(), 10U);
    bool const is_ann = each["user"] == "ann";
    EXPECT_TRUE(is_ann || each["user"] == "ben");
    done += is_ann ? each["done"].get<std::uint64_t>() : 0;
    failed += is_ann ? 0 : each["failed"].get<std::uint64_t>();
    attempts += each["attempts"].get<std::uint64_t>();
    seconds += is_ann ? each["seconds"].get<std::uint64_t>() : 0;
  }
  EXPECT_EQ(done, 1U);
  EXPECT_EQ(failed, 1U);
  EXPECT_EQ(attempts, 3U) << "the second one of ben's is the last";
  EXPECT_GE(seconds, 1U);
  json const by_user = json::parse(in("usage", "--by user --json").text)["usage"];
  ASSERT_EQ(by_user.size(), 2U);
  EXPECT_EQ(by_user[0]["user"], "ann");
  EXPECT_FALSE(by_user[0].contains("day"));
  EXPECT_EQ(by_user[1]["attempts"], 2);
  std::string const table = in("usage", "--by user").text;
  EXPECT_EQ(lines_of(table)[0], "USER                          DONE    FAILED  ATTEMPTS   SECONDS");
  EXPECT_TRUE(lines_of(table)[2].starts_with("ben                              0         1         2")) << table;
  EXPECT_NE(table.find("by the clocks of the agents' machines"), std::string::npos);
  json const by_day = json::parse(in("usage", "--by day --json").text)["usage"];
  EXPECT_FALSE(by_day[0].contains("user"));
  EXPECT_TRUE(within_time([&] { return json::parse(in("usage", "--since 0 --json").text)["usage"].empty(); }))
      << "a second later nothing has been since now";
}

TEST_F(operators, see_days_apart_and_only_those_they_ask_for) {
  constexpr std::int64_t three_days_s = 3 * 86'400;
  write_job("good.json", "ann", "true");
  std::string const earlier = submit("good.json");
  submit("good.json");
  ASSERT_EQ(work_off("--allow-commands").code, 0);
  for (auto const& each : std::filesystem::directory_iterator{file("spool/events/" + earlier.substr(19))}) {
    if (!each.path().filename().string().starts_with(earlier)) continue;
    json event = json::parse(content(each.path()));
    event["time_s"] = event["time_s"].get<std::int64_t>() - three_days_s;
    std::ofstream{each.path()} << event.dump();
  }
  json const days = json::parse(in("usage", "--json").text)["usage"];
  ASSERT_GE(days.size(), 2U);
  EXPECT_LT(days.front()["day"].get<std::string>(), days.back()["day"].get<std::string>());
  auto const usage = [&](std::string const& rest) { return json::parse(in("usage", "--json " + rest).text)["usage"]; };
  ASSERT_EQ(usage("--by user").size(), 1U);
  EXPECT_EQ(usage("--by user")[0]["done"], 2);
  EXPECT_EQ(usage("--by user --since 1d")[0]["done"], 1);
  EXPECT_EQ(usage("--by day").size(), days.size());
}

TEST_F(operators, have_an_agents_log_as_objects) {
  std::string const id = submit("--task compute:items=64,rounds=3 --name 'a \"name\"'");
  std::vector<std::string> const lines = lines_of(work_off("--log json").text);
  ASSERT_GE(lines.size(), 3U);
  std::size_t about_job = 0;
  for (std::string const& each : lines) {
    json const line = json::parse(each);
    EXPECT_TRUE(line["message"].is_string()) << each;
    std::string const time = line["time"];
    EXPECT_EQ(time.size(), std::string{"2026-12-01T10:00:00.000Z"}.size()) << time;
    EXPECT_TRUE(time[10] == 'T' && time[19] == '.' && time.back() == 'Z') << time;
    if (line.contains("job")) {
      EXPECT_EQ(line["job"], id);
      ++about_job;
    }
  }
  EXPECT_GE(about_job, 2U);
  EXPECT_FALSE(json::parse(lines[0]).contains("job")) << "of the agent itself";
  EXPECT_NE(work_off().text.find("lull: agent "), std::string::npos) << "as text where nothing is said";
}

}  // namespace
}  // namespace lull
