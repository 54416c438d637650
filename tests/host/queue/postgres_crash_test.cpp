// SPDX-License-Identifier: Apache-2.0
// What becomes of jobs in PostgreSQL when the server or agents die.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/queue/job_id.hpp>
#include <lull/tests/host/queue/agents.hpp>
#include <lull/tests/host/queue/postgres_stores.hpp>
#include <lull/tests/support/forked.hpp>

namespace lull::queue {
namespace {

constexpr std::chrono::minutes very_long{3};

/// Processes, which note in a file each what was acknowledged to them.
class noting_processes {
 public:
  ~noting_processes() { end(); }
  noting_processes() = default;
  noting_processes(noting_processes const&) = delete;
  noting_processes& operator=(noting_processes const&) = delete;

  template <class Work>
  void begin(std::string const& file, Work work) {
    processes_.push_back(test::forked([&] {
      std::ofstream notes{file, std::ios::app};
      std::optional<postgres_store> own;
      for (;;) {
        try {
          if (!own) own.emplace(own_server().address());
          work(*own, [&](std::string const& id) { notes << id << std::endl; });
        } catch (device_error const&) {  // the server is gone
        }
        std::this_thread::sleep_for(1ms);
      }
    }));
  }
  void end() {
    for (pid_t const each : processes_) test::kill_child(each);
    processes_.clear();
  }

 private:
  std::vector<pid_t> processes_;
};

class postgres_crashes : public postgres_stores {
 protected:
  std::vector<std::string> noted(std::string const& file) const {
    std::vector<std::string> ids;
    std::ifstream in{folder_.at(file)};
    for (std::string id; std::getline(in, id);) ids.push_back(id);
    return ids;
  }
};

TEST_F(postgres_crashes, of_the_server_lose_no_job_that_was_acknowledged_and_give_none_to_two) {
  constexpr int submitting = 3;
  constexpr int claiming = 2;
  own_server().run("ALTER DATABASE lull SET synchronous_commit = off");  // as an operator may
  noting_processes clients, claimers;
  auto const file = [](char const* kind, int i) { return kind + std::to_string(i); };
  for (int i = 0; i < submitting; ++i)
    clients.begin(folder_.at(file("submits-", i)), [i, number = 0](job_store& own, auto note) mutable {
      std::vector<job_document> two;
      for (char const part : {'a', 'b'})
        two.push_back(job_named(std::to_string(i) + "-" + std::to_string(number) + part));
      ++number;
      for (std::string const& id : own.submit(two)) note(id);
    });
  std::map<std::string, std::string> agent_of;
  for (int i = 0; i < claiming; ++i) {
    std::string const token = agent_of[file("claims-", i)] = make_token();
    claimers.begin(folder_.at(file("claims-", i)), [token](job_store& own, auto note) {
      for (job_entry const& each : own.list()) {
        if (each.state != entry_state::queued) continue;
        job_entry next = each;
        next.state = entry_state::claimed;
        next.agent = token;
        if (own.change(each, next, {}, durability::durable)) note(each.id);
      }
    });
  }
  for (int kills = 0; kills < 3; ++kills) {
    for (int i = 0; i < submitting; ++i) {
      std::string const name = file("submits-", i);
      await_that([&, before = noted(name).size()] { return noted(name).size() >= before + 10; }, very_long);
    }
    own_server().kill();
    own_server().start();
  }
  // Nothing else makes the server write now: a claim alone must have been on its disk.
  clients.end();
  auto const store = open();
  auto const claims = [&] {
    std::size_t count = 0;
    for (auto const& [name, token] : agent_of) count += noted(name).size();
    return count;
  };
  std::size_t const before = claims();
  store->submit(std::vector(3'000, job_named("x")));
  await_that([&] { return claims() >= before + 20; }, very_long);
  own_server().kill();
  own_server().start();
  claimers.end();
  own_server().await_sessions(1);  // what they had asked for is done

  std::map<std::string, job_entry> all;
  std::set<std::string> names;
  for (job_entry const& each : store->list()) {
    EXPECT_TRUE(all.emplace(each.id, each).second);
    std::string const name = store->document(each.id).name;
    EXPECT_TRUE(name.size() == 1 || names.insert(name).second) << name << " was submitted twice";
    EXPECT_EQ(store->events(each.id).size(), each.version);
  }
  for (int i = 0; i < submitting; ++i)
    for (std::string const& id : noted(file("submits-", i))) EXPECT_TRUE(all.contains(id)) << id;
  std::set<std::string> claimed;
  for (auto const& [name, token] : agent_of) {
    for (std::string const& id : noted(name)) {
      EXPECT_TRUE(claimed.insert(id).second) << id << " was claimed twice";
      ASSERT_TRUE(all.contains(id));
      EXPECT_EQ(all.at(id).agent, token);
      EXPECT_EQ(all.at(id).version, 1U);
    }
  }
}

class postgres_agents : public agents {
 protected:
  postgres_agents() : agents(postgres_server::programs() ? postgres_kind(lease) : spool_kind(lease)) {}
  void SetUp() override {
    if (!postgres_server::programs()) GTEST_SKIP() << "NOT RUN: there is no /usr/lib/postgresql/*/bin";
  }
  void TearDown() override {
    for (pid_t const each : works_) test::kill_child(each);
  }
  std::vector<pid_t> works_;
};

TEST_F(postgres_agents, that_are_killed_and_whose_server_is_do_every_job_and_show_each_result_once) {
  constexpr int jobs = 24;
  for (int i = 0; i < jobs; ++i) {
    job_document one = scripted("sleep 0.0" + std::to_string(i % 9) + "; echo " + std::to_string(i) + " > \"$1\"",
                                "out-" + std::to_string(i));
    one.attempts = 100;
    submit(one);
  }
  std::mt19937 random{20'261'130};
  for (int i = 0; i < 3; ++i) works_.push_back(agent_process(false));
  auto const count = [&](auto so) {
    auto const all = store_->list();
    return std::count_if(all.begin(), all.end(), so);
  };
  auto const is_in_place = [](job_entry const& each) { return each.in_place; };
  for (int kills = 1; kills <= 6; ++kills) {
    await_that([&] { return count(is_in_place) >= kills; }, very_long);
    pid_t& one = works_[random() % works_.size()];
    test::kill_child(one);
    if (kills == 3) {
      own_server().kill();
      own_server().start();
    }
    one = agent_process(false);
  }
  await_that(
      [&] {
        std::this_thread::sleep_for(20ms);
        for (job_entry const& each : store_->list()) {  // where two agents have died of it
          job_entry next = each;
          next.state = entry_state::queued;
          next.deaths = 0;
          if (each.state == entry_state::held) store_->change(each, next, {.reason = "released"}, durability::durable);
        }
        return count(is_in_place) == jobs;
      },
      very_long);
  for (int i = 0; i < jobs; ++i) EXPECT_EQ(content(folder_.at("out-" + std::to_string(i))), std::to_string(i) + "\n");
}

}  // namespace
}  // namespace lull::queue
