// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <lull/host/attach/share_server.hpp>
#include <lull/host/detail/dispatch/placer.hpp>
#include <lull/host/detail/gate/gate.hpp>
#include <lull/host/detail/job/job_memories.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/report/bubble_summary.hpp>

namespace lull::detail {

/// The bubbles that a trainer's runtime shares with workers of other processes, and whose turn it is in them: that of
/// the runtime's own jobs, unless all of these have a lower priority than a worker's. One thread calls `tick`,
/// `others`, `take` and `freed`; any thread may call the rest.
class sharing final : public memory_of_others {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// `reserve_bytes`: of the device's memory, that workers leave free. Throws as attach::share_server.
  sharing(std::string const& address, executor& machine, std::uint64_t reserve_bytes,
          attach::share_server::calls of_trainer);

  gate_words words(std::uint32_t gate);
  /// `paused`: by the program, which lets no side work run.
  void tick(placer& own, bool paused, time_point now);
  /// What the worker brings whose turn it is.
  struct on_turn {
    placed_kinds kinds{};    // of its jobs
    bool may_halve = false;  // each of these can be launched with half of its blocks
  };
  /// Returns nothing if it is the runtime's own turn.
  std::optional<on_turn> others() const;
  std::vector<worker_summary> workers() const;
  std::uint64_t take(std::uint64_t bytes, std::chrono::nanoseconds within) override;
  std::uint64_t freed() override;
  /// Kills all workers, because one has overwritten a gate, and shares no more. Call it as `tick`.
  void end_workers() noexcept;
  /// Workers see from now on that the trainer has ended. Call it from the thread that calls `tick`, or after that.
  void end() noexcept;

 private:
  /// Where streams of this process reach the words; each member needs those before it.
  struct words_on_machine {
    std::shared_ptr<attach::shared_bubbles> bubbles;
    std::shared_ptr<void> page;
    std::shared_ptr<void> lines;  // (max_gates,) gate_line; null: they are in the page
  };
  static words_on_machine words_on(executor& machine);

  std::shared_ptr<words_on_machine const> const words_;
  mutable std::mutex mutex_;                      // guards the next two
  std::unique_ptr<attach::share_server> server_;  // null: it has ended
  std::vector<attach::attached_worker> last_;     // that it had then
  bool own_are_quiet_ = false;
};

}  // namespace lull::detail
