// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <lull/device/control.hpp>
#include <lull/device/gate.hpp>
#include <lull/device/position.hpp>
#include <lull/device/slot.hpp>
#include <lull/host/closing.hpp>
#include <lull/host/worker_kernel.hpp>

namespace lull {

enum class executor_kind { threads, cuda };

/// A stream of the trainer: a cudaStream_t, or a threads_stream*.
using stream_handle = void*;

/// Where workers run.
struct placement {
  int processors = 0;        // SMs, or cores
  int owned_processors = 0;  // of these, those that workers may use
  int reserved_later = 0;    // after a trainer's kernel waited for side work; not in owned_processors
  int device = 0;            // which CUDA device
  std::string how{};         // "green context", "reserved groups by SM id", …
  std::string gpu{};         // as its driver names it
  std::string pci_bus_id{};  // of that GPU, as CUDA writes it
};

/// Shows whether the workers of one bubble have left, and how long an observed bubble was. Reused for later bubbles of
/// the gate.
class bubble_mark {
 public:
  virtual ~bubble_mark() = default;
};

/// A moment that a trainer's stream reaches.
class stream_moment {
 public:
  virtual ~stream_moment() = default;
};

/// The launch shape of one job's workers.
struct worker_grid {
  std::uint64_t blocks = 0;
  sm_filter sms{};
  void const* code = nullptr;  // cuda: what its runtime launches for the kernel that was loaded

  bool can_halve() const noexcept { return blocks > 1; }
  void halve() noexcept { blocks /= 2; }
};

/// A worker of a captured bubble. The executor fills in what a graph's launch needs of its parameters: `sms` and
/// `in_graph`.
struct captured_worker {
  worker_kernel kernel;
  worker_grid grid;
  worker_params params;
};

/// The opening edge of a captured bubble, which its closing edge refers to.
using captured_opening = void*;

/// The state of a caller's thread when it entered a call of Lull.
struct thread_state {
  int device = -1;
  int capture_mode = 0;
};

/// What `look_at` found about a trainer's stream.
struct stream_found {
  enum kind { plain, captured, foreign };  // foreign: another device's

  kind is = plain;
  std::uint64_t capture = 0;  // captured: which; 0: CUDA cannot tell
  std::uint64_t id = 0;       // plain: unique among all streams of this process, past ones too; never 0
};

/// Memory that host and device both address.
struct mapped_memory {
  void* host = nullptr;
  void* device = nullptr;
};

/// Copies between host and machine, one after another on its own stream. Not thread-safe. The destructor waits for its
/// copies.
class copy_lane {
 public:
  virtual ~copy_lane() = default;
  /// Enqueues a copy from or to pinned memory. Other host memory is copied too, but then the call may block. Both sides
  /// must stay unchanged until `done`.
  virtual void copy_in(void* to_machine, void const* from, std::size_t bytes) = 0;
  virtual void copy_out(void* to, void const* from_machine, std::size_t bytes) = 0;
  /// Returns whether all copies have ended. Throws device_error.
  virtual bool done() = 0;
};

/// When a worker's blocks may start: at once, or when the opening edge of `params.bubble` has let them go.
enum class start_when { at_once, opened };

/// What a machine can still give, and whether its memory limit is what bounds it.
struct bytes_left {
  std::uint64_t bytes = 0;
  bool by_limit = false;
};

/// Memory of a machine that is in use.
struct bytes_taken {
  std::uint64_t now = 0;
  std::uint64_t most = 0;  // so far

  void add(std::uint64_t bytes) noexcept {
    now += bytes;
    most = std::max(most, now);
  }
  void remove(std::uint64_t bytes) noexcept { now -= bytes; }
};

/// Where no limit is known.
inline constexpr std::uint64_t any_bytes = std::numeric_limits<std::uint64_t>::max();

/// How long a blocking copy of the calling thread may take before it throws limit_error. With one connection a copy to
/// the device waits for all that the trainer waits for: then it is late, and the machine is not at fault. A program's
/// own thread learns after a minute that it may be waiting for itself. Lull's threads that no other thread waits for
/// wait for a day.
class patient_copies {
 public:
  patient_copies() : before_(std::exchange(limit_of_this_thread(), std::chrono::hours{24})) {}
  ~patient_copies() { limit_of_this_thread() = before_; }
  patient_copies(patient_copies const&) = delete;
  patient_copies& operator=(patient_copies const&) = delete;

