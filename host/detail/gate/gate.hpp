// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <lull/host/array.hpp>
#include <lull/host/attach/shared_bubbles.hpp>
#include <lull/host/detail/gate/bubble_source.hpp>
#include <lull/host/detail/gate/close_policy.hpp>
#include <lull/host/detail/gate/forecast.hpp>
#include <lull/host/detail/gate/history.hpp>
#include <lull/host/detail/gate/price_cap.hpp>
#include <lull/host/detail/gate/record_ring.hpp>
#include <lull/host/detail/gate/site_table.hpp>
#include <lull/host/detail/pinned_array.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/runtime.hpp>

namespace lull::detail {

inline constexpr int places = 2;  // the current job and its successor

/// The words of a gate that others read or write, too, where they are not the gate's own.
struct gate_words {
  gate_line* line = nullptr;
  opening_line* opening = nullptr;            // for the host …
  opening_line* opening_on_device = nullptr;  // … and for the device
  attach::shared_bubbles* shared = nullptr;   // where this trainer's bubbles are told to other processes; null:
                                              // another's trainer enqueues the edges, and this gate follows it
  std::shared_ptr<void const> memory{};       // of all these
};

/// A bubble whose workers are not enqueued yet: what is known of it for deciding when to.
struct launch_request {
  std::uint64_t bubble = 0;
  bool wanted = true;   // false: the bubble gets no worker
  bool inside = false;  // the host has not closed it
  bool opened = false;
  bool over = false;        // certainly: a later bubble has opened
  bool after_late = false;  // the wait for an earlier bubble was ended, and that bubble has not opened since
  std::chrono::steady_clock::time_point not_before{};  // of its launch
  std::uint64_t opened_ns = 0;                         // 0: not opened
  std::chrono::nanoseconds usual_length{0};            // 0: not known
  std::optional<std::uint64_t> expected_ns{};          // the opening, on the device's clock
  std::chrono::nanoseconds ahead{0};  // how long before the opening its workers should be enqueued, expected or not
  std::chrono::steady_clock::time_point since{};   // since when they may be
  std::chrono::steady_clock::time_point called{};  // when the host opened it
  /// From the host's call to the expected opening, if the trainer paused before that call.
  std::optional<std::chrono::nanoseconds> after_call{};
  std::chrono::nanoseconds ahead_of_call{0};  // … and how long before that opening to enqueue
};

/// Where workers wait that were enqueued before their bubble opens: on a stream beside the trainer's, or, with one
/// connection, in the trainer's queue, where they cost it nothing.
enum class arming { beside, in_line };

/// How far the launch of a bubble's workers has come.
enum class launch_state : std::uint8_t {
  asked,     // nothing is enqueued
  pending,   // they are enqueued or about to be, and wait on the device until the bubble opens
  let_go,    // … until the host ended that wait: they leave at once; after the opening others are enqueued
  enqueued,  // they work as soon as they are started
  left,      // they have left, and the host has not closed the bubble: others may follow
  no_workers,
  out,  // they have left and the records are being copied: no further launch
};

/// The host half of one trainer stream's gate: gives out edge numbers, enqueues edges, keeps the history of its sites.
/// Made before its first bubble, so that opening it allocates nothing on the device. The trainer calls `open` and
/// `close`, one at a time; the thread that holds the launcher calls `request`, `launch` and `pass`; the dispatcher
/// calls the rest. No edge and no launch is enqueued under the lock that these share, so a stream whose queue is full
/// delays no other thread.
class gate final : public bubble_source {
 public:
  /// The dispatcher may be late by this many bubbles; if it is later, they get no worker.
  static constexpr std::uint64_t records = 256;
  /// Where workers left an open bubble before their lease, as without work, others follow after this time.
  static constexpr std::chrono::milliseconds without_work{1};

  /// `words`: null: the gate makes its own.
  gate(executor& executor, std::uint32_t index, std::uint32_t first_value, site_limits limits,
       gate_words const* words = nullptr);
  gate(gate const&) = delete;
  gate& operator=(gate const&) = delete;

  gate_ref ref() const noexcept { return ref_; }
  std::uint32_t index() const noexcept { return index_; }

