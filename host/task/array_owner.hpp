// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <lull/host/error.hpp>
#include <lull/host/io/atomic_file.hpp>
#include <lull/host/task/options.hpp>
#include <lull/host/task/owner.hpp>

namespace lull {

/// An owner of arrays that are one movable object: it describes the job by a name, lists what a run writes, and resets
/// it, as functor_arrays does. A task says what they need, how they are made, and what its result is.
template <class Arrays>
class array_owner : public task_owner {
 public:
  memory_need needs(executor_kind kind) final {
    return in_host_memory([&] { return need(kind); });
  }
  void check_outputs() const final {
    for (std::string_view const option : output_options_) {
      if (values_.has(option)) check_writable(name_ + ": " + std::string{option} + "=", values_.path(option));
    }
  }
  void prepare(executor& executor) final {
    in_host_memory([&] {
      check_outputs();
      arrays_.emplace(make(executor));
    });
  }
  bool may_give_way() const final { return true; }
  job_description describe() const override { return arrays_.value().describe(name_); }
  void reset() override { arrays_.value().reset(); }
  std::vector<task_array> arrays() const final { return arrays_.value().written(); }
  std::vector<std::filesystem::path> outputs() const final {
    std::vector<std::filesystem::path> files;
    for (std::string_view const option : output_options_) {
      if (values_.has(option)) files.push_back(values_.path(option));
    }
    return files;
  }

 protected:
  /// `output_options` name the files that a run makes.
  array_owner(std::string_view name, option_values const& values, std::vector<std::string_view> output_options)
      : name_(name), values_(values), output_options_(std::move(output_options)) {}

  /// Returns what call() returns. Host memory that does not suffice is limit_error.
  template <class Call>
  auto in_host_memory(Call const& call) const {
    try {
      return call();
    } catch (std::bad_alloc const&) {
      throw too_large();
    }
  }

  /// Has `write(path)` write the file that an option names, and adds a line that says so. Does nothing where it is not
  /// named.
  template <class Write>
  void write_asked(std::string const& option, std::vector<std::string>& lines, Write const& write) const {
    if (!values_.has(option)) return;
    write(values_.path(option));
    lines.push_back(option + ": " + values_.path(option).string());
  }

  std::string const name_;
  option_values const values_;
  std::optional<Arrays> arrays_;

 private:
  /// As `needs`, and as `prepare`.
  virtual memory_need need(executor_kind kind) = 0;
  virtual Arrays make(executor& executor) = 0;
  /// The error where the host's memory does not suffice.
  virtual limit_error too_large() const {
    return limit_error{name_ + ": this computer's memory does not hold its data: take less"};
  }

  std::vector<std::string_view> const output_options_;
};

}  // namespace lull
