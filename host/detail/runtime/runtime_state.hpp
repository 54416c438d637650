// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <lull/host/detail/dispatch/dispatcher.hpp>
#include <lull/host/detail/dispatch/launcher.hpp>
#include <lull/host/detail/forks.hpp>
#include <lull/host/detail/gate/captured_gates.hpp>
#include <lull/host/detail/gate/gate.hpp>
#include <lull/host/detail/harvested_device.hpp>
#include <lull/host/detail/log_queue.hpp>
#include <lull/host/detail/runtime/follower.hpp>
#include <lull/host/detail/runtime/gpu_watch.hpp>
#include <lull/host/detail/runtime/sharing.hpp>
#include <lull/host/detail/runtime/trainer_steps.hpp>
#include <lull/host/detail/wake_signal.hpp>
#include <lull/host/runtime.hpp>

namespace lull::detail {

/// The state of a runtime.
class runtime_state {
 public:
  runtime_state(std::shared_ptr<lull::executor> executor, runtime_options options);
  ~runtime_state();

  worker_kernel const& kernel_of(task_type const& type) const {
    return executor_->kind() == executor_kind::cuda ? type.cuda : type.threads;
  }

  job submit(job_description description);
  open_result open(stream_handle stream, site where) noexcept;
  void close(bubble_id id, stream_handle stream) noexcept;
  void step(stream_handle stream, std::optional<std::uint64_t> number, double work) noexcept;
  trainer_steps& steps() noexcept { return steps_; }

  bool ready(stream_handle stream);
  runtime_counts counts() const;

  bool pause_all(std::chrono::nanoseconds at_most);
  void resume_all() noexcept;
  std::uint64_t give_back(std::uint64_t bytes, std::chrono::nanoseconds at_most) {
    return in_child() ? 0 : dispatcher_->give_back(bytes, at_most);
  }
  std::uint64_t keep_reserve(std::chrono::nanoseconds at_most);
  bool wait_all(std::chrono::nanoseconds at_most) {
    return !in_child() && until(at_most, [this] { return dispatcher_->empty(); });
  }

  /// Returns whether this process was forked from the one that made the runtime.
  bool in_child() const noexcept { return forks_now() != forks_; }

  lull::executor& executor() noexcept { return *executor_; }
  runtime_mode mode() const noexcept { return mode_; }
  std::string why_off() const {
    std::lock_guard const lock{turning_off_};
    return why_off_;
  }
  bubble_summary summary() const {
    if (in_child()) return bubble_summary{};
    bubble_summary found = dispatcher_->bubbles().summary();
    found.tell(steps_.report());
    if (watch_) found.tell(watch_->so_far());
    if (sharing_) found.tell(sharing_->workers());
    return found;
  }
  std::vector<bubble_report> take_bubbles() {
    return in_child() ? std::vector<bubble_report>{} : dispatcher_->bubbles().take_bubbles();
  }

 private:
  /// Shares the bubbles, or attaches to those of another process, if the program asked for that.
  void meet_other_processes();
  std::string state_for_observers() const;
  void let_observers_ask(bool may);
  void tell_of_power(std::string const& job);
  /// Returns a stream's gate, or the one that it would get.
  gate* find_gate(std::uint64_t stream_id) const noexcept;
  gate* gate_for(std::uint64_t stream_id);

  open_result pass_over(counted why) noexcept {
    ++passed_over_[static_cast<std::size_t>(why)];
    return {{}, why};
  }

  open_result open_captured(std::uint64_t capture, stream_handle stream, site where);
  open_result open_on(gate* gate, std::uint64_t stream_id, stream_handle stream, site where);

  /// Enqueues on the trainer's thread what is due at a gate; the dispatcher wakes in time for the rest.
  void offer(gate& at) {
    if (mode_ == runtime_mode::on) wake_->notify_before(launcher_->offer(at));
  }

  /// Runs `call`. An error of the machine must not reach the trainer: it turns harvesting off.
  template <class F>
  void guarded(F&& call) noexcept {
    try {
      call();
    } catch (std::exception const& problem) {
      turn_off(problem);
    }
  }
  void turn_off(std::exception const& problem) noexcept;
  /// Returns whether no worker is on the machine or on its way there.
  bool no_worker_comes() const;

  /// Polls, without a call that blocks.
  template <class F>
  static bool until(std::chrono::nanoseconds at_most, F&& so) {
    // a day is for ever, and cannot overflow
    auto const give_up =
        std::chrono::steady_clock::now() + std::min<std::chrono::nanoseconds>(at_most, std::chrono::hours{24});
    for (;;) {
      if (so()) return true;
      if (std::chrono::steady_clock::now() >= give_up) return false;
      std::this_thread::sleep_for(std::chrono::microseconds{100});
    }
  }

  /// Returns whether nothing that was enqueued can touch our memory; waits, bounded.
  bool all_over() const noexcept;

  /// Collects the last bubbles. Where all has passed, the last lengths may come a moment later.
  void collect_last(bool over) const;
  void tell_trainer(bool over) const noexcept;
  void report_bubbles(bool over) const noexcept;
  std::chrono::steady_clock::time_point with_other_processes();
  /// The dispatcher's thread. After an error it stops harvesting and continues until no block is inside any job; only
  /// then are the jobs over.
  void serve();

  mutable std::mutex turning_off_;
  std::string why_off_;  // guarded by `turning_off_`
  std::atomic<bool> has_told_of_power_{false};
  std::shared_ptr<log_queue> const log_;  // to the program's callback
  runtime_options options_;               // its log is that queue
  std::shared_ptr<wake_signal> const wake_ = std::make_shared<wake_signal>();
  std::shared_ptr<lull::executor> executor_;
  std::atomic<runtime_mode> mode_;
  runtime_mode const asked_;  // the mode at the start; an error turns mode_ off
  std::uint64_t const forks_;
  std::optional<harvested_device> harvested_;  // none: it runs nothing there, or it is no GPU
  std::optional<gpu_watch> watch_;             // none: reports are not kept, or it is no GPU
  trainer_steps steps_;
  std::atomic<bool> graphs_withhold_;  // side work, by their word on the machine
  std::atomic<bool> gates_used_up_{false};
  std::array<std::atomic<std::uint64_t>, counted_kinds> passed_over_{};  // bubbles without a gate
  mutable std::mutex telling_;
  bool can_tell_ = false;               // guarded by `telling_`
  std::unique_ptr<sharing> sharing_;    // null: no other process works in its bubbles
  std::unique_ptr<follower> follower_;  // null: the bubbles are this program's
  std::vector<std::unique_ptr<gate>> gates_;
  std::unique_ptr<captured_gates> captured_;
  std::unique_ptr<launcher> launcher_;
  std::unique_ptr<dispatcher> dispatcher_;
  std::mutex taking_;                                // held while a free gate is taken
  std::atomic<int> pauses_{0};                       // by the program
  std::chrono::steady_clock::time_point give_up_{};  // written before `ending_`
  std::atomic<bool> ending_{false};
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace lull::detail
