// SPDX-License-Identifier: Apache-2.0
// What a store in PostgreSQL does besides what any store must do.
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/queue/job_id.hpp>
#include <lull/host/queue/open_store.hpp>
#include <lull/tests/host/queue/cut_line.hpp>
#include <lull/tests/host/queue/postgres_stores.hpp>
#include <lull/tests/support/message_of.hpp>

namespace lull::queue {
namespace {

using namespace std::chrono_literals;

TEST_F(postgres_stores, are_made_once_and_opened_only_where_they_are) {
  own_server().make_database();
  std::string const at = own_server().address();
  EXPECT_NE(message_of<usage_error>([&] { postgres_store{at}; }).find("make one with lull queue init"),
            std::string::npos);
  EXPECT_NE(message_of<usage_error>([&] { make_store(at, {}); }).find("needs --folder"), std::string::npos);
  make_store(at, {.lease = 5s, .folder = folder_.at("work")});
  EXPECT_EQ(open_store(at)->lease(), 5s);
  std::string const id = submit(*open_store(at), "stays");
  make_store(at, {.lease = 9s});
  make_store(at, {.folder = folder_.at("work")});
  EXPECT_EQ(open_store(at)->lease(), 5s) << "the one that is there stays";
  EXPECT_EQ(open_store(at)->document(id).name, "stays");
  EXPECT_NE(message_of<usage_error>([&] { make_store(at, {.folder = "/other"}); }).find(folder_.at("work")),
            std::string::npos);
  EXPECT_THROW(make_store(at, {.lease = 1ms}), usage_error);
}

TEST_F(postgres_stores, of_another_schema_are_refused_with_both_numbers) {
  for (auto const& [number, advice] : {std::pair{"99", "newer lull"}, std::pair{"0", "lull queue init"}}) {
    own_server().run(std::string{"UPDATE lull.queue SET schema_number = "} + number);
    std::string const why = message_of<usage_error>([&] { open(); });
    for (std::string const& part : {std::string{"schema "} + number, std::string{"knows 2"}, std::string{advice}})
      EXPECT_NE(why.find(part), std::string::npos) << why;
  }
  own_server().run("UPDATE lull.queue SET schema_number = 99");
  EXPECT_THROW(make_store(own_server().address(), {}), usage_error);
}

TEST_F(postgres_stores, of_an_older_schema_are_brought_up_to_date_with_what_they_hold) {
  std::string const id = submit(*open(), "stays");
  own_server().run("ALTER TABLE lull.queue DROP COLUMN drained");
  own_server().run("UPDATE lull.queue SET schema_number = 1");
  EXPECT_NE(message_of<usage_error>([&] { open(); }).find("lull queue init"), std::string::npos);
  make_store(own_server().address(), {});
  EXPECT_EQ(open()->document(id).name, "stays");
  EXPECT_EQ(open()->drained(), std::nullopt);
  open()->set_drained(drain_order{.by = "alice"});
  EXPECT_EQ(open()->drained()->by, "alice");
}

TEST_F(postgres_stores, need_a_database_of_utf_8) {
  own_server().run("DROP DATABASE lull", "postgres");
  own_server().run("CREATE DATABASE lull ENCODING 'LATIN1' TEMPLATE template0", "postgres");
  EXPECT_NE(message_of<usage_error>([&] { make_store(own_server().address(), {.folder = "/work"}); }).find("UTF-8"),
            std::string::npos);
}

TEST_F(postgres_stores, say_what_is_wrong) {
  EXPECT_EQ(open()->problems().size(), 1U) << "the folder is not there yet";
  open()->folder(make_job_id());
  EXPECT_TRUE(open()->problems().empty());
  own_server().run("ALTER TABLE lull.jobs DISABLE ROW LEVEL SECURITY");
  ASSERT_EQ(open()->problems().size(), 1U);
  EXPECT_NE(open()->problems().front().find("row policies"), std::string::npos);
  std::filesystem::permissions(folder_.at("work"), std::filesystem::perms::all);
  EXPECT_EQ(open()->problems().size(), 2U);
  EXPECT_THROW(open()->folder(make_job_id()), device_error) << "no job is refused for it";
}

TEST_F(postgres_stores, time_the_silence_of_agents_by_the_server_and_not_while_it_was_gone) {
  auto const store = open();
  store->beat({.id = make_token(), .beats = 1});
  EXPECT_GE(store->agents().front().silence.value(), 0s);
  own_server().run("UPDATE lull.agents SET seen = clock_timestamp() + interval '1 day'");
  EXPECT_EQ(store->agents().front().silence, 0s);
  own_server().run("UPDATE lull.agents SET seen = clock_timestamp() - interval '1 day'");
  EXPECT_LT(store->agents().front().silence.value(), 12h) << "the server was started since";
  own_server().run("SELECT pg_sleep(0.01)");
  EXPECT_GT(store->agents().front().silence.value(), 0s);
}

TEST_F(postgres_stores, take_documents_as_data) {
  auto const store = open();
  for (std::string const& text : {std::string{"'; DROP TABLE lull.jobs; --"}, std::string{"{\"a\",\\\"b\\\\}"},
                                  std::string{"$1 ${x} \xc3\xa4 NULL"}}) {
    job_document one = job_named(text);
    one.labels["text"] = text + '\n';
    std::string const id = store->submit(std::vector{one, one}).back();
    EXPECT_EQ(to_json(store->document(id)), to_json(one));
    job_entry next = store->entry(id);
    next.state = entry_state::held;
    ASSERT_TRUE(
        store->change(store->entry(id), next, {.reason = text, .results = {{text, text}}}, durability::durable));
    EXPECT_EQ(store->events(id).front().reason, text);
    EXPECT_EQ(store->events(id).front().results.front().first, text);
  }
  EXPECT_EQ(store->list().size(), 6U);
}

/// More than one statement takes.
TEST_F(postgres_stores, take_a_long_batch_whole_or_not_at_all) {
  auto const store = open();
  std::vector<job_document> many(4'500, job_named("each"));
  EXPECT_EQ(store->submit(many).size(), many.size());
  EXPECT_EQ(store->list().size(), many.size());
  many.back().name = std::string(max_document_bytes, 'x');  // the database refuses it, in the last statement
  EXPECT_THROW(store->submit(many), device_error);
  EXPECT_EQ(store->list().size(), many.size());
}

TEST_F(postgres_stores, look_whether_a_change_has_happened_when_the_answer_is_lost) {
  cut_line line{own_server().folder()};
  postgres_store store{"postgresql://postgres@/lull?host=" + line.folder()};
  std::string const id = submit(store, "one");
  auto now = to(store, store.entry(id), entry_state::held);  // from now on the statement is prepared
  ASSERT_TRUE(now);
  for (cut_line::cut const how : {cut_line::after_the_answer, cut_line::before_the_request}) {
    std::uint64_t const before = now->version;
    line.at_next(how);
    now = to(store, *now, entry_state::queued);
    ASSERT_TRUE(line.is_cut());
    ASSERT_TRUE(now) << how;
    EXPECT_EQ(now->version, before + 1);
    EXPECT_EQ(open()->entry(id), *now);
    now = to(store, *now, entry_state::held);  // prepares the statement again
    ASSERT_TRUE(now);
    EXPECT_EQ(store.events(id).size(), now->version);
  }
}

TEST_F(postgres_stores, submit_once_when_the_answer_is_lost) {
  cut_line line{own_server().folder()};
  postgres_store store{"postgresql://postgres@/lull?host=" + line.folder()};
  std::size_t jobs = 0;
  for (cut_line::cut const how : {cut_line::after_the_answer, cut_line::before_the_request}) {
    submit(store, "one");
    line.at_next(how);
    std::string const id = submit(store, "two");
    ASSERT_TRUE(line.is_cut());
    EXPECT_EQ(open()->document(id).name, "two");
    EXPECT_EQ(open()->list().size(), jobs += 2);
  }
}

TEST_F(postgres_stores, connect_again_and_wait_no_longer_than_their_limit) {
  cut_line line{own_server().folder()};
  postgres_connection on{"postgresql://postgres@/lull?host=" + line.folder()};
  postgres_statement const one{"a test's statement", "SELECT 1", false};
  on.run(one);
  line.at_next(cut_line::before_the_request);
  EXPECT_EQ(on.run_again(one).number(0, 0), 1);
  on.limit(500ms);
  await_that([&] {
    try {
      return on.run(one).size() == 1;
    } catch (postgres_lost const&) {  // on a busy machine
      return false;
    }
  });
  line.at_next(cut_line::silence);
  std::string const why = message_of<postgres_lost>([&] { on.run(one); });
  EXPECT_NE(why.find("no answer within 500 ms"), std::string::npos) << why;
}

TEST_F(postgres_stores, name_the_server_without_the_password) {
  for (char const* const wrong :
       {"postgresql://u:hidden@[/x", "postgresql://u:hidden@h/x?nothing=1", "mysql://u:hidden@h"}) {
    std::string const why = message_of<usage_error>([&] { open_store(wrong); });
    EXPECT_EQ(why.find("hidden"), std::string::npos) << why;
    EXPECT_NE(why.find("postgresql://USER@HOST/DATABASE"), std::string::npos) << why;
  }
  std::string const away = "postgresql://alice:hidden@/lull?host=" + folder_.at("none") + "&password=hidden";
  std::string const why = message_of<device_error>([&] { open_store(away); });
  EXPECT_EQ(why.find("hidden"), std::string::npos) << why;
  EXPECT_NE(why.find("postgresql://alice@/lull?host=" + folder_.at("none")), std::string::npos) << why;
  EXPECT_EQ(shown_address(away), "postgresql://alice@/lull?host=" + folder_.at("none"));
}

}  // namespace
}  // namespace lull::queue
