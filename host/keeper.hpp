// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include <lull/host/captured.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/gate.hpp>
#include <lull/host/report/bubble_summary.hpp>
#include <lull/host/submitted.hpp>

namespace lull::detail {

/// Puts jobs into places and takes them out, through control alone; never on the trainer's path. One thread calls `round`
/// from time to time; a round makes no blocking call.
///
/// A place goes empty → filling → standing → emptying → empty, on all gates together.
class keeper {
 public:
  keeper(std::shared_ptr<executor> machine, std::vector<std::unique_ptr<gate>>& gates, captured_gates& captured,
         std::function<void(std::string_view)> log);
  ~keeper();

  /// Throws limit_error.
  void add(std::shared_ptr<submitted> job);
  /// True when something may change soon, so that the next round should come soon.
  bool round();
  /// Cancels all jobs; rounds go on until `empty`.
  void cancel_all();
  /// The machine is lost: nobody shall wait for its jobs any more.
  void fail_all() noexcept;
  bool empty() const;
  /// While anybody is quiet all places are emptied and none is filled. Counts.
  void be_quiet() noexcept;
  void release() noexcept;
  /// All places are empty.
  bool places_empty() const;
  /// What is over of the bubbles: a part of each round, and what is left to do when there are none any more.
  void collect();
  std::vector<bubble_report> take_bubbles();
  /// Of all bubbles so far, taken or not.
  bubble_summary summary() const;
  std::uint64_t collected() const;
  std::uint64_t dropped() const;

 private:
  static constexpr std::size_t most_bubbles = 65'536;
  static constexpr std::chrono::milliseconds read_captures_every{5};
  static constexpr std::uint64_t control_limit_ns = 10'000'000;  // how long one attempt to empty a slot waits on the device

  enum class stage { empty, filling, standing, emptying };
  struct slot_of_gate {
    slot_line* slot = nullptr;
    mapped_memory answer;     // a word of exchange
    std::uint64_t asked = 0;  // id of the exchange under way; 0: none
    bool fills = false;       // what that one does
    bool full = false;
    void const* resident = nullptr;  // the one kind of worker that looks there
    gate* of_stream = nullptr;       // or
    std::shared_ptr<captured_gate> graph;
  };
  struct place {
    stage at = stage::empty;
    std::shared_ptr<submitted> who;
    std::vector<slot_of_gate> slots;  // of each kind of worker one a gate; of captured graphs, which have but the first place
  };

  std::chrono::nanoseconds collect_bubbles(bool at_the_end);
  void make_slots_for(worker_kernel const& kernel);
  void follow_captures();
  void look_after(int index);
  void choose_for(int index);
  bool gives_way(int index) const;
  bool in_graphs() const;
  submitted const* best_waiting() const;
  bool move_slots(int index, bool fill);
  void settle(submitted& job);
  void queue(std::shared_ptr<submitted> job);
  void renew_leases();

  std::shared_ptr<executor> machine_;
  std::vector<std::unique_ptr<gate>>& gates_;
  captured_gates& captured_;
  std::function<void(std::string_view)> log_;
  std::uint64_t next_id_ = 1;
  mutable std::mutex mutex_;  // all that follows
  int quiet_ = 0;
  std::vector<slot_line*> allocated_;  // of the streams' slots, a piece for each kind of worker
  std::uint64_t submitted_ = 0;
  std::deque<std::shared_ptr<submitted>> waiting_;  // the next one first
  std::array<place, places> places_;
  std::deque<bubble_report> bubbles_;
  bubble_summary summary_;
  std::uint64_t dropped_ = 0;
  std::chrono::nanoseconds lease_{0};
  std::chrono::steady_clock::time_point captures_read_{};
  std::chrono::nanoseconds longest_captured_{0};
  std::uint64_t blocks_in_graphs_ = 0;  // of the job that stands there, or stood there last
};

}  // namespace lull::detail
