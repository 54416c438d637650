// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <lull/host/executor.hpp>
#include <lull/host/history.hpp>
#include <lull/host/runtime.hpp>

namespace lull::detail {

inline constexpr int places = 2;  // the job at hand and its successor

/// What a place of a gate launches.
struct standing {
  worker_kernel kernel;
  worker_site site;
};

/// One trainer stream's gate, host half: hands out edge numbers, enqueues edges and workers, keeps the history of its sites.
/// Made ahead of its first bubble, so that opening it allocates nothing on the device. Its members are guarded by its mutex.
class gate {
 public:
  static constexpr std::uint64_t records = 256;  // bubbles that the keeper may fall behind; then they are passed over

  gate(executor& machine, std::uint32_t index, std::uint32_t first_value);
  ~gate();
  gate(gate const&) = delete;
  gate& operator=(gate const&) = delete;

  gate_ref ref() const noexcept { return ref_; }
  std::uint32_t index() const noexcept { return index_; }

  /// Takes the gate for a stream, or says whether it is that stream's.
  bool serves(stream_handle stream) noexcept;

  /// What stands in a place; null slot: nothing. Called by the keeper.
  void stand(int place, standing what) noexcept;
  bool ready() const noexcept;

  bubble_id open(stream_handle stream, site where, runtime_mode mode, launch_time launch);
  void close(bubble_id id, stream_handle stream, std::optional<landing> lands);

  /// The keeper's round: measured bubbles since the last one are added to `into`. Returns the longest recent bubble.
  std::chrono::nanoseconds collect(std::deque<bubble_report>& into);
  runtime_counts counts() const;
  /// Whether the stream has passed every edge that was enqueued, so that the gate's memory may go.
  bool passed() const;
  void note_lease(std::chrono::nanoseconds lease) noexcept;

 private:
  struct site_state {
    std::string name;
    history past;
  };
  struct placed {  // a bubble whose edges are enqueued
    std::uint64_t bubble = 0;
    site_state* where = nullptr;
    std::array<std::uint64_t, places> blocks{};  // launched for the job at hand, and for its successor
    bool timed = false;                          // observed: no worker, the edges say how long it was
    bool at_open = false;                        // when its worker is launched
    std::optional<bool> host_ahead{};  // of an observed bubble
    std::optional<std::chrono::nanoseconds> length{};  // likewise, once its edges tell it
    std::chrono::nanoseconds lease{0};
    std::chrono::steady_clock::time_point opened{};  // on the host
    std::uint64_t range = 0;                         // on a tool's timeline
  };

  site_state& find(site where);
  bool any_stands() const noexcept;
  bool is_over(std::uint64_t bubble);
  /// A worker's ring: of the job at hand, whose records the edges write into, too, or of its successor.
  bubble_record* ring(std::size_t worker) const noexcept { return ref_.records + worker * records; }
  void take_records(std::size_t worker, std::uint64_t from, std::uint64_t past);
  bubble_report told(std::uint64_t bubble) const;
  void launch_all(bubble_mark& mark);
  void close_now(stream_handle stream, landing how);
  bubble_mark& mark_of(std::uint64_t bubble) const noexcept { return *marks_[bubble % records]; }

  executor& machine_;
  std::uint32_t const index_;
  mutable std::mutex mutex_;
  gate_ref ref_;
  bool taken_ = false;
  stream_handle stream_ = nullptr;
  std::uint32_t value_;
  std::uint64_t bubbles_ = 0;
  bool open_ = false;
  landing_policy landings_;
  std::array<standing, places> standing_;
  std::deque<site_state> sites_;
  std::vector<std::unique_ptr<bubble_mark>> marks_;  // (records,)
  std::array<placed, records> placed_;
  std::uint64_t collected_ = 0;
  runtime_counts counts_;
  std::chrono::nanoseconds lease_{0};
  std::array<std::vector<bubble_record>, places> copies_;  // (records,) each
};

}  // namespace lull::detail
