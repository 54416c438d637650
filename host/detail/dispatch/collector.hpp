// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <lull/host/detail/gate/bubble_source.hpp>
#include <lull/host/detail/log_queue.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/report/bubble_summary.hpp>

namespace lull::detail {

struct collector_options {
  std::chrono::nanoseconds min_bubble{0};
  std::size_t max_bubbles = 0;     // reports to keep until `take_bubbles`; the oldest go first
  bool tells_free_memory = false;  // reports tell how much device memory is free
};

/// Makes reports of bubbles that are over. One tick enqueues copies and a later one reads them. One thread calls
/// `collect` and `begin`; any thread may call `take_bubbles`, `summary`, `collected`, `worked` and `groups_added`.
class collector {
 public:
  /// `sources` outlive it. Throws limit_error.
  collector(std::shared_ptr<executor> executor, std::vector<bubble_source*> sources, device_clock& clock,
            collector_options options, log_queue& log);

  /// Reads what has been copied. `at_work`: as in collected_bubbles. Returns false while copies are under way. After
  /// true none is, and gates of graphs that are over may go before `begin`.
  bool collect(void const* at_work);
  /// Enqueues the next copies. `at_the_end`: no bubble follows.
  void begin(bool at_the_end);
  /// Returns the length of the longest recent bubble.
  std::chrono::nanoseconds longest() const;

  std::vector<bubble_report> take_bubbles();
  /// Returns the summary of all bubbles so far, taken or not.
  bubble_summary summary() const;
  std::uint64_t collected() const;
  /// Returns what workers did in all bubbles so far.
  side_totals worked() const;
  /// Returns whether copies are under way; for the thread that calls `collect`.
  bool copies() const noexcept { return !copying_.empty(); }
  /// Returns how often workers were made to keep off one more group of SMs.
  std::uint64_t groups_added() const;

 private:
  static constexpr std::chrono::milliseconds read_free_every{10};

  void read_free();
  void keep(std::deque<bubble_report> found);
  void reserve_more();
  void tell_reserved(std::string const& last_added_at);

  std::shared_ptr<executor> executor_;
  std::vector<bubble_source*> const sources_;
  device_clock& clock_;
  collector_options const options_;
  log_queue& log_;
  std::unique_ptr<copy_lane> lane_;
  std::vector<bubble_source*> copying_;  // whose records are under way
  std::chrono::steady_clock::time_point free_read_{};
  std::optional<std::uint64_t> free_{};  // of the device's memory, at the last look; no bubble has it yet
  bool said_no_more_ = false;
  mutable std::mutex mutex_;  // guards all that follows
  std::deque<bubble_report> bubbles_;
  bubble_summary summary_;
  std::uint64_t groups_added_ = 0;
};

}  // namespace lull::detail
