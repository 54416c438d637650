// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <lull/host/array.hpp>
#include <lull/host/detail/gate/bubble_source.hpp>
#include <lull/host/detail/gate/captured_gate.hpp>
#include <lull/host/detail/pinned_array.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/runtime.hpp>

namespace lull::detail {

/// The captured gates of a runtime. Reports show them as one gate for each captured stream, however many graphs come
/// and go. Any thread may call `enable`, `open`, `close` and `counts`; only the dispatcher calls the rest.
class captured_gates final : public bubble_source {
 public:
  static constexpr std::size_t max_gates = 1024;  // alive at once
  static constexpr std::size_t max_types = 8;

  /// `first_index`: of its gates. `withholds`: the first value of `withheld`.
  captured_gates(executor& executor, std::uint32_t first_index, bool withholds, site_limits limits,
                 std::function<void(std::string_view)> log);

  /// Returns a word on the machine that the trainer's stream writes: while it is not 0, no side work runs in replayed
  /// bubbles.
  std::uint32_t* withheld() const noexcept { return withheld_.data(); }

  /// Makes later captures hold a worker for this kernel.
  void enable(worker_kernel const& kernel, worker_grid const& grid);
  /// `capture`: as from executor::capture_of, not 0.
  open_result open(std::uint64_t capture, stream_handle stream, site where, runtime_mode mode);
  /// Returns false if the id is not of a captured gate.
  bool close(bubble_id id, stream_handle stream);

  /// Looks every 5 ms; returns false also where there are no graphs.
  bool begin_collecting(copy_lane& lane, bool at_the_end) override;
  void collect(collected_bubbles const& to) override;
  std::optional<std::string> take_held_up() override { return std::exchange(held_up_, std::nullopt); }
  /// Returns how often records of replays were looked for. A bubble of a graph that no longer replays takes three
  /// looks.
  std::uint64_t looks() const noexcept { return looks_; }
  /// Returns whether the last look found nothing to copy.
  bool all_collected() const noexcept { return unread_ == 0; }
  std::chrono::nanoseconds longest() const override { return sites_.longest(); }

  std::vector<std::shared_ptr<captured_gate>> all() const;
  bool any() const;
  /// Returns the gates that have come since the last call.
  std::vector<std::shared_ptr<captured_gate>> take_new();
  /// Returns this gate again from the next take_new.
  void take_later(std::shared_ptr<captured_gate> graph);
  void forget(captured_gate const& gone);
  runtime_counts counts() const override;

 private:
  static constexpr std::chrono::milliseconds read_every{5};
  static constexpr std::size_t max_copied = 4096;  // records at a time
  static constexpr std::size_t max_streams = 16;   // that reports tell apart

  struct copied {
    std::shared_ptr<captured_gate> gate;
    captured_gate::unread which;
    bubble_record const* at;
  };

  std::shared_ptr<captured_gate> find_or_make(std::uint64_t capture, stream_handle stream, runtime_mode mode);
  std::uint32_t report_index(stream_handle stream);
  std::size_t place_of(captured_gate const& gate) const noexcept { return gate.index() - first_index_; }

  executor& executor_;
  std::uint32_t const first_index_;
  std::function<void(std::string_view)> log_;  // does not wait
  captured_sites sites_;
  device_array<std::uint32_t> withheld_;  // (1,)
  device_array<gate_line> lines_;         // (max_gates,)
  pinned_array<gate_line> found_;         // (max_gates,): copies of them
  pinned_array<bubble_record> pinned_;    // (captured_gate::records + max_copied,): zeros, and copies
  pinned_array<site_words> words_;        // (max_gates × captured_gate::max_sites,)
  std::vector<stream_handle> streams_;    // that have a number in reports
  std::vector<copied> copied_;            // under way
  /// Gates whose lines are being copied, each with whether it was over before.
  std::vector<std::pair<std::shared_ptr<captured_gate>, bool>> looked_at_;
  std::optional<std::string> held_up_;
  std::chrono::steady_clock::time_point read_{};
  std::uint64_t looks_ = 0;
  std::uint64_t unread_ = 0;  // bubbles
  mutable std::mutex mutex_;  // guards all that follows
  std::vector<captured_type> types_;
  std::vector<std::shared_ptr<captured_gate>> gates_;
  std::vector<std::shared_ptr<captured_gate>> new_;
  std::vector<std::uint32_t> free_;  // indices, the next one last
  runtime_counts counts_;            // of graphs that are gone, and of those that have no gate
  bool said_why_ = false;
};

}  // namespace lull::detail
