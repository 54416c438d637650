// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <set>
#include <vector>

#include <lull/host/cuda/conductor.hpp>
#include <lull/host/cuda/device_guard.hpp>
#include <lull/host/cuda/memory.hpp>
#include <lull/host/cuda/owned.hpp>
#include <lull/host/cuda/reserved_sms.hpp>
#include <lull/host/executor.hpp>

namespace lull {

/// An executor on one CUDA device. Workers run on a non-blocking stream of the lowest priority that owns all SMs except
/// the reserved ones. The opening edge is a one-thread kernel, which stamps the record and tells the host. A worker
/// that was enqueued early waits for a word that this kernel stores. The closing edge is a memory operation, which
/// needs no SM.
class cuda_executor final : public executor {
 public:
  /// The calling thread must work on the device.
  explicit cuda_executor(executor_options const& options);
  ~cuda_executor() override;

  executor_kind kind() const noexcept override { return executor_kind::cuda; }
  placement place() const override { return place_.where(); }
  thread_state adopt_thread() override { return adopt_thread_on(device_); }
  void restore_thread(thread_state from) noexcept override { restore_thread_to(from); }
  worker_grid load(worker_kernel const& kernel, int blocks_per_processor) override;
  bool reserve_group() override;
  void* allocate(std::size_t bytes) override { return memory_.allocate(bytes); }
  void release(void* memory) noexcept override { memory_.release(memory); }
  bytes_left free_bytes() const override { return memory_.free_bytes(); }
  std::uint64_t device_free_bytes() const override { return memory_.device_free_bytes(); }
  bytes_taken taken_bytes() const override { return memory_.taken_bytes(); }
  void withdraw(void* memory) override { memory_.withdraw(memory); }
  bool restore(void* memory) override { return memory_.restore(memory); }
  mapped_memory map(std::size_t bytes) override { return memory_.map(bytes); }
  void unmap(mapped_memory memory, std::size_t bytes) noexcept override { memory_.unmap(memory, bytes); }
  void write(void* to, void const* from, std::size_t bytes) override { memory_.write(to, from, bytes); }
  /// Each copy has ended before the next begins, so a plain write publishes.
  void publish(std::uint64_t* word, std::uint64_t value) override { memory_.write(word, &value, sizeof value); }
  void read(void* to, void const* from, std::size_t bytes) override { memory_.read(to, from, bytes); }
  void fill_zero(void* to, std::size_t bytes) override { memory_.fill_zero(to, bytes); }
  void* pin(std::size_t bytes) override { return memory_.pin(bytes); }
  void unpin(void* memory) noexcept override { memory_.unpin(memory); }
  std::unique_ptr<copy_lane> make_copy_lane() override;
  std::unique_ptr<copy_lane> make_control_lane() override;
  std::unique_ptr<bubble_mark> make_mark() override;
  std::unique_ptr<stream_moment> make_moment() override;
  void note(stream_handle stream, stream_moment& when) override;
  std::optional<std::chrono::nanoseconds> between(stream_moment& from, stream_moment& to) override;
  stream_found look_at(stream_handle stream, thread_state from) override;
  std::optional<std::uint64_t> capture_of(stream_handle stream) override;
  void open_edge(stream_handle stream, gate_ref gate, std::uint32_t value, std::uint64_t bubble, bubble_mark& mark,
                 bool timed) override;
  void close_edge(stream_handle stream, gate_ref gate, std::uint32_t value, bubble_mark& mark, bool timed,
                  closing how) override;
  void write_word(stream_handle stream, std::uint32_t* word, std::uint32_t value) override;
  std::chrono::nanoseconds launch_gap() const noexcept override;
  void launch(worker_kernel const& kernel, worker_grid const& grid, worker_params const& params, bubble_mark* mark,
              start_when when) override;
  captured_opening capture_open(stream_handle stream, gate_ref gate, std::uint32_t value,
                                std::span<captured_worker const> workers) override;
  void capture_close(stream_handle stream, gate_ref gate, std::uint32_t value, std::uint32_t site,
                     captured_opening opened) override;
  void capture_keep(stream_handle stream, std::shared_ptr<void const> what) override;
  bool runs_processes_together() const override;
  std::shared_ptr<void> reach(void* host, std::size_t bytes) override;
  std::shared_ptr<void> export_memory(std::size_t bytes, memory_handle& handle) override;
  std::shared_ptr<void> open_exported(memory_handle const& handle) override;
  void keep_free(std::size_t bytes) override { memory_.keep_free(bytes); }
  stream_handle own_stream() override { return own_.get(); }
  void synchronize(stream_handle stream) override;
  std::optional<std::chrono::nanoseconds> length(bubble_mark& mark) override;
  bool passed(gate_line const& seen, std::uint32_t value) const noexcept override { return seen.value == value; }
  bool workers_left(bubble_mark& mark) override;
  void exchange(slot_line* slot, slot_content const& content, std::uint64_t limit_ns, std::uint64_t* done,
                std::uint64_t id) override;
  std::uint64_t load_mapped(void const* host_word) const noexcept override;
  bool is_lost() noexcept override;
  bool workers_done() override;
  bool graph_workers_done() override { return true; }  // a graph is freed when its last launch has ended

  /// Returns where gated graphs run: as workers, but always in a context that keeps them off reserved SMs. Lull does
  /// not choose their grids, and the trainer's kernels must find SMs; so where workers have all SMs, graphs leave one
  /// group. Throws usage_error if no context does that.
  worker_place const& place_of_graphs();
  /// Returns another stream for the program's captures; the executor owns it. Thread-safe. Throws limit_error.
  cudaStream_t capture_stream();
  /// Returns what the conductors of gated graphs tell each other.
  void* relay() const noexcept { return relay_; }
  /// Keeps `what` until all workers that are enqueued now have ended. Freeing executables may take long, so
  /// free_leftovers does it, off the trainer's path, and the executor's destructor.
  void bury(std::shared_ptr<void const> what) noexcept;
  void free_leftovers() override;

 private:
  struct buried {
    std::shared_ptr<void const> what;
    std::optional<cuda_event> ended;  // none: not known
  };

  worker_place const& find_place_of_graphs();
  worker_grid choose(worker_kernel const& kernel, int blocks_per_processor) const;

  int const device_;
  bool const solo_;
  bool const green_context_;
  worker_place place_;
  cuda_memory memory_;
  cuda_stream control_;
  cuda_stream own_;
  std::uint32_t* inside_;         // (1024,) worker blocks now on each SM id
  std::mutex loaded_mutex_;       // guards all that follows
  std::set<void const*> loaded_;  // kernels
  std::vector<cuda_stream> captures_;
  void* relay_;                                 // of conductors
  std::unique_ptr<worker_place> graphs_;        // where workers have all SMs; made when it is first asked for
  std::unique_ptr<conductor_graph> conductor_;  // made when it is first loaded
  std::mutex buried_mutex_;                     // guards all that follows
  std::vector<buried> buried_;
};

}  // namespace lull
