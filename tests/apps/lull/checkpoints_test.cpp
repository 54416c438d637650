// SPDX-License-Identifier: Apache-2.0
// Jobs that are stopped, killed and taken up again.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <lull/apps/registry/registry.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/atomic_file.hpp>
#include <lull/host/io/safetensors_reader.hpp>
#include <lull/host/measure/finish.hpp>
#include <lull/host/solo/checkpoints.hpp>
#include <lull/host/solo/solo_run.hpp>
#include <lull/host/task/counter_random.hpp>
#include <lull/tests/host/io/safetensors_file.hpp>
#include <lull/tests/support/effort.hpp>
#include <lull/tests/support/killed_program.hpp>
#include <lull/tests/support/test_folder.hpp>

namespace lull {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class saved_jobs : public testing::Test {
 protected:
  struct outcome {
    bool finished;
    bool resumed;
    std::vector<std::string> arrays;  // as bytes
  };
  /// Runs a task until it is seen to have opened so many phases more, or to its end; saves when it is stopped. On a
  /// busy machine many phases pass between two looks: a test that needs the job unfinished gives it far more of them.
  enum class at_the_end { forgets, keeps };
  outcome run(std::string const& task, std::uint64_t phases, std::chrono::nanoseconds every = 1h,
              at_the_end ends = at_the_end::forgets) {
    task_request const request = parse_task(task, known_tasks());
    auto const executor = make_executor({.kind = executor_kind::threads});
    auto const owner = entry_of(request).make(request.values);
    owner->prepare(*executor);
    checkpoints saves{folder_ / "saved", every, true, request.name, request, *owner, *executor};
    std::uint64_t first = ~std::uint64_t{0};
    auto const stop = [&](std::span<solo_run const> now) {
      first = std::min(first, now[0].phases);
      return now[0].phases - first >= phases;
    };
    bool const finished = run_solo(*executor, {{owner->describe(), owner.get(), &saves}}, {.stop = stop})[0].finished;
    outcome found{finished, saves.resumed(), {}};
    if (finished && ends == at_the_end::forgets) saves.forget();
    found.arrays = bytes_of(*owner, *executor);
    return found;
  }

  /// Several tasks in one run, until it was asked so many times whether it should stop, or until all have ended.
  enum class ends { stopped, finished };
  std::pair<ends, std::vector<outcome>> run_together(std::vector<std::string> const& tasks, std::uint64_t looks,
                                                     std::chrono::nanoseconds every = 1h) {
    auto const executor = make_executor({.kind = executor_kind::threads, .processors = 2});
    std::vector<std::unique_ptr<task_owner>> owners;
    std::vector<std::unique_ptr<checkpoints>> saves;
    std::vector<solo_task> work;
    for (std::string const& each : tasks) {
      task_request const request = parse_task(each, known_tasks());
      task_owner& owner = *owners.emplace_back(entry_of(request).make(request.values));
      owner.prepare(*executor);
      std::string const name = "task-" + std::to_string(work.size());
      saves.push_back(std::make_unique<checkpoints>(folder_ / "saved", every, true, name, request, owner, *executor));
      work.push_back({owner.describe(), &owner, saves.back().get()});
    }
    std::uint64_t asked = 0;
    auto const stop = [&](std::span<solo_run const>) { return asked++ >= looks; };
    std::vector<solo_run> const runs = run_solo(*executor, work, {.stop = stop});
    std::vector<outcome> found;
    std::vector<ended_task> ended;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      EXPECT_EQ(runs[i].problem, nullptr);
      found.push_back({runs[i].finished, saves[i]->resumed(), {}});
      if (runs[i].finished) found.back().arrays = bytes_of(*owners[i], *executor);
      ended.push_back({tasks[i], runs[i].finished ? owners[i].get() : nullptr, {}, saves[i].get()});
    }
    return {finish(ended, results_judged::no).all_finished ? ends::finished : ends::stopped, found};
  }

  static std::vector<std::string> bytes_of(task_owner const& owner, executor& executor) {
    std::vector<std::string> found;
    for (task_array const& each : owner.arrays()) {
      executor.read(found.emplace_back(each.array.bytes(), '\0').data(), each.memory, each.array.bytes());
    }
    return found;
  }

  test::test_folder files_;
  fs::path const folder_ = files_.path();
};

constexpr std::uint64_t to_the_end = ~std::uint64_t{0} - 1;

