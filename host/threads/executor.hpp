// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include <lull/host/executor.hpp>
#include <lull/host/job_memory.hpp>
#include <lull/host/memory_account.hpp>
#include <lull/host/threads/block_pool.hpp>
#include <lull/host/threads/stream.hpp>

namespace lull {

/// An executor on this computer's CPU: a stream is a FIFO run by a thread, a block is a thread or a team of them. It
/// shows correctness; its times are CPU times, without placement and priorities.
class threads_executor : public executor {
 public:
  /// `options.processors` blocks at a time (0: one a core) of `options.team_width` threads.
  explicit threads_executor(executor_options const& options);
  ~threads_executor() override;

  executor_kind kind() const noexcept override { return executor_kind::threads; }
  placement place() const override;
  int team_width() const noexcept { return pool_.width(); }
  thread_state adopt_thread() override { return {}; }
  void restore_thread(thread_state) noexcept override {}
  worker_grid load(worker_kernel const& kernel, int blocks_per_processor) override;
  bool reserve_group() override { return false; }
  stream_found look_at(stream_handle stream, thread_state) override;
  std::optional<std::uint64_t> capture_of(stream_handle stream) override;
  void* allocate(std::size_t bytes) override;
  void release(void* memory) noexcept override;
  bytes_left free_bytes() const override;
  std::uint64_t device_free_bytes() const override;
  bytes_taken taken_bytes() const override;
  void withdraw(void* memory) override;
  bool restore(void* memory) override;
  mapped_memory map(std::size_t bytes) override;
  void unmap(mapped_memory memory, std::size_t bytes) noexcept override;
  void write(void* to, void const* from, std::size_t bytes) override;
  void publish(std::uint64_t* word, std::uint64_t value) override;
  void read(void* to, void const* from, std::size_t bytes) override;
  void fill_zero(void* to, std::size_t bytes) override;
  void* pin(std::size_t bytes) override;
  void unpin(void* memory) noexcept override;
  std::unique_ptr<copy_lane> make_copy_lane() override;
  std::unique_ptr<copy_lane> make_control_lane() override;
  std::unique_ptr<bubble_mark> make_mark() override;
  std::unique_ptr<stream_moment> make_moment() override;
  void note(stream_handle stream, stream_moment& when) override;
  std::optional<std::chrono::nanoseconds> between(stream_moment& from, stream_moment& to) override;
  void open_edge(stream_handle stream, gate_ref gate, std::uint32_t value, std::uint64_t bubble, bubble_mark& mark,
                 bool timed) override;
  void close_edge(stream_handle stream, gate_ref gate, std::uint32_t value, bubble_mark& mark, bool timed,
                  closing how) override;
  void write_word(stream_handle stream, std::uint32_t* word, std::uint32_t value) override;
  void launch(worker_kernel const& kernel, worker_grid const& grid, worker_params const& params, bubble_mark* mark,
              start_when when) override;
  std::chrono::nanoseconds launch_gap() const noexcept override { return {}; }
  captured_opening capture_open(stream_handle stream, gate_ref gate, std::uint32_t value,
                                std::span<captured_worker const> workers) override;
  void capture_close(stream_handle stream, gate_ref gate, std::uint32_t value, std::uint32_t site,
                     captured_opening opened) override;
  void capture_keep(stream_handle stream, std::shared_ptr<void const> what) override;
  stream_handle own_stream() override { return &own_; }
  void synchronize(stream_handle stream) override { static_cast<threads_stream*>(stream)->synchronize(); }
  std::optional<std::chrono::nanoseconds> length(bubble_mark& mark) override;
  bool passed(gate_line const&, std::uint32_t) const noexcept override {
    return on_their_way_.load(std::memory_order_acquire) == 0;
  }
  bool workers_left(bubble_mark& mark) override;
  void exchange(slot_line* slot, slot_content const& content, std::uint64_t limit_ns, std::uint64_t* done,
                std::uint64_t id) override;
  std::uint64_t load_mapped(void const* host_word) const noexcept override;
  bool runs_processes_together() const override { return true; }
  std::shared_ptr<void> reach(void* host, std::size_t) override {
    return {host, [](void*) {}};
  }
  std::shared_ptr<void> export_memory(std::size_t, memory_handle&) override { return nullptr; }
  std::shared_ptr<void> open_exported(memory_handle const&) override { return nullptr; }
  void keep_free(std::size_t) override {}  // each process counts its own memory
  bool is_lost() noexcept override { return false; }
  bool workers_done() override { return workers_.idle(); }
  bool graph_workers_done() override { return workers_.idle(); }

 private:
  /// Enqueues on a trainer's stream; counted until the operation's last access to anything of Lull.
  template <class F>
  void enqueue(stream_handle stream, F operation);

  static constexpr std::size_t min_leaving_bytes = std::size_t{64} << 10;
  struct allocation {
    std::size_t bytes;
    std::shared_ptr<job_memory> of_job;  // null: no job's
    bool is_away = false;
  };

  void release_now(void* memory) noexcept;

  std::size_t const reserve_bytes_;
  mutable std::mutex memory_mutex_;
  std::map<void*, allocation> allocated_;
  memory_account account_;
  std::atomic<std::uint64_t> on_their_way_{0};
  block_pool pool_;
  threads_stream own_;
  threads_stream control_;
  threads_stream workers_;  // last: its operations use the pool
};

}  // namespace lull
