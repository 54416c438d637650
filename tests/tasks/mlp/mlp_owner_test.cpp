// SPDX-License-Identifier: Apache-2.0
// Training and asking a perceptron through its owners, on CPU threads.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/atomic_file.hpp>
#include <lull/host/cli/alone.hpp>
#include <lull/host/error.hpp>
#include <lull/host/executor.hpp>
#include <lull/tasks/mlp/mlp_file.hpp>
#include <lull/tasks/mlp/mlp_owner.hpp>
#include <lull/tasks/mlp/program.hpp>
#include <lull/tasks/mlp/shuffled.hpp>

namespace lull {
namespace {

namespace fs = std::filesystem;

TEST(mlp_program_table, says_each_phase_of_two_epochs) {
  mlp_program const program{.layers = 2, .train_steps = 2, .judge_steps = 1, .epochs = 2};
  std::string found;
  for (std::uint64_t round = 0; round < program.phases(); ++round) {
    mlp_point const at = program.at(round);
    found += " lfLbuj"[static_cast<int>(at.what) + 1];
    if (at.what == mlp_phase::forward || at.what == mlp_phase::backward) found += std::to_string(at.layer);
    if (at.what == mlp_phase::update || at.what == mlp_phase::judge) found += std::to_string(at.epoch) + std::to_string(at.step) + ' ';
  }
  EXPECT_EQ(found, "lf0f1Lb1u00 f0f1Lb1u01 f0f1j02 f0f1Lb1u10 f0f1Lb1u11 f0f1j12 ");
}

TEST(shuffled_places, are_each_thing_once_and_others_for_another_key) {
  for (std::uint32_t const count : {1U, 2U, 3U, 4U, 5U, 17U, 256U, 257U, 1438U}) {
    shuffled const one{1, count};
    shuffled const other{2, count};
    std::set<std::uint32_t> seen;
    std::uint32_t alike = 0;
    for (std::uint32_t place = 0; place < count; ++place) {
      seen.insert(one.at(place));
      alike += one.at(place) == other.at(place) ? 1 : 0;
    }
    EXPECT_EQ(seen.size(), count);
    EXPECT_EQ(*seen.rbegin(), count - 1);
    EXPECT_LE(alike, 2 + count / 10);
  }
}

class mlp : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/lull_mlp_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  using given = std::vector<std::pair<std::string, std::string>>;
  std::unique_ptr<task_owner> owner(task_entry const& entry, given const& more) const {
    option_values values{entry.options};
    for (auto const& [name, text] : more) values.set(name, text);
    return entry.make(values);
  }
  std::vector<std::string> run(task_owner& job) {
    job.prepare(*machine_);
    alone_result const done = run_alone(*machine_, job.describe(), [](std::uint64_t) { return false; }, &job);
    EXPECT_EQ(done.state, job_state::finished);
    return job.write();
  }
  std::string file(char const* name) const { return (folder_ / name).string(); }
  std::string text(char const* name) const { return read_file(folder_ / name, 1 << 24); }

  task_entry const train_ = mlp_entry();
  task_entry const ask_ = classify_entry();
  std::unique_ptr<executor> machine_ = make_executor({.kind = executor_kind::threads});
  fs::path folder_;
};

TEST_F(mlp, learns_the_shipped_digits_and_answers_as_it_learnt) {
  auto const job = owner(train_, {{"hidden", "64"}, {"epochs", "12"}, {"rate", "0.003"}, {"model", file("m.npz")}, {"losses", file("l.csv")}, {"plot", file("l.svg")}});
  run(*job);
  verification const judged = job->verify();
  EXPECT_TRUE(judged.ok) << judged.message;
  std::string const losses = text("l.csv");
  EXPECT_EQ(losses.substr(0, 20), "epoch,loss,accuracy\n");
  EXPECT_EQ(std::count(losses.begin(), losses.end(), '\n'), 13);
  double const accuracy = std::stod(losses.substr(losses.rfind(',') + 1));
  EXPECT_GT(accuracy, 0.95);
  std::string const plot = text("l.svg");
  EXPECT_EQ(plot.substr(0, 4), "<svg");
  std::size_t const points = plot.find("points=\"") + 8;
  EXPECT_EQ(std::count(plot.begin() + static_cast<std::ptrdiff_t>(points), plot.begin() + static_cast<std::ptrdiff_t>(plot.find("/>", points)), ','), 12);  // epochs

  auto const question = owner(ask_, {{"model", file("m.npz")}, {"out", file("a.tsv")}, {"batch", "100"}});
  run(*question);
  EXPECT_TRUE(question->verify().ok);
  std::string const answers = text("a.tsv");
  EXPECT_EQ(std::count(answers.begin(), answers.end(), '\n'), 1797);
  EXPECT_EQ(answers.substr(0, 2), "0\t");
}

TEST_F(mlp, the_same_settings_give_the_same_model_bit_for_bit) {
  given settings{{"hidden", "20"}, {"epochs", "2"}, {"model", file("one.npz")}};
  run(*owner(train_, settings));
  settings.back().second = file("two.npz");
  run(*owner(train_, settings));
  EXPECT_EQ(text("one.npz"), text("two.npz"));
  settings.emplace_back("seed", "2");
  run(*owner(train_, settings));
  EXPECT_NE(text("one.npz"), text("two.npz"));
}

TEST_F(mlp, a_loss_that_is_no_number_ends_the_job_and_says_so) {
  auto const job = owner(train_, {{"hidden", "32"}, {"epochs", "5"}, {"rate", "1e30"}, {"model", file("m.npz")}});
  auto const lines = run(*job);
  EXPECT_NE(lines.front().find("no number"), std::string::npos);
  EXPECT_EQ(job->failures(), 1U);
  EXPECT_FALSE(job->verify().ok);
  EXPECT_FALSE(fs::exists(file("m.npz")));
}

TEST_F(mlp, files_that_do_not_fit_are_refused) {
  write_file(folder_ / "few.csv", "1,2,0\n3,4,1\n");
  EXPECT_THROW(owner(train_, {{"data", file("few.csv")}})->prepare(*machine_), input_error);
  EXPECT_THROW(owner(ask_, {}), usage_error);
  EXPECT_THROW(owner(ask_, {{"model", file("few.csv")}, {"out", file("a.tsv")}})->prepare(*machine_), input_error);
  write_mlp(folder_ / "m.npz", {{{3, 2, std::vector<float>(6), std::vector<float>(2)}}, 1});
  EXPECT_EQ(read_mlp(file("m.npz")).layers.front().inputs, 3U);
  EXPECT_THROW(owner(ask_, {{"model", file("m.npz")}, {"out", file("a.tsv")}})->prepare(*machine_), input_error);  // 64 features
  write_mlp(folder_ / "m.npz", {{{3, 2, std::vector<float>(6), std::vector<float>(2)}, {4, 2, std::vector<float>(8), std::vector<float>(2)}}, 1});
  EXPECT_THROW(read_mlp(file("m.npz")), input_error);
}

}  // namespace
}  // namespace lull
