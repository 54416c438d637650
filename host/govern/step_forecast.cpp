// SPDX-License-Identifier: Apache-2.0
#include <lull/host/govern/step_forecast.hpp>

#include <algorithm>
#include <cmath>

namespace lull {

namespace {

constexpr std::uint64_t learning = 3;  // spells that only set the forecast: a trainer's first steps are slow
constexpr double max_times = 3;
constexpr int max_off_in_a_row = 4;  // spells: after that the trainer's steps have another length
constexpr double min_weight = 0.01, max_weight = 0.05;
constexpr double weight_change = 0.05;
constexpr double spread_weight = 0.05, least_spread = 1e-4;
constexpr double max_unexplained = 3;  // spreads: more moves the forecast no further
constexpr double max_by_work = 1.5, max_evidence = 20;
constexpr double least_by_work = 0.02;  // of a usual step

}  // namespace

double step_forecast::by_work(double work) const {
  if (!(work > 0) || usual_work_ == 0) return 1;
  return std::max(1 + by_work_ * (work / usual_work_ - 1), least_by_work);
}

bool step_forecast::learns(spell const& of) {
  if (learnt_ == learning) return false;
  if (usual_work_ == 0) usual_work_ = of.work;
  double const now = std::log(of.step_ns / by_work(of.work));
  level_ = learnt_++ == 0 ? now : std::min(level_, now);
  return true;
}

double step_forecast::deviation(spell const& of) const {
  return std::clamp(std::log(of.step_ns / by_work(of.work)) - level_, -std::log(max_times), std::log(max_times));
}

double step_forecast::follow(spell const& of, double deviation, double unexplained) {
  double const weight = weigh(unexplained);
  level_ += weight * deviation;
  learn_work(of.work, unexplained);
  return weight;
}

/// A single spell that takes twice as long hardly moves the forecast. Where what is unexplained goes on from spell to
/// spell, the trainer drifts and the forecast follows sooner; where it alternates, it is noise.
double step_forecast::weigh(double unexplained) {
  double const most = max_unexplained * spread_;
  if (std::abs(unexplained) <= most) {
    off_in_a_row_ = 0;
  } else {
    bool const goes_on = (unexplained > 0) == (off_in_a_row_ > 0);
    off_in_a_row_ = (goes_on ? off_in_a_row_ : 0) + (unexplained > 0 ? 1 : -1);
  }
  if (std::abs(off_in_a_row_) == max_off_in_a_row) {
    off_in_a_row_ = 0;
    last_ = 0;
    return 1;
  }
  double const used = std::clamp(unexplained, -most, most);
  double const weight = unexplained == 0 ? weight_ : weight_ * used / unexplained;
  double const now = used / spread_;
  weight_ = std::clamp(weight_ * std::exp(weight_change * now * last_), min_weight, max_weight);
  last_ = now;
  // 1.25 mean deviations are one standard deviation of a normal distribution.
  spread_ += spread_weight * (1.25 * std::min(std::abs(unexplained), 4 * spread_) - spread_);
  spread_ = std::max(spread_, least_spread);
  return weight;
}

/// Recursive least squares.
void step_forecast::learn_work(double work, double unexplained) {
  if (!(work > 0)) return;
  if (usual_work_ == 0) usual_work_ = work;
  double const relative = (work / usual_work_ - 1) / by_work(work);
  evidence_ = std::min(evidence_ + relative * relative, max_evidence);
  double const most = max_unexplained * spread_;
  by_work_ = std::clamp(by_work_ + relative / evidence_ * std::clamp(unexplained, -most, most), 0.0, max_by_work);
}

}  // namespace lull
