// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <lull/device/control.hpp>
#include <lull/device/gate.hpp>
#include <lull/device/position.hpp>
#include <lull/device/slot.hpp>
#include <lull/host/closing.hpp>
#include <lull/host/worker_kernel.hpp>

namespace lull {

enum class executor_kind { threads, cuda };

/// What writes a closing edge on a GPU. A kernel wants a place on an SM and lands later; it is there to be measured
/// against.
enum class edge_setter { memory_operation, kernel };

/// A stream of the trainer: a cudaStream_t, or a threads_stream*.
using stream_handle = void*;

/// Where workers run.
struct placement {
  int processors = 0;        // SMs, or cores
  int owned_processors = 0;  // of them those that workers may use
  int raised = 0;            // of the others those that they keep off since a kernel was seen to wait
  int device = 0;            // which CUDA device
  std::string how{};         // "green context", "rooms by SM id", …
};

/// What is asked of one bubble: whether its workers are out, and of an observed one its length. Reused for a later
/// bubble of the same gate.
class bubble_mark {
 public:
  virtual ~bubble_mark() = default;
};

/// What one job's workers are launched with.
struct worker_grid {
  std::uint64_t blocks = 0;
  sm_filter sms{};
};

/// A worker of a captured bubble. The executor fills in what a graph's launch needs of its parameters: `sms` and
/// `in_graph`.
struct captured_worker {
  worker_kernel kernel;
  worker_grid grid;
  worker_params params;
};

/// The opening edge of a captured bubble, as its closing edge must know it.
using captured_opening = void*;

/// How a caller's thread was set up when it came in.
struct visit {
  int device = -1;
  int capture_mode = 0;
};

/// What a trainer's stream turned out to be.
struct stream_found {
  enum kind { plain, captured, foreign };  // foreign: another device's

  kind is = plain;
  std::uint64_t capture = 0;  // captured: which; 0: it cannot be asked
  std::uint64_t id = 0;       // plain: of all streams that ever were in this process, never 0
};

/// Memory that host and device both address.
struct mapped_memory {
  void* host = nullptr;
  void* device = nullptr;
};

/// Copies between host and machine on a stream of their own, one behind the other. Not thread-safe. Destroying it waits
/// for its own.
class copy_lane {
 public:
  virtual ~copy_lane() = default;
  /// Enqueue only, from and to pinned memory; other host memory is copied, too, but the call may wait for it. Both
  /// sides stay as they are until `done`.
  virtual void copy_in(void* to_machine, void const* from, std::size_t bytes) = 0;
  virtual void copy_out(void* to, void const* from_machine, std::size_t bytes) = 0;
  /// Whether all of them have ended. Throws device_error.
  virtual bool done() = 0;
};

/// When a worker's blocks may start: at once, or when the opening edge of `params.bubble` has let them go.
enum class start_when { at_once, opened };

/// What the runtime asks of a machine. Two stand behind it: `cuda` and `threads`.
/// Calls marked *enqueue only* do not block, allocate or synchronise; they may come from any thread, one at a time for
/// a stream. The others are for set-up and for our threads, and wait for our own work alone, never for the trainer's.
class executor {
 public:
  virtual ~executor() = default;

  virtual executor_kind kind() const noexcept = 0;
  virtual placement place() const = 0;

  // -- set-up --

  /// The calling thread works on this device from now on, and never spoils a capture. Called first by each of our
  /// threads, and by a trainer's thread for as long as it is inside one of our calls.
  virtual visit arrive() = 0;
  virtual void depart(visit from) noexcept = 0;

  /// The kernel's code reaches the machine. Returns the grid for one job of it: `blocks_per_processor` 0 lets the
  /// executor choose. The first call for a kernel may wait for the machine to be idle: make it before training starts.
  virtual worker_grid load(worker_kernel const& kernel, int blocks_per_processor) = 0;
  /// Workers keep off one more group of processors from now on, those that are enqueued or in graphs, too. Enqueue
  /// only. False: there is none to spare.
  virtual bool keep_more_off() = 0;

  /// Zeroed memory of the machine. Throws limit_error when the memory limit or the machine's memory is reached.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
  /// Zeroed. From one arena made at start; throws limit_error when that is used up.
  virtual mapped_memory map(std::size_t bytes) = 0;
  virtual void unmap(mapped_memory memory, std::size_t bytes) noexcept = 0;
  /// Return when the copy is done; words that blocks write at the same time are read one by one.
  virtual void write(void* to, void const* from, std::size_t bytes) = 0;
  /// A word that blocks read by an acquiring load: who finds the value finds all that was written before.
  virtual void publish(std::uint64_t* word, std::uint64_t value) = 0;
  virtual void read(void* to, void const* from, std::size_t bytes) = 0;
  virtual void fill_zero(void* to, std::size_t bytes) = 0;
  /// Returns host memory that copy lanes reach without a copy by the host; what it holds is unspecified. May
  /// synchronise with the trainer where no cached buffer fits. Throws limit_error. `unpin` caches the buffer, because
  /// freeing may synchronise with the trainer.
  virtual void* pin(std::size_t bytes) = 0;
  virtual void unpin(void* memory) noexcept = 0;
  virtual std::unique_ptr<copy_lane> make_copy_lane() = 0;
  virtual std::unique_ptr<bubble_mark> make_mark() = 0;

  // -- on the trainer's path: enqueue only --

