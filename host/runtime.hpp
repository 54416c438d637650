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
#include <lull/host/step_report.hpp>

namespace lull {

class bubble_summary;  // host/report/bubble_summary.hpp

/// `off`: nothing is enqueued on the trainer's stream. `observe`: edges are enqueued and lengths kept, but no side work
/// runs. `on`: side work runs in bubbles. The environment variable LULL=off|observe lowers what a program asks for, and
/// never raises it. Without LULL, a runtime on a GPU is off, and logs why, if launches block (CUDA_LAUNCH_BLOCKING) or
/// a tool was injected (a profiler, compute-sanitizer). With mode `on` it is also off if CUDA_DEVICE_MAX_CONNECTIONS is
/// 2 or 3. LULL=on lifts these checks, and leaves the mode as the program asked for it.
enum class runtime_mode { off, observe, on };

/// When the runtime may enqueue workers. `at_close`: only after the closing edge, which ends the workers, is enqueued,
/// so that they never delay the trainer for long. A site whose host enqueues the close too late changes to `at_open` by
/// itself. `at_open`: once the opening edge is enqueued; for hosts that block inside the bubble. With
/// CUDA_DEVICE_MAX_CONNECTIONS=1 the runtime always uses it on a GPU. A lease of 200 µs limits the delay; it grows at
/// sites whose host does not block.
enum class launch_time { at_close, at_open };

inline constexpr std::chrono::nanoseconds max_armed_ahead = std::chrono::seconds{1'000};

/// The largest allowed `runtime_tuning::min_bubble`.
inline constexpr std::chrono::nanoseconds max_min_bubble = std::chrono::seconds{1};

/// The default of `runtime_tuning::training_worth` on a CUDA device, and the largest that is allowed.
inline constexpr double default_training_worth = 30;
inline constexpr double max_training_worth = 1e6;

/// By how much side work may be known to make a step longer, as a share, where steps are marked and there is no bound
/// (docs/decisions/cap.md).
inline constexpr double slowdown_cap = 0.01;

/// The largest allowed `runtime_tuning::rest_before_close`.
inline constexpr std::chrono::nanoseconds max_rest_before_close = std::chrono::milliseconds{1};

/// How the runtime treats a bubble. Not stable: the next release may have other fields, and its own choice is good for
/// most trainers.
struct runtime_tuning {
  launch_time launch = launch_time::at_close;
  /// How long before its bubble a worker may be enqueued, to wait for it on the device; at most `max_armed_ahead`.
  /// None: as long as each site needs, at most a sixteenth of the time since the bubble before, or 0.2 ms if that is
  /// more; with the close where nothing is known. 0: not before the
  /// bubble is open. While a worker waits, each kernel of the trainer may start a microsecond later
  /// (docs/decisions/armed-late.md).
  std::optional<std::chrono::nanoseconds> armed_ahead = {};
  /// No side work runs at a site whose last eight bubbles were all shorter; one in 64 is tried again. At most
  /// `max_min_bubble`. With a task that uses memory each bubble costs the trainer some microseconds, however long it
  /// is (docs/decisions/short-bubbles.md). In a captured graph this holds for the first 64 sites.
  std::chrono::nanoseconds min_bubble = default_min_bubble;
  /// How many microseconds of side work, on all SMs, a microsecond of training is worth: no side work runs at a site
  /// whose last eight bubbles brought less than so much of what they cost the trainer, by their edges and by how long
  /// workers take to leave (docs/decisions/short-bubbles.md). 0: any. None: `default_training_worth` on a CUDA device,
  /// and 0 on the threads executor, whose times are no device's. At most `max_training_worth`.
  std::optional<double> training_worth = {};
  /// Workers stop claiming this long before a site's bubbles usually close. They hand back the chunks of tasks that
  /// poll, and wait for the close. Applies only if half of the last 32 bubbles (or of the first eight) had lengths
  /// within an eighth of each other, and within the lease. In a bubble that lasts longer they continue. 0: never. At
  /// most `max_rest_before_close`. In a captured graph this holds for the first 64 sites
  /// (docs/decisions/rest-before-close.md).
  std::chrono::nanoseconds rest_before_close = default_rest_before_close;
  /// None: chosen for each stream from how long its workers take to leave.
  std::optional<closing> close = {};
};

struct runtime_options {
  executor_options executor;
  runtime_mode mode = runtime_mode::on;
  /// The bound on the mean slowdown of the trainer's steps, as a share: 0.005 is half a per cent. 0: no bound, but
  /// `slowdown_cap`, unless `training_worth` is 0. Under a
  /// bound side work runs in some steps only, as the program marks them with `runtime::step`, and in none before the
  /// first mark. If a program marks none in 512 bubbles, openings at one site stand for marks, and a line is logged. In
  /// captured graphs a mark counts for what the stream replays after it. How the bound is kept, and its price:
  /// docs/decisions/governor.md.
  double max_slowdown = 0;
  /// A number that all ranks of a trainer share, so that they withhold side work in the same steps.
  std::uint64_t draw_seed = 0;
  /// Pinned host memory, taken at start, for the memory of jobs that give way (`give_back`, `executor.reserve_bytes`).
  /// Without it no job that names its memory gives way.
  std::uint64_t saved_bytes = 0;
  /// "unix:PATH": workers of other processes of the same user may work in this trainer's bubbles (`attach`). PATH is a
  /// socket that this runtime makes, in a folder that no other user may write to. They get a bubble where no job of
  /// this runtime has as high a priority as theirs, and `max_slowdown`, or the cap, holds for them as for its own jobs.
  /// The trainer waits for nothing of theirs, and ends one that does not free memory that it needs (`give_back`). On a
  /// GPU both must be clients of MPS. Only with mode `on`. Empty: none may.
  std::string share = {};
  /// "unix:PATH": this runtime works in the bubbles of another process's trainer, which shares them there; its own
  /// program opens none. The bound on slowdown is the trainer's. When the trainer has ended, jobs go on with the next
  /// one there. Making the runtime waits up to five seconds for the first. The process becomes the first that the
  /// system ends when memory runs out, and this thread and those it starts leave the CPU to others (nice 10). On a GPU
  /// set CUDA_MPS_CLIENT_PRIORITY=1 before CUDA starts, so that the trainer's kernels go first. Empty: the bubbles are
  /// this program's.
  std::string attach = {};
  /// Types that are loaded at start. A type that is first seen at `submit` is loaded there, which may wait for the
  /// device.
  std::vector<task_type> tasks = {};
  /// Receives one line a call, on a thread of the runtime's that nothing waits for: so it may wait itself. The last
  /// lines, such as a report, come from the thread that destroys the runtime, which waits for the line that is being
  /// received. Of lines that come too fast some are dropped, which a line says. Must not destroy the runtime. Empty:
  /// silence.
  std::function<void(std::string_view)> log = {};
  /// Reports that are kept for `take_bubbles`: the latest. Each takes some 600 bytes of host memory.
  std::size_t max_reports = 65'536;
  /// File for the bubble report, written when the runtime ends (host/report/at_end.hpp). Empty: none.
  std::string report = {};
  runtime_tuning tuning = {};
};

class runtime;

namespace detail {
class runtime_state;
}  // namespace detail

/// Returns what loads and launches the runtime's workers. For owners of tasks (host/task/owner.hpp), which prepare
/// their arrays with it, and for programs that measure.
executor& executor_of(runtime& side) noexcept;

/// The training steps of a runtime: the bound on how much longer they take, and what is known of them. Lives as long as
/// its runtime. Thread-safe.
class runtime_steps {
 public:
  /// Changes `runtime_options::max_slowdown`: no side work then runs before the next step, and what was learnt is
  /// forgotten. 0: no bound, from now on. Does nothing if this is the bound already, or the mode is not `on`. Throws
  /// usage_error unless it is 0, or above 0 and at most 1; then nothing has changed.
  void bound_slowdown(double max_slowdown);
  /// With a bound or the cap: sets the assumed slowdown of a step in which jobs of that name run, as a share. Until the
  /// slowdown is measured, a job with a higher assumed slowdown starts in fewer steps, and waits for jobs that are
  /// assumed far cheaper. host/profile/ has what `lull profile` found. At most 64 names. Throws usage_error or
  /// limit_error.
  void assume_slowdown(std::string_view name, double slowdown);
  /// Returns how much longer steps take in which only jobs of that name ran, as a share, with its 95 % interval. None:
  /// not known yet, or there is neither bound nor cap. The upper end is a good value for `assume_slowdown` in the next
  /// run.
  std::optional<slowdown_interval> slowdown_of(std::string_view name) const;
  /// Returns what is known of these steps. Their lengths are read some milliseconds after their end.
  step_report report() const;

 private:
  friend class runtime;
  explicit runtime_steps(detail::runtime_state& of) noexcept : of_(of) {}
  detail::runtime_state& of_;
};

/// The device's memory as jobs see it: arrays take it within the limit of `executor_options`, and the trainer gets it
/// back. Lives as long as its runtime. Thread-safe.
class runtime_memory {
 public:
  /// For `device_array`.
  operator device_memory&() const noexcept;
  /// Asks jobs for device memory, the lowest first, for a trainer that is about to need it; attached workers before its
  /// own jobs, each with half of the time, after which it is killed. Jobs that named theirs in
  /// `job_description::memory` leave the bubbles; what they hold is saved on the host, in `saved_bytes`, or the job
  /// goes back to where it was saved last, if time is short and it may; then their memory goes back to the driver. They
  /// go on when there is room, a second later or more, with the same bits. Returns how many bytes went back: fewer than
  /// `bytes` where jobs have no more, or the time was over; more where a job has more, since all of one goes. Blocks
  /// for that, but enqueues nothing on a stream of the trainer's. Of 20 GB that takes about half a second.
  std::uint64_t give_back(std::uint64_t bytes, std::chrono::nanoseconds at_most);
  /// The same, of what the device lacks of `executor.reserve_bytes` now: for an allocator that is about to ask the
  /// driver for memory. Costs a call to the driver where nothing is lacking.
  std::uint64_t keep_reserve(std::chrono::nanoseconds at_most);

 private:
  friend class runtime;
  explicit runtime_memory(detail::runtime_state& of) noexcept : of_(of) {}
  detail::runtime_state& of_;
};

/// Runs submitted jobs in the bubbles of one device's trainer streams.
///
/// One runtime of a process harvests a CUDA device at a time: while it lives, making another with mode `on` throws
/// usage_error. Any number may observe beside it, or be off. At most 16 streams are harvested at a time, and 1,024
/// captured graphs with 8 task types; what is beyond is counted and left alone (docs/6-limits.md). Thread-safe. `open`,
/// `close` and `bubble` only enqueue: they do not synchronise, and do not block, but for a small copy to the machine in
/// the first bubble of each captured graph. They allocate only in the first bubble of a site and under capture. An
/// error of the machine inside them turns the runtime off and is logged; it is never thrown into the trainer.
class runtime {
 public:
  explicit runtime(runtime_options options = {});
  /// Uses the given executor: for tests, and for a program's own executors.
  runtime(std::unique_ptr<lull::executor> executor, runtime_options options);
  /// Cancels all jobs and waits until no block is inside them, at most a lease and a second. What a block may still use
  /// after that stays allocated.
  ~runtime();
  runtime(runtime const&) = delete;
  runtime& operator=(runtime const&) = delete;

  /// Queues a job, to run by priority and then in order of submission. Copies the functor; what the functor points to
  /// must live until `job::wait` has returned true. Blocks for a copy to the machine, and for loading its code where
  /// the type is not among `runtime_options::tasks`; so call it off the trainer's path. Throws usage_error, limit_error
  /// or device_error; then nothing was queued. With a mode other than `on` it only returns a job whose state is `off`.
  job submit(job_description description);
  template <side_task Task>
  job submit(Task const& task, std::string name = "job") {
    return submit(describe(task, std::move(name)));
  }

  /// Enqueues the opening edge on the stream. With mode `on`, a job must be ready and the site's bubbles must be worth
  /// it. Returns the bubble, or why nothing was opened. Where the stream is being captured, adds the edge and workers
  /// to the graph instead. May block or allocate only as said above.
  open_result open(stream_handle stream, site where) noexcept;
  /// Enqueues the closing edge on the bubble's own stream. The worker follows on another stream, at once or shortly
  /// before the bubble is expected to open. Does nothing if the bubble of `id` is 0. With the id of a bubble that is
  /// not open, or with another stream, only counts the call. Does not block or synchronise; allocates only under
  /// capture.
  void close(bubble_id id, stream_handle stream) noexcept;

  /// Marks where a training step ends and the next begins: once a step, on the stream that trains. Enqueues an event;
  /// under the cap, of short steps one for up to four.
  /// Does not block; the first 256 calls allocate. Does nothing on a stream under capture, or of another device.
  /// `number`: of the step that begins, the same for all ranks; none: the last one's plus 1, from 0. Ranks withhold
  /// side work in steps of the same numbers, so a rank that starts later than others, or again, has to say where they
  /// are. Each number comes once; where a trainer goes back to a checkpoint, they come again. `work`: of the step that
  /// begins, in any unit that its length grows with, such as tokens; 0, or what is no such number: not known; say it of
  /// each step or of none. Steps of different work are then compared by what each is expected to take.
  void step(stream_handle stream, std::optional<std::uint64_t> number = {}, double work = 0) noexcept;
  /// The step under way is not like others: the time until the next `step` is not counted, and with a bound there is no
  /// side work in bubbles that are opened until then. Before a validation or a checkpoint.
  void skip_step() noexcept;
  /// The bound on slowdown, and what is known of the steps.
  runtime_steps steps() const noexcept;

  /// Stops all side work, so that the program may allocate, load code or be profiled without it. Returns true when no
  /// block of a worker runs and none can start until `resume_all`; false when the time was over, and then nothing is
  /// stopped. Jobs keep what they have done. Waits for bubbles whose workers are already enqueued, and so for the
  /// trainer's stream, but enqueues nothing there. Workers in a captured graph that is replayed meanwhile find no task
  /// and leave at once. Workers of other processes get no further bubble; in an open one they work until it closes.
  /// Each call that returned true needs its own `resume_all`.
  [[nodiscard]] bool pause_all(std::chrono::nanoseconds at_most);
  void resume_all() noexcept;
  /// Blocks until the state of every submitted job is final (true), or until the time is over (false).
  bool wait_all(std::chrono::nanoseconds at_most);

  runtime_memory memory() const noexcept;
  runtime_mode mode() const noexcept;
  /// Returns why the mode is `off`: "LULL=off", what was found at the start, or the error that turned it off. Empty:
  /// it is not off, or the program asked for that.
  std::string why_off() const;
  /// Returns whether a job is ready for a bubble on this stream now. Does not block.
  bool ready(stream_handle stream);
  runtime_counts counts() const;
  /// Returns a summary of all bubbles measured so far, taken or not, and of the steps. Include
  /// host/report/bubble_summary.hpp; host/report/bubble_writers.hpp writes it.
  bubble_summary summary() const;
  /// Returns the bubbles measured since the last call, oldest first. The latest `max_reports` are kept; `summary` has
  /// all.
  std::vector<bubble_report> take_bubbles();

 private:
  friend executor& executor_of(runtime& side) noexcept;
  std::unique_ptr<detail::runtime_state> state_;
};

/// A bubble as a scope: opens here, closes at its end.
class bubble {
 public:
  bubble(runtime& side, stream_handle stream, site where) noexcept
      : side_(side), stream_(stream), opened_(side.open(stream, where)) {}
  ~bubble() { side_.close(opened_, stream_); }
  bubble(bubble const&) = delete;
  bubble& operator=(bubble const&) = delete;
  /// Returns what the opening did, or why nothing was opened.
  counted what() const noexcept { return opened_.what; }

 private:
  runtime& side_;
  stream_handle stream_;
  open_result opened_;
};

}  // namespace lull
