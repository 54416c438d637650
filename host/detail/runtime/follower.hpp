// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <lull/host/attach/attachment.hpp>
#include <lull/host/detail/dispatch/dispatcher.hpp>
#include <lull/host/detail/gate/gate.hpp>

namespace lull::detail {

/// Makes the gates of a runtime follow the trainer of another process, and, when that has ended, the next one at the
/// same address. Meanwhile the jobs keep what they have done. One thread calls all of it.
class follower {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  /// How long the constructor waits for a trainer.
  static constexpr std::chrono::seconds attaches_within{5};

  /// Attaches. Throws usage_error if the trainer refuses, limit_error if there is none.
  follower(std::string const& address, executor& machine, attach::attachment::worker who,
           std::function<void(std::string)> log);

  gate_words words(std::uint32_t gate) const noexcept;
  /// Tells the trainer what was done, after the last tick.
  void say_last(dispatcher& jobs) { report(jobs, time_point::max()); }
  /// Follows what was told since the last call. `no_worker_comes`: no worker is on the machine or on its way there.
  /// Returns when the next call should come. Throws usage_error if the next trainer refuses.
  time_point tick(std::vector<std::unique_ptr<gate>>& gates, dispatcher& jobs,
                  std::function<bool()> const& no_worker_comes, time_point now);

 private:
  static constexpr std::chrono::milliseconds try_every{20};
  static constexpr std::chrono::milliseconds try_again_every{1'000};  // where the trainer is busy
  /// How long what was done in the last bubbles is collected when the trainer has ended.
  static constexpr std::chrono::milliseconds collects_for{20};
  static constexpr std::chrono::milliseconds look_when_quiet{5};
  static constexpr std::chrono::microseconds look{100};  // while the trainer opens bubbles

  void lose(std::vector<std::unique_ptr<gate>>& gates, dispatcher& jobs, time_point now);
  bool attach_again(std::vector<std::unique_ptr<gate>>& gates, dispatcher& jobs, time_point now);
  bool follow(std::uint32_t index, gate& at);
  void pay(dispatcher& jobs, time_point now);
  void report(dispatcher& jobs, time_point now);

  void use(std::shared_ptr<attach::attachment> trainer);

  executor& machine_;
  std::string const path_;
  attach::attachment::worker const who_;
  std::function<void(std::string)> const log_;
  std::shared_ptr<attach::attachment> trainer_;  // the last one, until there is another
  gate_line* lines_ = nullptr;                   // its gates' (max_gates,); null: they are in the page
  std::shared_ptr<void const> words_;            // keeps both while a gate uses them
  bool is_lost_ = false;
  bool has_said_why_not_ = false;  // there is no next one
  time_point lost_at_{};
  time_point next_try_{};
  time_point last_told_{};
  std::shared_ptr<memory_request> asked_;  // by the trainer; null: for nothing now
  std::uint64_t asked_number_ = 0;
  std::uint64_t answers_ = 0;                            // the last such number that is done with …
  std::uint64_t freed_ = 0;                              // … and what was freed
  std::array<std::uint64_t, attach::max_gates> next_{};  // the first bubble that was not followed; 0: none was
};

}  // namespace lull::detail
