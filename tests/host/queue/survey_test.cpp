// SPDX-License-Identifier: Apache-2.0
// What a history tells of attempts, what users' jobs took by day, and what a queue holds.
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/queue/attempt_record.hpp>
#include <lull/host/queue/job_id.hpp>
#include <lull/host/queue/queue_survey.hpp>
#include <lull/host/queue/usage.hpp>
#include <lull/tests/host/queue/store_contract.hpp>

namespace lull::queue {
namespace {

using namespace std::chrono_literals;
using state = entry_state;

constexpr std::int64_t day_s = 86'400;
constexpr std::int64_t midnight_s = 20'000 * day_s;

job_event line(state is, std::int64_t time_s, unsigned attempt = 1, std::string const& reason = "") {
  return {.state = is, .time_s = time_s, .agent = attempt == 0 ? "" : "one", .attempt = attempt, .reason = reason};
}

TEST(histories, tell_of_each_attempt_from_its_claim_to_its_end) {
  std::vector<job_event> const history{
      line(state::held, 90, 0),
      line(state::queued, 95, 0),
      line(state::claimed, 100),
      line(state::running, 101),
      line(state::saved, 130, 1, lost_lease_reason("one")),
      line(state::held, 140),
      line(state::saved, 150),
      line(state::claimed, 200, 2),
      line(state::running, 201, 2),
      line(state::done, 260, 2),
      line(state::done, 270, 2),  // its results are in place
  };
  std::vector<attempt_record> const expected{
      {.number = 1, .agent = "one", .begun_s = 100, .ended_s = 130, .became = state::saved, .lost_lease = true},
      {.number = 2, .agent = "one", .begun_s = 200, .ended_s = 260, .became = state::done},
  };
  EXPECT_EQ(attempts_of(history), expected);
  EXPECT_EQ(expected[0].worked_s(1'000), 30);
  // One that an agent still has.
  std::vector<attempt_record> const begun = attempts_of(std::span{history}.first(9));
  ASSERT_EQ(begun.size(), 2U);
  EXPECT_FALSE(begun[1].ended_s);
  EXPECT_EQ(begun[1].worked_s(1'000), 800);
}

TEST(histories, whose_begin_is_lost_tell_of_an_end_and_of_no_time) {
  std::vector<job_event> const history{line(state::failed, 500, 3), line(state::saved, 510, 3)};
  std::vector<attempt_record> const expected{
      {.number = 3, .agent = "one", .begun_s = std::nullopt, .ended_s = 500, .became = state::failed}};
  EXPECT_EQ(attempts_of(history), expected);
  EXPECT_EQ(expected[0].worked_s(1'000), 0);
  EXPECT_TRUE(attempts_of(std::vector{line(state::cancelled, 10, 0)}).empty()) << "no agent has had it";
  EXPECT_EQ((attempt_record{.begun_s = 20, .ended_s = 10}.worked_s(30)), 0) << "clocks of two machines";
}

TEST(usages, are_told_by_day_and_an_attempt_over_midnight_counts_for_both) {
  std::vector<attempt_record> const attempts{
      {.begun_s = midnight_s - 100, .ended_s = midnight_s + 2 * day_s + 7, .became = state::saved},
      {.begun_s = midnight_s + 2 * day_s + 10, .ended_s = midnight_s + 2 * day_s + 15, .became = state::failed},
      {.begun_s = std::nullopt, .ended_s = midnight_s + 5, .became = state::done},
      {.begun_s = midnight_s + 3 * day_s},
  };
  std::int64_t const now_s = midnight_s + 3 * day_s + 40;
  std::map<std::int64_t, usage> expected{
      {19'999, {.attempts = 1, .worked_s = 100}},
      {20'000, {.done = 1, .worked_s = day_s}},
      {20'001, {.worked_s = day_s}},
      {20'002, {.failed = 1, .attempts = 1, .worked_s = 12}},
      {20'003, {.attempts = 1, .worked_s = 40}},
  };
  EXPECT_EQ(usage_by_day(attempts, 0, now_s), expected);
  expected.erase(19'999);
  expected[20'000] = {.worked_s = day_s - 6};
  EXPECT_EQ(usage_by_day(attempts, midnight_s + 6, now_s), expected) << "what was before does not count";
}

/// A spool with jobs of several users.
class surveys : public testing::Test {
 protected:
  surveys() {
    spool::make(folder_.at("spool"), lease);
    store_.emplace(folder_.at("spool"));
  }
  job_entry submit(std::string const& user, what_is_awaited after = {}) {
    job_document one = job_named("job");
    one.user = user;
    one.after = std::move(after);
    return store_->entry(store_->submit({&one, 1}).front());
  }
  job_entry become(job_entry const& from, state to, bool claims = false, std::string const& reason = "") {
    job_entry next = from;
    next.state = to;
    next.attempt += claims ? 1 : 0;
    if (claims) next.agent = make_token();
    return store_->change(from, next, {.reason = reason}, durability::may_be_lost).value();
  }
  static std::size_t count(user_figures const& of, state is) { return of.jobs[static_cast<std::size_t>(is)]; }

  static constexpr std::chrono::nanoseconds lease = 8s;
  test::test_folder folder_;
  std::optional<spool> store_;
  queue_survey::time_point const begin_ = std::chrono::steady_clock::now();
};

TEST_F(surveys, count_jobs_by_user_and_state_and_read_a_history_only_when_it_has_changed) {
  job_entry const waits = submit("ann");
  submit("ann", {.jobs = {waits.id}});
  job_entry const had = submit("ben");
  job_entry const claimed = become(had, state::claimed, true);
  become(claimed, state::saved, false, lost_lease_reason(claimed.agent));
  job_entry const runs = become(submit("ben"), state::claimed, true);
  queue_survey survey{*store_};
  auto const made_s = static_cast<std::int64_t>(made_ms(waits.id) / 1'000);
  queue_figures const found = survey.look(begin_, made_s + 100'000);
  ASSERT_EQ(found.users.size(), 2U);
  user_figures const& ann = found.users.at("ann");
  user_figures const& ben = found.users.at("ben");
  EXPECT_EQ(count(ann, state::queued), 2U);
  EXPECT_EQ(ann.attempts, 0U);
  EXPECT_EQ(count(ben, state::saved), 1U);
  EXPECT_EQ(count(ben, state::claimed), 1U);
  EXPECT_EQ(ben.attempts, 2U);
  EXPECT_EQ(ben.lost_leases, 1U);
  EXPECT_NEAR(static_cast<double>(ben.worked_s), 100'000, 1'000) << "what still runs counts until now";
  EXPECT_EQ(found.oldest_waiting_s, 100'000);
  EXPECT_EQ(survey.histories_read(), 2U) << "those of ann were never begun";
  survey.look(begin_, made_s + 100'000);
  EXPECT_EQ(survey.histories_read(), 2U);
  job_entry const ended = become(runs, state::failed);
  user_figures const later = survey.look(begin_, made_s + 100'000).users.at("ben");
  EXPECT_EQ(survey.histories_read(), 3U);
  EXPECT_EQ(count(later, state::failed), 1U);
  EXPECT_LT(later.worked_s, 1'000);
  ASSERT_TRUE(store_->remove(ended));
  EXPECT_EQ(count(survey.look(begin_, made_s).users.at("ben"), state::failed), 0U);
}

TEST_F(surveys, take_no_job_that_awaits_another_for_the_oldest_that_waits) {
  job_entry const first = submit("ann");
  job_entry const second = submit("ann", {.jobs = {first.id}});
  become(first, state::claimed, true);
  queue_survey survey{*store_};
  auto const made_s = static_cast<std::int64_t>(made_ms(second.id) / 1'000);
  EXPECT_EQ(survey.look(begin_, made_s + 50).oldest_waiting_s, 0);
  submit("ben");
  EXPECT_GE(survey.look(begin_, made_s + 50).oldest_waiting_s, 1);
}

TEST_F(surveys, count_a_job_whose_document_cannot_be_read) {
  job_entry const lost = submit("ann");
  std::filesystem::remove(folder_.at("spool/documents/" + lost.id.substr(19) + "/" + lost.id + ".json"));
  queue_survey survey{*store_};
  EXPECT_EQ(count(survey.look(begin_, 0).users.at(""), state::queued), 1U);
}

TEST_F(surveys, tell_agents_that_live_from_those_that_died) {
  agent_record lives{.id = make_token(), .beats = 1};
  agent_record const died{.id = make_token(), .beats = 7};
  store_->beat(lives);
  store_->beat(died);
  queue_survey survey{*store_};
  survey.look_at_agents(begin_);
  EXPECT_FALSE(survey.knows_agents(begin_)) << "one look tells nothing";
  for (auto at = 1s; at <= 8s; at += 1s) {
    ++lives.beats;
    store_->beat(lives);
    survey.look_at_agents(begin_ + at);
    EXPECT_EQ(survey.knows_agents(begin_ + at), at == 8s) << at.count();
  }
  queue_figures const found = survey.look(begin_ + 8s, 0);
  EXPECT_EQ(found.agents_alive, 1U);
  EXPECT_EQ(found.agents_dead, 1U);
  store_->forget_agent(died.id);
  survey.look_at_agents(begin_ + 9s);
  EXPECT_EQ(survey.look(begin_ + 9s, 0).agents_dead, 0U);
  EXPECT_TRUE(survey.knows_agents(begin_ + 9s));
}

}  // namespace
}  // namespace lull::queue