  /// Returns the id of the gate's stream, as from executor::look_at; 0: the gate is free. Takes no lock.
  std::uint64_t stream_id() const noexcept { return stream_id_.load(std::memory_order_acquire); }
  /// Gives a free gate to a stream, with no history.
  void take(std::uint64_t stream_id);
  /// Returns when the stream last opened a bubble; nothing while a bubble is not over, or if the gate is free.
  std::optional<std::chrono::steady_clock::time_point> idle_since() const;
  /// Returns when the stream opened the bubble that is still open, because the stream may be gone. Nothing if none is
  /// open.
  std::optional<std::chrono::steady_clock::time_point> left_open_since() const;
  /// Returns whether the stream opened a bubble in the last second, or has one open.
  bool is_in_use() const;
  /// Returns whether a launch is being enqueued.
  bool is_launching() const noexcept { return launching_.load(std::memory_order_seq_cst) != 0; }
  /// Frees the gate if its stream has still been idle, or has left a bubble open, since the moment that `idle_since` or
  /// `left_open_since` returned, and has passed all edges.
  void vacate(std::chrono::steady_clock::time_point since);

  void arm(int place, armed_worker what) noexcept override;
  bool is_taken() const noexcept override { return stream_id() != 0; }
  bool ready() const noexcept;

  /// Opens a bubble. `halved`: its workers get half of their blocks.
  open_result open(stream_handle stream, std::uint64_t stream_id, site where, runtime_mode mode, launch_time launch,
                   bool halved = false);
  /// Notes that the host goes on inside the bubble, after all that was enqueued for it.
  void note_entered(std::uint64_t bubble);
  /// Returns whether the host is likely to stay in the open bubble for long.
  bool host_stays() const;
  /// Closes the bubble if it is the open one, and `stream` opened it and is not being captured.
  void close(bubble_id id, stream_handle stream, stream_found const& found, std::optional<closing> asked);

  /// Notes a bubble whose opening edge the trainer of another process has enqueued. `may_work`: this process may work
  /// in it. Returns false while it cannot be noted, because earlier bubbles are not collected.
  bool follow(attach::announced_bubble const& told, std::string_view where, bool may_work);
  /// Notes that the closing edge is enqueued of the bubble that it followed last, if it is that one.
  /// Returns whether it is.
  bool follow_close(std::uint64_t bubble, std::chrono::steady_clock::time_point left);
  /// Follows another trainer from now on, from its first bubble, and forgets the bubbles and sites of the one before.
  /// No worker may be there or come, and no copy may be under way.
  void follow_another(gate_words const& words);

  /// Returns the oldest bubble whose workers are not enqueued and may be.
  std::optional<launch_request> request();
  /// Enqueues the bubble's workers, to start at once or when it opens. Returns their lease, or nothing if no job is
  /// ready.
  std::optional<std::chrono::nanoseconds> launch(std::uint64_t bubble, start_when when, arming how);
  /// Notes that the workers that were enqueued for this bubble have left. If the host is still inside, others follow.
  void note_left(std::uint64_t bubble);
  /// Gives the bubble no workers.
  void pass(std::uint64_t bubble);
  /// Notes that the trainer paused before this bubble.
  void note_pause(std::uint64_t bubble);
  /// Returns the numbers of the latest bubble that the stream has come to.
  opening_numbers numbers() const noexcept;
  std::uint64_t opened_ns() const noexcept;
  /// Returns the moment of the latest opening; each only once.
  std::optional<std::uint64_t> take_opening() noexcept;
  bool has_opened(std::uint64_t bubble) const noexcept {
    return has_reached(numbers().opened, static_cast<std::uint32_t>(bubble));
  }
  /// Ends the wait of the workers that were enqueued for this bubble, if they wait. Call it again until they leave: an
  /// opening edge may overwrite the number that ended the wait.
  void release(std::uint64_t bubble);
  /// Returns whether the workers that were enqueued for this bubble have left.
  bool workers_left(std::uint64_t bubble) { return executor_.workers_left(mark_of(bubble)); }
  /// Returns the number of bubbles that are open or not collected.
  std::uint64_t outstanding() const;

