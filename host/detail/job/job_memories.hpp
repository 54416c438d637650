// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <lull/host/detail/job/job_core.hpp>
#include <lull/host/detail/job/memory_requests.hpp>
#include <lull/host/detail/job/saved_pages.hpp>
#include <lull/host/executor.hpp>

namespace lull::detail {

/// Memory of the device that other processes hold, and free when asked to.
class memory_of_others {
 public:
  virtual ~memory_of_others() = default;
  /// Asks for what is missing. Does not wait. Returns how much of it is on its way, now and from earlier calls.
  virtual std::uint64_t take(std::uint64_t bytes, std::chrono::nanoseconds within) = 0;
  /// Returns what they have freed since the last call.
  virtual std::uint64_t freed() = 0;
};

/// Moves jobs' memory out when the trainer needs it, and back when there is room: docs/decisions/memory-gives-way.md.
/// Any thread may call `requests` and `any_moves`; only the dispatcher calls the rest. Copies are enqueued, some at a
/// time, and read in a later tick. No lock is held over a call to the machine.
class job_memories {
 public:
  using time_point = memory_request::time_point;
  using job_pointer = std::shared_ptr<job_core>;

  struct limits {
    std::uint64_t reserve_bytes = 0;  // of the device's memory, left free for the trainer
    std::uint64_t saved_bytes = 0;    // of pinned host memory
  };

  /// Throws limit_error.
  job_memories(executor& executor, limits const& allowed);
  ~job_memories();
  job_memories(job_memories const&) = delete;
  job_memories& operator=(job_memories const&) = delete;

  /// Asks others first, and this program's jobs for the rest. Call it before the first tick; null: there are none.
  void take_from_others_first(memory_of_others* others) noexcept { others_ = others; }
  /// What is asked for after a tick is met by the following ones.
  memory_requests& requests() noexcept { return requests_; }
  /// Manages this job's memory until the job is over.
  void add(job_pointer job);
  /// Advances all moves. A job that was asked to leave its place reports when it has. Throws device_error.
  void tick(time_point now);
  bool any_moves() const noexcept { return any_moves_; }
  /// Frees everything; called when no job is left.
  void forget_all();
  /// Returns when the next tick should come; max: when something changes.
  time_point next() const;

 private:
  enum class movement { none, leaves_place, saves, is_away, returns, ends };
  /// What a job leaves its place for.
  enum class purpose { saving, eviction, dropping };
  /// A job whose memory may be moved.
  struct tenant {
    explicit tenant(job_pointer of) : job(std::move(of)) {}
    job_memory& memory() const noexcept { return *job->description().memory; }

    job_pointer job;
    movement now = movement::none;
    purpose why = purpose::saving;
    std::optional<job_memory::move> moves{};        // while it is copied
    std::size_t parts_left = 0;                     // to be enqueued, of the copy under way
    std::vector<std::shared_ptr<std::byte>> pages;  // of the copy on the host
    job_memory::piece_map copied{};                 // what is there, piece by piece
    std::vector<std::uint64_t> at{};                // where the job was then; empty: the copy is incomplete
    std::uint64_t touches = 0;                      // by its owner, until then
    std::uint64_t placings = 0;                     // until then
    time_point began{};                             // to copy
    time_point next_save{};
  };

  static constexpr std::chrono::milliseconds look_every{10};
  static constexpr std::chrono::seconds reserve_within{2};  // that others have for what the reserve lacks
  static constexpr std::chrono::milliseconds follow_every{100};
  static constexpr std::chrono::microseconds soon{200};
  static constexpr std::chrono::seconds min_away{1};  // doubled where memory is soon asked for again, up to:
  static constexpr std::chrono::seconds max_away{64};
  static constexpr int saves_pause = 100;  // times as long as the last save took, so that saves cost a hundredth
  static constexpr std::chrono::seconds min_saves_pause{10};
  static constexpr double assumed_bytes_a_second = 1e10;  // until one was measured
  static constexpr std::size_t max_parts = 64;            // enqueued at a time, so that no queue fills up

  static bool is_moving(tenant const& of) noexcept { return of.now != movement::none && of.now != movement::is_away; }
  static bool can_go(tenant const& of) noexcept { return of.now != movement::ends && !is_final(of.job->state()); }
  void follow();
  std::uint64_t missing();
  std::uint64_t comes_from_others(std::uint64_t asked);
  std::uint64_t leaving() const;
  void take_from_lowest(std::uint64_t bytes);
  std::optional<purpose> way_of(tenant const& of) const;
  bool can_save(tenant const& of) const;
  static std::size_t pages_needed(tenant const& of);
  static std::size_t pages_for(job_memory::piece_map const& pieces);
  template <class Copy>
  static std::size_t each_part(tenant const& of, Copy copy);
  std::chrono::duration<double> time_left() const;
  void note_free(std::uint64_t went);
  void move(tenant& of);
  void leave(tenant& of);
  bool take_page_of_another(tenant& into);
  void withdraw(tenant& of);
  bool begin_to_return(tenant& of);
  bool copy_more(tenant& of);
  void end_copy(tenant& of);
  void keep(tenant& of);
  void let_return();
  void save_what_is_due();

  executor& executor_;
  limits const allowed_;
  memory_of_others* others_ = nullptr;
  bool others_give_ = false;
  std::optional<saved_pages> pages_;
  std::unique_ptr<copy_lane> lane_;
  std::list<tenant> tenants_;  // by priority, the highest first
  std::atomic<bool> any_moves_{false};
  bool any_away_ = false;
  double bytes_a_second_ = assumed_bytes_a_second;
  // free memory of the device at the last look, adjusted by what has moved since
  std::uint64_t free_ = ~std::uint64_t{0};
  time_point now_{};
  time_point next_look_{};
  time_point next_follow_{};
  time_point not_back_before_{};
  time_point last_return_{};
  std::chrono::seconds away_for_ = min_away;
  memory_requests requests_;
};

}  // namespace lull::detail
