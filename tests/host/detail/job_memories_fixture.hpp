// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/detail/job/job_memories.hpp>
#include <lull/host/threads/executor.hpp>
#include <lull/tests/support/probe_task.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull {

using namespace std::chrono_literals;
using detail::job_core;

inline constexpr std::size_t kib = 1024;
inline constexpr std::size_t page = detail::saved_pages::page_bytes;

inline std::uint64_t mixed(std::uint64_t value) {
  value ^= value >> 33;
  value *= 0xff51afd7ed558ccdU;
  return value ^ value >> 29;
}

/// A machine whose copies end when the test asks whether they have: time passes only in the test.
class prompt_executor final : public threads_executor {
 public:
  using threads_executor::threads_executor;
  std::uint64_t device_free_bytes() const override {
    if (looks_at_free) looks_at_free();
    return threads_executor::device_free_bytes();
  }
  std::function<void()> looks_at_free{};  // called each time; empty: nothing is
  std::unique_ptr<copy_lane> make_copy_lane() override {
    return std::make_unique<prompt_lane>(threads_executor::make_copy_lane());
  }

 private:
  class prompt_lane final : public copy_lane {
   public:
    explicit prompt_lane(std::unique_ptr<copy_lane> lane) : lane_(std::move(lane)) {}
    void copy_in(void* to, void const* from, std::size_t bytes) override { lane_->copy_in(to, from, bytes); }
    void copy_out(void* to, void const* from, std::size_t bytes) override { lane_->copy_out(to, from, bytes); }
    bool done() override {
      await_that([&] { return lane_->done(); });
      return true;
    }

   private:
    std::unique_ptr<copy_lane> lane_;
  };
};

/// A job whose rounds each change all that it has: one array that can move, one that is too small to.
class round_job {
 public:
  round_job(std::shared_ptr<executor> const& executor, std::size_t bytes, int priority, std::uint64_t order,
            bool may_go_back)
      : executor_(executor), memory_(std::make_shared<job_memory>()) {
    job_memory::scope const its{memory_};
    large_ = {*executor, bytes / sizeof(std::uint64_t)};
    small_ = {*executor, std::size_t{16}};
    job_description what = describe(probe_task{});
    what.priority = priority;
    what.memory = memory_;
    what.may_go_back = may_go_back;
    record = std::make_shared<job_core>(executor, what, 64);
    record->order = order;
  }

  void one_round() {
    std::vector<std::uint64_t> now = record->save();
    std::uint64_t const round = ++now[3];
    record->restore(now);
    for (device_array<std::uint64_t>* const each : {&large_, &small_}) {
      std::vector<std::uint64_t> values = each->read();
      for (std::uint64_t& value : values) value = mixed(value + round);
      each->write(values);
    }
  }
  std::uint64_t rounds() const { return record->save()[3]; }
  std::vector<std::uint64_t> bits() const {
    std::vector<std::uint64_t> all = large_.read();
    std::vector<std::uint64_t> const rest = small_.read();
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
  }
  std::uint64_t bytes() const { return memory_->bytes(); }
  void free_large() { device_array<std::uint64_t>{std::move(large_)}; }

  std::shared_ptr<job_core> record;

 private:
  std::shared_ptr<executor> executor_;
  std::shared_ptr<job_memory> memory_;
  device_array<std::uint64_t> large_;  // (bytes / 8,)
  device_array<std::uint64_t> small_;  // (16,)
};

class job_memories : public testing::Test {
 protected:
  void start(std::size_t device_bytes, detail::job_memories::limits const& allowed) {
    executor_ = std::make_shared<prompt_executor>(executor_options{.kind = executor_kind::threads,
                                                                   .memory_limit_bytes = device_bytes,
                                                                   .reserve_bytes = allowed.reserve_bytes,
                                                                   .processors = 1});
    memories_ = std::make_unique<detail::job_memories>(*executor_, allowed);
  }
  round_job& add(std::size_t bytes, int priority = 0, bool may_go_back = false) {
    jobs_.push_back(std::make_unique<round_job>(executor_, bytes, priority, jobs_.size(), may_go_back));
    memories_->add(jobs_.back()->record);
    return *jobs_.back();
  }
  /// Ticks as the dispatcher does: jobs that were asked to leave have left.
  void tick() {
    for (auto const& each : jobs_) each->record->move_to(job_state::queued);
    memories_->tick(now_);
  }
  /// Time passes only here.
  template <class So>
  void tick_until(So so) {
    for (int ticks = 0; !so(); ++ticks, now_ += 1ms) {
      ASSERT_LT(ticks, 100'000);
      tick();
    }
  }
  /// Ticks until nothing moves, and the reserve was read.
  void settle() {
    for (int ticks = 0; ticks < 12; ++ticks, now_ += 1ms) tick();
    tick_until([this] { return memories_->next() >= now_ + 1ms; });
    tick();
  }
  std::uint64_t give_back(std::uint64_t bytes, std::chrono::nanoseconds at_most = 60s) {
    auto const request = ask(bytes, at_most);
    tick_until([&] { return request->is_over; });
    return memories_->requests().await(request);
  }
  std::shared_ptr<detail::memory_request> ask(std::uint64_t bytes, std::chrono::nanoseconds at_most) {
    auto made =
        std::make_shared<detail::memory_request>(detail::memory_request{.bytes = bytes, .deadline = now_ + at_most});
    memories_->requests().ask(made);
    return made;
  }
  static bool is_evicted(round_job const& of) { return of.record->state() == job_state::evicted; }

  std::chrono::steady_clock::time_point now_{1h};
  std::shared_ptr<prompt_executor> executor_;
  std::vector<std::unique_ptr<round_job>> jobs_;
  std::unique_ptr<detail::job_memories> memories_;  // ends before the machine and the jobs
};

}  // namespace lull
