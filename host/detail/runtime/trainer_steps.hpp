// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include <lull/host/detail/job/job_core.hpp>
#include <lull/host/detail/runtime/step_finder.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/govern/governor.hpp>
#include <lull/host/step_report.hpp>

namespace lull::detail {

/// A trainer's steps: how long they take on its stream, and in which of them side work may run. Thread-safe. Only
/// `next` and `may_run`, which enqueue, wait for the machine.
class trainer_steps {
 public:
  using log_function = std::function<void(std::string_view)>;

  struct options {
    bool harvests = true;         // if not, no side work runs anyway, and neither bound nor cap is kept
    double max_slowdown = 0;      // as bound()
    double cap = 0;               // on what side work is known to cost, while there is no bound; 0: none
    std::uint64_t draw_seed = 0;  // the same for all ranks
  };
  /// `log` may be empty; it outlives this object. Throws usage_error.
  trainer_steps(executor& executor, options const& asked, log_function const& log);

  /// Sets the bound. Side work first runs in the next step, and nothing is known yet. 0: it may run at once; the cap
  /// holds. Does nothing if the bound is unchanged. Throws usage_error.
  void bound(double max_slowdown);

  /// Sets the slowdown, as a share of a step, that is assumed of side work of a name until it is measured. Throws
  /// usage_error, and limit_error for more than `max_assumed` names.
  void assume_slowdown(std::string_view name, double slowdown);
  static constexpr std::size_t max_assumed = 64;

  /// Begins the next step where the stream is now; the one before ends there. Only enqueues; the first calls allocate.
  /// `number`: without it, the last one's plus 1. `work`: of the next step; 0: not known.
  void next(stream_handle stream, std::optional<std::uint64_t> number = {}, double work = 0);
  /// Returns whether the step that begins now is timed together with those before it, and counts it then: under a cap,
  /// where steps are short, a mark for each would cost what the cap is to save. Makes no call to the machine.
  bool joins(std::optional<std::uint64_t> number, double work);
  /// Ignores the current step, and those that are timed together with it. Under a bound no further side work begins in
  /// it, and under a cap it may.
  void skip();
  /// Returns what may run in a bubble that is about to open. If the program marks no steps, a step may begin.
  side_work may_run(stream_handle stream, std::uint64_t stream_id, std::string_view site);
  /// Returns the chance that side work of a kind runs in a step to come. None: its cost is not known at all, or there
  /// is neither bound nor cap, or no step was marked under the cap.
  std::optional<double> chance(std::uint64_t kind) const {
    std::lock_guard const lock{mutex_};
    bool const is_kept = governor_ && (report_.max_slowdown != 0 || report_.begun != 0);
    return is_kept && governor_->has_idea_of(kind) ? std::optional{governor_->chance(kind, is_halved(kind))}
                                                   : std::nullopt;
  }
  /// Returns the same of side work of which nothing is known.
  double chance_of_unknown() const {
    std::lock_guard const lock{mutex_};
    return governor_ ? governor_->first_chance_of_a_kind() : 1;
  }
  /// Returns how much longer steps take in which only side work of a kind ran. None: not known yet, or there is neither
  /// bound nor cap.
  std::optional<slowdown_interval> slowdown(std::uint64_t kind) const {
    std::lock_guard const lock{mutex_};
    return governor_ ? governor_->interval(kind) : std::nullopt;
  }
  /// Returns whether side work may run in the current step.
  bool may_harvest() const noexcept { return may_run_ != side_work::none; }
  /// Reads the lengths of steps that are over. `placed`: kinds of the placed jobs, for steps to come. `may_halve`: each
  /// of them can run with half of its blocks.
  void collect(placed_kinds placed, bool may_halve);
  step_report report() const;

 private:
  void begin(stream_handle stream, std::uint64_t number, double work, std::unique_lock<std::mutex>& lock);
  void keep(double max_slowdown);
  step_report now() const;
  bool is_halved(std::uint64_t kind) const { return may_halve_ && governor_->is_halved(kind); }
  bool read_next();
  void choose_how_many(std::chrono::nanoseconds step) noexcept;
  void assume_together(placed_kinds of);
  std::string advice();
  std::string advice_where_unknown() const;
  std::string told_cap() const;

  static constexpr std::size_t kept = 256;  // unread moments
  struct beginning {
    std::uint64_t at = 0;      // among all marked steps
    std::uint64_t series = 0;  // its series when it was marked
    std::uint64_t number = 0;
    std::uint64_t steps = 1;  // that are timed together
    double work = 0;          // of these; 0: not known of each
    bool is_skipped = false;
    std::unique_ptr<stream_moment> when;
  };

  beginning* last_marked() noexcept;

  executor& executor_;
  options const asked_;
  log_function const& log_;
  std::atomic<side_work> may_run_{side_work::all};
  std::atomic<bool> looks_for_steps_{false};  // there is a bound, and the program has marked none
  std::mutex marks_;                          // held while a moment is enqueued, taken before `mutex_`
  mutable std::mutex mutex_;                  // guards all that follows
  std::map<std::uint64_t, double> assumed_;   // by the kind of one name
  std::uint64_t together_ = 0;                // the kind of the two names for which something is assumed
  std::optional<governor> governor_;
  std::array<beginning, kept> noted_;
  std::uint64_t kind_ = 0;       // of the placed jobs
  std::uint64_t last_kind_ = 0;  // … or of the last ones
  bool may_halve_ = false;
  step_finder finder_;
  std::uint64_t found_ = 0;             // steps that the program did not mark
  std::uint64_t marked_ = 0;            // all steps
  std::uint64_t series_ = 0;            // of steps under one bound whose numbers rise
  std::uint64_t number_ = 0;            // of the next step
  std::uint64_t count_ = 0;             // of noted moments
  std::uint64_t read_ = 0;              // of those whose steps' lengths were read
  std::uint64_t together_for_ = 1;      // so many steps are timed together, from a multiple of it on
  bool marks_next_ = true;              // whatever its number
  step_report report_;                  // since the bound was set or taken away
  bool has_advised_ = false;            // since then
  std::optional<step_report> bounded_;  // of the time before the bound was taken away
};

}  // namespace lull::detail
