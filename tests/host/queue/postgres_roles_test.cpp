// SPDX-License-Identifier: Apache-2.0
// What each database user may do to a queue, and what the database refuses.
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/queue/job_id.hpp>
#include <lull/tests/host/queue/postgres_stores.hpp>
#include <lull/tests/support/message_of.hpp>

namespace lull::queue {
namespace {

using namespace std::chrono_literals;

constexpr char const* no_right = "42501";

/// Users alice and bob, the agent works, and the user nothing without a role.
class postgres_roles : public postgres_stores {
 protected:
  void SetUp() override {
    postgres_stores::SetUp();
    if (IsSkipped()) return;
    for (char const* const user : {"alice", "bob", "works", "nothing"})
      own_server().run(std::string{"CREATE ROLE "} + user + " LOGIN");
    own_server().run("GRANT lull_user TO alice, bob");
    own_server().run("GRANT lull_agent TO works");
    alice_ = open("alice");
    bob_ = open("bob");
    works_ = open("works");
    alices_ = submit(*alice_, "alice's");
  }
  void TearDown() override {
    if (!IsSkipped()) own_server().run("DROP ROLE IF EXISTS alice, bob, works, nothing, other, both_roles");
  }
  /// Runs a statement past the store, as a user with psql can. Returns how many rows it met; or SQL's code of why
  /// it is refused.
  static std::string met(std::string const& user, std::string const& sql) {
    postgres_connection on{own_server().address(user)};
    try {
      postgres_rows const rows = on.run({.what = "a test's statement", .sql = sql.c_str(), .is_prepared = false});
      return std::to_string(rows.size() != 0 ? rows.size() : rows.changed());
    } catch (postgres_refusal const& refused) {
      return refused.state();
    }
  }
  std::string where_alices() const { return " WHERE id = '" + alices_ + "'"; }