  static std::chrono::seconds limit() { return limit_of_this_thread(); }

 private:
  static std::chrono::seconds& limit_of_this_thread() {
    thread_local std::chrono::seconds limit{60};
    return limit;
  }
  std::chrono::seconds const before_;
};

/// Memory of a machine, and copies to and from it. For set-up and Lull's own threads. A call blocks until its copy is
/// done, unless its comment says otherwise.
class device_memory {
 public:
  virtual ~device_memory() = default;

  /// Returns zeroed memory of the machine. Throws limit_error when the memory limit or the machine's memory is reached.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
  /// Returns how much `allocate` can still give: the device's free memory less the reserve, within the memory limit.
  /// Another process may take it first. On CPU threads without a limit it returns the largest number.
  virtual bytes_left free_bytes() const = 0;
  /// Returns the device's free memory for all processes. On CPU threads it returns what is left of the memory limit, or
  /// `any_bytes`.
  virtual std::uint64_t device_free_bytes() const = 0;
  /// Returns what `allocate` gave, for tasks' arrays and for Lull's own use, less what was released or moved out for
  /// the trainer.
  virtual bytes_taken taken_bytes() const = 0;
  /// Gives the memory of a piece that belongs to a job_memory back to the driver; its addresses stay. Nothing that was
  /// enqueued may use the piece. `restore` puts memory there again, whose contents are unspecified. It throws
  /// limit_error as `allocate` does, and returns false if the memory was there. Both ignore other memory.
  virtual void withdraw(void* memory) = 0;
  virtual bool restore(void* memory) = 0;
  /// Returns zeroed memory from an arena made at start. Throws limit_error when that is used up.
  virtual mapped_memory map(std::size_t bytes) = 0;
  virtual void unmap(mapped_memory memory, std::size_t bytes) noexcept = 0;
  /// Returns when the copy is done. `write` and `read` copy aligned words one by one, because blocks may use the same
  /// words at the same time.
  virtual void write(void* to, void const* from, std::size_t bytes) = 0;
  /// Stores a word that blocks read by an acquiring load: a block that finds the value finds all that was written
  /// before.
  virtual void publish(std::uint64_t* word, std::uint64_t value) = 0;
  virtual void read(void* to, void const* from, std::size_t bytes) = 0;
  virtual void fill_zero(void* to, std::size_t bytes) = 0;
  /// Returns host memory that copy lanes reach without a copy by the host; what it holds is unspecified. May
  /// synchronise with the trainer where no cached buffer fits. Throws limit_error. `unpin` caches the buffer, because
  /// freeing may synchronise with the trainer.
  virtual void* pin(std::size_t bytes) = 0;
  virtual void unpin(void* memory) noexcept = 0;
  virtual std::unique_ptr<copy_lane> make_copy_lane() = 0;
  /// Makes a lane on the control stream: its copies and `exchange` run in one order. Destroy it before the machine.
  virtual std::unique_ptr<copy_lane> make_control_lane() = 0;
  /// Reads a mapped word from the host, such as `done` of `exchange`.
  virtual std::uint64_t load_mapped(void const* host_word) const noexcept = 0;
};

/// Bubbles on the trainer's streams: edges and workers. `look_at`, `open_edge`, `close_edge`, `write_word`, `launch`
/// and `note` are enqueue only. The other calls are for Lull's threads.
class bubble_streams {
 public:
  virtual ~bubble_streams() = default;

