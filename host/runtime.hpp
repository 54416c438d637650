// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <lull/host/bubble.hpp>
#include <lull/host/closing.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/job.hpp>

namespace lull {

class bubble_summary;  // host/report/bubble_summary.hpp

/// `off`: the trainer's stream gets no operation. `observe`: edges are placed and lengths kept, nothing runs. `on`:
/// harvest. The environment variable LULL=off|observe|on overrides what a program asks for. Without it a runtime on a
/// GPU is off where launches block (CUDA_LAUNCH_BLOCKING) or a tool was injected (a profiler, compute-sanitizer), and
/// says so in the log.
enum class runtime_mode { off, observe, on };

/// When workers may be enqueued. `at_close`: after everything that ends them, so they can delay nothing for long; a
/// site where the host is too late for that goes over to the other by itself. `at_open`: for hosts that block inside
/// the bubble and for CUDA_DEVICE_MAX_CONNECTIONS=1, where it is chosen by itself; short leases then bound the wait:
/// 200 µs, longer where the host was seen not to block.
enum class launch_time { at_close, at_open };

inline constexpr std::chrono::nanoseconds max_armed_ahead = std::chrono::seconds{1'000};

struct runtime_options {
  executor_options machine;
  runtime_mode mode = runtime_mode::on;
  launch_time launch = launch_time::at_close;
  /// How long before its bubble a worker may be enqueued, to wait for it on the device; none: as each site needs,
  /// within two milliseconds, and at once where nothing is known; 0: only when the bubble is open; at most
  /// `max_armed_ahead`. While a worker waits, each kernel of the trainer may start later by a microsecond
  /// (docs/decisions/armed-late.md).
  std::optional<std::chrono::nanoseconds> armed_ahead = {};
  std::optional<closing> close = {};  // none: chosen for each stream from how long its workers take to leave
  std::vector<task_type> tasks =
      {};  // loaded at start; a type first seen at submit is loaded there, which may wait for the device
  std::function<void(std::string_view)> log =
      {};                   // one line a call; from any thread; must not call the runtime; empty: silence
  std::string report = {};  // file for the bubble report at the runtime's end; see host/report/at_end.hpp
};

struct runtime_counts {
  std::uint64_t opened = 0;
  std::uint64_t launches = 0;
  std::uint64_t armed = 0;      // bubbles whose workers were enqueued before they opened
  std::uint64_t released = 0;   // … and were let go again, for it took too long or another could work
  std::uint64_t no_job = 0;     // bubbles passed over because no job was ready
  std::uint64_t too_short = 0;  // … because the site's bubbles are not worth it
  std::uint64_t fruitless = 0;  // … because everything at that site was handed back lately
  std::uint64_t nested = 0;     // opens inside an open bubble, ignored
  std::uint64_t unmatched = 0;  // closes of nothing, ignored
  std::uint64_t abandoned = 0;  // bubbles that were never closed, and ended by the next opening of their site
  std::uint64_t foreign = 0;    // opens on a stream of another device, ignored
  std::uint64_t captured = 0;   // bubbles added to graphs that were being captured
  std::uint64_t replayed = 0;   // … opened by replays, as far as read
  std::uint64_t ungraphed =
      0;  // opens on a stream under capture, ignored: no task type, too many graphs, or no way to ask
  std::uint64_t held_up =
      0;  // bubbles in which a kernel of the trainer waited for side work to leave, as far as can be told
  std::uint64_t raised = 0;   // … and workers keep off another group of SMs since
  std::uint64_t behind = 0;   // bubbles passed over because the records of earlier ones were not read yet
  std::uint64_t dropped = 0;  // bubbles whose records were lost: they are in no report

  runtime_counts& operator+=(runtime_counts const& other) noexcept;
};

/// Fills the bubbles of one device's trainer streams with the jobs that were submitted. One of a process harvests a
/// CUDA device at a time: while it lives, making another with mode `on` throws usage_error; any number may observe
/// beside it, or be off. Thread-safe. `open`, `close` and `bubble` only enqueue: they do not block, allocate (but for
/// the first bubble of a site) or synchronise; an error of the machine inside them turns the runtime off and is logged,
/// never thrown into the trainer.
class runtime {
 public:
  explicit runtime(runtime_options options = {});
  /// On a given machine: for tests, and for executors of your own.
  runtime(std::unique_ptr<executor> machine, runtime_options options);
  /// Cancels what is left and waits, at most a lease and a second, until no block is inside.
  ~runtime();
  runtime(runtime const&) = delete;
  runtime& operator=(runtime const&) = delete;

  /// Queues a job; it has its turn by priority and order. Copies the functor; what that points to lives until
  /// `job::wait` has returned true. Blocks for a copy to the machine, and for its code where the type was not among
  /// `runtime_options::tasks`: not on the trainer's path. Throws usage_error, limit_error or device_error; then nothing
  /// was queued.
  job submit(job_description description);
  template <side_task Task>
  job submit(Task const& task, std::string name = "job") {
    return submit(describe(task, std::move(name)));
  }

  /// Enqueues the opening edge on the stream, if a job is ready; adds it and workers to the graph, where the stream is
  /// being captured. The host does not wait.
  bubble_id open(stream_handle stream, site where) noexcept;
  /// Enqueues the closing edge on the bubble's own stream. The worker follows on our stream, now or when the bubble is
  /// expected to open. `id` of a bubble that was not opened, or another stream: nothing, but counted.
  void close(bubble_id id, stream_handle stream) noexcept;

  /// Stops all side work and returns true when none of our blocks works and none can come until `release`: to allocate,
  /// load code or profile in peace. Jobs keep what they have done. False: the time was over, and nothing is stopped any
  /// more. Waits for bubbles whose workers are enqueued already, so for the trainer's stream; does not touch it.
  /// Workers in a captured graph that is replayed meanwhile find nothing and leave at once. Counts: as many releases as
  /// calls that returned true.
  [[nodiscard]] bool quiet(std::chrono::nanoseconds at_most);
  void release() noexcept;
  /// Waits until every job that was submitted is finished, failed or cancelled, or until the time is over (false).
  bool drain(std::chrono::nanoseconds at_most);

  executor& machine() noexcept;
  runtime_mode mode() const noexcept;
  /// Whether a job stands ready for a bubble on this stream now. Takes no gate.
  bool ready(stream_handle stream);
  runtime_counts counts() const;
  /// All bubbles measured so far, taken or not, summed up: host/report/bubble_writers.hpp shows it.
  bubble_summary summary() const;
  /// The bubbles measured since the last call, oldest first; the latest 65,536 are kept. `summary` has all.
  std::vector<bubble_report> take_bubbles();

 private:
  class state;
  std::unique_ptr<state> state_;
};

/// A bubble as a scope: opens here, closes at its end.
class bubble {
 public:
  bubble(runtime& side, stream_handle stream, site where) noexcept
      : side_(side), stream_(stream), id_(side.open(stream, where)) {}
  ~bubble() { side_.close(id_, stream_); }
  bubble(bubble const&) = delete;
  bubble& operator=(bubble const&) = delete;

 private:
  runtime& side_;
  stream_handle stream_;
  bubble_id id_;
};

}  // namespace lull