  std::unique_ptr<postgres_store> alice_, bob_, works_;
  std::string alices_;  // a job's id
};

TEST_F(postgres_roles, jobs_are_removed_by_the_owner_of_the_schema) {
  auto const over = to(*alice_, alice_->entry(alices_), entry_state::cancelled);
  ASSERT_TRUE(over);
  std::filesystem::path const files = works_->folder(alices_);
  for (auto* const each : {&alice_, &bob_, &works_})
    EXPECT_NE(message_of<usage_error>([&] { (*each)->remove(*over); }).find("owner of the queue's schema"),
              std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(files)) << "nothing is removed";
  EXPECT_EQ(alice_->entry(alices_), *over);
}

TEST_F(postgres_roles, the_queue_is_drained_by_the_owner_of_the_schema_and_all_see_it) {
  for (auto* const each : {&alice_, &works_})
    EXPECT_NE(message_of<usage_error>([&] { (*each)->set_drained(drain_order{}); }).find("owner of the queue's schema"),
              std::string::npos);
  open()->set_drained(drain_order{.by = "operator@node"});
  for (auto* const each : {&alice_, &works_}) EXPECT_EQ((*each)->drained()->by, "operator@node");
  for (char const* const user : {"alice", "works"})
    EXPECT_EQ(met(user, "UPDATE lull.queue SET drained = ''"), "42501") << user;
}

TEST_F(postgres_roles, a_user_sees_and_changes_own_jobs_alone) {
  EXPECT_TRUE(bob_->list().empty());
  EXPECT_THROW(bob_->entry(alices_), usage_error);
  EXPECT_THROW(bob_->document(alices_), usage_error);
  EXPECT_THROW(bob_->events(alices_), usage_error);
  job_entry const entry = alice_->entry(alices_);
  EXPECT_FALSE(to(*bob_, entry, entry_state::cancelled));
  auto const held = to(*alice_, entry, entry_state::held);
  ASSERT_TRUE(held);
  for (char const* const table : {"documents", "jobs", "events"}) {
    EXPECT_EQ(met("bob", std::string{"SELECT FROM lull."} + table), "0") << table;
    EXPECT_EQ(met("alice", std::string{"SELECT FROM lull."} + table), "1") << table;
    EXPECT_EQ(met("bob", std::string{"DELETE FROM lull."} + table), no_right) << table;
  }
  EXPECT_EQ(met("bob", "UPDATE lull.jobs SET state = 'cancelled'"), "0");
  EXPECT_EQ(met("bob",
                "INSERT INTO lull.events (id, version, token, token_before, state, agent, attempt, reason) VALUES"
                " ('" +
                    alices_ + "', 9, 'x', 'x', 'held', '', 0, 'by bob')"),
            no_right);
  EXPECT_EQ(alice_->entry(alices_), *held);
  std::string const bobs = submit(*bob_, "bob's");
  ASSERT_EQ(bob_->list().size(), 1U);
  EXPECT_EQ(bob_->list().front().id, bobs);
  EXPECT_EQ(alice_->list().size(), 1U);
}

TEST_F(postgres_roles, the_owner_is_the_database_user_whatever_the_document_says) {
  job_document forged = job_named("forged");
  forged.user = "bob";
  std::string const id = alice_->submit({&forged, 1}).front();
  EXPECT_EQ(alice_->owner(id), "alice");
  EXPECT_EQ(works_->owner(id), "alice");
  EXPECT_THROW(bob_->owner(id), usage_error);
  std::string const other = make_job_id();
  EXPECT_EQ(met("alice", "INSERT INTO lull.documents (id, owner, document) VALUES ('" + other + "', 'bob', '')"),
            no_right);
  EXPECT_EQ(met("alice", "UPDATE lull.documents SET owner = 'bob'"), no_right);
  EXPECT_EQ(met("alice", "UPDATE lull.jobs SET owner = 'bob'"), no_right);
  own_server().run("GRANT bob TO alice");
  postgres_connection on{own_server().address("alice")};
  on.run({.what = "set", .sql = "SET ROLE bob", .is_prepared = false});
  submit(*bob_, "bob's");
  EXPECT_EQ(
      on.run({.what = "look", .sql = "SELECT owner FROM lull.jobs WHERE owner = 'bob'", .is_prepared = false}).size(),
      0)
      << "session_user stays";
}

TEST_F(postgres_roles, a_user_cancels_holds_and_retries_and_cannot_act_as_an_agent) {
  job_entry now = alice_->entry(alices_);
  for (entry_state const next : {entry_state::held, entry_state::queued, entry_state::cancelled, entry_state::saved})
    now = to(*alice_, now, next).value();
  EXPECT_EQ(alice_->events(alices_).size(), 4U);
  for (entry_state const next : {entry_state::done, entry_state::claimed, entry_state::failed})
    EXPECT_THROW(to(*alice_, now, next), device_error) << name_of(next);
  job_entry claimed = now;
  claimed.agent = make_token();
  EXPECT_THROW(alice_->change(now, claimed, {}, durability::durable), usage_error);
  EXPECT_THROW(alice_->change(now, now, {.results = {{"/a", "/b"}}}, durability::durable), usage_error);
  for (char const* const what :
       {"agent = '000000000000'", "attempt = 7", "in_place = true", "state = 'done'", "id = ''"})
    EXPECT_EQ(met("alice", std::string{"UPDATE lull.jobs SET "} + what + where_alices()), no_right) << what;
  EXPECT_EQ(met("alice", "UPDATE lull.documents SET document = ''" + where_alices()), no_right);
  EXPECT_EQ(met("alice", "UPDATE lull.events SET results = ''" + where_alices()), no_right);
  EXPECT_EQ(met("alice",
                "INSERT INTO lull.events (id, version, token, token_before, state, agent, attempt, reason,"
                " results) VALUES ('" +
                    alices_ + "', 5, 'x', 'x', 'done', '', 0, '', '[[\"/a\", \"/b\"]]')"),
            no_right);
  EXPECT_EQ(met("alice", "INSERT INTO lull.jobs (id, priority, token, state) VALUES ('" + make_job_id() + "', 0, '" +
                             make_token() + "', 'done')"),
            no_right);
  EXPECT_THROW(alice_->beat({.id = make_token()}), device_error);
  EXPECT_EQ(alice_->entry(alices_), now);
}

TEST_F(postgres_roles, what_a_user_adds_to_a_history_neither_shows_nor_stops_a_change) {
  job_entry const entry = alice_->entry(alices_);
  EXPECT_EQ(met("alice",
                "INSERT INTO lull.events (id, version, token, token_before, state, agent, attempt, reason) VALUES"
                " ('" +
                    alices_ + "', 1, 'x', 'x', 'done', '', 0, 'forged')"),
            "1");
  ASSERT_TRUE(to(*works_, entry, entry_state::claimed));
  ASSERT_EQ(works_->events(alices_).size(), 1U);
  EXPECT_EQ(works_->events(alices_).front().reason, "");
}

TEST_F(postgres_roles, names_of_files_cannot_come_from_a_user) {
  for (std::string const& id : {std::string{"../../../etc/passwd0"}, std::string{"0000000000000000000/"}}) {
    EXPECT_EQ(met("alice", "INSERT INTO lull.documents (id, document) VALUES ('" + id + "', '')"), "23514") << id;
    EXPECT_THROW(works_->folder(id), usage_error);
  }
  EXPECT_EQ(met("alice", "UPDATE lull.jobs SET token = '../../../etc'"), "23514");
}

TEST_F(postgres_roles, an_agent_claims_and_ends_every_job_and_cannot_submit) {
  std::string const bobs = submit(*bob_, "bob's");
  EXPECT_EQ(works_->list().size(), 2U);
  EXPECT_EQ(works_->document(bobs).name, "bob's");
  works_->beat({.id = make_token(), .beats = 1});
  EXPECT_EQ(bob_->agents().size(), 1U) << "users see agents";
  auto now = works_->change(works_->entry(bobs), {.state = entry_state::claimed, .attempt = 1, .agent = make_token()},
                            {}, durability::may_be_lost);
  ASSERT_TRUE(now);
  ASSERT_TRUE(works_->change(*now, {.state = entry_state::done, .in_place = true, .attempt = 1},
                             {.results = {{"/a", "/b"}}}, durability::durable));
  EXPECT_EQ(bob_->entry(bobs).state, entry_state::done);
  EXPECT_EQ(bob_->events(bobs).size(), 2U);
  EXPECT_NE(message_of<device_error>([&] { submit(*works_, "an agent's"); }).find("needs the role lull_user"),
            std::string::npos);
  EXPECT_EQ(met("works", "UPDATE lull.documents SET document = ''"), no_right);
  EXPECT_EQ(met("works", "UPDATE lull.jobs SET owner = 'works'"), no_right);
  EXPECT_EQ(met("works", "DELETE FROM lull.jobs"), no_right);
  EXPECT_EQ(met("works", "UPDATE lull.queue SET folder = '/'"), no_right);
}

TEST_F(postgres_roles, an_agent_beats_for_itself_and_forgets_others) {
  own_server().run("CREATE ROLE other LOGIN IN ROLE lull_agent");
  std::string const id = make_token();
  works_->beat({.id = id, .beats = 1});
  EXPECT_THROW(open("other")->beat({.id = id, .beats = 7}), device_error);
  EXPECT_EQ(works_->agents().front().beats, 1U);
  open("other")->forget_agent(id);
  EXPECT_TRUE(works_->agents().empty());
}

TEST_F(postgres_roles, a_user_with_both_roles_may_do_both) {
  own_server().run("CREATE ROLE both_roles LOGIN IN ROLE lull_user, lull_agent");
  auto const both = open("both_roles");
  std::string const id = submit(*both, "own");
  EXPECT_EQ(both->list().size(), 2U);
  EXPECT_TRUE(to(*both, both->entry(id), entry_state::done));
}

TEST_F(postgres_roles, only_an_owner_who_may_create_roles_makes_a_queue) {
  own_server().run("CREATE DATABASE other");
  std::string const at = own_server().address("nothing", "other");
  auto const why = [&] {
    return message_of<usage_error>([&] { postgres_store::make(at, {.lease = 30s, .folder = "/work"}); });
  };
  EXPECT_NE(why().find("cannot make the queue"), std::string::npos);
  own_server().run("ALTER DATABASE other OWNER TO nothing");  // the roles are there
  EXPECT_EQ(why(), "");
  EXPECT_EQ(postgres_store{at}.list().size(), 0U);
  own_server().run("DROP DATABASE other WITH (FORCE)");
}

TEST_F(postgres_roles, a_user_without_a_role_is_told) {
  EXPECT_NE(message_of<device_error>([&] { open("nothing"); }).find("needs the role lull_user"), std::string::npos);
}

}  // namespace
}  // namespace lull::queue
