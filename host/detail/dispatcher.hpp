// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <lull/host/array.hpp>
#include <lull/host/detail/captured_gates.hpp>
#include <lull/host/detail/forecast.hpp>
#include <lull/host/detail/gate.hpp>
#include <lull/host/detail/job_memories.hpp>
#include <lull/host/detail/job_record.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/report/bubble_summary.hpp>

namespace lull::detail {

/// Puts jobs into places and takes them out, through control alone; never on the trainer's path. One thread calls
/// `tick` from time to time. A tick makes no blocking call.
///
/// A place goes empty → filling → standing → emptying → empty, on all gates together.
class dispatcher {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds later{5};  // a round, while a job stands ready, or graphs may be replayed

  /// `clock` learns the moments of bubbles that are over; `wakes` is notified when an owner wishes something else of a
  /// job. Throws limit_error.
  dispatcher(std::shared_ptr<executor> machine, std::vector<std::unique_ptr<gate>>& gates, captured_gates& captured,
             device_clock& clock, std::shared_ptr<wake_signal> wakes, job_memories::limits const& of_memory,
             std::chrono::nanoseconds min_bubble, std::function<void(std::string_view)> log);
  ~dispatcher();

  using chance_of_kind = std::function<std::optional<double>(std::uint64_t kind)>;

  /// `chance`: that side work of a kind runs in a step to come; none: not known yet. Of jobs of one priority, one with
  /// a far smaller chance than another waits for it. Before the first tick; without it all run alike.
  void choose_by(chance_of_kind chance) { chance_ = std::move(chance); }
  /// Reports shall tell how much device memory is free. Before the first tick.
  void tell_free_memory() noexcept { tells_free_ = true; }
  /// Throws limit_error; usage_error where its memory is another's.
  void add(std::shared_ptr<job_record> job);
  /// Returns when the next one should come.
  time_point tick();
  /// Cancels all jobs; rounds go on until `empty`.
  void cancel_all();
  /// Nothing is harvested any more: all jobs fail as soon as no block is inside.
  void give_up();
  /// The machine is lost: nobody shall wait for its jobs any more.
  void fail_all() noexcept;
  bool empty() const;
  /// A job's memory is being copied.
  bool moves_memory() const;
  /// When all are over: nothing of them is kept, nor the host memory that they were saved in.
  void forget_jobs();
  /// As runtime::give_back.
  std::uint64_t give_back(std::uint64_t bytes, std::chrono::nanoseconds at_most);
  /// While anybody is quiet all places are emptied and none is filled. Counts.
  void be_quiet() noexcept;
  void release() noexcept;
  /// All places are empty.
  bool places_empty() const;
  /// Of the jobs that work in the bubbles that come.
  standing_kinds standing() const;
  /// Whether all that stands can be launched with half of its blocks: nothing in graphs, nor a graph of its own.
  bool may_halve() const;
  /// What is over of the bubbles: a part of each round, and what is left to do when there are none any more.
  void collect();
  std::vector<bubble_report> take_bubbles();
  /// Of all bubbles so far, taken or not.
  bubble_summary summary() const;
  std::uint64_t collected() const;
  /// How often workers were made to keep off one more group of processors.
  std::uint64_t groups_added() const;

 private:
  static constexpr std::chrono::milliseconds soon{1};         // while bubbles are under way
  static constexpr std::chrono::milliseconds much_later{50};  // else each change wakes the dispatcher
  static constexpr std::chrono::microseconds at_once{200};    // while control is at work
  static constexpr std::chrono::seconds idle_for{1};          // then a gate may be taken back from its stream
  static constexpr std::size_t max_bubbles = 65'536;
  static constexpr std::chrono::milliseconds read_captures_every{5};
  static constexpr std::chrono::milliseconds read_free_every{10};
  /// How long one attempt to empty a slot waits on the device.
  static constexpr std::uint64_t control_limit_ns = 10'000'000;

  enum class place_state { empty, filling, standing, emptying };
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
  /// What the streams' slots of one kind of worker are made of.
  struct slot_memory {
    slot_memory(executor& machine, std::size_t count) : lines(machine, count), answers(machine, count) {}
    machine_array<slot_line> lines;       // (count,)
    mapped_array<std::uint64_t> answers;  // (count,)
  };
  struct place {
    place_state at = place_state::empty;
    std::shared_ptr<job_record> who;
    /// Of each kind of worker one a gate; of captured graphs, which have but the first place.
    std::vector<slot_of_gate> slots;
  };

  std::chrono::nanoseconds collect_bubbles(bool at_the_end);
  void copy_bubbles(bool at_the_end);
  void read_free();
  void reserve_more(std::unique_lock<std::mutex>& lock);
  void say(std::string const& line, std::unique_lock<std::mutex>& lock);
  void tell_reserved(std::string const& last_added_at, std::uint64_t groups_added);
  void make_slots_for(worker_kernel const& kernel);
  void follow_captures();
  void keep_a_spare_gate();
  time_point next_tick() const;
  bool is_served(gate const& of) const;
  void look_after(int index, std::unique_lock<std::mutex>& lock);
  void choose_for(int index);
  bool gives_way(int index) const;
  bool in_graphs() const;
  bool only_in_graphs() const;
  bool can_run(job_record const& job) const;
  std::shared_ptr<job_record> best_waiting() const;
  bool is_far_tamer(job_record const& one, job_record const& than) const;
  bool move_slots(int index, bool fill);
  job_state settle(job_record& job, std::unique_lock<std::mutex>& lock);
  void queue(std::shared_ptr<job_record> job);
  std::vector<std::shared_ptr<job_record>> all_jobs() const;
  void renew_leases();

  std::shared_ptr<executor> machine_;
  std::vector<std::unique_ptr<gate>>& gates_;
  captured_gates& captured_;
  std::function<void(std::string_view)> log_;
  chance_of_kind chance_{};
  bool tells_free_ = false;
  std::chrono::steady_clock::time_point free_read_{};  // by the thread that ticks, as is the next
  std::optional<std::uint64_t> free_{};                // of the device's memory, a moment ago; no bubble has it yet
  std::uint64_t next_id_ = 1;
  device_clock& clock_;
  std::shared_ptr<wake_signal> const wakes_;
  std::atomic<int> quiet_{0};
  mutable std::mutex mutex_;            // all that follows
  std::deque<slot_memory> of_streams_;  // a piece for each kind of worker
  bool given_up_ = false;
  std::uint64_t submitted_ = 0;
  std::deque<std::shared_ptr<job_record>> waiting_;  // the next one first
  std::array<place, places> places_;
  job_memories memories_;
  std::condition_variable answered_;  // some requests for memory may be over
  std::unique_ptr<copy_lane> lane_;   // of records
  std::vector<gate*> copying_;        // gates whose records are under way on it
  bool copying_captures_ = false;     // and those of graphs
  std::deque<bubble_report> bubbles_;
  std::uint64_t groups_added_ = 0;
  bool said_no_more_ = false;
  bubble_summary summary_;
  std::chrono::nanoseconds lease_{0};
  std::chrono::steady_clock::time_point captures_read_{};
  void const* in_graphs_ = nullptr;  // the kind of worker of the job that stands there, or stood there last
};

}  // namespace lull::detail
