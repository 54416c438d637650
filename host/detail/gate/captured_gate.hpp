// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <lull/host/array.hpp>
#include <lull/host/detail/gate/price_cap.hpp>
#include <lull/host/detail/gate/record_ring.hpp>
#include <lull/host/detail/gate/site_table.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/runtime.hpp>

namespace lull::detail {

/// A worker's slot in a captured graph: which task type it is for.
struct captured_slot {
  slot_line* slot = nullptr;
  worker_kernel kernel;
  worker_grid grid;  // fixed in the graph
};

/// A task type for which later captures hold a worker.
struct captured_type {
  worker_kernel kernel;
  worker_grid grid;
};

/// The sites of all captured graphs, by name. A site outlives its graph, so a step that is captured again finds its
/// history. Thread-safe.
class captured_sites {
 public:
  explicit captured_sites(site_limits limits) : known_(limits) {}

  std::shared_ptr<site_state> find(site where) {
    std::lock_guard const lock{mutex_};
    return known_.find(where.name);
  }
  void note(site_state const& at) {
    std::lock_guard const lock{mutex_};
    known_.note(at);
  }
  std::chrono::nanoseconds longest() const {
    std::lock_guard const lock{mutex_};
    return known_.longest();
  }

 private:
  mutable std::mutex mutex_;
  site_table known_;
};

/// The host half of one stream's gate in one captured graph. Its bubbles are nodes of the trainer's graph. A replay
/// asks no host, so all that changes is in slots and words on the machine. Executables of one capture, and clones,
/// share it. The trainer calls `open` and `close`, any thread `counts`, the dispatcher the rest.
class captured_gate {
 public:
  static constexpr std::uint64_t records = 512;
  static constexpr std::size_t max_sites = 64;  // that can be skipped and can rest; further sites do neither

  /// Replayed bubbles [from, past) whose records are to be read.
  struct unread {
    std::uint64_t from = 0;
    std::uint64_t past = 0;
    std::uint64_t count() const noexcept { return past - from; }
  };

  /// `line` is zero. `words`: (max_sites,) of pinned memory for this gate alone. `withheld`: as in captured_gates.
  captured_gate(executor& executor, captured_sites& sites, std::uint32_t index, gate_line* line, site_words* words,
                std::uint32_t* withheld, std::uint64_t capture, stream_handle stream,
                std::span<captured_type const> types);
  captured_gate(captured_gate const&) = delete;
  captured_gate& operator=(captured_gate const&) = delete;

  std::uint32_t index() const noexcept { return index_; }
  record_ring ring() const noexcept { return {ring_.data(), records}; }
  stream_handle stream() const noexcept { return stream_; }
  bool serves(std::uint64_t capture, stream_handle stream) const noexcept {
    return capture == capture_ && stream == stream_;
  }
  std::span<captured_slot const> slots() const noexcept { return slots_; }

  /// Adds nodes to the graph into which the stream is being captured.
  open_result open(stream_handle stream, site where);
  void close(bubble_id id, stream_handle stream);

  /// Notes the gate's line as found on the machine. `over`: already before that, nothing could touch the gate.
  void note(gate_line const& line, bool over);
  /// Returns the bubbles whose records can be read, by the line that was noted last; the ring holds no others.
  unread to_read() const noexcept { return {read_ + 1, std::min(known_, read_ + records) + 1}; }
  /// Enqueues what has changed for the machine; `zeros`: (records,) of pinned memory.
  void write_to(copy_lane& lane, bubble_record const* zeros);
  /// Adds their records, as they were before the gate's line was last noted, to `into`. If replays were too fast, drops
  /// and counts them. `working`: the blocks of the current job.
  void take(unread which, bubble_record const* copies, std::uint64_t working, std::uint32_t report_index,
            std::deque<bubble_report>& into);
  /// Returns whether the graph and all its executables are gone, so that nothing on the machine can touch the gate.
  bool is_over() const;
  /// Returns whether it is over and nothing is left to read.
  bool is_finished() const noexcept { return over_ && known_ == read_; }
  /// Returns how many blocks this kind of worker's launches have; 0: it has no launch.
  std::uint64_t blocks_of(void const* resident) const noexcept;
  /// Returns the site where a kernel of the trainer seems to have waited for our blocks since the last call.
  std::optional<std::string> take_held_up() { return std::exchange(held_up_, std::nullopt); }
  runtime_counts counts() const;

 private:
  struct site_here {
    std::shared_ptr<site_state> what;                      // the dispatcher's
    history::verdict verdict = history::verdict::harvest;  // else its workers leave at once
    bool seen = true;  // since the last decision; what was known before the capture counts, too
  };

  std::uint32_t find(site where);
  void decide();
  void learn(bubble_record const& record, std::uint64_t working, std::uint32_t report_index,
             std::deque<bubble_report>& into);
  bool was_held_up(bubble_record const& record) const;
  void add_close(stream_handle stream);
  void count(counted what);

  executor& executor_;
  captured_sites& known_sites_;
  std::uint32_t const index_;
  std::uint64_t const capture_;
  stream_handle const stream_;
  device_array<bubble_record> ring_;  // (records,)
  device_array<site_words> words_;    // (max_sites,)
  site_words* const words_to_be_;     // what is there, or soon will be
  std::uint32_t* const withheld_;
  bool words_changed_ = false;
  bool ring_is_mixed_ = false;
  device_array<slot_line> slot_lines_;
  gate_ref ref_;
  std::vector<captured_slot> slots_;
  bool const no_group_is_reserved_;
  std::shared_ptr<std::atomic<bool>> const graph_gone_ = std::make_shared<std::atomic<bool>>(false);
  std::uint64_t read_ = 0;   // replayed bubbles
  std::uint64_t known_ = 0;  // … whose records are complete
  std::uint64_t noted_ = 0;  // … opened when its line was last looked at
  bool over_ = false;
  std::optional<std::string> held_up_;
  price_cap cap_;
  std::mutex nodes_;                          // the trainer's: held while nodes are added, taken before `mutex_`
  std::shared_ptr<void const> not_kept_yet_;  // for the graph to keep: when it is destroyed, the graph has gone
  std::uint32_t value_ = 0;
  std::uint64_t bubbles_ = 0;  // in the graph
  bool open_ = false;
  std::uint32_t open_site_ = 0;
  captured_opening opening_ = nullptr;
  mutable std::mutex mutex_;  // guards all that follows
  std::deque<site_here> sites_;
  runtime_counts counts_;
};

}  // namespace lull::detail
