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
#include <string_view>

#include <lull/host/detail/job_record.hpp>
#include <lull/host/detail/step_finder.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/govern/governor.hpp>
#include <lull/host/step_report.hpp>

namespace lull::detail {

/// A trainer's steps: how long they take on its stream, and in which of them side work may run. Thread-safe; no call
/// but `next` and `may_run`, which enqueue, waits for the machine.
class trainer_steps {
 public:
  using log_line = std::function<void(std::string_view)>;

  /// As bound(). `harvests`: false: no side work runs anyway, and no bound is kept. `draw_seed`: the same for all
  /// ranks. `log`: may be empty; lives as long as this.
  trainer_steps(executor& executor, bool harvests, double max_slowdown, std::uint64_t draw_seed, log_line const& log);

  /// No side work runs before the next step, and nothing is known yet. 0: it may run in all of them, at once. Does
  /// nothing if this is the bound already. Throws usage_error.
  void bound(double max_slowdown);

  /// How much longer side work of a name makes a step, as a share, as is supposed until it is known. Throws
  /// usage_error, and limit_error for more than `max_assumed` names.
  void assume_slowdown(std::string_view name, double slowdown);
  static constexpr std::size_t max_assumed = 64;

  /// The next step begins where the stream is now, and the one before ends. Enqueue only; the first calls allocate.
  /// `number`: none: the last one's plus 1.
  void next(stream_handle stream, std::optional<std::uint64_t> number = {});
  /// The step under way says nothing. With a bound no more side work begins in it.
  void skip();
  /// What may run in a bubble that is about to open. Where the program marks no steps, a step may begin.
  side_work may_run(stream_handle stream, std::uint64_t stream_id, std::string_view site);
  /// That side work of a kind runs in a step to come. None: nobody has an idea of what it costs, or there is no bound.
  std::optional<double> chance(std::uint64_t kind) const {
    std::lock_guard const lock{mutex_};
    return governor_ && governor_->has_idea_of(kind) ? std::optional{governor_->chance(kind, is_halved(kind))}
                                                     : std::nullopt;
  }
  /// How much longer steps take in which only side work of a kind ran. None: not known yet, or there is no bound.
  std::optional<slowdown_interval> slowdown(std::uint64_t kind) const {
    std::lock_guard const lock{mutex_};
    return governor_ ? governor_->interval(kind) : std::nullopt;
  }
  /// Whether side work may run in the step under way.
  bool may_harvest() const noexcept { return may_run_ != side_work::none; }
  /// Reads the lengths of steps that are over. `standing`: kinds of the jobs that stand now, for steps to come.
  /// `may_halve`: each of them can run with half of its blocks.
  void collect(standing_kinds standing, bool may_halve);
  step_report report() const;

 private:
  void begin(stream_handle stream, std::uint64_t number, std::unique_lock<std::mutex>& lock);
  step_report now() const;
  bool is_halved(std::uint64_t kind) const { return may_halve_ && governor_->is_halved(kind); }
  bool read_next();
  void assume_together(standing_kinds of);

  static constexpr std::size_t kept = 256;  // moments that were not read yet
  struct beginning {
    std::uint64_t at = 0;      // of all that were marked
    std::uint64_t series = 0;  // as it was then
    std::uint64_t number = 0;
    bool is_skipped = false;
    std::unique_ptr<stream_moment> when;
  };

  executor& executor_;
  bool const harvests_;
  std::uint64_t const draw_seed_;
  log_line const& log_;
  std::atomic<side_work> may_run_{side_work::all};
  std::atomic<bool> looks_for_steps_{false};  // there is a bound, and the program has marked none
  std::mutex marks_;                          // held while a moment is enqueued, taken before `mutex_`
  mutable std::mutex mutex_;                  // all that follows
  std::map<std::uint64_t, double> assumed_;   // of the kind of one name
  std::uint64_t together_ = 0;                // of the two names that something is supposed of
  std::optional<governor> governor_;
  std::array<beginning, kept> noted_;
  std::uint64_t kind_ = 0;       // of the jobs that stand
  std::uint64_t last_kind_ = 0;  // … or stood last
  bool may_halve_ = false;
  step_finder finder_;
  std::uint64_t found_ = 0;             // steps that the program did not mark
  std::uint64_t marked_ = 0;            // all steps
  std::uint64_t series_ = 0;            // of steps under one bound whose numbers rise
  std::uint64_t number_ = 0;            // of the next step
  std::uint64_t count_ = 0;             // of moments that were noted
  std::uint64_t read_ = 0;              // of them, those whose steps' lengths were read
  step_report report_;                  // since the bound was set
  std::optional<step_report> bounded_;  // before it was taken away
};

}  // namespace lull::detail
