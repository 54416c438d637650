// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <lull/host/io/atomic_file.hpp>
#include <lull/host/task/counter_random.hpp>
#include <lull/tasks/images/codec/write_image.hpp>
#include <lull/tasks/images/images_owner.hpp>
#include <lull/tests/support/test_folder.hpp>

namespace lull {

/// The side task `images`, from files to files: each run must write what the first wrote, byte by byte.
class image_files_owner final : public task_owner {
 public:
  image_files_owner() {
    std::filesystem::create_directory(files_.path() / "in");
    add("grey.png", {23, 11, 1, 16});
    add("colour.png", {61, 30, 3, 8});
    add("clear.png", {17, 40, 4, 8});
    add("photograph.jpg", {90, 50, 3, 8});
    add("scan.jpg", {33, 64, 1, 8});
    option_values values{entry_.options};
    for (auto const& [name, text] : {std::pair{"in", files_.at("in")},
                                     {"out", files_.at("out")},
                                     {"width", std::string{"20"}},
                                     {"buffer", std::string{"40KiB"}},
                                     {"threads", std::string{"2"}}}) {
      values.set(name, text);
    }
    inner_ = entry_.make(values);
  }

  void prepare(executor& executor) override { inner_->prepare(executor); }
  job_description describe() const override { return inner_->describe(); }
  void reset() override {
    inner_->reset();
    std::filesystem::remove_all(files_.path() / "out");
    std::filesystem::create_directory(files_.path() / "out");
  }
  std::vector<task_array> arrays() const override { return inner_->arrays(); }
  account keep_account(std::filesystem::path const& file, bool resume) override {
    return inner_->keep_account(file, resume);
  }
  void serve(job& about) override { inner_->serve(about); }
  verification verify() override {
    if (inner_->failures() != 0) return {false, "a picture failed: " + inner_->write().back()};
    std::map<std::string, std::string> results;
    for (auto const& each : std::filesystem::directory_iterator{files_.path() / "out"}) {
      results[each.path().filename()] = read_file(each.path(), 1 << 20);
    }
    if (results.size() != pictures_) return {false, std::to_string(results.size()) + " of the pictures were written"};
    if (first_.empty()) first_ = results;
    if (results != first_) return {false, "the files are not those of the first run"};
    return inner_->verify();
  }
  std::vector<std::string> write() override { return inner_->write(); }

 private:
  void add(std::string const& name, image_shape const& shape) {
    image made{shape, std::vector<std::uint8_t>(shape.bytes()), {}};
    counter_random const random{++pictures_, 0};
    for (std::size_t i = 0; i < made.pixels.size(); ++i) made.pixels[i] = static_cast<std::uint8_t>(random.at(i));
    write_image(files_.at("in/" + name), name.ends_with(".png") ? image_kind::png : image_kind::jpeg, made);
  }

  test::test_folder files_;
  task_entry const entry_ = images_entry();
  std::unique_ptr<task_owner> inner_;
  std::uint64_t pictures_ = 0;
  std::map<std::string, std::string> first_;  // run's results
};

}  // namespace lull
