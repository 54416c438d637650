// SPDX-License-Identifier: Apache-2.0
// The commands about a queue in PostgreSQL, from outside.
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
