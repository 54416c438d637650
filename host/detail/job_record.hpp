// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lull/host/array.hpp>
#include <lull/host/detail/wake_signal.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/job.hpp>

namespace lull::detail {

/// What a job never leaves.
constexpr bool is_final(job_state state) noexcept {
  return state == job_state::finished || state == job_state::failed || state == job_state::cancelled;
}

/// A job as the runtime keeps it: its cursor on the machine, its progress line, what its owner wants of it.
class job_record {
 public:
  enum class wish { run, pause, cancel };

  /// Allocates and writes the cursor. `ring_capacity`: chunks that can be handed back at once, four for each block that
  /// can be alive or more.
  job_record(std::shared_ptr<executor> machine, job_description description, std::uint64_t ring_capacity);
  job_record(job_record const&) = delete;
  job_record& operator=(job_record const&) = delete;

  std::uint64_t order = 0;               // of submission; the dispatcher's
  worker_grid grid{};                    // of its workers
  std::shared_ptr<wake_signal> wakes{};  // the dispatcher; null: none keeps it

  job_description const& description() const noexcept { return description_; }
  cursor* at() const noexcept { return cursor_.data(); }
  worker_kernel const& kernel() const noexcept;

  /// Cancel is final. Wakes the dispatcher.
  void want(wish what);
  wish wanted() const;
  job_state state() const;
  /// The one place where the state changes; returns what it has become. A final state stays. `queued` asks for a job
  /// that no block works on: it is evicted while its memory is asked for or away; else queued, paused or cancelled, as
  /// its owner wishes. Only one that is queued may be placed. So after `paused` is seen no block is inside until the
  /// job is resumed.
  job_state move_to(job_state next);
  /// Asks that it leave its place, and be evicted. Returns false where its owner holds or has paused it, or it is over.
  bool ask_to_leave();
  /// Its memory is on the machine, and may be used.
  void is_back();
  bool is_asked_to_leave() const;
  bool hold(std::chrono::nanoseconds at_most);
  void let_go() noexcept;
  std::uint64_t touches() const {
    std::lock_guard const lock{mutex_};
    return touches_;
  }
  bool wait(std::chrono::nanoseconds at_most);

  /// Fresh words from the mapped line; no call to the machine.
  phase_state reached() const noexcept;
  /// Rounds that are over; what they wrote may be read from the machine.
  std::uint64_t rounds() const noexcept;
  /// Blocks for its own small copy.
  void feed(std::uint64_t fed);
  std::uint64_t fed() const noexcept { return fed_; }
  job_progress progress() const;
  /// How far it has come, with the chunks that were handed back: with the task's arrays its whole state. Only while no
  /// block is inside. Throws limit_error where more chunks are handed back than fit.
  static constexpr std::size_t state_words = 10 + 2 * 4096;
  std::vector<std::uint64_t> save();
  /// Takes up where `save` was called, on any machine, with arrays as they were then. Before any block was inside.
  /// Throws limit_error where this machine's ring is too small, usage_error for what `save` never gives.
  void restore(std::span<std::uint64_t const> saved);
  /// Reads what was done; called when no block is inside.
  void read_totals();

 private:
  template <class So>
  bool wait_until(std::unique_lock<std::mutex>& lock, std::chrono::nanoseconds at_most, So so);
  cursor read() const;
  void write(cursor const& words);
  progress_word where() const noexcept;
  std::uint64_t groups() const noexcept { return ring_groups(capacity_); }

  std::shared_ptr<executor> machine_;
  job_description description_;
  std::uint64_t const capacity_;
  // owners, so that a constructor that throws leaves nothing behind
  machine_array<cursor> cursor_;
  machine_array<ring_group> places_;
  mapped_array<progress_line> line_;
  std::atomic<std::uint64_t> fed_ = 0;
  mutable std::mutex mutex_;
  wish wish_ = wish::run;
  bool leaves_ = false;        // its memory is asked for, or away
  std::uint64_t holds_ = 0;    // of its owner's
  std::uint64_t touches_ = 0;  // how often its owner may have written its memory: held, or paused
  std::condition_variable changed_;
  job_state state_ = job_state::queued;
  job_progress totals_;
};

/// Jobs of one name are of one kind. Never 0.
inline std::uint64_t kind_of(std::string_view name) { return std::hash<std::string_view>{}(name) | 1; }
inline std::uint64_t kind_of(job_record const& job) { return kind_of(job.description().name); }

/// Of the jobs that stand in the two places; 0: none does.
using standing_kinds = std::array<std::uint64_t, 2>;

/// Of both together: the same where they have the same names. 0: none stands.
inline std::uint64_t kind_of(standing_kinds of) { return of[0] == of[1] ? of[0] : of[0] + of[1]; }

/// Higher priority first, then in order of submission.
inline bool goes_before(job_record const& one, job_record const& other) {
  int const priority = one.description().priority;
  int const others = other.description().priority;
  return priority != others ? priority > others : one.order < other.order;
}

}  // namespace lull::detail
