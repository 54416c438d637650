// SPDX-License-Identifier: Apache-2.0
#include <lull/tests/host/queue/spool_scene.hpp>

#include <ctime>
#include <fstream>
#include <iterator>
#include <set>

#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/host/queue/job_id.hpp>

namespace lull::queue {

namespace fs = std::filesystem;

spool_scene::spool_scene() {
  spool::make(at(), lease);
  spool store = open();
  std::vector<job_document> const jobs{job_named("other"), job_named("job")};
  std::vector<std::string> const ids = store.submit(jobs);
  other = ids[0];
  id = ids[1];
  other_before = store.entry(other);
  before = store.entry(id);
}

void spool_scene::bring(entry_state state, job_event what, unsigned attempt) {
  job_entry next = before;
  next.state = state;
  next.agent = agent_id;
  next.attempt = attempt;
  before = open().change(before, next, std::move(what), durability::durable).value();
}

void spool_scene::tick() {
  works->tick(std::chrono::steady_clock::now());
  if (said.find(" cannot be ") != said.npos) throw usage_error{said};
}

void spool_scene::write_results() const {
  folder_.write("out.csv", "old");
  folder_.write("out.attempt-1.csv", "new");
  for (char const* const name : {"pictures", "pictures.attempt-1"}) fs::create_directory(folder_.at(name));
  for (char const* const name : {"a", "b"}) folder_.write(std::string{"pictures/"} + name, "old");
  for (char const* const name : {"a", "c"}) folder_.write(std::string{"pictures.attempt-1/"} + name, "new");
}

std::vector<std::pair<std::string, std::string>> spool_scene::results() const {
  return {{folder_.at("out.attempt-1.csv"), folder_.at("out.csv")},
          {folder_.at("pictures.attempt-1"), folder_.at("pictures")}};
}

/// Of a folder: the names in it, each with its content.
std::string spool_scene::content(std::string const& name) const {
  if (!fs::is_directory(folder_.at(name))) {
    std::ifstream in{folder_.at(name), std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
  }
  std::set<std::string> names;
  for (auto const& each : fs::directory_iterator{folder_.at(name)}) names.insert(each.path().filename());
  std::string all;
  for (std::string const& each : names) all += each + ":" + content(name + "/" + each) + " ";
  return all;
}

void spool_scene::work_off(std::function<bool(agent&)> const& until) const {
  spool store = open();
  auto const another = make_agent(store, [](std::string const&, std::string const&) {});
  auto now = std::chrono::steady_clock::now();
  constexpr int max_ticks = 200;
  for (int i = 0; !until(*another); ++i) {
    ASSERT_LT(i, max_ticks) << "an agent has not done in many rounds what is left to do";
    another->tick(now += lease / 8);
  }
}

void spool_scene::expect_whole(fault after) const {
  spool store = open();
  std::set<std::string> ids;
  for (job_entry const& each : store.list()) {
    EXPECT_TRUE(ids.insert(each.id).second) << each.id << " is there twice";
    EXPECT_EQ(store.entry(each.id), each);
    EXPECT_EQ(store.document(each.id).run.task, "compute");
    std::size_t const told = store.events(each.id).size();
    EXPECT_TRUE(told == each.version || (after == fault::power_cut && told < each.version)) << told << each.version;
  }
  EXPECT_EQ(store.entry(other), other_before);
  EXPECT_EQ(store.problems(), std::vector<std::string>{});
  store.agents();
}

void spool_scene::expect_no_litter() const {
  spool store = open();
  store.remove_litter(std::time(nullptr) + 10);  // no process of this test still runs
  std::set<std::string> ids;
  for (job_entry const& each : store.list()) ids.insert(each.id);
  for (auto const& each : fs::recursive_directory_iterator{at()}) {
    std::string const below = each.path().lexically_relative(at()).string();  // kind/N/ID…
    std::size_t const file = below.find('/', below.find('/') + 1);
    bool const is_of_a_job = file != below.npos && ids.contains(below.substr(file + 1, job_id_digits));
    EXPECT_TRUE(is_of_a_job || each.is_directory() || below == "FORMAT") << below << " is nothing's";
  }
}

std::unique_ptr<agent> spool_scene::make_agent(job_store& store, agent::log_function says,
                                               agent::prepare_function runs) {
  bool const takes_any = static_cast<bool>(runs);
  auto const takes = [=](job_document const& job, job_entry const&) { return takes_any && job.name == "job"; };
  return std::make_unique<agent>(store, std::move(runs), std::move(says),
                                 agent::options{.takes = takes, .list_every = std::chrono::milliseconds{1}});
}

}  // namespace lull::queue