  /// Returns what a stream is, given the state of the caller's thread. The per-thread default stream is the calling
  /// thread's. A stream under capture counts as this machine's if `from.device` is this machine's device.
  virtual stream_found look_at(stream_handle stream, thread_state from) = 0;
  /// Enqueues an edge. `timed`: the bubble's length is asked for later. That costs the trainer's stream more and is for
  /// bubbles without a worker.
  virtual void open_edge(stream_handle stream, gate_ref gate, std::uint32_t value, std::uint64_t bubble,
                         bubble_mark& mark, bool timed) = 0;
  virtual void close_edge(stream_handle stream, gate_ref gate, std::uint32_t value, bubble_mark& mark, bool timed,
                          closing how) = 0;
  /// Enqueues a store to a word of the machine, for all that follows on the stream.
  virtual void write_word(stream_handle stream, std::uint32_t* word, std::uint32_t value) = 0;
  /// Returns the time from when a worker's block first sees a close until the stream's next kernel may be placed.
  virtual std::chrono::nanoseconds launch_gap() const noexcept = 0;
  /// The most bubbles that may have workers on the workers' stream at a time, each for the current job and its
  /// successor. Far below the number at which a launch waits for the device.
  static constexpr std::size_t max_in_flight = 96;
  /// Launches a worker on the workers' stream. The executor fills in `params.sms`. The mark, if any, shows when the
  /// worker has left.
  virtual void launch(worker_kernel const& kernel, worker_grid const& grid, worker_params const& params,
                      bubble_mark* mark, start_when when) = 0;

  virtual std::unique_ptr<bubble_mark> make_mark() = 0;
  /// Returns true if all work enqueued on a trainer's stream for a gate has run, so that none of it can touch the
  /// gate's memory. `value` is its last edge, `seen` a recent copy of its line.
  virtual bool passed(gate_line const& seen, std::uint32_t value) const noexcept = 0;
  /// Returns whether all workers launched with the mark have left.
  virtual bool workers_left(bubble_mark& mark) = 0;
  /// Returns the length of the last timed bubble that used the mark, or nothing while its end is not reached.
  virtual std::optional<std::chrono::nanoseconds> length(bubble_mark& mark) = 0;

  virtual std::unique_ptr<stream_moment> make_moment() = 0;
  /// Enqueues that the stream notes when it reaches this point, which replaces the moment's former value.
  virtual void note(stream_handle stream, stream_moment& when) = 0;
  /// Returns the time between two moments, or nothing until the streams have reached both.
  virtual std::optional<std::chrono::nanoseconds> between(stream_moment& from, stream_moment& to) = 0;
};

/// Bubbles in graphs under capture. Its calls add nodes; they enqueue nothing and wait for nothing.
class bubble_graphs {
 public:
  virtual ~bubble_graphs() = default;

  /// Returns which capture the stream takes part in. None: it is not under capture. 0: CUDA cannot tell.
  virtual std::optional<std::uint64_t> capture_of(stream_handle stream) = 0;
  /// Adds the opening edge as a branch next to the stream's chain, and the workers after that edge. No other node waits
  /// for the workers.
  virtual captured_opening capture_open(stream_handle stream, gate_ref gate, std::uint32_t value,
                                        std::span<captured_worker const> workers) = 0;
  /// Adds the closing edge to the stream's chain: what is captured next starts when the workers have begun to leave, or
  /// after 50 µs.
  virtual void capture_close(stream_handle stream, gate_ref gate, std::uint32_t value, std::uint32_t site,
                             captured_opening opened) = 0;
  /// Keeps `what` alive until the graph, its clones and its executables are gone and have ended.
  virtual void capture_keep(stream_handle stream, std::shared_ptr<void const> what) = 0;
  /// Returns whether the workers of destroyed graphs have left, too.
  virtual bool graph_workers_done() = 0;
};

/// By which another process on the same machine opens memory of this one. Zeros: it names none.
using memory_handle = std::array<std::byte, 64>;

/// What processes that work on one machine share of it.
class shared_machine {
 public:
  virtual ~shared_machine() = default;