TEST_F(saved_jobs, end_with_the_bytes_of_one_that_was_never_stopped) {
  for (std::string const task : {"mlp:hidden=24,epochs=3,batch=50", "pagerank:kronecker=14,sweeps=300,tolerance=1e-30",
                                 "streaming:items=300,rounds=100"}) {
    outcome const whole = run(task, to_the_end);
    ASSERT_TRUE(whole.finished) << task;
    EXPECT_FALSE(whole.resumed);
    int stops = 0;
    outcome last = run(task, 0);
    for (; !last.finished; ++stops) {
      ASSERT_LT(stops, 1000) << task;
      last = run(task, 20 + 20 * static_cast<std::uint64_t>(stops));
      EXPECT_TRUE(last.resumed) << task;
    }
    EXPECT_EQ(last.arrays, whole.arrays) << task;
    EXPECT_TRUE(fs::is_empty(folder_ / "saved"));  // nothing to take up any more
  }
}

TEST_F(saved_jobs, saving_while_they_run_changes_nothing) {
  std::string const task = "mlp:hidden=24,epochs=3,batch=50";
  EXPECT_EQ(run(task, to_the_end).arrays, run(task, to_the_end, 1ns).arrays);
}

TEST_F(saved_jobs, at_their_end_are_not_done_again) {
  std::string const task = "mlp:hidden=24,epochs=3,batch=50";
  outcome const first = run(task, to_the_end, 1h, at_the_end::keeps);
  outcome const again = run(task, 0, 1h, at_the_end::keeps);  // no phase more
  EXPECT_TRUE(again.resumed);
  EXPECT_TRUE(again.finished);
  EXPECT_EQ(again.arrays, first.arrays);
}

TEST_F(saved_jobs, of_other_settings_or_inputs_are_refused_and_kept) {
  run("mlp:hidden=24,epochs=1000", 0);
  std::string const before = read_file(folder_ / "saved/mlp.safetensors", 1 << 24);
  EXPECT_THROW(run("mlp:hidden=24,epochs=1001", 5), input_error);
  EXPECT_EQ(read_file(folder_ / "saved/mlp.safetensors", 1 << 24), before);
  write_file(folder_ / "saved/mlp.safetensors", before.substr(0, before.size() / 2));
  EXPECT_THROW(run("mlp:hidden=24,epochs=1000", 5), input_error);
  EXPECT_THROW(run("images:in=" + folder_.string() + ",out=" + (folder_ / "out").string(), 5), error);
}

/// Results go elsewhere, and the input has another name: what is in it counts.
TEST_F(saved_jobs, go_on_whatever_the_files_are_called) {
  std::string rows;
  for (int row = 0; row < 400; ++row) rows += std::to_string(row) + "," + std::to_string(row % 7) + "\n";
  write_file(folder_ / "rows.csv", rows);
  auto const asked = [&](std::string const& data, std::string const& losses) {
    return "mlp:hidden=24,epochs=1000,batch=50,data=" + (folder_ / data).string() +
           ",losses=" + (folder_ / losses).string();
  };
  run(asked("rows.csv", "losses"), 3);
  fs::rename(folder_ / "rows.csv", folder_ / "moved.csv");
  EXPECT_TRUE(run(asked("moved.csv", "losses elsewhere"), 3).resumed);
  write_file(folder_ / "moved.csv", rows + "1,1\n");
  EXPECT_THROW(run(asked("moved.csv", "losses"), 3), input_error);
}

TEST_F(saved_jobs, are_files_of_arrays_of_the_tasks_own_types_and_shapes) {
  struct saved {
    std::string task;
    std::vector<std::string> arrays;  // of those that begin alike
  };
  std::string rows;
  for (int row = 0; row < 400; ++row) rows += std::to_string(row) + "," + std::to_string(row % 37) + "\n";
  write_file(folder_ / "wide.csv", rows);  // as many classes as have their logits kept
  for (auto const& [task, arrays] : std::vector<saved>{
           {"compute:items=3,rounds=2", {"completed U64 (3,)"}},
           {"streaming:items=3", {"to F32 (3, 4096)"}},
           {"product:rows=9,columns=11,depth=5,count=2,rounds=9", {"result BF16 (2, 9, 16)"}},
           {"pagerank:uniform=10",
            {"rank F32 (1024,)", "share F32 (1024,)", "partial F64 (1, 2)", "progress U8 (1, 32)"}},
           {"mlp:hidden=20,epochs=3,batch=50",
            {"weights0 F32 (64, 24)", "weights2_mean F32 (24, 16)", "bias0 F32 (24,)", "output0 F32 (50, 24)",
             "inputs1 F32 (50, 64)", "labels0 U32 (50,)", "epoch_loss F64 (3,)", "epoch_right U64 (3,)"}},
           {"mlp:hidden=20,batch=50,data=" + (folder_ / "wide.csv").string(),
            {"inputs0 F32 (50, 8)", "weights0 F32 (8, 24)", "logits F32 (50, 40)"}},
           {"mlp:hidden=20,epochs=3,batch=50,precision=bf16",
            {"weights0 F32 (64, 24)", "operand0 BF16 (64, 24)", "gradient2 BF16 (50, 16)", "inputs0 BF16 (50, 64)"}}}) {
    run(task, 0, 1h, at_the_end::keeps);
    fs::path const path = folder_ / "saved" / (task.substr(0, task.find(':')) + ".safetensors");
    safetensors_reader const file{path.string(), 1 << 24};
    for (std::string const& each : arrays) {
      std::string const name = each.substr(0, each.find(' '));
      ASSERT_NE(file.find(name), nullptr) << task << ": " << each;
      EXPECT_EQ(name + " " + format_shape(*file.find(name)), each) << task;
    }
    fs::remove(path);
  }
}

