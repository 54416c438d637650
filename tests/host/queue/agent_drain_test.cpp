// SPDX-License-Identifier: Apache-2.0
// What agents do while their queue is drained.
#include <chrono>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <lull/host/queue/drain_order.hpp>
#include <lull/tests/host/queue/agents.hpp>

namespace lull::queue {
namespace {

class drained_agents : public agents {
 protected:
  void drain(bool saves) { store_->set_drained(drain_order{.saves = saves, .by = "alice@node"}); }
};

TEST_F(drained_agents, begin_no_job_and_let_those_that_run_end) {
  auto const works = make_agent(*store_, 2);
  std::string const runs =
      submit(scripted("until test -e '" + folder_.at("go") + "'; do sleep 0.01; done; echo $3 > \"$1\"", "out"));
  work_until(*works, [&] { return state_of(runs) == entry_state::running; });
  drain(false);
  std::string const waits = submit(scripted("exit 0"));
  auto const beats = store_->agents().front().beats;
  work_until(*works, [&] { return store_->agents().front().beats >= beats + 2; });  // it has looked many times
  EXPECT_EQ(state_of(waits), entry_state::queued);
  EXPECT_EQ(state_of(runs), entry_state::running);
  folder_.write("go", "");
  work_until(*works, [&] { return works->is_idle(); });
  EXPECT_EQ(state_of(runs), entry_state::done);
  EXPECT_EQ(content(folder_.at("out")), "1\n") << "the first attempt";
  EXPECT_EQ(state_of(waits), entry_state::queued) << "an agent that ends when nothing can be begun may end";
  store_->set_drained(std::nullopt);
  work_until(*works, [&] { return state_of(waits) == entry_state::done; });
}

TEST_F(drained_agents, save_what_runs_where_they_are_asked_to_and_go_on_with_it) {
  auto const works = make_agent(*store_);
  std::string const id = submit(scripted("test $3 = 2 || exec sleep 600; echo $3 > \"$1\"", "out"));
  work_until(*works, [&] { return state_of(id) == entry_state::running; });
  drain(true);
  work_until(*works, [&] { return state_of(id) == entry_state::saved; });
  EXPECT_EQ(reason_of(id), "the queue is drained by alice@node since 1970-01-01T00:00:00Z");
  EXPECT_EQ(store_->entry(id).deaths, 0U) << "that it ended is not its fault";
  work_until(*works, [&] { return works->is_idle(); });
  EXPECT_EQ(state_of(id), entry_state::saved);
  store_->set_drained(std::nullopt);
  work_until(*works, [&] { return state_of(id) == entry_state::done; });
  EXPECT_EQ(content(folder_.at("out")), "2\n");
}

}  // namespace
}  // namespace lull::queue
