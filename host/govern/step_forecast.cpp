// SPDX-License-Identifier: Apache-2.0
#include <lull/host/govern/step_forecast.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace lull {

namespace {

constexpr std::size_t learning = 3, learning_by_work = 16;  // spells that only set the forecast
constexpr double work_that_varies = 1.02;                   // most by least
constexpr double least_square = 1e-3;                       // of relative work, that tells how lengths grow with it
constexpr double little_evidence = 4;
constexpr double usual_follows = 0.02;
constexpr double max_times = 3;
constexpr int max_off_in_a_row = 4;  // spells: after that the trainer's steps have another length
constexpr double min_weight = 0.01, max_weight = 0.05;
constexpr double weight_change = 0.05;
constexpr double spread_weight = 0.05, least_spread = 1e-4;
constexpr double max_unexplained = 3;  // spreads: more moves the forecast no further
constexpr double max_by_work = 1.5, max_evidence = 20;
constexpr double least_by_work = 0.02;  // of a usual step

}  // namespace

/// Within limits that no trainer's steps reach: what follows stays finite.
double step_forecast::times_usual(double work, double usual) noexcept { return std::clamp(work / usual, 1e-3, 1e3); }

double step_forecast::by_work(double work) const {
  if (!(work > 0) || usual_work_ == 0) return 1;
  return std::max(1 + by_work_ * (times_usual(work, usual_work_) - 1), least_by_work);
}

bool step_forecast::learns(spell const& of) {
  if (is_set_) return false;
  first_.push_back(of);
  auto const [least, most] =
      std::minmax_element(first_.begin(), first_.end(), [](spell const& a, spell const& b) { return a.work < b.work; });
  bool const varies = most->work > work_that_varies * least->work;
  if (first_.size() >= (varies ? learning_by_work : learning)) begin();
  return true;
}

/// Fits length and work of the first spells by a line (least squares). The shortest of them is the level: a trainer's
/// first steps are slow.
void step_forecast::begin() {
  double count = 0;
  double work = 0;
  double ns = 0;
  for (spell const& each : first_) {
    if (!(each.work > 0)) continue;
    ++count;
    work += each.work;
    ns += each.step_ns;
  }
  if (count > 0) {
    usual_work_ = work / count;
    double square = 0;
    double product = 0;
    for (spell const& each : first_) {
      if (!(each.work > 0)) continue;
      double const relative = times_usual(each.work, usual_work_) - 1;
      square += relative * relative;
      product += relative * (each.step_ns * count / ns - 1);
    }
    evidence_ += square;
    by_work_ = std::clamp(square > least_square ? product / square : 1, 0.0, max_by_work);
  }
  level_ = std::log(first_.front().step_ns / by_work(first_.front().work));
  for (spell const& each : first_) level_ = std::min(level_, std::log(each.step_ns / by_work(each.work)));
  first_ = {};
  is_set_ = true;
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

/// Recursive least squares. What work is usual follows, so that a trainer whose batches grow or shrink stays well
/// foretold; by that alone no length is foretold otherwise.
void step_forecast::learn_work(double work, double unexplained) {
  if (!(work > 0)) return;
  if (usual_work_ == 0) usual_work_ = work;
  double const times = times_usual(work, usual_work_);
  double const relative = (times - 1) / by_work(work);
  evidence_ = std::min(evidence_, max_evidence) + relative * relative;
  double const most = evidence_ < little_evidence ? 1 : max_unexplained * spread_;  // at first it learns fast
  by_work_ = std::clamp(by_work_ + relative / evidence_ * std::clamp(unexplained, -most, most), 0.0, max_by_work);
  double const next = usual_work_ * std::pow(times, usual_follows);
  double const of_next = by_work(next);
  by_work_ = std::clamp(by_work_ * next / usual_work_ / of_next, 0.0, max_by_work);
  level_ += std::log(of_next);
  usual_work_ = next;
}

}  // namespace lull
