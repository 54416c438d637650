// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <lull/host/detail/dispatch/wait_limits.hpp>
#include <lull/host/detail/gate/gate.hpp>

namespace lull::detail {

/// How workers are enqueued.
struct launch_policy {
  /// How long before its bubble a worker may be enqueued. None: as the site needs, or at once where nothing is known.
  /// 0: only when the bubble is open.
  std::optional<std::chrono::nanoseconds> armed_ahead{};
  /// All streams share one queue of the device: what is enqueued later starts later, so workers are enqueued with the
  /// opening edge.
  bool in_line = false;
  /// How long a worker may wait past the expected opening where several of the trainer's streams have gates: other work
  /// on its channel waits as long.
  std::chrono::nanoseconds shared_overdue = std::chrono::milliseconds{1};
};

/// Enqueues workers shortly before their bubbles open, or as soon as they are seen to be open
/// (docs/decisions/armed-late.md). All workers go to one stream. Where several of the trainer's streams have gates, a
/// worker is enqueued only when that stream is empty: after another worker it might delay the very stream that the
/// other's bubble waits for. Thread-safe. The trainer's thread never waits long for another thread's launch: its bubble
/// then gets its worker later.
class launcher {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  /// How long the trainer's thread waits for launches that are under way, if its own must be enqueued now.
  static constexpr std::chrono::milliseconds max_wait{2};
  /// An unknown opening counts as this far away.
  static constexpr std::chrono::nanoseconds unknown_ahead = std::chrono::seconds{1};

  launcher(std::vector<std::unique_ptr<gate>>& gates, launch_policy policy) : gates_(gates), policy_(policy) {}

  /// Enqueues what is due at one gate, on the trainer's thread. Returns when the dispatcher must look at it.
  time_point offer(gate& at);
  /// The dispatcher's tick: enqueues what is due and ends waits. Returns when the next one should come.
  time_point tick();
  /// Enqueues no further worker and lets go those that wait.
  void stop();
  /// Returns the device's clock, for expecting openings.
  device_clock& clock() noexcept { return clock_; }

 private:
  struct enqueued {
    gate* at;
    std::uint64_t bubble;
    time_point expected;
    time_point ends;  // their lease, where another may follow in the same bubble
  };

  struct expectation {
    time_point opening;
    std::chrono::nanoseconds ahead;  // how long before it workers should be enqueued
  };

  time_point serve(gate& at, time_point now);
  void enqueue(gate& at, launch_request const& asked, start_when when, time_point now,
               std::optional<expectation> known = {});
  std::chrono::nanoseconds overdue_limit(launch_request const& asked, bool is_expected) const;
  time_point next_look(time_point now) const;

  std::vector<std::unique_ptr<gate>>& gates_;
  launch_policy const policy_;
  std::mutex mutex_;  // guards all that follows; held while workers are enqueued
  bool stopped_ = false;
  bool several_ = false;        // several gates were in use recently
  std::deque<enqueued> order_;  // workers that may still be inside, in the order of their stream
  device_clock clock_;
  wait_limits limits_;
};

}  // namespace lull::detail
