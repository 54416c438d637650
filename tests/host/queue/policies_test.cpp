// SPDX-License-Identifier: Apache-2.0
// In which order policies put jobs that wait, and agents that follow one.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/host/queue/policies/policies.hpp>
#include <lull/tests/host/queue/agents.hpp>
#include <lull/tests/support/message_of.hpp>

namespace lull::queue {
namespace {

std::string order_of(policy const& by, std::vector<waiting_job> jobs, queue_view const& view = {}) {
  by(jobs, view);
  std::string ids;
  for (waiting_job const& each : jobs) ids += each.id;
  return ids;
}

TEST(policies, first_come_is_by_priority_and_then_by_age) {
  EXPECT_EQ(order_of(first_come, {{.id = "b"}, {.id = "c", .priority = 1}, {.id = "a"}}), "cab");
}

TEST(policies, shortest_comes_before_longer_and_what_is_not_known_last) {
  EXPECT_EQ(order_of(shortest_first, {{.id = "a"},
                                      {.id = "b", .work_s = 30},
                                      {.id = "c", .work_s = 20},
                                      {.id = "d", .work_s = 20},
                                      {.id = "e", .priority = 1, .work_s = 90}}),
            "ecdba");
}

TEST(policies, larger_comes_before_smaller_and_what_is_not_known_first) {
  EXPECT_EQ(order_of(max_work_first, {{.id = "a", .work_s = 20}, {.id = "b", .work_s = 30}, {.id = "c"}}), "cba");
}

TEST(policies, what_is_due_first_comes_first_and_without_a_deadline_last) {
  EXPECT_EQ(order_of(earliest_deadline, {{.id = "a"},
                                         {.id = "b", .deadline_s = 200},
                                         {.id = "c", .deadline_s = 100},
                                         {.id = "d", .priority = -1, .deadline_s = 1}}),
            "cbad");
}

TEST(policies, users_take_turns_and_the_one_who_used_least_is_first) {
  std::vector<waiting_job> const jobs{{.id = "a", .user = "ann"}, {.id = "b", .user = "ann"},
                                      {.id = "c", .user = "ann"}, {.id = "d", .user = "bob"},
                                      {.id = "e", .user = "cid"}, {.id = "f", .user = "bob"}};
  EXPECT_EQ(order_of(fair_shares, jobs, {.used_s = {{"ann", 50.0}, {"bob", 70.0}}}), "eadbfc");
  EXPECT_EQ(order_of(fair_shares, jobs), "adebfc") << "by age where all have used the same";
}

TEST(policies, aged_jobs_rise_and_overdue_ones_come_first) {
  aging const by{.step_s = 100, .bound_s = 1'000};
  std::vector<waiting_job> const jobs{{.id = "a", .submitted_s = 9'500},
                                      {.id = "b", .priority = 4, .submitted_s = 9'990},
                                      {.id = "c", .submitted_s = 9'800}};
  EXPECT_EQ(order_of(by, jobs, {.now_s = 10'000}), "abc") << "five steps against four";
  EXPECT_EQ(order_of(by, jobs, {.now_s = 10'790}), "abc");
  EXPECT_EQ(order_of(aging{.step_s = 1'000, .bound_s = 1'000}, jobs, {.now_s = 10'000}), "bac");
  EXPECT_EQ(order_of(aging{.step_s = 1e9, .bound_s = 450}, jobs, {.now_s = 10'000}), "abc") << "only a is overdue";
}

TEST(policies, mixtures_lie_between_their_parts) {
  std::vector<waiting_job> const jobs{{.id = "a", .work_s = 3}, {.id = "b", .work_s = 2}, {.id = "c", .work_s = 1}};
  EXPECT_EQ(order_of(policy_named("shortest:0.9+first-come:0.1"), jobs), "cba");
  EXPECT_EQ(order_of(policy_named("shortest:0.1+first-come:0.9"), jobs), "abc");
}

TEST(policies, are_named_or_refused) {
  for (char const* const name : {"first-come", "shortest", "largest", "deadline", "fair", "aging", "fair:1+aging:2.5"})
    EXPECT_TRUE(policy_named(name)) << name;
  for (char const* const wrong : {"", "x", "fair+aging", "fair:", "fair:0", "fair:-1", "fair:nan", "fair:1+", "+fair:1",
                                  "fair:1x", "x:1", "fair:inf"})
    EXPECT_NE(message_of<usage_error>([&] { policy_named(wrong); }).find("first-come, shortest"), std::string::npos)
        << wrong;
}

/// Every policy only puts in order, whatever the order before.
TEST(policies, lose_and_double_no_job_and_depend_on_no_order) {
  std::mt19937 random{7};
  for (char const* const name :
       {"first-come", "shortest", "largest", "deadline", "fair", "aging", "fair:1+shortest:1"}) {
    policy const by = policy_named(name);
    for (int round = 0; round < 50; ++round) {
      std::vector<waiting_job> jobs(random() % 40);
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        jobs[i] = {.id = std::string(1, static_cast<char>('0' + i)),
                   .user = std::string(1, static_cast<char>('a' + random() % 4)),
                   .priority = static_cast<int>(random() % 3),
                   .submitted_s = static_cast<std::int64_t>(random() % 1'000),
                   .work_s = static_cast<double>(random() % 5)};
        if (random() % 2 == 0) jobs[i].deadline_s = random() % 100;
      }
      queue_view const view{.now_s = 500'000, .used_s = {{"a", 3.0}, {"b", 1.0}}};
      std::string const before = order_of(first_come, jobs);
      std::string const found = order_of(by, jobs, view);
      std::shuffle(jobs.begin(), jobs.end(), random);
      EXPECT_EQ(order_of(by, jobs, view), found) << name;
      std::string sorted = found;
      std::sort(sorted.begin(), sorted.end());
      std::string all = before;
      std::sort(all.begin(), all.end());
      EXPECT_EQ(sorted, all) << name;
    }
  }
}

TEST(policies, what_was_used_halves) { EXPECT_DOUBLE_EQ(decayed(8, 20, 10), 2); }

class ordered_agents : public agents {
 protected:
  std::unique_ptr<agent> made(std::string const& order) {
    return std::make_unique<agent>(*store_, prepare, say_nothing,
                                   agent::options{.order = policy_named(order), .list_every = 5ms});
  }
  /// A job that adds a letter to a file.
  job_document letter(std::string const& what) const { return scripted("echo " + what + " >> " + folder_.at("order")); }
};

TEST_F(ordered_agents, begin_the_shortest_first) {
  for (int const s : {30, 10, 20}) {
    job_document job = letter(std::to_string(s));
    job.wall = std::chrono::seconds{s};
    submit(job);
  }
  auto const works = made("shortest");
  work_until(*works, [&] { return works->is_idle(); });
  EXPECT_EQ(content(folder_.at("order")), "10\n20\n30\n");
}

TEST_F(ordered_agents, give_users_turns) {
  for (char const* const user : {"ann", "ann", "bob"}) {
    job_document job = letter(user);
    job.run.command.front() += "; sleep 0.2";
    job.user = user;
    submit(job);
  }
  auto const works = made("fair");
  work_until(*works, [&] { return works->is_idle(); });
  EXPECT_EQ(content(folder_.at("order")), "ann\nbob\nann\n");
}

TEST_F(ordered_agents, refuse_a_job_whose_document_is_not_there) {
  std::string const lost = submit(letter("lost"));
  std::string const kept = submit(letter("kept"));
  for (auto const& each : std::filesystem::recursive_directory_iterator{folder_.at("store")})
    if (each.path().filename() == lost + ".json") {
      std::filesystem::remove(each.path());
      break;
    }
  auto const works = made("deadline");
  work_until(*works, [&] { return works->is_idle(); });
  EXPECT_EQ(state_of(lost), entry_state::refused);
  EXPECT_EQ(state_of(kept), entry_state::done);
}

}  // namespace
}  // namespace lull::queue
