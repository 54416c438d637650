// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <lull/apps/lull/harvest.hpp>
#include <lull/apps/lull/report/report.hpp>
#include <lull/host/measure/experiment.hpp>
#include <lull/host/measure/finish.hpp>
#include <lull/host/measure/gpu_samples.hpp>
#include <lull/host/measure/side_jobs.hpp>

namespace lull {

/// What all parts of a harvest see.
struct harvest_setting {
  harvest_settings const& asked;
  plan_of_harvest const& plan;
  unfinished_jobs unfinished;
  runtime& side;
  std::function<bool()> stopped;

  results_kept kept() const { return asked.verify ? results_kept::all : results_kept::none; }
  results_judged judged() const { return asked.verify ? results_judged::yes : results_judged::no; }
};

/// What is compared with training alone. Errors: those of error.hpp.
class side_treatment {
 public:
  virtual ~side_treatment() = default;

  /// Once, before the first replay; blocks until the work can begin.
  virtual void start(stage_trainer&) {}
  virtual treatment how() = 0;
  /// How far the jobs of each task are.
  virtual std::vector<side_jobs::reached> progress() const { return {}; }
  /// Runs what is unfinished to its end, outside the timing, then verifies and writes. `in`: what the replays had.
  virtual outcome finish(stage_trainer&, std::vector<replayed_bubble> const&) { return {}; }
  /// After `finish`.
  virtual void tell(report& to, std::vector<replayed_bubble> const& of) const;
};

/// What the plan's mode asks for. Prepares its tasks, and measures what they do alone where that is needed.
std::unique_ptr<side_treatment> make_side_treatment(harvest_setting const& in);
/// Nothing beside training; `name` as of a treatment.
std::unique_ptr<side_treatment> make_no_treatment(std::string name);

}  // namespace lull
