// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <lull/host/attach/local_socket.hpp>
#include <lull/host/attach/shared_bubbles.hpp>
#include <lull/host/executor.hpp>

namespace lull::attach {

/// What a trainer knows of a worker of another process.
struct attached_worker {
  using time_point = std::chrono::steady_clock::time_point;

  std::uint32_t number = 0;  // in announcements
  pid_t process = 0;         // 0: in another container
  std::string name;
  report last{};          // what it said last …
  time_point heard{};     // … and when
  time_point had_turn{};  // the last time
  bool is_attached = true;

  std::vector<std::string> jobs() const;
};

/// Shares a trainer's bubbles with workers of other processes, at a local socket, and tells observers the trainer's
/// state. Its thread sleeps until one of them says something. The trainer waits for none of them, and does not follow
/// what they say: it only chooses by it whose turn it is. Thread-safe.
class share_server {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  static constexpr std::size_t max_workers = 16;
  static constexpr std::size_t max_observers = 8;
  /// A worker that has said nothing for longer gets no turn: it is stopped, or cannot keep up.
  static constexpr std::chrono::milliseconds silent_for{1'000};
  /// Workers of one priority take turns of this length.
  static constexpr std::chrono::milliseconds turn{1'000};

  struct machine {
    executor_kind kind = executor_kind::threads;
    std::string device{};             // where workers must be, too; empty on CPU threads
    bool together = true;             // shared_machine::runs_processes_together
    std::uint64_t reserve_bytes = 0;  // of the device's memory, that workers leave free
  };
  /// Called on the server's thread.
  struct calls {
    std::function<void()> changed;  // when workers come, go or say something
    std::function<void(std::string)> log;
    std::function<std::string()> state;  // of the trainer, for observers
  };
  /// Throws as listening_socket.
  share_server(std::string const& address, machine where, std::shared_ptr<shared_bubbles> bubbles, calls of_trainer);
  ~share_server();
  share_server(share_server const&) = delete;
  share_server& operator=(share_server const&) = delete;

  /// Returns the highest priority among jobs of attached workers that are ready; nothing if there is none.
  std::optional<int> best_priority(time_point now) const;
  /// Gives the turn to one of the workers with the highest priority, or to none.
  void give_turn(bool to_a_worker, time_point now);
  /// Returns the worker whose turn it is; nothing if it is none's.
  std::optional<attached_worker> on_turn() const;
  /// Asks workers for device memory that they hold, those of the lowest priority first, each for one part at a time. A
  /// worker that has not freed its part within half of the time is asked to end (SIGTERM), and killed after a quarter
  /// more: then a quarter is left for the driver.
  /// Does not wait. Returns how much of `bytes` is on its way; call it again with what is still missing.
  std::uint64_t take_memory(std::uint64_t bytes, std::chrono::nanoseconds within, time_point now);
  /// Returns what workers say that they have freed since the last call, at most what each was asked for.
  std::uint64_t memory_freed();
  /// A worker that holds less is not asked, and one that keeps less of what it was asked for is not stopped.
  static constexpr std::uint64_t min_bytes = std::uint64_t{2} << 20;

  /// Kills all workers, because one has written where only the trainer may.
  void kill_workers() noexcept;
  /// Returns the last `max_remembered` that have gone, and then those that are attached.
  std::vector<attached_worker> workers() const;
  static constexpr std::size_t max_remembered = 64;

 private:
  /// Memory that a worker was asked for.
  struct debt {
    memory_wanted what{};
    time_point until{};
    bool is_told = false;
    bool is_asked_to_end = false;  // the worker, which had not paid …
    bool is_stopped = false;       // … and has not ended
  };
  struct client {
    connection at;
    attached_worker is{};  // number 0: it has not introduced itself, or observes
    time_point came{};
    bool observes = false;
    std::optional<std::uint64_t> asked{};  // the question that an observer waits for
    std::optional<debt> owes{};
    bool leaves = false;
  };

  void serve();
  bool serve_once();
  void take_new(time_point now);
  bool hear(client& from, time_point now, bool& changed);
  connection::outcome introduce(client& from, time_point now, bool& changed);
  connection::outcome hear_worker(client& from, time_point now, bool& changed);
  static connection::outcome hear_observer(client& from);
  void say(std::string const& line, time_point now);
  void answer_observers();
  void say_gone(client const& whom);
  bool settle_debt(client& of, time_point now);
  void stop(client& whom, time_point now);
  time_point next_debt_is_due() const;
  void wake() const noexcept;
  static bool is_ready(attached_worker const& worker, time_point now);

  machine const where_;
  calls const trainer_;
  std::shared_ptr<shared_bubbles> const bubbles_;
  listening_socket socket_;
  process_descriptor wakes_;  // readable when the thread has something to do
  std::atomic<bool> ends_{false};
  time_point listens_from_{};
  time_point lines_since_{};
  int lines_ = 0;
  // Guards all that follows. Only the thread changes it, but for debts that come, and connections are the thread's.
  mutable std::mutex mutex_;
  std::vector<client> clients_;
  std::deque<attached_worker> gone_;
  std::uint32_t next_number_ = 1;
  std::uint64_t debts_ = 0;
  std::uint64_t freed_ = 0;  // and not yet told
  time_point turn_since_{};
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace lull::attach
