// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <lull/host/array.hpp>
#include <lull/host/task/owner.hpp>
#include <lull/tests/support/fed_probe.hpp>

namespace lull {

/// Writes a row into a place of the probe's as soon as the row before is done. Rows that were fed and not read yet are
/// a part of its state, too.
class fed_probe_owner final : public task_owner {
 public:
  enum class feeds { all, all_undeclared, none, one_and_throws };

  explicit fed_probe_owner(feeds how = feeds::all, bool hasty = false) : how_(how), hasty_(hasty) {}

  void prepare(executor& executor) override {
    executor_ = &executor;
    input_ = {executor, fed_probe::places * fed_probe::items};
    results_ = {executor, fed_probe::items};
  }
  job_description describe() const override {
    return lull::describe(fed_probe{input_.data(), results_.data(), rounds, hasty_}, "fed_probe");
  }
  void reset() override {
    input_.fill_zero();
    results_.fill_zero();
  }
  std::vector<task_array> arrays() const override {
    std::vector<task_array> made{array_of("results", results_)};
    if (how_ != feeds::all_undeclared) made.push_back(array_of("input", input_));
    return made;
  }
  void serve(job& about) override {
    if (how_ == feeds::none) return;
    for (std::uint64_t round = about.fed(); round < rounds; ++round) {
      while (about.rounds() + fed_probe::places <= round) {
        if (about.wait(std::chrono::nanoseconds{0})) return;  // it is over
        std::this_thread::sleep_for(std::chrono::microseconds{50});
      }
      std::vector<std::uint64_t> const row = row_of(round);
      executor_->write(input_.data() + round % fed_probe::places * fed_probe::items, row.data(),
                       row.size() * sizeof row[0]);
      about.feed(round + 1);
      if (how_ == feeds::one_and_throws) throw std::runtime_error{"the file is torn"};
    }
  }
  verification verify() override {
    std::vector<std::uint64_t> const found = results_.read();
    for (std::uint64_t i = 0; i < fed_probe::items; ++i) {
      std::uint64_t expected = 0;
      for (std::uint64_t round = 0; round < rounds; ++round) expected = expected * 31 + row_of(round)[i];
      if (found[i] != expected)
        return {false, "result " + std::to_string(i) + " is not that of all rows in their order"};
    }
    return {true, ""};
  }
  std::vector<std::string> write() override { return {}; }

 private:
  static constexpr std::uint64_t rounds = 7;

  static std::vector<std::uint64_t> row_of(std::uint64_t round) {
    std::vector<std::uint64_t> row;
    for (std::uint64_t i = 0; i < fed_probe::items; ++i) row.push_back(1 + round * 1000 + i);
    return row;
  }

  feeds const how_;
  bool const hasty_;
  executor* executor_ = nullptr;
  device_array<std::uint64_t> input_;
  device_array<std::uint64_t> results_;
};

}  // namespace lull
