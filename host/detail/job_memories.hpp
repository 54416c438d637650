// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <lull/host/detail/job_record.hpp>
#include <lull/host/detail/saved_pages.hpp>
#include <lull/host/executor.hpp>

namespace lull::detail {

/// Device memory that a program asked back, and how much of it went.
struct memory_request {
  using time_point = std::chrono::steady_clock::time_point;

  std::uint64_t bytes = 0;
  time_point deadline{};
  std::uint64_t given = 0;
  bool is_over = false;
};

/// Lets jobs' memory give way to the trainer, and brings it back when there is room:
/// docs/decisions/memory-gives-way.md. Of the dispatcher, under its lock.
class job_memories {
 public:
  using time_point = memory_request::time_point;
  using job_span = std::span<std::shared_ptr<job_record> const>;

  struct limits {
    std::uint64_t reserve_bytes = 0;  // of the device's memory, left free for the trainer
    std::uint64_t saved_bytes = 0;    // of pinned host memory
  };

  /// Throws limit_error.
  job_memories(executor& machine, limits const& allowed);
  ~job_memories();
  job_memories(job_memories const&) = delete;
  job_memories& operator=(job_memories const&) = delete;

  /// Throws usage_error where a job that is not over has the same memory, or what was in it is lost.
  static void require_its_own(job_span jobs, job_record const& job);
  /// It lives until it is over, or forgotten.
  void ask(memory_request& request) { requests_.push_back(&request); }
  void forget(memory_request& request) { requests_.remove(&request); }
  /// `jobs`: all that are not over, the highest first. Those that are asked to leave their places say so themselves.
  /// Throws device_error.
  void tick(job_span jobs, time_point now);
  bool any_moves() const;
  /// All requests are over.
  void end_requests() noexcept;
  /// When no job is left.
  void forget_all();
  /// When the next one should come; max: when something changes.
  time_point next() const;

 private:
  enum class movement { none, leaves_place, saves, is_away, returns };
  /// What a job leaves its place for.
  enum class purpose { saving, eviction, dropping };
  /// A job whose memory may give way.
  struct tenant {
    explicit tenant(std::shared_ptr<job_record> of) : job(std::move(of)) {}
    job_memory& memory() const noexcept { return *job->description().memory; }

    std::shared_ptr<job_record> const job;
    movement now = movement::none;
    purpose why = purpose::saving;
    std::optional<job_memory::move> moves{};        // while it is copied
    std::vector<std::shared_ptr<std::byte>> pages;  // of the copy on the host
    job_memory::piece_map copied{};                 // what is there, piece by piece
    std::vector<std::uint64_t> at{};                // where the job was then; empty: the copy is not whole
    std::uint64_t touches = 0;                      // by its owner, until then
    bool has_run = false;                           // since then
    time_point began{};                             // to copy
    time_point next_save{};
  };

  static constexpr std::chrono::milliseconds look_every{10};
  static constexpr std::chrono::microseconds soon{200};
  static constexpr std::chrono::seconds min_away{1};  // doubled where memory is asked for again soon, up to:
  static constexpr std::chrono::seconds max_away{64};
  static constexpr int saves_pause = 100;  // times as long as the last one took, so that they cost a hundredth
  static constexpr std::chrono::seconds min_saves_pause{10};
  static constexpr std::chrono::seconds max_last_copy{10};
  static constexpr double assumed_bytes_a_second = 1e10;  // until it was seen

  static bool is_moving(tenant const& of) noexcept { return of.now != movement::none && of.now != movement::is_away; }
  void follow(job_span jobs);
  tenant* find(job_record const& job);
  std::uint64_t missing() const;
  std::uint64_t leaving() const;
  void take_from(job_span jobs, std::uint64_t bytes);
  std::optional<purpose> way_of(tenant const& of) const;
  bool can_save(tenant const& of) const;
  static std::size_t pages_needed(tenant const& of);
  template <class Copy>
  static void each_part(tenant const& of, Copy copy);
  std::chrono::duration<double> time_left() const;
  void move(tenant& of);
  void leave(tenant& of);
  bool take_page_of_another(tenant& into);
  void withdraw(tenant& of);
  bool begin_to_return(tenant& of);
  void end_copy(tenant& of);
  void stay(tenant& of);
  void lose(tenant& of);
  void let_return(job_span jobs);
  void save_what_is_due();
  void answer();

  executor& machine_;
  limits const allowed_;
  std::optional<saved_pages> pages_;
  std::unique_ptr<copy_lane> lane_;
  std::list<tenant> tenants_;
  std::list<memory_request*> requests_;
  double bytes_a_second_ = assumed_bytes_a_second;
  std::uint64_t free_ = ~std::uint64_t{0};  // of the device's memory, when it was looked at, and what has moved since
  time_point now_{};
  time_point next_look_{};
  time_point not_back_before_{};
  time_point last_return_{};
  std::chrono::seconds away_for_ = min_away;
};

}  // namespace lull::detail