TEST_F(saved_jobs, with_arrays_of_other_types_or_shapes_are_refused_and_kept) {
  std::string const task = "streaming:items=3,rounds=9";
  run(task, 2, 1h, at_the_end::keeps);
  std::string const path = folder_ / "saved/streaming.safetensors";
  std::vector<test::filled_tensor> const saved = test::read_tensors(path);
  safetensors_metadata const metadata = safetensors_reader{path, 1 << 24}.metadata();
  for (tensor_info const& other :
       {tensor_info{"to", tensor_type::i32, {3, 4096}}, tensor_info{"to", tensor_type::f32, {4096, 3}},
        tensor_info{"to", tensor_type::u8, {49152}}}) {
    std::vector<test::filled_tensor> changed = saved;
    changed.back().tensor = other;
    test::write_tensors(path, changed, metadata);
    std::string const before = read_file(path, 1 << 24);
    std::string const refused = test::refusal_of(path, [&] { run(task, to_the_end); });
    EXPECT_EQ(refused, path + ": holds the array to as " + format_shape(other) +
                           ", but the task has it as F32 (3, 4096); remove the file, or name "
                           "another folder for checkpoints, to start again");
    EXPECT_EQ(read_file(path, 1 << 24), before);
  }
  test::write_tensors(path, saved, metadata);
  EXPECT_TRUE(run(task, to_the_end).resumed);
}

TEST_F(saved_jobs, of_an_older_lull_are_refused_and_kept) {
  fs::create_directory(folder_ / "saved");
  std::string const old = (folder_ / "saved/streaming.npz").string();
  write_file(old, "an hour's work");
  try {
    run("streaming:items=3,rounds=9", to_the_end);
    ADD_FAILURE() << "begun again";
  } catch (usage_error const& wrong) {
    EXPECT_EQ(wrong.what(),
              old +
                  " is a checkpoint in .npz, and Lull reads safetensors now: resume with the Lull that wrote "
                  "it; remove the file, or name another folder for checkpoints, to start again");
  }
  EXPECT_EQ(read_file(old, 1 << 24), "an hour's work");
  EXPECT_FALSE(fs::exists(folder_ / "saved/streaming.safetensors"));
  fs::remove(old);
  EXPECT_TRUE(run("streaming:items=3,rounds=9", to_the_end).finished);
}

std::vector<std::string> const two_tasks{"mlp:hidden=24,batch=50,epochs=" + std::to_string(trials(10)),
                                         "streaming:items=300,rounds=" + std::to_string(trials(100))};

TEST_F(saved_jobs, of_several_tasks_end_with_the_bytes_of_each_one_alone) {
  auto [how, last] = run_together(two_tasks, 0);  // before the first bubble
  ASSERT_EQ(how, ends::stopped);
  for (std::uint64_t looks = 1; how != ends::finished; ++looks) {
    ASSERT_LT(looks, 1000U);
    std::tie(how, last) = run_together(two_tasks, looks);
    for (outcome const& each : last) EXPECT_TRUE(each.resumed);
  }
  EXPECT_TRUE(fs::is_empty(folder_ / "saved"));
  for (std::size_t i = 0; i < two_tasks.size(); ++i)
    EXPECT_EQ(last[i].arrays, run(two_tasks[i], to_the_end).arrays) << two_tasks[i];
}

TEST_F(saved_jobs, of_several_tasks_may_be_saved_at_any_moment) {
  auto const [how, last] = run_together(two_tasks, to_the_end, 1ns);
  EXPECT_EQ(how, ends::finished);
  for (std::size_t i = 0; i < two_tasks.size(); ++i)
    EXPECT_EQ(last[i].arrays, run(two_tasks[i], to_the_end).arrays) << two_tasks[i];
}

