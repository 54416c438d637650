// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/executor.hpp>
#include <lull/host/solo/solo_run.hpp>
#include <lull/host/task/counter_random.hpp>
#include <lull/tasks/images/codec/read_image.hpp>
#include <lull/tasks/images/codec/write_image.hpp>
#include <lull/tasks/images/images_owner.hpp>
#include <lull/tests/support/test_folder.hpp>

namespace lull::test {

/// The image job from one folder to another, on CPU threads.
class images_job : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directory(folder_ / "in"); }

  static image picture(image_shape const& shape, std::uint64_t seed = 1) {
    image made{shape, std::vector<std::uint8_t>(shape.bytes()), {}};
    counter_random const random{seed, 0};
    for (std::size_t i = 0; i < made.pixels.size(); ++i) made.pixels[i] = static_cast<std::uint8_t>(random.at(i));
    return made;
  }
  void add(std::string const& name, image_shape const& shape, std::uint64_t seed = 1) {
    image_kind const kind = name.ends_with(".png") ? image_kind::png : image_kind::jpeg;
    write_image((folder_ / "in" / name).string(), kind, picture(shape, seed));
  }
  using given = std::vector<std::pair<std::string, std::string>>;
  std::unique_ptr<task_owner> owner(given const& more = {}) const {
    option_values values{entry_.options};
    values.set("in", (folder_ / "in").string());
    values.set("out", (folder_ / "out").string());
    for (auto const& [name, text] : more) values.set(name, text);
    return entry_.make(values);
  }
  /// Runs the job and returns the lines of `write`.
  std::vector<std::string> run(task_owner& job) {
    job.prepare(*executor_);
    EXPECT_TRUE(run_to_end(job, *executor_).finished);
    return write_result(job);
  }
  image result(std::string const& name) const { return decode((folder_ / "out" / name).string()); }
  template <class Error>
  std::string refusal(given const& more = {}) {
    try {
      owner(more)->prepare(*executor_);
    } catch (Error const& reason) {
      return reason.what();
    }
    return "not refused";
  }

  task_entry const entry_ = images_entry();
  std::unique_ptr<executor> executor_ = make_executor({.kind = executor_kind::threads});
  test::test_folder files_;
  std::filesystem::path const folder_ = files_.path();
};

}  // namespace lull::test