  bool begin_collecting(copy_lane& lane, bool at_the_end) override;
  void collect(collected_bubbles const& to) override;
  std::chrono::nanoseconds longest() const override;
  std::optional<std::string> take_held_up() override { return std::exchange(held_up_, std::nullopt); }
  runtime_counts counts() const override;
  /// Returns whether the stream has passed every edge that was enqueued and copied, so that the gate's memory may go.
  bool passed() const;
  /// Returns whether the line held a value that none of its edges can have written.
  bool is_forged() const;
  void note_lease(std::chrono::nanoseconds lease) noexcept;

 private:
  struct placed {  // a bubble whose opening edge is enqueued
    /// Returns whether this process may enqueue workers for it.
    bool is_wanted() const noexcept { return !timed && !abandoned && !is_anothers; }

    std::uint64_t bubble = 0;
    launch_state launch = launch_state::asked;
    std::shared_ptr<site_state> where;
    std::array<std::uint64_t, places> blocks{};  // launched for the current job, and for its successor
    bool timed = false;                          // only observed: no worker, the edges measure its length
    bool may_be_entered = false;                 // workers may be launched before the host has closed it …
    bool at_open = false;                        // … as soon as it opens
    bool halved = false;                         // its workers get half of their blocks
    bool armed = false;                          // its workers were enqueued before it opened
    bool abandoned = false;
    bool is_anothers = false;  // workers of other processes may work in it, and none of this one
    bool passed = false;       // it was over before a worker could be enqueued
    bool after_pause = false;
    bool held_up = false;  // a kernel of the trainer waited for its workers
    std::optional<bool> host_ahead{};
    std::optional<std::chrono::nanoseconds> length{};  // of an observed bubble, once its edges tell it
    std::chrono::nanoseconds lease{0};
    std::uint64_t launches_inside = 0;                 // before the host has closed it …
    std::chrono::steady_clock::time_point launched{};  // … the last of them
    std::chrono::steady_clock::time_point again_at{};  // … when another may follow
    std::chrono::nanoseconds max_lease_inside{0};      // … of them
    std::chrono::nanoseconds ended_lease{0};           // … the longest that was over while the host was inside
    std::chrono::steady_clock::time_point opened{};    // on the host
    std::chrono::steady_clock::time_point entered{};   // when the host went on inside it …
    std::chrono::steady_clock::time_point leaving{};   // … and when it came to close it
    std::chrono::steady_clock::time_point closed{};
    std::optional<std::chrono::steady_clock::time_point> pending_since{};  // its workers wait on the device since then
    std::chrono::nanoseconds waited_before{0};                             // waited, by workers that were let go
    std::uint64_t range = 0;                                               // on a tool's timeline
    std::uint64_t opened_ns = 0;  // on the device's clock, if another process's edge opened it; 0: not known
  };
  /// What is copied from and to the machine.
  struct copies {
    std::array<bubble_record, records> zeros;
    std::array<std::array<bubble_record, records>, places> of_worker;  // of the bubbles that are being copied
    gate_line line;                                                    // copied after the records
  };
  /// The last collected bubble, from which the next is expected.
  struct known {
    std::uint64_t bubble = 0;
    void const* where = nullptr;  // its site
    std::uint64_t opened_ns = 0;
    std::uint64_t closed_ns = 0;  // 0: not known
  };

  /// The distance between two openings, or from a close to an opening, as last summed up. Kept because each look asks
  /// for it, and the host may be many bubbles ahead.
  struct summed_up {
    std::uint64_t from = 0;  // 0: no bubble
    std::uint64_t to = 0;
    bool by_close = false;
    std::chrono::nanoseconds distance{0};
  };

