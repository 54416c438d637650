// SPDX-License-Identifier: Apache-2.0
// Copies of spools that are made while agents work and die.
#include <chrono>
#include <filesystem>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/queue/job_id.hpp>
#include <lull/host/queue/open_folder.hpp>
#include <lull/host/queue/spool_backup.hpp>
#include <lull/host/queue/whole_copy.hpp>
#include <lull/tests/host/queue/agents.hpp>
#include <lull/tests/support/effort.hpp>
#include <lull/tests/support/forked.hpp>
#include <lull/tests/support/message_of.hpp>

namespace lull::queue {
namespace {

namespace fs = std::filesystem;

class backups : public agents {
 protected:
  static bool goes_on() { return false; }
  std::size_t back_up(std::string const& to) { return back_up_spool(at_, folder_.at(to), goes_on).value(); }
  /// Has an agent do what a copy of the spool holds, and returns how often each of its jobs was done.
  void work_off(spool& store) {
    auto const works = make_agent(store, 2);
    work_until(*works, [&] {
      for (job_entry const& each : store.list()) {  // of which two agents have died
        job_entry next = each;
        next.state = entry_state::saved;
        next.deaths = 0;
        if (each.state == entry_state::held) store.change(each, next, {}, durability::may_be_lost);
      }
      return works->is_idle();
    });
  }
};

TEST_F(backups, hold_documents_histories_checkpoints_and_whether_they_are_drained) {
  std::string const id =
      submit(scripted("if test -e \"$2/saved\"; then cat \"$2/saved\" > \"$1\"; exit; fi; "
                      "echo half > \"$2/saved\"; until test -e '" +
                          folder_.at("go") + "'; do sleep 0.01; done; exit 1",
                      "out"));
  auto const works = make_agent(*store_);
  work_until(*works, [&] { return state_of(id) == entry_state::running; });
  store_->set_drained(drain_order{.by = "alice"});  // so that there is no second attempt
  folder_.write("go", "");
  work_until(*works, [&] { return state_of(id) == entry_state::saved; });
  EXPECT_EQ(back_up("copy"), 1U);
  spool copy{folder_.at("copy")};
  EXPECT_EQ(copy.lease(), store_->lease());
  EXPECT_EQ(copy.drained()->by, "alice");
  EXPECT_TRUE(copy.agents().empty());
  copy.set_drained(std::nullopt);
  EXPECT_EQ(to_json(copy.document(id)), to_json(store_->document(id)));
  EXPECT_EQ(copy.events(id).size(), copy.entry(id).version);
  work_off(copy);
  EXPECT_TRUE(copy.entry(id).in_place);
  EXPECT_EQ(content(folder_.at("out")), "half\n") << "it goes on from its checkpoint";
}

TEST_F(backups, are_whole_or_not_there) {
  std::string const id = submit(scripted("exit 0"));
  std::ofstream{store_->folder(id) / "log-1"} << "text";
  fs::create_directory(folder_.at("taken"));
  EXPECT_NE(message_of<usage_error>([&] { back_up("taken"); }).find("is there already"), std::string::npos);
  EXPECT_NE(message_of<usage_error>([&] { back_up("no/folder"); }).find("is not there"), std::string::npos);
  EXPECT_EQ(back_up_spool(at_, folder_.at("copy"), [] { return true; }), std::nullopt);
  EXPECT_FALSE(fs::exists(folder_.at("copy")));
  EXPECT_THROW(back_up_spool(folder_.at("taken"), folder_.at("copy"), goes_on), usage_error);
  EXPECT_EQ(std::distance(fs::directory_iterator{folder_.path()}, fs::directory_iterator{}), 2) << "nothing is left";
  EXPECT_EQ(back_up("copy"), 1U);
  EXPECT_EQ(content(spool{folder_.at("copy")}.folder(id) / "log-1"), "text");
}

/// A job that is removed while it is copied is there as a whole, or is not.
TEST_F(backups, leave_out_what_is_removed_meanwhile) {
  pid_t const cleans = test::forked([&] {
    spool own{at_};
    for (;;) {
      job_document const one = scripted("exit 0");
      std::string const id = own.submit({&one, 1}).front();
      job_entry next = own.entry(id);
      next.state = entry_state::cancelled;
      auto const over = own.change(own.entry(id), next, {}, durability::may_be_lost);
      if (over) own.remove(*over);
    }
  });
  test::killed_at_end const also{cleans};
  for (std::uint64_t i = 0; i < trials(40); ++i) {
    std::string const name = "copy-" + std::to_string(i);
    back_up(name);
    spool copy{folder_.at(name)};
    for (job_entry const& each : copy.list()) {
      EXPECT_EQ(copy.document(each.id).name, "scripted");
      EXPECT_EQ(copy.events(each.id).size(), each.version);
    }
  }
  test::kill_child(cleans);
}

TEST_F(backups, of_a_queue_whose_agents_work_and_die_lose_no_job_and_do_each_to_the_end) {
  constexpr int agents_at_once = 3;
  constexpr int jobs_each_time = 10;
  std::mt19937 random{20'261'130};
  std::vector<pid_t> workers;
  for (int i = 0; i < agents_at_once; ++i) workers.push_back(agent_process(false));
  std::set<std::string> acknowledged;
  std::string last;
  std::set<std::string> in_last;
  for (std::uint64_t i = 0; i < trials(8); ++i) {
    for (int k = 0; k < jobs_each_time; ++k) {
      std::string const result = "result-" + std::to_string(acknowledged.size());
      acknowledged.insert(submit(scripted("echo $3 > \"$2/saved\"; sleep 0.02; echo done > \"$1\"", result)));
    }
    test::kill_child(std::exchange(workers[i % agents_at_once], -1));
    last = "copy-" + std::to_string(i);
    in_last = acknowledged;
    EXPECT_GE(back_up(last), acknowledged.size());
    workers[i % agents_at_once] = agent_process(false);
    spool copy{folder_.at(last)};
    std::set<std::string> there;
    for (job_entry const& each : copy.list()) {
      there.insert(each.id);
      EXPECT_EQ(copy.events(each.id).size(), each.version) << name_of(each.state);
      EXPECT_EQ(copy.document(each.id).name, "scripted");
    }
    EXPECT_EQ(there, acknowledged);
  }
  for (pid_t const each : workers) test::kill_child(each);
  // Somewhere else, and what the first queue had done is gone but for what the copy says is done.
  std::string const restored = folder_.at("restored");
  ASSERT_TRUE(copy_whole(folder_.at(last), restored, existing::refuse, goes_on));
  fs::remove_all(at_);
  spool store{restored};
  for (job_entry const& each : store.list())
    if (!each.in_place && each.state != entry_state::done) fs::remove(store.document(each.id).run.command.back());
  work_off(store);
  for (std::string const& id : in_last) {
    EXPECT_TRUE(store.entry(id).in_place) << name_of(store.entry(id).state);
    EXPECT_EQ(content(store.document(id).run.command.back()), "done\n");
    int times = 0;
    for (job_event const& each : store.events(id))
      times += each.state == entry_state::done && !each.results.empty() ? 1 : 0;
    EXPECT_EQ(times, 1) << id;
  }
}

}  // namespace
}  // namespace lull::queue
