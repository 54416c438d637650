// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <lull/host/array.hpp>
#include <lull/host/detail/gate/captured_gates.hpp>
#include <lull/host/detail/gate/gate.hpp>
#include <lull/host/detail/job/job_queue.hpp>
#include <lull/host/detail/job/job_seat.hpp>
#include <lull/host/detail/log_queue.hpp>
#include <lull/host/detail/pinned_array.hpp>
#include <lull/host/executor.hpp>

namespace lull::detail {

/// Puts jobs into the two places and takes them out, through exchanges on the control stream, never on the trainer's
/// path. A place goes empty → filling → filled → emptying → empty, on all gates together. One thread calls all but
/// `prepare`, `be_quiet`, `release` and `places_empty`. No lock is held over a call to the machine; only `prepare`
/// waits.
class placer {
 public:
  /// Throws limit_error.
  placer(std::shared_ptr<executor> executor, std::vector<std::unique_ptr<gate>>& gates, captured_gates& captured,
         job_queue& queue, log_queue& log);
  ~placer();
  placer(placer const&) = delete;
  placer& operator=(placer const&) = delete;

  /// Makes what this job's kind needs on the machine, before the job is queued. Blocks. Throws limit_error, and then
  /// keeps nothing.
  void prepare(job_core const& job);
  /// Empties all places and fills none until `release`. Calls are counted.
  void be_quiet() noexcept { ++quiet_; }
  void release() noexcept;
  bool places_empty() const noexcept { return taken_places_ == 0; }

  using chance_of_kind = std::function<std::optional<double>(std::uint64_t kind)>;
  /// Sets how jobs of one priority are chosen. `chance`: that side work of a kind runs in a step to come; none: not
  /// known yet. A job with a far smaller chance than another waits for it. Call before the first tick; without it all
  /// jobs are alike.
  void choose_by(chance_of_kind chance, std::function<double()> of_unknown) {
    chance_ = std::move(chance);
    chance_of_unknown_ = std::move(of_unknown);
  }
  void tick();
  /// Follows graphs that come and go. Call while no copy from or to one of their gates is under way.
  void follow_captures();
  /// Stops harvesting: each job fails when no block is inside.
  void give_up() noexcept { given_up_ = true; }
  /// Fails all jobs: the machine is lost.
  void fail_all() noexcept;
  /// Adjusts leases to the longest recent bubble.
  void note_longest_bubble(std::chrono::nanoseconds longest);
  /// Returns whether an exchange is under way, or would be if a job came.
  bool is_busy() const;
  bool any_stands() const noexcept;
  /// Returns the kinds of the jobs that will work in the next bubbles.
  placed_kinds kinds_in_places() const;
  /// Returns the names of the jobs that will.
  std::vector<std::string> names_in_places() const;
  /// Returns the highest priority of the jobs that are placed or wait for a place; nothing if there is none.
  std::optional<int> best_priority() const;
  /// Returns whether every placed job can be launched with half of its blocks: none is in graphs, and none is a graph.
  bool may_halve() const;
  /// Returns whether there are captured graphs.
  bool in_graphs() const noexcept;
  /// Returns the kind of worker of the job that runs in graphs, or ran there last.
  void const* at_work() const noexcept { return at_work_; }

 private:
  /// How long one attempt to empty a slot waits on the device.
  static constexpr std::uint64_t control_limit_ns = 10'000'000;
  static constexpr std::chrono::seconds idle_for{1};        // then a gate may be taken from its stream
  static constexpr std::chrono::seconds left_open_for{60};  // … also from a stream that never closes its bubble
  /// A job without input keeps its place from others for this long, and stays away for others as long. The host's lead
  /// over the stream is shorter, so in that time the job has had bubbles, or there were none.
  static constexpr std::chrono::milliseconds patience{400};
  static constexpr std::size_t max_compared = 64;   // jobs among which the one is chosen that costs training least
  static constexpr std::size_t max_leases = 64;     // written at a time
  static constexpr std::size_t seats = places + 4;  // a late `feed` may keep some

  enum class place_state { empty, filling, filled, emptying };
  struct slot_of_gate {
    slot_line* slot = nullptr;
    mapped_memory answer;     // a word for the exchange's answer
    std::uint64_t asked = 0;  // id of the exchange under way; 0: none
    bool fills = false;       // what the exchange under way does
    bool full = false;
    bool is_held = false;  // a block was still inside the last time
    bool lease_is_old = false;
    void const* resident = nullptr;  // the kind of worker that looks there
    bubble_source* source = nullptr;
    std::shared_ptr<captured_gate> graph;  // whose slot it is; null: a stream's
  };
  /// What the streams' slots of one kind of worker are made of.
  struct slot_memory {
    slot_memory(executor& executor, std::size_t count) : lines(executor, count), answers(executor, count) {}
    device_array<slot_line> lines;        // (count,)
    mapped_array<std::uint64_t> answers;  // (count,)
    void const* resident = nullptr;
  };
  struct place {
    place_state at = place_state::empty;
    std::shared_ptr<job_core> job;
    bool has_all_input = false;  // `feed` writes to its seat
    bool reads_words = false;    // a copy of its cursor is under way
    std::uint64_t phases = 0;    // when it was last seen starved
    std::optional<std::chrono::steady_clock::time_point> starves_since{};
    /// One for each gate and kind of worker; captured graphs have only the first place.
    std::vector<slot_of_gate> slots;
  };

  using job_pointer = std::shared_ptr<job_core>;

  void take_what_was_made();
  void keep_a_spare_gate();
  bool is_served(bubble_source const& of) const;
  void look_after(int index);
  void put_in(place& here, job_pointer job, std::shared_ptr<job_seat> seat);
  bool stays(int index);
  bool starves_too_long(place& here);
  bool rests_for_others(place const& here) const;
  void take_out(place& here);
  static void clear(place& here);
  bool move_slots(int index, bool fill);
  void renew_leases();
  std::shared_ptr<job_seat> free_seat(std::uint64_t capacity) const;
  place& at(int index) { return places_[static_cast<std::size_t>(index)]; }

  void choose_for(int index);
  bool gives_way(int index) const;
  bool only_in_graphs() const;
  bool can_run(job_core const& job) const;
  job_pointer best_waiting() const;
  bool is_far_tamer(job_core const& one, job_core const& than) const;

  std::shared_ptr<executor> executor_;
  std::vector<std::unique_ptr<gate>>& gates_;
  captured_gates& captured_;
  job_queue& queue_;
  log_queue& log_;
  chance_of_kind chance_{};
  std::function<double()> chance_of_unknown_{};
  std::unique_ptr<copy_lane> lane_;  // for exchanges
  std::uint64_t next_id_ = 1;
  bool given_up_ = false;
  std::array<place, places> places_;
  std::deque<std::unique_ptr<slot_memory>> of_streams_;  // a piece for each kind of worker
  std::vector<std::shared_ptr<job_seat>> seats_;
  void const* at_work_ = nullptr;
  std::uint64_t graphs_looked_at_ = 0;
  std::chrono::nanoseconds lease_;
  bool leases_are_old_ = false;
  pinned_array<std::uint64_t> lease_ns_;  // (1,)
  std::atomic<int> quiet_{0};
  std::atomic<int> taken_places_{0};
  std::mutex mutex_;  // guards all that follows
  std::set<void const*> kinds_;
  std::uint64_t capacity_ = 0;  // of the largest seats
  std::vector<std::unique_ptr<slot_memory>> new_slots_;
  std::vector<std::shared_ptr<job_seat>> new_seats_;
};

}  // namespace lull::detail
