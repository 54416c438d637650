// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lull/host/detail/forks.hpp>
#include <lull/host/detail/job/job_image.hpp>
#include <lull/host/detail/job/job_seat.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/job.hpp>

namespace lull::detail {

/// Returns whether a job never leaves this state.
constexpr bool is_final(job_state state) noexcept {
  return state == job_state::finished || state == job_state::failed || state == job_state::cancelled ||
         state == job_state::off;
}

class job_queue;

/// A job as the runtime keeps it: what its owner wants, and its progress, which is in its seat while it has one,
/// otherwise in its image. Thread-safe, except for the placer's calls. No lock is held over a call to the machine.
class job_core : public std::enable_shared_from_this<job_core> {
 public:
  enum class wish { run, pause, cancel };

  /// Takes no memory of the machine. `ring_capacity`: chunks that its blocks can hand back at once, at least four for
  /// each block that can be alive. Throws usage_error.
  job_core(std::shared_ptr<executor> executor, job_description description, std::uint64_t ring_capacity);
  job_core(job_core const&) = delete;
  job_core& operator=(job_core const&) = delete;

  std::uint64_t order = 0;                              // of submission; the queue's
  worker_grid grid{};                                   // of its workers
  std::chrono::steady_clock::time_point rests_until{};  // until then other jobs go first; only the placer uses it
  std::weak_ptr<job_queue> kept_by{};                   // told of each wish; empty: no queue

  /// Returns whether this process was forked from the one that made the job: then its locks may be held for ever.
  bool in_child() const noexcept { return forks_now() != forks_; }
  job_description const& description() const noexcept { return description_; }
  worker_kernel const& kernel() const noexcept;
  std::uint64_t ring_capacity() const noexcept { return capacity_; }

  /// Sets the owner's wish and tells the queue. Cancel is final.
  void want(wish what);
  wish wanted() const;
  job_state state() const;
  /// Changes the state; but for the constructor no other code does. Returns the new state. A final state stays.
  /// `queued` is for a job on which no block works: it becomes evicted while its memory is asked for or away; otherwise
  /// queued, paused or cancelled, as its owner wishes. Only a queued job may be placed. So after `paused` is seen no
  /// block is inside until the job is resumed.
  job_state move_to(job_state next);
  /// Asks the job to leave its place and be evicted. Returns false if its owner holds or has paused it, or it is over.
  bool ask_to_leave();
  /// Notes that its memory is on the machine again.
  void is_back();
  bool is_asked_to_leave() const;
  bool hold(std::chrono::nanoseconds at_most);
  void let_go() noexcept;
  /// Returns how often its owner may have written its memory, while the job was held or paused.
  std::uint64_t touches() const;
  /// Returns how often it was placed.
  std::uint64_t placings() const;
  bool wait(std::chrono::nanoseconds at_most);

  /// Returns the state that its blocks have told; makes no call to the machine.
  phase_state reached() const noexcept;
  /// Returns the number of rounds that are over; what they wrote may be read from the machine.
  std::uint64_t rounds() const noexcept;
  /// Blocks for its own small copy if the job is placed.
  void feed(std::uint64_t fed);
  std::uint64_t fed() const noexcept { return fed_; }
  job_progress progress() const;
  /// Returns its progress as of the last time without a seat.
  job_image image() const;
  /// As words_of(job_image). Throws usage_error while the job has a seat.
  std::vector<std::uint64_t> save() const;
  /// Continues where `save` was called, on any machine, with the arrays of that moment. Throws as read_words, and
  /// usage_error while the job has a seat.
  void restore(std::span<std::uint64_t const> saved);

  // For the placer, by one thread; the lane is that of exchanges.
  /// Enqueues what its blocks need; after that its slots may be filled. The lane must be done.
  void take(std::shared_ptr<job_seat> seat, copy_lane& lane);
  job_seat* seat() const noexcept { return seat_.get(); }
  /// Enqueues what was fed meanwhile; called when the lane is done, until it returns true. From then on `feed` writes
  /// directly.
  bool catch_up_fed(copy_lane& lane);
  /// Enqueues a copy of its progress; no block is inside. The copy stays valid until a block enters.
  void begin_to_leave(copy_lane& lane);
  /// Called when the lane is done. Returns true if the job has left its seat; false: another copy is enqueued.
  bool leave(copy_lane& lane);
  /// Gives up the seat without a copy: the machine is lost.
  void abandon_seat() noexcept;

 private:
  template <class So>
  bool wait_until(std::unique_lock<std::mutex>& lock, std::chrono::nanoseconds at_most, So so);
  void tell_queue();
  progress_line line() const noexcept;
  void require_no_seat() const;

  std::shared_ptr<executor> executor_;
  job_description description_;
  std::uint64_t const capacity_;
  std::uint64_t const forks_;
  std::atomic<std::uint64_t> fed_ = 0;
  mutable std::mutex mutex_;        // guards all that follows
  std::shared_ptr<job_seat> seat_;  // null: no seat
  job_image image_;                 // while it has no seat
  std::uint64_t written_fed_ = 0;   // to the seat, by the placer
  bool feeds_itself_ = false;       // `feed` writes to the seat
  bool ring_is_read_ = false;       // while the job leaves; only the placer uses it
  wish wish_ = wish::run;
  bool leaves_ = false;      // its memory is asked for, or away
  std::uint64_t holds_ = 0;  // by its owner
  std::uint64_t touches_ = 0;
  std::uint64_t placings_ = 0;
  std::condition_variable changed_;
  job_state state_ = job_state::queued;
};

/// Jobs of one name are of one kind. Never 0.
inline std::uint64_t kind_of(std::string_view name) { return std::hash<std::string_view>{}(name) | 1; }
inline std::uint64_t kind_of(job_core const& job) { return kind_of(job.description().name); }

/// The kinds of the jobs in the two places; 0: no job.
using placed_kinds = std::array<std::uint64_t, 2>;

/// Returns the kind of both together; of two jobs with one name it is that name's. 0: no job.
inline std::uint64_t kind_of(placed_kinds of) { return of[0] == of[1] ? of[0] : of[0] + of[1]; }

/// Orders by priority, higher first, then by submission.
inline bool goes_before(job_core const& one, job_core const& other) {
  int const priority = one.description().priority;
  int const others = other.description().priority;
  return priority != others ? priority > others : one.order < other.order;
}

}  // namespace lull::detail
