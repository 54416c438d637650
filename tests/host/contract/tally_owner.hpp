// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <lull/host/array.hpp>
#include <lull/host/task/owner.hpp>
#include <lull/tests/support/tally.hpp>

namespace lull {

/// Verifies the tally by counting one item after the other.
class tally_owner final : public task_owner {
 public:
  void prepare(executor& executor) override {
    counts_ = {executor, tally::bins};
    least_ = {executor, 1};
    most_ = {executor, 1};
    winner_ = {executor, 1};
    mixed_ = {executor, tally::bins};
  }
  /// Without a type: the suite runs the task wrapped, and knows the type of that.
  job_description describe() const override {
    tally const task{counts_.data(), least_.data(), most_.data(), winner_.data(), mixed_.data()};
    job_description made;
    std::memcpy(made.functor.bytes, &task, sizeof task);
    return made;
  }
  void reset() override {
    counts_.fill_zero();
    least_.fill_zero();
    most_.fill_zero();
    winner_.fill_zero();
    mixed_.fill_zero();
  }
  std::vector<task_array> arrays() const override {
    return {array_of("counts", counts_), array_of("least", least_), array_of("most", most_),
            array_of("winner", winner_), array_of("mixed", mixed_)};
  }
  verification verify() override {
    std::vector<std::uint32_t> counts(tally::bins);
    std::int64_t least = 0;
    std::int32_t most = 0;
    std::uint64_t winner = 0;
    std::vector<std::uint64_t> mixed(tally::bins);
    for (std::uint64_t round = 0; round < tally::rounds; ++round) {
      for (std::uint64_t item = 0; item < tally::items; ++item) {
        std::uint64_t const found = tally::value(round, item);
        ++counts[found % tally::bins];
        least = std::min(least, static_cast<std::int64_t>(found));
        most = std::max(most, static_cast<std::int32_t>(found >> 32));
        if (tally::worth(winner) < tally::worth(found)) winner = found;
      }
      for (std::uint64_t bin = 0; bin < tally::bins; ++bin)
        mixed[bin] = mixed[bin] * 31 + counts[bin] + tally::worth(winner);
    }
    if (counts_.read() != counts) return {false, "an item was counted twice or never"};
    bool const same =
        least_.read()[0] == least && most_.read()[0] == most && winner_.read()[0] == winner && mixed_.read() == mixed;
    return {same, same ? "" : "the least, the greatest or the best value is another"};
  }
  std::vector<std::string> write() override { return {}; }

 private:
  device_array<std::uint32_t> counts_;
  device_array<std::int64_t> least_;
  device_array<std::int32_t> most_;
  device_array<std::uint64_t> winner_;
  device_array<std::uint64_t> mixed_;
};

}  // namespace lull