TEST_F(saved_jobs, of_a_task_that_has_ended_wait_for_the_others) {
  std::vector<std::string> const tasks{"compute:items=1,rounds=1", "compute:items=2000,rounds=1000000"};
  ends how = ends::stopped;
  std::vector<outcome> found;
  auto const until_the_first_has_finished = [&] {
    std::uint64_t looks = 0;
    do std::tie(how, found) = run_together(tasks, ++looks);
    while (!found[0].finished && looks < 1000);
    EXPECT_TRUE(found[0].finished);
    EXPECT_EQ(how, ends::stopped);
  };
  until_the_first_has_finished();
  EXPECT_TRUE(fs::exists(folder_ / "saved/task-0.safetensors"));  // or it would be done again
  EXPECT_TRUE(fs::exists(folder_ / "saved/task-1.safetensors"));
  until_the_first_has_finished();
  EXPECT_TRUE(found[0].resumed && found[1].resumed);
}

TEST_F(saved_jobs, killed_at_any_instant_go_on_from_the_last_file) {
  auto const command = [&](char const* model) {
    return std::vector<std::string>{
        LULL_PROGRAM,
        "run",
        "--executor",
        "threads",
        "--checkpoint",
        (folder_ / "killed").string(),
        "--checkpoint-every",
        "1ms",
        "--resume",
        "--task",
        "mlp:hidden=64,epochs=" + std::to_string(trials(40)) + ",losses=" + (folder_ / model).string()};
  };
  ASSERT_EQ(test::program(command("whole.csv"), 0us), 0);
  counter_random const random{1, 0};
  for (std::uint64_t kills = 0; kills < trials(8); ++kills) {
    test::program(command("killed.csv"), std::chrono::microseconds{20'000 + random.below(kills, 150'000)});
  }
  ASSERT_EQ(test::program(command("killed.csv"), 0us), 0);
  EXPECT_EQ(read_file(folder_ / "killed.csv", 1 << 20), read_file(folder_ / "whole.csv", 1 << 20));
}

TEST_F(saved_jobs, of_several_tasks_killed_at_any_instant_go_on_from_their_last_files) {
  auto const tasks = [&](std::string const& model) {
    auto const task = [&](std::string const& options, std::uint64_t epochs, std::string const& ending) {
      return "mlp:" + options + ",epochs=" + std::to_string(trials(epochs)) +
             ",losses=" + (folder_ / (model + ending)).string();
    };
    return std::vector<std::string>{"--task", task("hidden=64", 15, ".csv"), "--task",
                                    task("hidden=32,seed=2", 30, "-2.csv")};
  };
  auto const command = [&](std::vector<std::string> words, std::string const& model) {
    words.insert(words.begin(), LULL_PROGRAM);
    words.insert(words.end(), {"--executor", "threads", "--checkpoint", (folder_ / "killed").string(),
                               "--checkpoint-every", "1ms", "--resume"});
    auto const asked = tasks(model);
    words.insert(words.end(), asked.begin(), asked.end());
    return words;
  };
  ASSERT_EQ(test::program(command({"run"}, "whole"), 0us), 0);
  EXPECT_TRUE(fs::is_empty(folder_ / "killed"));
  counter_random const random{1, 0};
  for (std::uint64_t kills = 0; kills < trials(8); ++kills)
    test::program(command({"run"}, "killed"), std::chrono::microseconds{20'000 + random.below(kills, 300'000)});
  ASSERT_EQ(test::program(command({"run"}, "killed"), 0us), 0);
  EXPECT_TRUE(fs::is_empty(folder_ / "killed"));
  std::vector<std::string> const harvest{"harvest", "--segment", "300us", "--pairs", "2", "--iterations", "40"};
  for (std::uint64_t kills = 0; kills < trials(3); ++kills) {
    test::program(command(harvest, "harvested"), std::chrono::microseconds{2'300'000 + random.below(kills, 900'000)});
  }
  ASSERT_EQ(test::program(command(harvest, "harvested"), 0us), 0);
  EXPECT_TRUE(fs::is_empty(folder_ / "killed"));
  for (char const* each : {".csv", "-2.csv"}) {
    std::string const whole = read_file(folder_ / (std::string{"whole"} + each), 1 << 20);
    EXPECT_EQ(read_file(folder_ / (std::string{"killed"} + each), 1 << 20), whole);
    EXPECT_EQ(read_file(folder_ / (std::string{"harvested"} + each), 1 << 20), whole);
  }
}

}  // namespace
}  // namespace lull
