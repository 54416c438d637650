// SPDX-License-Identifier: Apache-2.0
// The image job from folder to folder, on CPU threads.
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/io/atomic_file.hpp>
#include <lull/host/solo/solo_run.hpp>
#include <lull/host/task/counter_random.hpp>
#include <lull/tasks/images/codec/read_image.hpp>
#include <lull/tasks/images/codec/write_image.hpp>
#include <lull/tasks/images/images_owner.hpp>
#include <lull/tests/tasks/images/images_job.hpp>

namespace lull {
namespace {

using images = test::images_job;

namespace fs = std::filesystem;

TEST_F(images, every_picture_of_a_folder_is_resized_under_its_name) {
  add("a.png", {40, 30, 3, 8});
  add("b.png", {33, 47, 4, 16});
  add("c.jpg", {64, 20, 3, 8});
  add("d.png", {20, 20, 1, 8});
  auto const job = owner({{"width", "16"}});
  auto const lines = run(*job);
  EXPECT_EQ(lines.size(), 1U);
  EXPECT_EQ(result("a.png").shape, (image_shape{16, 12, 3, 8}));
  EXPECT_EQ(result("b.png").shape, (image_shape{16, 23, 4, 16}));
  EXPECT_EQ(result("c.jpg").shape, (image_shape{16, 5, 3, 8}));
  EXPECT_EQ(result("d.png").shape, (image_shape{16, 16, 1, 8}));
  verification const judged = job->verify();
  EXPECT_TRUE(judged.ok) << judged.message;
  EXPECT_EQ(job->failures(), 0U);
}

TEST_F(images, that_are_not_written_yet_are_not_right) {
  add("a.png", {40, 30, 3, 8});
  auto const job = owner();
  job->prepare(*executor_);
  EXPECT_FALSE(job->verify().ok) << "before the run";
  ASSERT_TRUE(run_to_end(*job, *executor_).finished);
  EXPECT_TRUE(job->verify().ok);
  job->reset();
  EXPECT_FALSE(job->verify().ok) << "after reset";
}

TEST_F(images, without_a_size_pictures_keep_theirs_bit_for_bit) {
  add("a.png", {40, 30, 3, 8});
  auto const job = owner();
  run(*job);
  EXPECT_EQ(result("a.png").pixels, picture({40, 30, 3, 8}).pixels);
}

TEST_F(images, a_logo_lies_in_its_corner) {
  add("a.png", {40, 30, 3, 8});
  image white{{4, 3, 3, 8}, std::vector<std::uint8_t>(36, 255), {}};
  write_image((folder_ / "logo.png").string(), image_kind::png, white);
  auto const job =
      owner({{"logo", (folder_ / "logo.png").string()}, {"opacity", "1"}, {"corner", "top_right"}, {"margin", "2"}});
  run(*job);
  image const found = result("a.png");
  image expected = picture({40, 30, 3, 8});
  for (std::size_t y = 2; y < 5; ++y) {
    for (std::size_t x = 34; x < 38; ++x) {
      for (std::size_t c = 0; c < 3; ++c) expected.pixels[(y * 40 + x) * 3 + c] = 255;
    }
  }
  EXPECT_EQ(found.pixels, expected.pixels);
  EXPECT_TRUE(job->verify().ok);
}

TEST_F(images, bad_files_are_named_and_the_rest_goes_on) {
  add("a.png", {40, 30, 3, 8});
  add("z.jpg", {64, 48, 3, 8});
  std::string const whole = read_file(folder_ / "in/z.jpg", 1 << 20);
  write_file(folder_ / "in/cut.jpg", whole.substr(0, whole.size() - 200));
  write_file(folder_ / "in/note.txt", "no picture");
  write_file(folder_ / "in/.hidden", "nobody's business");
  fs::create_directory(folder_ / "in/below");
  auto const job = owner({{"height", "8"}});
  auto const lines = run(*job);
  EXPECT_EQ(job->failures(), 1U);
  std::string all;
  for (std::string const& line : lines) all += line + '\n';
  EXPECT_NE(all.find("2 written"), std::string::npos) << all;
  EXPECT_NE(all.find("left out: 1 file that is no picture: note.txt"), std::string::npos) << all;
  EXPECT_NE(all.find("cut.jpg: "), std::string::npos) << all;
  EXPECT_EQ(all.find("hidden"), std::string::npos) << all;
  EXPECT_TRUE(fs::exists(folder_ / "out/z.jpg"));
  EXPECT_FALSE(fs::exists(folder_ / "out/cut.jpg"));
}

TEST_F(images, a_result_that_would_be_too_long_is_named) {
  add("long.png", {2, 1000, 1, 8});
  add("short.png", {20, 10, 1, 8});
  auto const job = owner({{"width", "100"}});
  auto const lines = run(*job);
  EXPECT_EQ(job->failures(), 1U);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_NE(lines[1].find("long.png: would be 50000 pixels on its longer side, more than 32768: give both"),
            std::string::npos)
      << lines[1];
  EXPECT_EQ(result("short.png").shape, (image_shape{100, 50, 1, 8}));
}

TEST_F(images, many_batches_give_what_one_gives) {
  for (int i = 0; i < 40; ++i)
    add("p" + std::to_string(i) + ".png", {40U + static_cast<unsigned>(i), 30, 3, 8}, static_cast<std::uint64_t>(i));
  auto const job = owner({{"width", "20"}, {"buffer", "64KiB"}, {"threads", "3"}});
  run(*job);
  fs::rename(folder_ / "out", folder_ / "small");
  auto const other = owner({{"width", "20"}});
  run(*other);
  for (int i = 0; i < 40; ++i) {
    std::string const name = "p" + std::to_string(i) + ".png";
    EXPECT_EQ(read_file(folder_ / "small" / name, 1 << 20), read_file(folder_ / "out" / name, 1 << 20)) << name;
  }
}

TEST_F(images, a_run_that_is_stopped_ends_and_leaves_whole_files) {
  for (int i = 0; i < 20; ++i) add("p" + std::to_string(i) + ".png", {200, 150, 3, 8});
  auto const job = owner({{"buffer", "1MiB"}});
  job->prepare(*executor_);
  auto const stop = [](std::span<solo_run const> now) { return now[0].phases >= 4; };
  EXPECT_FALSE(run_to_end(*job, *executor_, {.stop = stop}).finished);
  for (fs::directory_entry const& each : fs::directory_iterator{folder_ / "out"}) {
    EXPECT_EQ(decode(each.path().string()).pixels.size(), 90'000U) << each.path();
  }
  job->reset();
  run_to_end(*job, *executor_);
  EXPECT_NE(job->write().front().find("20 written"), std::string::npos);
}

TEST_F(images, a_result_that_is_a_link_to_its_picture_is_not_written) {
  add("a.png", {20, 10, 3, 8});
  add("b.png", {20, 10, 3, 8});
  std::string const before = read_file(folder_ / "in" / "a.png", 1 << 20);
  fs::create_directory(folder_ / "out");
  fs::create_symlink(folder_ / "in" / "a.png", folder_ / "out" / "a.png");
  auto const job = owner();
  run(*job);
  EXPECT_EQ(job->failures(), 1U);
  EXPECT_EQ(read_file(folder_ / "in" / "a.png", 1 << 20), before);
  EXPECT_TRUE(fs::exists(folder_ / "out" / "b.png"));
}

/// … to the code that runs the job, although a thread still serves it.
TEST_F(images, an_error_beside_a_run_is_told) {
  for (int i = 0; i < 20; ++i) add("p" + std::to_string(i) + ".png", {200, 150, 3, 8});
  auto const job = owner({{"buffer", "1MiB"}});
  job->prepare(*executor_);
  auto const fails = [](std::span<solo_run const>) -> bool { throw std::runtime_error{"beside it"}; };
  EXPECT_THROW(run_to_end(*job, *executor_, {.stop = fails}), std::runtime_error);
}

TEST_F(images, refused_before_any_work) {
  EXPECT_NE(refusal<input_error>().find("holds no file"), std::string::npos);
  add("a.png", {40, 30, 3, 8});
  fs::create_directory_symlink(folder_ / "in", folder_ / "out");
  EXPECT_NE(refusal<usage_error>().find("in and out are one folder"), std::string::npos);
  fs::remove(folder_ / "out");
  write_file(folder_ / "out", "a file");
  EXPECT_NE(refusal<usage_error>().find("cannot be made a folder"), std::string::npos);
  fs::remove(folder_ / "out");
  EXPECT_NE(refusal<input_error>({{"logo", (folder_ / "none.png").string()}}).find("none.png"), std::string::npos);
  option_values const nothing{entry_.options};
  EXPECT_THROW(entry_.make(nothing), usage_error);
}

TEST_F(images, pictures_larger_than_a_buffer_are_named_by_what_their_header_claims) {
  add("a.png", {400, 300, 3, 8});
  add("b.png", {4, 3, 3, 8});
  auto const job = owner({{"buffer", "100KiB"}});
  auto const lines = run(*job);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_NE(lines[1].find("a.png: takes "), std::string::npos) << lines[1];
  EXPECT_NE(lines[1].find("buffer=100KiB"), std::string::npos) << lines[1];
}

TEST_F(images, the_machine_s_memory_is_a_limit) {
  add("a.png", {400, 300, 3, 8});
  auto const small = make_executor({.kind = executor_kind::threads, .memory_limit_bytes = 1 << 20});
  EXPECT_THROW(owner()->prepare(*small), limit_error);
}

}  // namespace
}  // namespace lull
