// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <lull/host/array.hpp>
#include <lull/host/task/owner.hpp>
#include <lull/tests/support/cursor_state.hpp>

namespace lull {

/// The probe task, or one of its mutants; by itself, or claiming by itself.
template <class Task>
class basic_probe_owner : public task_owner {
 public:
  explicit basic_probe_owner(probe_task::mutant broken = probe_task::mutant::none, std::uint32_t polls = 2,
                             std::vector<std::uint64_t> extents = {17, 1, 0, 30, 2, 9})
      : host_(std::move(extents)), broken_(broken), polls_(polls) {}

  void prepare(executor& executor) override {
    extents_ = {executor, std::span<std::uint64_t const>{host_.extents}};
    values_ = {executor, host_.values.size()};
    runs_ = {executor, host_.runs.size()};
    errors_ = {executor, 1};
    advances_ = {executor, host_.advances.size()};
  }
  job_description describe() const override {
    Task task;
    static_cast<probe_task&>(task) = {.extents = extents_.data(),
                                      .phases = extents_.size(),
                                      .values = values_.data(),
                                      .runs = runs_.data(),
                                      .errors = errors_.data(),
                                      .advances = advances_.data(),
                                      .width = host_.width,
                                      .feeds = 0,
                                      .first_round = 0,
                                      .polls = polls_,
                                      .broken = broken_};
    return lull::describe(task, "probe");
  }
  void reset() override {
    values_.fill_zero();
    runs_.fill_zero();
    errors_.fill_zero();
    advances_.fill_zero();
  }
  std::vector<task_array> arrays() const override {
    return {array_of("values", values_, {extents_.size(), host_.width}),
            array_of("runs", runs_, {extents_.size(), host_.width}), array_of("errors", errors_),
            array_of("advances", advances_)};
  }
  verification verify() override {
    host_.values = values_.read();
    host_.runs = runs_.read();
    host_.errors = errors_.read()[0];
    host_.advances = advances_.read();
    char const* const wrong = host_.wrong();
    return {wrong == nullptr, wrong == nullptr ? "" : wrong};
  }
  std::vector<std::string> write() override { return {}; }

 private:
  probe_arrays host_;
  probe_task::mutant const broken_;
  std::uint32_t const polls_;
  device_array<std::uint64_t> extents_;
  device_array<std::uint64_t> values_;
  device_array<std::uint32_t> runs_;
  device_array<std::uint64_t> errors_;
  device_array<std::uint64_t> advances_;
};

using probe_owner = basic_probe_owner<probe_task>;

/// An owner of a task whose input never comes.
class starving_owner : public probe_owner {
 public:
  job_description describe() const override {
    job_description made = probe_owner::describe();
    reinterpret_cast<probe_task*>(made.functor.bytes)->feeds = 1;
    return made;
  }
};

/// An owner whose reset leaves all as the run before left it, and whose verifier does not mind.
class forgetful_owner final : public probe_owner {
 public:
  void reset() override {}
  verification verify() override { return {true, ""}; }
};

}  // namespace lull
