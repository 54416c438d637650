// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <lull/host/executor.hpp>
#include <lull/host/task/owner.hpp>

namespace lull {

/// Reads, compares and poisons a task's arrays on the machine, to compare runs. Calls block.
class compared_arrays {
 public:
  using contents = std::vector<std::vector<unsigned char>>;  // (arrays,) of their bytes

  /// Takes an owner that is prepared.
  compared_arrays(task_owner const& owner, executor& executor) : executor_(executor), arrays_(owner.arrays()) {}

  std::size_t count() const noexcept { return arrays_.size(); }
  std::size_t bytes() const noexcept;

  contents read() const;
  /// Returns whether the arrays have these sizes, such as those of another owner.
  bool fit(contents const& saved) const;
  /// Writes what fits.
  void write(contents const& saved) const;
  /// Returns a description of the first unexpected byte; empty: there is none.
  std::string difference(contents const& expected) const;
  /// Returns a description of the owner's arrays that are no longer the same; empty: all are.
  std::string moved(task_owner const& owner) const;
  /// Poisons the arrays that a run wrote, so that what the next run omits shows. Call the owner's `reset` after it.
  void poison(contents const& before, contents const& after, unsigned pattern) const;

 private:
  executor& executor_;
  std::vector<task_array> const arrays_;
};

}  // namespace lull