  open_result pass_over(counted why);
  std::uint32_t on_turn() const noexcept;
  std::uint32_t worker_at(site_state& at) const noexcept;
  void use(gate_words const& words) noexcept;
  bool follows() const noexcept { return line_.size() == 0 && shared_ == nullptr; }
  void end_bubble(stream_handle stream, closing how);
  void note_close(std::chrono::steady_clock::time_point left);
  void begin_at(std::uint64_t bubble);
  static open_lease::stay stay_of(placed const& was);
  bool any_stands() const noexcept;
  std::optional<std::chrono::steady_clock::time_point> may_enter(placed const& of, opening_numbers now) const;
  std::chrono::nanoseconds lease_inside(placed& of) const;
  struct opening {
    std::uint64_t at_ns = 0;
    std::chrono::nanoseconds distance{0};  // from the moment that it is counted from
  };
  std::optional<opening> expected(std::uint64_t bubble);
  bool expected_before_launch(placed const& of) const;
  void note_decided(std::uint64_t bubble) noexcept { decided_ = std::max(decided_, bubble); }
  std::uint64_t first_let_go() const;
  void settle_launch(placed& of, launch_state now) noexcept;
  bool ask_if_over(std::uint64_t bubble);
  std::optional<std::chrono::steady_clock::time_point> unused_since() const;
  bool may_pass_unseen(bool at_the_end) const;
  /// Returns a worker's ring: of the current job, whose records the edges write into, too, or of its successor.
  record_ring ring(std::size_t worker) const noexcept { return {ref_.records + worker * records, records}; }
  bubble_record const& copied(std::size_t worker, std::uint64_t bubble) const noexcept {
    return pinned_.data()->of_worker[worker][bubble - copied_from_];
  }
  bool was_held_up(placed const& was, bubble_record const& record, std::chrono::steady_clock::time_point now,
                   device_clock const& clock) const;
  static std::optional<std::chrono::nanoseconds> told_by_host(placed const& was, bubble_record const& record,
                                                              device_clock const& clock);
  static std::chrono::nanoseconds shortest_possible(placed const& was, bubble_record const& record);
  static bool came_too_late(placed const& was, bubble_record const& record);
  static bool closed_soon(placed const& was, bubble_record const& record, device_clock const& clock);
  bubble_report told(std::uint64_t bubble) const;
  static std::optional<std::chrono::nanoseconds> waited(placed const& was, std::uint64_t opened_ns,
                                                        device_clock const& clock);
  void learn(placed const& was, bubble_record const& record, std::optional<std::chrono::nanoseconds> length,
             device_clock const& clock);
  bubble_mark& mark_of(std::uint64_t bubble) const noexcept { return *marks_[bubble % records]; }
  placed& placed_of(std::uint64_t bubble) noexcept { return placed_[bubble % records]; }
  placed const& placed_of(std::uint64_t bubble) const noexcept { return placed_[bubble % records]; }

  executor& executor_;
  std::uint32_t const index_;
  device_array<gate_line> line_;      // empty: they are not its own
  device_array<bubble_record> ring_;  // (places × records,)
  std::optional<mapped_array<opening_line>> opening_line_;
  device_array<awaited_words> awaited_;   // where other processes map the line, too
  opening_line* opening_ = nullptr;       // for the host
  attach::shared_bubbles* const shared_;  // null: no other process is told
  std::shared_ptr<void const> words_;     // what keeps the words that are not its own
  gate_ref ref_;
  std::atomic<std::uint64_t> stream_id_{0};
  std::atomic<int> launching_{0};
  std::mutex edges_;  // the trainer's: held while edges are enqueued, taken before `mutex_`
  mutable std::mutex mutex_;
  std::uint32_t value_;
  std::uint64_t bubbles_ = 0;     // opened by the host
  std::uint64_t known_from_ = 1;  // earlier bubbles were not followed
  bool open_ = false;
  price_cap cap_;
  std::uint64_t decided_ = 0;  // later bubbles may still be requested; of those up to it only the ones that were let go
  std::size_t let_go_ = 0;     // bubbles in that state
  std::uint64_t collected_ = 0;
  known last_;
  summed_up ahead_;  // valid until something is learnt
  close_policy close_policy_;
  std::array<armed_worker, places> armed_;
  site_table sites_;
  std::uint32_t opening_told_ = 0;                   // the launcher's
  std::vector<std::unique_ptr<bubble_mark>> marks_;  // (records,)
  std::array<placed, records> placed_;
  runtime_counts counts_;
  std::chrono::steady_clock::time_point last_used_{};
  std::chrono::nanoseconds lease_{0};
  pinned_array<copies> pinned_;  // (1,)
  std::optional<std::string> held_up_;
  std::uint64_t copied_from_ = 0;  // bubbles [from, past) are being copied
  std::uint64_t copied_past_ = 0;
  bool copied_successors_ = false;
  gate_line seen_{};  // its line, as it was copied last
  bool is_forged_ = false;
};

}  // namespace lull::detail
