// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lull/host/array.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/history.hpp>
#include <lull/host/runtime.hpp>

namespace lull::detail {

/// A worker's slot in a captured graph: which task type it is for.
struct captured_slot {
  slot_line* slot = nullptr;
  worker_kernel kernel;
  worker_grid grid;  // baked into the graph
};

/// A task type that later captures hold a worker for.
struct captured_type {
  worker_kernel kernel;
  worker_grid grid;
};

/// The gate of one stream in one captured graph, host half. Its bubbles are nodes of the trainer's graph: a replay asks no host,
/// so all that changes stands in slots and words on the machine. Executables of one capture, and clones, share it. Thread-safe.
class captured_gate {
 public:
  static constexpr std::uint64_t records = 512;
  static constexpr std::size_t most_sites = 64;  // that can be skipped; further ones never are

  captured_gate(executor& machine, std::uint32_t index, std::uint64_t capture, stream_handle stream,
                std::span<captured_type const> types);
  captured_gate(captured_gate const&) = delete;
  captured_gate& operator=(captured_gate const&) = delete;

  std::uint32_t index() const noexcept { return index_; }
  bool serves(std::uint64_t capture, stream_handle stream) const noexcept { return capture == capture_ && stream == stream_; }
  std::span<captured_slot const> slots() const noexcept { return slots_; }

  /// Add nodes to the graph that the stream is being captured into.
  bubble_id open(stream_handle stream, site where);
  void close(bubble_id id, stream_handle stream);

  /// The keeper's round, every few milliseconds: replayed bubbles since the last one are added to `into`; where replays are too
  /// fast they are dropped and counted. `at_work`: the kind of worker of the job at hand. `over`: there will be no more. Returns the
  /// longest recent bubble.
  std::chrono::nanoseconds collect(std::deque<bubble_report>& into, void const* at_work, bool over);
  runtime_counts counts() const;
  /// The graph and all that was made of it are gone, and nothing on the machine can touch the gate any more.
  bool is_over();

 private:
  struct site_state {
    std::string name;
    history past;
    bool skipped = false;
    bool seen = false;  // in this round
  };

  std::uint32_t find(site where);
  void take(std::uint64_t last, void const* at_work, std::deque<bubble_report>& into);
  void decide();
  void learn(bubble_record const& record, std::uint64_t blocks, std::deque<bubble_report>& into);
  void close_now(stream_handle stream);

  executor& machine_;
  std::uint32_t const index_;
  std::uint64_t const capture_;
  stream_handle const stream_;
  machine_array<gate_line> line_;
  machine_array<bubble_record> ring_;  // (records,)
  machine_array<std::uint32_t> skip_;  // (most_sites,)
  machine_array<slot_line> slot_lines_;
  gate_ref ref_;
  std::vector<captured_slot> slots_;
  std::shared_ptr<std::atomic<bool>> const graph_gone_ = std::make_shared<std::atomic<bool>>(false);
  mutable std::mutex mutex_;
  std::shared_ptr<void const> not_kept_yet_;  // what the graph shall hold: with its end the graph has gone
  std::uint32_t value_ = 0;
  std::uint64_t bubbles_ = 0;  // in the graph
  bool open_ = false;
  std::uint32_t open_site_ = 0;
  captured_opening opening_ = nullptr;
  std::deque<site_state> sites_;
  std::uint64_t read_ = 0;     // replayed bubbles
  std::uint64_t waited_ = 0;   // the last bubble of all is read when nothing came in a round
  std::vector<bubble_record> copies_;
  runtime_counts counts_;
};

/// The captured gates of a runtime.
class captured_gates {
 public:
  static constexpr std::size_t most_gates = 64;  // alive at once
  static constexpr std::size_t most_types = 8;

  captured_gates(executor& machine, std::uint32_t first_index, std::function<void(std::string_view)> log)
      : machine_(machine), next_index_(first_index), log_(std::move(log)) {}

  /// Later captures hold a worker for it.
  void enable(worker_kernel const& kernel, worker_grid const& grid);
  /// `capture` as of executor::capture_of, not 0.
  bubble_id open(std::uint64_t capture, stream_handle stream, site where, runtime_mode mode);
  /// False: the id is not of a captured gate.
  bool close(bubble_id id, stream_handle stream);
  std::vector<std::shared_ptr<captured_gate>> all() const;
  void forget(captured_gate const& gone);
  runtime_counts counts() const;

 private:
  std::shared_ptr<captured_gate> find_or_make(std::uint64_t capture, stream_handle stream, runtime_mode mode);

  executor& machine_;
  mutable std::mutex mutex_;
  std::uint32_t next_index_;
  std::function<void(std::string_view)> log_;
  std::vector<captured_type> types_;
  std::vector<std::shared_ptr<captured_gate>> gates_;
  runtime_counts of_gone_;
  std::uint64_t ignored_ = 0;
  bool said_why_ = false;
};

}  // namespace lull::detail
