// SPDX-License-Identifier: Apache-2.0
// The image job, stopped, killed and resumed by its manifest.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/io/atomic_file.hpp>
#include <lull/host/solo/solo_run.hpp>
#include <lull/host/task/counter_random.hpp>
#include <lull/tasks/images/codec/write_image.hpp>
#include <lull/tasks/images/images_owner.hpp>
#include <lull/tests/support/effort.hpp>
#include <lull/tests/support/killed_program.hpp>
#include <lull/tests/support/test_folder.hpp>

namespace lull {
namespace {

namespace fs = std::filesystem;

constexpr int pictures = 12;

class resumed_images : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(folder_ / "in");
    for (int i = 0; i < pictures; ++i) add(name(i), static_cast<std::uint64_t>(i));
  }
  static std::string name(int i) { return "a picture %" + std::to_string(10 + i) + ".png"; }
  void add(std::string const& file, std::uint64_t seed) {
    image made{{160, 120, 3, 8}, {}, {}};
    made.pixels.resize(made.shape.bytes());
    counter_random const random{seed, 0};
    for (std::size_t i = 0; i < made.pixels.size(); ++i) made.pixels[i] = static_cast<std::uint8_t>(random.at(i));
    write_image((folder_ / "in" / file).string(), image_kind::png, made.shape, made.pixels, made.extras);
  }

  struct outcome {
    bool finished;
    account kept;
    std::uint64_t written;
  };
  /// Runs with a manifest until so many phases were opened, or to the end.
  outcome run(std::uint64_t phases = ~std::uint64_t{0}, std::string const& width = "40") {
    option_values values{entry_.options};
    values.set("in", (folder_ / in_).string());
    values.set("out", (folder_ / out_).string());
    if (!logo_.empty()) values.set("logo", (folder_ / logo_).string());
    values.set("width", width);
    values.set("buffer", "150KiB");  // a picture or two
    auto const job = entry_.make(values);
    job->prepare(*executor_);
    outcome found{};
    found.kept = job->keep_account(manifest_, true);
    auto const stop = [&](std::span<solo_run const> now) { return now[0].phases >= phases; };
    found.finished = run_to_end(*job, *executor_, {.stop = stop}).finished;
    job->save_account(manifest_);
    std::string const line = job->write().front();
    found.written = std::stoull(line.substr(line.find(": ") + 2));
    return found;
  }
  std::map<std::string, std::string> results() const {
    std::map<std::string, std::string> all;
    for (auto const& each : fs::directory_iterator{folder_ / "out"})
      all[each.path().filename().string()] = read_file(each.path(), 1 << 20);
    return all;
  }
  std::string refusal(std::string const& width = "40") {
    try {
      run(~std::uint64_t{0}, width);
    } catch (input_error const& reason) {
      return reason.what();
    }
    return "not refused";
  }

  task_entry const entry_ = images_entry();
  std::unique_ptr<executor> const executor_ = make_executor({.kind = executor_kind::threads});
  test::test_folder files_;
  fs::path const folder_ = files_.path();
  fs::path const manifest_ = folder_ / "images.manifest";
  std::string in_ = "in";
  std::string out_ = "out";
  std::string logo_;
};

TEST_F(resumed_images, what_is_finished_is_not_done_again) {
  outcome const first = run(6);
  ASSERT_EQ(first.kept, account::begun);
  outcome const second = run();
  EXPECT_EQ(second.kept, account::resumed);
  EXPECT_TRUE(second.finished);
  EXPECT_EQ(first.written + second.written, static_cast<std::uint64_t>(pictures));
  EXPECT_EQ(run().written, 0U);
  auto const stopped = results();
  fs::remove_all(folder_ / "out");
  fs::remove(manifest_);
  run();
  EXPECT_EQ(results(), stopped);
}

TEST_F(resumed_images, changed_pictures_and_damaged_or_removed_results_are_done_again) {
  run();
  auto const whole = results();
  fs::remove(folder_ / "out" / name(1));
  std::string damaged = whole.at(name(2));
  damaged[damaged.size() / 2] ^= 1;
  write_file(folder_ / "out" / name(2), damaged);
  EXPECT_EQ(run().written, 2U);
  EXPECT_EQ(results(), whole);
  add(name(3), 77);
  EXPECT_EQ(run().written, 1U);
  EXPECT_NE(results().at(name(3)), whole.at(name(3)));
}

