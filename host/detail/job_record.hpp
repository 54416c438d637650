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
#include <lull/host/detail/job_image.hpp>
#include <lull/host/detail/job_seat.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/job.hpp>

namespace lull::detail {

/// What a job never leaves.
constexpr bool is_final(job_state state) noexcept {
  return state == job_state::finished || state == job_state::failed || state == job_state::cancelled ||
         state == job_state::off;
}

class job_queue;

/// A job as the runtime keeps it: what its owner wants of it, and how far it has come: in its seat while it has one,
/// else in its image. Thread-safe, but for the calls of the placer. No lock is held over a call to the machine.
class job_record : public std::enable_shared_from_this<job_record> {
 public:
  enum class wish { run, pause, cancel };

  /// Takes no memory of the machine. `ring_capacity`: chunks that its blocks can hand back at once, four for each block
  /// that can be alive or more. Throws usage_error.
  job_record(std::shared_ptr<executor> executor, job_description description, std::uint64_t ring_capacity);
  job_record(job_record const&) = delete;
  job_record& operator=(job_record const&) = delete;

  std::uint64_t order = 0;                              // of submission; the queue's
  worker_grid grid{};                                   // of its workers
  std::chrono::steady_clock::time_point rests_until{};  // it makes way for others; the placer's
  std::weak_ptr<job_queue> kept_by{};                   // told of each wish; empty: nobody is

  /// In a process that was forked from the one that made it: its locks may be held for ever.
  bool in_child() const noexcept { return forks_now() != forks_; }
  job_description const& description() const noexcept { return description_; }
  worker_kernel const& kernel() const noexcept;
  std::uint64_t ring_capacity() const noexcept { return capacity_; }

  /// Cancel is final. Tells the queue.
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
  /// How often its owner may have written its memory: held, or paused.
  std::uint64_t touches() const;
  /// How often it was placed.
  std::uint64_t placings() const;
  bool wait(std::chrono::nanoseconds at_most);

  /// How far it is, by the words that its blocks tell; no call to the machine.
  phase_state reached() const noexcept;
  /// Rounds that are over; what they wrote may be read from the machine.
  std::uint64_t rounds() const noexcept;
  /// Blocks for its own small copy where the job is placed.
  void feed(std::uint64_t fed);
  std::uint64_t fed() const noexcept { return fed_; }
  job_progress progress() const;
  /// How far it was when it last had no seat.
  job_image image() const;
  /// As words_of(job_image). Throws usage_error while the job has a seat.
  std::vector<std::uint64_t> save() const;
  /// Takes up where `save` was called, on any machine, with arrays as they were then. Throws as read_words, and
  /// usage_error while the job has a seat.
  void restore(std::span<std::uint64_t const> saved);

  // For the placer, by one thread; the lane is that of exchanges.
  /// Enqueues what its blocks need, behind which its slots may be filled. The lane is done.
  void take(std::shared_ptr<job_seat> seat, copy_lane& lane);
  job_seat* seat() const noexcept { return seat_.get(); }
  /// Once the lane is done, until it returns true: enqueues what was fed meanwhile. From then on `feed` writes itself.
  bool catch_up_fed(copy_lane& lane);
  /// No block is inside: enqueues a copy of how far it is. It stays valid until a block enters.
  void begin_to_leave(copy_lane& lane);
  /// Once the lane is done: false, with another copy enqueued, or the job has left its seat.
  bool leave(copy_lane& lane);
  /// Without a copy: the machine is lost.
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
  mutable std::mutex mutex_;        // all that follows
  std::shared_ptr<job_seat> seat_;  // null: it has none
  job_image image_;                 // where it has no seat
  std::uint64_t written_fed_ = 0;   // to the seat, by the placer
  bool feeds_itself_ = false;       // `feed` writes to the seat
  bool ring_is_read_ = false;       // the placer's, on the job's way out
  wish wish_ = wish::run;
  bool leaves_ = false;      // its memory is asked for, or away
  std::uint64_t holds_ = 0;  // of its owner's
  std::uint64_t touches_ = 0;
  std::uint64_t placings_ = 0;
  std::condition_variable changed_;
  job_state state_ = job_state::queued;
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