  /// Returns whether blocks of several processes run there at the same time: on CPU threads, and on a GPU under
  /// NVIDIA's multi-process service (MPS). Without it they take turns of a millisecond and more.
  virtual bool runs_processes_together() const = 0;
  /// Lets streams of this process reach host memory that it maps, while what it returns is there: the address for them.
  virtual std::shared_ptr<void> reach(void* host, std::size_t bytes) = 0;
  /// Returns zeroed memory of the machine that other processes open by the handle, while it is there. Null where they
  /// share host memory instead, which is a machine's own on CPU threads.
  virtual std::shared_ptr<void> export_memory(std::size_t bytes, memory_handle& handle) = 0;
  /// Returns another process's memory. When that process has ended, using it is an error of the machine.
  virtual std::shared_ptr<void> open_exported(memory_handle const& handle) = 0;
  /// From now on leaves at least so much of the device's memory free for other processes.
  virtual void keep_free(std::size_t bytes) = 0;
};

/// Runs workers and edges on a machine. `cuda` and `threads` implement it. Calls that are *enqueue only* do not block,
/// allocate or synchronise; any thread may make them, one at a time for a stream. The others are for set-up and for
/// Lull's own threads. They wait only for Lull's own work, unless their comment says otherwise.
class executor : public device_memory, public bubble_streams, public bubble_graphs, public shared_machine {
 public:
  virtual executor_kind kind() const noexcept = 0;
  virtual placement place() const = 0;
  /// Returns the executor's own stream, of the lowest priority, for programs without a trainer.
  virtual stream_handle own_stream() = 0;
  /// Blocks until the stream is done.
  virtual void synchronize(stream_handle stream) = 0;

  /// Makes the calling thread work on this device, in a mode that spoils no capture. Each of Lull's threads calls it
  /// first. A trainer's thread calls it when it enters one of our calls, and `restore_thread` when it leaves.
  virtual thread_state adopt_thread() = 0;
  virtual void restore_thread(thread_state from) noexcept = 0;

  /// Loads the kernel's code and returns the grid for one of its jobs; with `blocks_per_processor` 0 the executor
  /// chooses. The first call for a kernel may wait until the machine is idle: make it before training starts.
  virtual worker_grid load(worker_kernel const& kernel, int blocks_per_processor) = 0;
  /// Reserves one more group of SMs. Workers that are enqueued already, or in graphs, keep off it, too. Enqueue only.
  /// Returns false if no group can be spared.
  virtual bool reserve_group() = 0;

  /// Enqueues lull::exchange on the control stream. `done` becomes 2 × id + 1 when it succeeded, and 2 × id when a
  /// block stayed inside longer than `limit_ns`.
  virtual void exchange(slot_line* slot, slot_content const& content, std::uint64_t limit_ns, std::uint64_t* done,
                        std::uint64_t id) = 0;
  /// Returns whether the machine is lost: nothing that was enqueued on it will run.
  virtual bool is_lost() noexcept = 0;
  /// Returns whether all workers launched so far have left, except those of graphs.
  virtual bool workers_done() = 0;
  /// Frees what jobs that are over have left on the machine for workers that had not ended. May wait for the driver,
  /// not for a stream.
  virtual void free_leftovers() {}
};

/// Makes the calling thread work on the executor's device for its lifetime.
class device_guard {
 public:
  explicit device_guard(executor& executor) : executor_(executor), from_(executor.adopt_thread()) {}
  ~device_guard() { executor_.restore_thread(from_); }
  device_guard(device_guard const&) = delete;
  device_guard& operator=(device_guard const&) = delete;
  thread_state from() const noexcept { return from_; }

 private:
  executor& executor_;
  thread_state from_;
};

struct executor_options {
  std::optional<executor_kind> kind;  // none: cuda if a device answers, else threads
  int device = 0;
  int reserved_groups = 2;  // groups of reserved SMs; 0: none
  bool solo = false;        // nothing else uses the machine: with no reserved SMs and no cap, workers may fill it
  std::size_t memory_limit_bytes = 0;  // 0: no limit
  std::size_t reserve_bytes = 0;       // of the device's memory, left free for the trainer
  int processors = 0;                  // cap on those for workers; 0: all that are not reserved
  int team_width = 1;                  // threads of a block on the threads executor
  bool green_context = true;           // false: reserve SMs by their id, as where green contexts do not work
};

/// Makes an executor. Throws usage_error, with the reason, if this build or machine does not have what `kind` asks for.
std::unique_ptr<executor> make_executor(executor_options const& options);

/// Returns why no CUDA device answers; empty when one does. Does not throw.
std::string why_no_cuda(int device);

}  // namespace lull
