// SPDX-License-Identifier: Apache-2.0
// What any store of jobs must do; and what a spool does besides.
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <lull/host/error.hpp>
#include <lull/host/queue/entry_name.hpp>
#include <lull/host/queue/job_id.hpp>
#include <lull/host/queue/lease_watch.hpp>
#include <lull/host/queue/policy.hpp>
#include <lull/host/queue/spool.hpp>
#include <lull/tests/host/queue/store_contract.hpp>
#include <lull/tests/support/effort.hpp>
#include <lull/tests/support/forked.hpp>
#include <lull/tests/support/message_of.hpp>

namespace lull::queue {
namespace {

using namespace std::chrono_literals;

TEST_P(job_stores, keep_what_was_submitted) {
  std::string const id = submit("first", 7);
  auto const other = open();
  job_entry const found = other->entry(id);
  EXPECT_EQ(found.id, id);
  EXPECT_EQ(found.state, entry_state::queued);
  EXPECT_EQ(found.priority, 7);
  EXPECT_EQ(found.version, 0U);
  EXPECT_EQ(to_json(other->document(id)), to_json(job_named("first", 7)));
  EXPECT_EQ(listed().at(id), found);
  EXPECT_TRUE(other->events(id).empty());
}

TEST_P(job_stores, keep_many_in_order) {
  std::vector<job_document> many;
  for (int i = 0; i < 100; ++i) many.push_back(job_named("job " + std::to_string(i)));
  std::vector<std::string> const ids = store_->submit(many);
  ASSERT_EQ(ids.size(), many.size());
  EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
  EXPECT_EQ(listed().size(), many.size());
  for (std::size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(store_->document(ids[i]).name, many[i].name);
}

TEST_P(job_stores, change_a_job_only_as_it_is) {
  std::string const id = submit("one");
  auto const other = open();
  job_entry const before = store_->entry(id);
  auto const claimed = to(*store_, before, entry_state::claimed);
  ASSERT_TRUE(claimed);
  EXPECT_EQ(claimed->version, 1U);
  EXPECT_EQ(other->entry(id), *claimed);
  EXPECT_FALSE(to(*other, before, entry_state::cancelled)) << "it is no longer as it was";
  EXPECT_FALSE(to(*store_, before, entry_state::claimed)) << "twice";
  EXPECT_EQ(store_->entry(id), *claimed);
  EXPECT_TRUE(to(*other, *claimed, entry_state::running));
}

TEST_P(job_stores, remove_a_job_that_is_over_with_all_that_is_its_own) {
  std::string const id = submit("gone");
  std::string const other_id = submit("stays");
  job_entry const queued = store_->entry(id);
  auto const over = to(*store_, queued, entry_state::cancelled, "why", durability::durable);
  ASSERT_TRUE(over);
  std::filesystem::path const files = store_->folder(id);
  std::ofstream{files / "log"} << "x";
  EXPECT_FALSE(store_->remove(queued)) << "it is no longer as it was";
  EXPECT_TRUE(std::filesystem::exists(files / "log"));
  EXPECT_TRUE(open()->remove(*over));
  EXPECT_FALSE(std::filesystem::exists(files));
  EXPECT_THROW(store_->entry(id), usage_error);
  EXPECT_THROW(open()->document(id), usage_error);
  EXPECT_EQ(listed().size(), 1U);
  EXPECT_EQ(listed().begin()->first, other_id);
  EXPECT_FALSE(to(*store_, *over, entry_state::queued)) << "it cannot come back";
}

TEST_P(job_stores, tell_a_jobs_history) {
  std::string const id = submit("one");
  auto const claimed = to(*store_, store_->entry(id), entry_state::claimed);
  to(*store_, {.id = id, .token = make_token()}, entry_state::cancelled, "which does not happen");
  job_entry next = *claimed;
  next.state = entry_state::done;
  next.agent = make_token();
  next.attempt = 3;
  ASSERT_TRUE(
      open()->change(*claimed, next, {.reason = "\"why\"\n\xff", .results = {{"a", "b"}}}, durability::durable));
  auto const all = store_->events(id);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all.front().state, entry_state::claimed);
  EXPECT_EQ(all.back().state, entry_state::done);
  EXPECT_EQ(all.back().version, 2U);
  EXPECT_EQ(all.back().agent, next.agent);
  EXPECT_EQ(all.back().attempt, 3U);
  EXPECT_EQ(all.back().reason.substr(0, 6), "\"why\"\n");
  EXPECT_EQ(all.back().results.front().second, "b");
  EXPECT_GT(all.back().time_s, 1'700'000'000);
}

TEST_P(job_stores, list_what_has_changed_however_long_nothing_did) {
  std::string const id = submit("one");
  auto const other = open();
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(listed().at(id).version, 0U);
    std::this_thread::sleep_for(100ms);
  }
  ASSERT_TRUE(to(*other, other->entry(id), entry_state::claimed));
  EXPECT_EQ(listed().at(id).version, 1U);
  ASSERT_TRUE(to(*other, other->entry(id), entry_state::running));
  EXPECT_EQ(listed().at(id).version, 2U) << "two changes in one step of the file system's clock";
}

TEST_P(job_stores, know_no_other_jobs) {
  submit("one");
  for (std::string const& id : {make_job_id(), std::string{"../../etc/passwd"}, std::string{}}) {
    EXPECT_THROW(store_->entry(id), usage_error) << id;
    EXPECT_THROW(store_->document(id), usage_error) << id;
    EXPECT_THROW(store_->events(id), usage_error) << id;
  }
}

TEST_P(job_stores, know_the_agents_that_beat) {
  agent_record one{.id = make_token(), .beats = 1, .host = "here", .process = 5, .offers = "cuda"};
  store_->beat(one);
  one.beats = 2;
  store_->beat(one);
  auto const other = open();
  ASSERT_EQ(other->agents().size(), 1U);
  EXPECT_EQ(other->agents().front().beats, 2U);
  EXPECT_EQ(other->agents().front().offers, "cuda");
  other->forget_agent(one.id);
  EXPECT_TRUE(store_->agents().empty());
}

/// Each job is claimed by the one process whose change was taken, although others try at the same time.
TEST_P(job_stores, give_a_job_to_one_of_many) {
  constexpr int jobs = 200;
  constexpr int agents = 6;
  std::vector<job_document> many(jobs, job_named("each"));
  store_->submit(many);
  std::vector<std::unique_ptr<test::value_pipe>> taken;
  std::vector<pid_t> children;
  for (int i = 0; i < agents; ++i) {
    taken.push_back(std::make_unique<test::value_pipe>());
    children.push_back(::fork());
    if (children.back() != 0) continue;
    std::uint32_t mine = 0;
    auto const own = open();
    for (bool any = true; any;) {
      any = false;
      for (job_entry const& each : own->list()) {
        if (each.state != entry_state::queued) continue;
        any = true;
        if (to(*own, each, entry_state::claimed)) ++mine;
      }
    }
    taken.back()->write(mine);
    ::_exit(0);
  }
  std::uint32_t sum = 0;
  for (int i = 0; i < agents; ++i) {
    EXPECT_EQ(test::status_of(children[i]), 0);
    sum += taken[i]->read<std::uint32_t>();
  }
  EXPECT_EQ(sum, static_cast<std::uint32_t>(jobs));
  for (auto const& [id, each] : listed()) EXPECT_EQ(each.version, 1U) << id;
}

/// A listing made while every job changes has each of them.
TEST_P(job_stores, list_every_job_while_all_change) {
  constexpr std::size_t jobs = 64;
  std::vector<job_document> many(jobs, job_named("each"));
  store_->submit(many);
  pid_t const changes = test::forked([&] {
    auto const own = open();
    for (;;) {
      for (job_entry const& each : own->list()) to(*own, each, entry_state::queued);
    }
  });
  for (std::uint64_t i = 0; i < trials(200); ++i) EXPECT_EQ(listed().size(), jobs);
  test::kill_child(changes);
}

/// A process that dies in the middle of a change leaves the job as it was before or after.
TEST_P(job_stores, keep_every_job_whole_whenever_a_process_dies) {
  constexpr std::size_t jobs = 20;
  std::vector<job_document> many(jobs, job_named("each"));
  store_->submit(many);
  std::mt19937 random{20'261'130};
  for (std::uint64_t i = 0; i < trials(100); ++i) {
    pid_t const dies = test::forked([&] {
      auto const own = open();
      job_document const another = job_named("another");
      for (;;) {
        for (job_entry const& each : own->list()) to(*own, each, entry_state::queued, "again", durability::durable);
        own->submit({&another, 1});
      }
    });
    std::this_thread::sleep_for(std::chrono::microseconds{random() % 20'000});
    test::kill_child(dies);
    GetParam().settle();
    auto const all = listed();
    EXPECT_GE(all.size(), jobs);
    for (auto const& [id, each] : all) {
      EXPECT_EQ(store_->document(id).run.task, "compute");
      EXPECT_EQ(store_->events(id).size(), each.version);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(of_files, job_stores, testing::Values(spool_kind()),
                         [](auto const& of) { return of.param.name; });

class spools : public testing::Test {
 protected:
  std::string why_not_opened(std::string const& where) {
    return message_of<error>([&] { spool const refused{where}; });
  }
  test::test_folder folder_;
};

TEST_F(spools, are_made_once_and_opened_only_where_they_are) {
  std::string const at = folder_.at("new");
  EXPECT_NE(why_not_opened(at).find("cannot be opened"), std::string::npos);
  spool::make(at, 5s);
  EXPECT_EQ(spool{at}.lease(), 5s);
  spool::make(at, 9s);
  EXPECT_EQ(spool{at}.lease(), 5s) << "the one that is there stays";
  ASSERT_EQ(::mkdir(folder_.at("empty").c_str(), 0700), 0);
  EXPECT_NE(why_not_opened(folder_.at("empty")).find("is no spool: make one with"), std::string::npos);
  ASSERT_EQ(::mkdir(folder_.at("full").c_str(), 0700), 0);
  folder_.write("full/notes.txt", "mine");
  EXPECT_THROW(spool::make(folder_.at("full")), usage_error);
  EXPECT_THROW(spool::make(folder_.at("none/below")), usage_error);
  EXPECT_THROW(spool::make(folder_.at("short"), 1ms), usage_error);
}

TEST_F(spools, that_others_may_enter_are_refused) {
  std::string const at = folder_.at("open");
  spool::make(at);
  for (mode_t const mode : {0750, 0707, 0777}) {
    ASSERT_EQ(::chmod(at.c_str(), mode), 0);
    EXPECT_NE(why_not_opened(at).find("is not this user's alone"), std::string::npos) << mode;
  }
}

TEST_F(spools, of_another_schema_are_named) {
  std::string const at = folder_.at("later");
  spool::make(at);
  folder_.write("later/FORMAT", R"({"schema": "lull.spool/2"})");
  EXPECT_NE(why_not_opened(at).find("lull.spool/1 only"), std::string::npos);
}

TEST_F(spools, follow_no_link) {
  std::string const at = folder_.at("linked");
  spool::make(at);
  std::filesystem::create_directory(folder_.at("elsewhere"));
  std::filesystem::create_directory_symlink(folder_.at("elsewhere"), at + "/jobs");
  spool linked{at};
  job_document const one = job_named("one");
  EXPECT_THROW(linked.submit({&one, 1}), device_error);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.at("elsewhere")));
}

TEST_F(spools, pass_over_files_that_are_not_theirs) {
  std::string const at = folder_.at("littered");
  spool::make(at);
  spool littered{at};
  job_document const one = job_named("one");
  std::string const id = littered.submit({&one, 1}).front();
  std::string const part = "littered/jobs/" + id.substr(19) + "/";
  for (char const* const name : {"core", ".nfs0001", "a,b,c,d,e,f,g,h,i", "x~"}) folder_.write(part + name, "litter");
  folder_.write("littered/agents/notes", "litter");
  folder_.write("littered/agents/" + make_token(), "litter");
  EXPECT_EQ(littered.list().size(), 1U);
  EXPECT_TRUE(littered.agents().empty());
}

/// So many that the system lists them in several steps, between which names change.
TEST(open_folder, lists_every_file_while_all_are_renamed) {
  constexpr std::size_t files = 3'000;
  test::test_folder const folder;
  open_folder const here = open_folder::own(folder.path());
  auto const name = [](std::size_t file, std::uint64_t version) {
    return std::to_string(file) + "," + std::to_string(version);
  };
  for (std::size_t i = 0; i < files; ++i) here.write_new(name(i, 0), "", open_folder::flushing::later);
  pid_t const renames = test::forked([&] {
    open_folder const own = open_folder::own(folder.path());
    std::mt19937 random{20'261'130};
    std::vector<std::uint64_t> versions(files, 0);
    for (;;) {
      std::size_t const one = random() % files;
      own.rename(name(one, versions[one]), name(one, versions[one] + 1));
      ++versions[one];
    }
  });
  for (std::uint64_t i = 0; i < trials(200); ++i) {
    std::set<std::string> found;
    for (std::string const& each : here.names()) found.insert(each.substr(0, each.find(',')));
    EXPECT_EQ(found.size(), files);
  }
  test::kill_child(renames);
}

TEST(entry_name, is_read_back) {
  job_entry all{.id = make_job_id(),
                .version = 12,
                .priority = -5,
                .attempt = 3,
                .failures = 2,
                .deaths = 1,
                .token = make_token()};
  for (std::size_t i = 0; i < state_names.size(); ++i) {
    all.state = static_cast<entry_state>(i);
    EXPECT_EQ(entry_of(name_of(all)), all);
  }
  all.state = entry_state::done;
  all.in_place = true;
  all.agent = make_token();
  EXPECT_EQ(entry_of(name_of(all)), all);
  std::string const good = name_of(all);
  for (std::string const& wrong : {std::string{}, good + ",", good.substr(1), good + "0", "," + good})
    EXPECT_FALSE(entry_of(wrong)) << wrong;
}

TEST(lease_watch, counts_an_agent_dead_whose_counter_stands_still) {
  lease_watch watch{10s};
  lease_watch::time_point const begin{1h};
  agent_record agents[] = {{.id = "lives", .beats = 1}, {.id = "dies", .beats = 1}};
  for (auto now = begin; now <= begin + 20s; now += 1s) {
    ++agents[0].beats;
    watch.see(agents, now);
    EXPECT_FALSE(watch.is_dead("lives", now));
    EXPECT_EQ(watch.is_dead("dies", now), now >= begin + 10s) << (now - begin) / 1s;
    EXPECT_EQ(watch.is_dead("never seen", now), now >= begin + 10s);
  }
}

TEST(lease_watch, that_has_not_looked_begins_again) {
  lease_watch watch{10s};
  lease_watch::time_point const begin{1h};
  agent_record const agents[] = {{.id = "slow", .beats = 1}};
  watch.see(agents, begin);
  watch.see(agents, begin + 60s);
  EXPECT_FALSE(watch.is_dead("slow", begin + 60s)) << "this process was stopped, not the agent";
}

TEST(lease_watch, takes_the_time_of_a_store_that_has_a_clock) {
  lease_watch watch{10s};
  lease_watch::time_point now{1h};
  agent_record agents[] = {{.id = "lives", .beats = 1, .silence = 9s}, {.id = "dead", .beats = 1, .silence = 10s}};
  watch.see(agents, now);
  EXPECT_FALSE(watch.is_dead("lives", now));
  EXPECT_TRUE(watch.is_dead("dead", now)) << "also for a process that looks for the first time";
  now += 60s;  // this process was stopped, or the store was gone
  for (agent_record& each : agents) each.silence = 60s;
  watch.see(agents, now);
  EXPECT_FALSE(watch.is_dead("lives", now)) << "it may not have reached the store";
  for (int i = 0; i < 2; ++i) watch.see(agents, now += 5s);
  EXPECT_TRUE(watch.is_dead("lives", now));
  agents[0].silence = 0s;
  watch.see(agents, now);
  EXPECT_FALSE(watch.is_dead("lives", now));
}

TEST(policy, jobs_come_by_priority_and_then_by_age) {
  job_entry jobs[] = {{.id = "b"}, {.id = "c", .priority = 1}, {.id = "a"}};
  by_priority_and_age(jobs);
  EXPECT_EQ(jobs[0].id + jobs[1].id + jobs[2].id, "cab");
}

TEST(policy, a_job_waits_for_those_it_awaits) {
  job_document job = job_named("last");
  job.after.jobs = {"a"};
  std::map<std::string, job_entry> all;
  EXPECT_EQ(readiness_of(job, all).what, readiness::never);
  auto const when = [&](entry_state state, bool in_place = false) {
    all["a"] = {.id = "a", .state = state, .in_place = in_place};
    return readiness_of(job, all).what;
  };
  EXPECT_EQ(when(entry_state::running), readiness::waits);
  EXPECT_EQ(when(entry_state::held), readiness::waits);
  EXPECT_EQ(when(entry_state::done), readiness::waits) << "its results are not in place";
  EXPECT_EQ(when(entry_state::done, true), readiness::ready);
  EXPECT_EQ(when(entry_state::failed), readiness::never);
  job.after.any_end = true;
  EXPECT_EQ(when(entry_state::failed), readiness::ready);
}

}  // namespace
}  // namespace lull::queue