  /// What a stream is, given how its caller came in. The per-thread default stream is the calling thread's. A stream
  /// that is being captured is this machine's if the caller worked on it.
  virtual stream_found look_at(stream_handle stream, visit from) = 0;
  /// Which capture the stream takes part in; nothing: it is not being captured; 0: it may be, and cannot be asked.
  virtual std::optional<std::uint64_t> capture_of(stream_handle stream) = 0;
  /// `timed`: the bubble's length is asked for later. Costs the trainer's stream more, so it is for bubbles without a
  /// worker.
  virtual void open_edge(stream_handle stream, gate_ref gate, std::uint32_t value, std::uint64_t bubble,
                         bubble_mark& mark, bool timed) = 0;
  virtual void close_edge(stream_handle stream, gate_ref gate, std::uint32_t value, bubble_mark& mark, bool timed,
                          closing how) = 0;
  /// From the first sight of a close by a worker's block until the stream's next kernel may be placed.
  virtual std::chrono::nanoseconds launch_gap() const noexcept = 0;
  /// Launches a worker on the workers' stream; the executor fills in `params.sms`. The mark, if any, tells when it is
  /// out.
  virtual void launch(worker_kernel const& kernel, worker_grid const& grid, worker_params const& params,
                      bubble_mark* mark, start_when when) = 0;

  // -- into a graph that is being captured: adds nodes, enqueues nothing, waits for nothing --

  /// The opening edge, beside the stream's chain, and behind it the workers, which nothing has to wait for.
  virtual captured_opening capture_open(stream_handle stream, gate_ref gate, std::uint32_t value,
                                        std::span<captured_worker const> workers) = 0;
  /// The closing edge, in the stream's chain: what is captured next comes when the workers have begun to leave.
  virtual void capture_close(stream_handle stream, gate_ref gate, std::uint32_t value, std::uint32_t site,
                             captured_opening opened) = 0;
  /// The graph, its clones and its executables hold `what` until the last of them is gone and has ended.
  virtual void capture_keep(stream_handle stream, std::shared_ptr<void const> what) = 0;

  // -- the same side work as ordinary code, for baselines: enqueue only --

  /// A stream of the lowest priority, free to use every processor.
  virtual stream_handle plain_stream() = 0;
  /// One phase, a chunk a block. `functor` is copied.
  virtual void plain_phase(stream_handle stream, worker_kernel const& kernel, functor_bytes const& functor,
                           chunk const& items, std::uint32_t grain) = 0;
  /// `advance` of the phase that ended, if one did, then `extent` of the next into the mapped word `extent`.
  virtual void plain_between(stream_handle stream, worker_kernel const& kernel, functor_bytes const& functor,
                             std::optional<position> ended, position next, mapped_memory extent) = 0;
  /// Blocks the caller until the stream is done.
  virtual void synchronize(stream_handle stream) = 0;

  // -- off the trainer's path --

  /// Whether nothing that was enqueued on a trainer's stream can touch a gate's memory any more; `value` was its last
  /// edge, and `seen` its line, as it was copied lately.
  virtual bool passed(gate_line const& seen, std::uint32_t value) const noexcept = 0;
  /// Whether all workers launched with the mark are out: nothing but their enqueued work is waited for.
  virtual bool workers_left(bubble_mark& mark) = 0;
  /// Length of the last timed bubble that used the mark; nothing yet while its end is not reached.
  virtual std::optional<std::chrono::nanoseconds> length(bubble_mark& mark) = 0;
  /// Enqueues lull::exchange on the control stream: `done` becomes 2 × id + 1 when it succeeded, 2 × id when somebody
  /// stayed inside longer than `limit_ns`.
  virtual void exchange(slot_line* slot, slot_content const& content, std::uint64_t limit_ns, std::uint64_t* done,
                        std::uint64_t id) = 0;
  /// Where to find the word `done` of exchange from the host, and how to read it.
  virtual std::uint64_t load_mapped(void const* host_word) const noexcept = 0;
  /// The machine is lost: nothing that was enqueued on it runs any more.
  virtual bool is_lost() noexcept = 0;
  /// Whether all workers launched so far are out; those of graphs are the graph's.
  virtual bool workers_done() = 0;
  /// Of a graph that has gone: whether its workers have, too.
  virtual bool graph_workers_done() = 0;
};

/// A caller's thread inside one of our calls.
class device_guard {
 public:
  explicit device_guard(executor& machine) : machine_(machine), from_(machine.arrive()) {}
  ~device_guard() { machine_.depart(from_); }
  device_guard(device_guard const&) = delete;
  device_guard& operator=(device_guard const&) = delete;
  visit from() const noexcept { return from_; }

 private:
  executor& machine_;
  visit from_;
};

struct executor_options {
  std::optional<executor_kind> kind;  // none: cuda if a device answers, else threads
  int device = 0;
  int rooms = 2;                       // groups of SMs kept off; 0: none
  bool solo = false;                   // nobody else uses the machine: with no rooms and no cap, workers may fill it
  std::size_t memory_limit_bytes = 0;  // 0: no limit
  int processors = 0;                  // at most so many for workers; 0: all that are not kept off
  int team_width = 1;                  // threads of a block on the threads executor
  edge_setter closes = edge_setter::memory_operation;
  bool green_context = true;  // false: rooms by SM id, as where green contexts do not work
};

/// Throws usage_error when `kind` asks for an executor that this build or machine does not have, with the reason.
std::unique_ptr<executor> make_executor(executor_options const& options);

/// Empty when a CUDA device answers; else why not. Does not throw.
std::string why_no_cuda(int device);

}  // namespace lull
