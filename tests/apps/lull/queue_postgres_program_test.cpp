// SPDX-License-Identifier: Apache-2.0
// The commands about a queue in PostgreSQL, from outside.
#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include <lull/tests/apps/lull/program.hpp>
#include <lull/tests/host/queue/postgres_server.hpp>

namespace lull {
namespace {

class queued_in_postgres : public program {
 protected:
  void SetUp() override {
    if (!queue::postgres_server::programs()) GTEST_SKIP() << "NOT RUN: there is no /usr/lib/postgresql/*/bin";
    queue::own_server().make_database();
    outcome const made = in("queue init", "--lease 2s --folder " + file("work"));
    EXPECT_EQ(made.code, 0) << made.text;
    EXPECT_NE(made.text.find("is ready; an agent that is not heard of for 2s"), std::string::npos) << made.text;
  }
  outcome in(std::string const& command, std::string const& rest = "", std::string const& user = "postgres") const {
    return ask(command + " --queue '" + queue::own_server().address(user) + "' " + rest,
               "cd " + folder_.path().string() + " && ");
  }
  std::string submit(std::string const& rest, std::string const& user) const {
    outcome const found = in("submit", rest, user);
    EXPECT_EQ(found.code, 0) << found.text;
    return found.text.substr(0, found.text.find('\n'));
  }
};

TEST_F(queued_in_postgres, jobs_of_two_users_are_done_by_an_agent_that_is_neither) {
  for (char const* const user : {"ann", "ben"}) {
    queue::own_server().run(std::string{"CREATE ROLE "} + user + " LOGIN IN ROLE lull_user");
  }
  queue::own_server().run("CREATE ROLE runs LOGIN IN ROLE lull_agent");
  std::string const anns = submit("--task mlp:epochs=1,hidden=16,model=ann.safetensors --user ben", "ann");
  std::string const bens = submit("--task compute:items=1000", "ben");
  EXPECT_EQ(in("cancel", anns, "ben").code, 2);
  EXPECT_EQ(json::parse(in("jobs", "--json", "ben").text).size(), 1U);
  EXPECT_EQ(in("submit", "--task compute", "runs").code, 1);
  outcome const worked = in("agent", "--executor threads --until-empty", "runs");
  EXPECT_EQ(worked.code, 0) << worked.text;
  json const shown = json::parse(in("show", anns, "ann").text)[0];
  EXPECT_EQ(shown["state"], "done") << worked.text;
  EXPECT_EQ(shown["user"], "ann") << "whatever the document says";
  EXPECT_EQ(shown["document"]["user"], "ann");
  EXPECT_EQ(json::parse(in("jobs", "--json --all", "runs").text).size(), 2U);
  EXPECT_TRUE(std::filesystem::exists(file("ann.safetensors")));
  EXPECT_NE(in("logs", bens).text.find("compute"), std::string::npos);
  outcome const checked = in("queue check");
  EXPECT_EQ(checked.code, 0) << checked.text;
  EXPECT_NE(checked.text.find(": 2 jobs, 0 agents\nnothing wrong was found\n"), std::string::npos) << checked.text;
  queue::own_server().run("DROP ROLE ann, ben, runs");
}

TEST_F(queued_in_postgres, figures_are_of_owners_and_times_are_the_servers) {
  queue::own_server().run("CREATE ROLE ann LOGIN IN ROLE lull_user");
  queue::own_server().run("CREATE ROLE runs LOGIN IN ROLE lull_agent");
  submit("--task compute:items=64,rounds=3 --user ben", "ann");
  ASSERT_EQ(in("agent", "--executor threads --until-empty", "runs").code, 0);
  outcome const figures = in("queue metrics", "", "runs");
  EXPECT_EQ(figures.code, 0) << figures.text;
  EXPECT_NE(figures.text.find("state=\"done\",user=\"ann\"} 1\n"), std::string::npos) << figures.text;
  EXPECT_EQ(figures.text.find("ben"), std::string::npos) << "the document's label";
  json const used = json::parse(in("usage", "--json --by user", "runs").text);
  EXPECT_EQ(used["clock"], "server");
  ASSERT_EQ(used["usage"].size(), 1U);
  EXPECT_EQ(used["usage"][0]["user"], "ann");
  EXPECT_EQ(used["usage"][0]["done"], 1);
  queue::own_server().run("DROP ROLE ann, runs");
}

TEST_F(queued_in_postgres, a_backup_is_made_and_restored_by_the_commands_that_are_printed) {
  std::string const programs = queue::postgres_server::programs()->string();
  if (!std::filesystem::exists(programs + "/pg_dump"))
    GTEST_SKIP() << "NOT RUN: there is no " << programs << "/pg_dump";
  auto const run_printed = [&](outcome const& printed) {
    EXPECT_EQ(printed.code, 0) << printed.text;
    folder_.write("commands", printed.text);
    return std::system(("PATH=" + programs + ":$PATH sh " + file("commands") + " > " + file("said") + " 2>&1").c_str());
  };
  std::string const done = submit("--task mlp:epochs=1,hidden=16,model=a.safetensors", "postgres");
  ASSERT_EQ(in("agent", "--executor threads --until-empty").code, 0);
  std::string const waits = submit("--task mlp:epochs=1,hidden=16,model=b.safetensors", "postgres");
  ASSERT_EQ(run_printed(in("queue backup", "--to \"" + file("it's the dump") + "\"")), 0) << content(file("said"));
  submit("--task compute:items=64", "postgres");
  queue::own_server().run("DROP DATABASE IF EXISTS restored", "postgres");
  queue::own_server().run("CREATE DATABASE restored", "postgres");
  std::string const other = " --queue '" + queue::own_server().address("postgres", "restored") + "' ";
  ASSERT_EQ(run_printed(ask("queue restore" + other + "--from \"" + file("it's the dump") + "\"")), 0)
      << content(file("said"));
  EXPECT_EQ(json::parse(ask("jobs --all --json" + other).text).size(), 2U);
  EXPECT_EQ(json::parse(ask("show" + other + done).text)[0]["history"].size(), 4U);
  outcome const worked = ask("agent --executor threads --until-empty" + other);
  EXPECT_EQ(worked.code, 0) << worked.text;
  EXPECT_EQ(json::parse(ask("show" + other + waits).text)[0]["state"], "done") << worked.text;
  EXPECT_TRUE(std::filesystem::exists(file("b.safetensors")));
  EXPECT_NE(ask("queue check" + other).text.find("nothing wrong was found"), std::string::npos);
  queue::own_server().run("DROP DATABASE restored", "postgres");
}

TEST_F(queued_in_postgres, a_queue_that_cannot_be_used_is_told_without_the_password) {
  queue::own_server().run("UPDATE lull.queue SET schema_number = 99");
  EXPECT_EQ(in("jobs").code, 2);
  outcome const checked = in("queue check");
  EXPECT_EQ(checked.code, 1);
  EXPECT_NE(checked.text.find("wrong: "), std::string::npos) << checked.text;
  EXPECT_NE(checked.text.find("schema 99, and this version knows 2"), std::string::npos) << checked.text;
  std::string const away = "--queue 'postgresql://ann:hidden@/lull?host=" + file("none") + "'";
  for (auto const& [command, code] : {std::pair{"jobs ", 1}, std::pair{"queue check ", 1}, std::pair{"agent ", 1}}) {
    outcome const found = ask(command + away);
    EXPECT_EQ(found.code, code) << found.text;
    EXPECT_NE(found.text.find("postgresql://ann@/lull?host="), std::string::npos) << found.text;
    EXPECT_EQ(found.text.find("hidden"), std::string::npos) << found.text;
  }
}

}  // namespace
}  // namespace lull