TEST_F(resumed_images, what_files_and_folders_are_called_does_not_count) {
  logo_ = "logo.png";
  fs::copy_file(folder_ / "in" / name(0), folder_ / logo_);
  run(6);
  for (std::string* const each : {&in_, &out_, &logo_}) {
    fs::rename(folder_ / *each, folder_ / ("another " + *each));
    *each = "another " + *each;
  }
  outcome const second = run();
  EXPECT_EQ(second.kept, account::resumed);
  EXPECT_LT(second.written, static_cast<std::uint64_t>(pictures));
  out_ = "a third";  // where nothing is yet
  EXPECT_EQ(run().written, static_cast<std::uint64_t>(pictures));
  fs::copy_file(folder_ / in_ / name(1), folder_ / logo_, fs::copy_options::overwrite_existing);
  EXPECT_NE(refusal().find("logo="), std::string::npos) << refusal();
}

TEST_F(resumed_images, a_killed_run_s_temporary_files_go) {
  run(2);
  write_file(folder_ / "out" / ("." + name(5) + ".12345.7.tmp"), "half of it");
  run();
  EXPECT_EQ(results().size(), static_cast<std::size_t>(pictures));
}

TEST_F(resumed_images, manifests_of_others_are_refused_with_the_reason_and_kept) {
  run();
  std::string const whole = read_file(manifest_, 1 << 20);
  EXPECT_NE(refusal("41").find("width=40"), std::string::npos) << refusal("41");
  std::pair<std::string, char const*> const broken[] = {
      {"{\"json\": true}\n", "is no manifest"},
      {whole.substr(0, whole.size() / 2), "damaged or was cut off"},
      {whole.substr(0, whole.size() - 1), "damaged or was cut off"},
      {"", "is no manifest"},
      {"lull images manifest\nversion 2\nanything", "newer than version 1"},
      {"lull images manifest\nversion 0\nanything", "older than version 1"},
      {std::string{whole}.replace(whole.find("\n1 "), 3, "\n0 "), "damaged or was cut off"},
  };
  for (auto const& [text, reason] : broken) {
    write_file(manifest_, text);
    std::string const said = refusal();
    EXPECT_NE(said.find(reason), std::string::npos) << said;
    EXPECT_NE(said.find("start again"), std::string::npos) << said;
    EXPECT_EQ(read_file(manifest_, 1 << 20), text);
  }
  write_file(manifest_, "\xef\xbb\xbf" + whole);  // an editor's byte order mark
  EXPECT_EQ(run().written, 0U);
  fs::remove(manifest_);
  ASSERT_EQ(::mkfifo(manifest_.c_str(), 0600), 0);  // without a writer: opening it would wait for ever
  EXPECT_NE(refusal().find("no regular file"), std::string::npos) << refusal();
}

TEST_F(resumed_images, killed_at_any_instant_end_with_the_bytes_of_one_that_never_was) {
  auto const more = static_cast<int>(trials(60));  // under a sanitizer a picture takes long
  for (int i = 0; i < more; ++i) add("more" + std::to_string(i) + ".png", 100 + static_cast<std::uint64_t>(i));
  auto const command = [&](char const* out) {
    return std::vector<std::string>{
        LULL_PROGRAM,
        "run",
        "--executor",
        "threads",
        "--checkpoint",
        (folder_ / "saved").string() + out,
        "--checkpoint-every",
        "1ms",
        "--resume",
        "--task",
        "images:width=100,buffer=300KiB,in=" + (folder_ / "in").string() + ",out=" + (folder_ / out).string()};
  };
  ASSERT_EQ(test::program(command("out"), std::chrono::microseconds{0}), 0);
  counter_random const random{1, 0};
  fs::create_directory(folder_ / "out2");
  for (std::uint64_t kills = 0; kills < trials(8); ++kills) {
    test::program(command("out2"), std::chrono::microseconds{10'000 + random.below(kills, 100'000)});
  }
  ASSERT_EQ(test::program(command("out2"), std::chrono::microseconds{0}), 0);
  auto const whole = results();
  ASSERT_EQ(whole.size(), static_cast<std::size_t>(pictures + more));
  fs::remove_all(folder_ / "out");
  fs::rename(folder_ / "out2", folder_ / "out");
  EXPECT_EQ(results(), whole);
}

}  // namespace
}  // namespace lull
