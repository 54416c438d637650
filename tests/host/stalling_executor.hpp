// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <lull/host/threads/executor.hpp>

namespace lull {

/// One call to a machine that does not return until it is let go. Outlives the machine.
class stall {
 public:
  ~stall() { let_go(); }
  /// Makes the next call of this name hang, on any thread; later calls do not.
  void set(std::string name) {
    std::lock_guard const lock{mutex_};
    name_ = std::move(name);
    hangs_ = false;
  }
  /// Waits for the call to hang; returns whether it does.
  bool hangs(std::chrono::nanoseconds at_most) {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, at_most, [this] { return hangs_; });
  }
  void let_go() {
    {
      std::lock_guard const lock{mutex_};
      name_.clear();
      hangs_ = false;
    }
    changed_.notify_all();
  }
  void at(char const* call) {
    std::unique_lock lock{mutex_};
    if (name_ != call || hangs_) return;
    hangs_ = true;
    changed_.notify_all();
    changed_.wait_for(lock, std::chrono::seconds{60}, [&] { return !hangs_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string name_;
  bool hangs_ = false;
};

/// Returns the calls that can hang while side work runs, each as a Call{name}.
template <class Call>
std::vector<Call> calls_that_stall() {
  std::vector<Call> all;
  for (char const* const each : {"allocate",     "release",      "device_free_bytes",
                                 "withdraw",     "restore",      "map",
                                 "write",        "publish",      "copy_in",
                                 "copy_out",     "done",         "look_at",
                                 "open_edge",    "close_edge",   "launch",
                                 "workers_left", "note",         "between",
                                 "capture_of",   "capture_open", "capture_close",
                                 "capture_keep", "load",         "exchange"})
    all.push_back(Call{each});
  return all;
}
/// Returns those that can hang while bubbles are observed; `mode`: in the caller's words.
template <class Call, class Mode>
std::vector<Call> observed_calls_that_stall(Mode mode) {
  return {Call{"length", mode}, Call{"open_edge", mode}};
}

/// A threads executor whose calls can hang, as a driver's do at a full queue, or while it unmaps memory.
class stalling_executor final : public threads_executor {
 public:
  stalling_executor(stall& where, executor_options const& options) : threads_executor{options}, stall_(where) {}

  bool reserve_group() override { return at("reserve_group"), threads_executor::reserve_group(); }
  void* allocate(std::size_t bytes) override { return at("allocate"), threads_executor::allocate(bytes); }
  void release(void* memory) noexcept override { at("release"), threads_executor::release(memory); }
  std::uint64_t device_free_bytes() const override {
    return at("device_free_bytes"), threads_executor::device_free_bytes();
  }
  void withdraw(void* memory) override { at("withdraw"), threads_executor::withdraw(memory); }
  bool restore(void* memory) override { return at("restore"), threads_executor::restore(memory); }
  mapped_memory map(std::size_t bytes) override { return at("map"), threads_executor::map(bytes); }
  void write(void* to, void const* from, std::size_t bytes) override {
    at("write"), threads_executor::write(to, from, bytes);
  }
  void publish(std::uint64_t* word, std::uint64_t value) override {
    at("publish"), threads_executor::publish(word, value);
  }
  void read(void* to, void const* from, std::size_t bytes) override {
    at("read"), threads_executor::read(to, from, bytes);
  }
  void* pin(std::size_t bytes) override { return at("pin"), threads_executor::pin(bytes); }
  void unpin(void* memory) noexcept override { at("unpin"), threads_executor::unpin(memory); }
  std::unique_ptr<copy_lane> make_copy_lane() override {
    return std::make_unique<lane>(*this, threads_executor::make_copy_lane());
  }
  std::unique_ptr<copy_lane> make_control_lane() override {
    return std::make_unique<lane>(*this, threads_executor::make_control_lane());
  }
  stream_found look_at(stream_handle stream, thread_state from) override {
    return at("look_at"), threads_executor::look_at(stream, from);
  }
  void open_edge(stream_handle stream, gate_ref gate, std::uint32_t value, std::uint64_t bubble, bubble_mark& mark,
                 bool timed) override {
    at("open_edge"), threads_executor::open_edge(stream, gate, value, bubble, mark, timed);
  }
  void close_edge(stream_handle stream, gate_ref gate, std::uint32_t value, bubble_mark& mark, bool timed,
                  closing how) override {
    at("close_edge"), threads_executor::close_edge(stream, gate, value, mark, timed, how);
  }
  void write_word(stream_handle stream, std::uint32_t* word, std::uint32_t value) override {
    at("write_word"), threads_executor::write_word(stream, word, value);
  }
  void launch(worker_kernel const& kernel, worker_grid const& grid, worker_params const& params, bubble_mark* mark,
              start_when when) override {
    at("launch"), threads_executor::launch(kernel, grid, params, mark, when);
  }
  bool workers_left(bubble_mark& mark) override { return at("workers_left"), threads_executor::workers_left(mark); }
  std::optional<std::chrono::nanoseconds> length(bubble_mark& mark) override {
    return at("length"), threads_executor::length(mark);
  }
  std::unique_ptr<stream_moment> make_moment() override { return at("make_moment"), threads_executor::make_moment(); }
  void note(stream_handle stream, stream_moment& when) override { at("note"), threads_executor::note(stream, when); }
  std::optional<std::chrono::nanoseconds> between(stream_moment& from, stream_moment& to) override {
    return at("between"), threads_executor::between(from, to);
  }
  std::optional<std::uint64_t> capture_of(stream_handle stream) override {
    return at("capture_of"), threads_executor::capture_of(stream);
  }
  captured_opening capture_open(stream_handle stream, gate_ref gate, std::uint32_t value,
                                std::span<captured_worker const> workers) override {
    return at("capture_open"), threads_executor::capture_open(stream, gate, value, workers);
  }
  void capture_close(stream_handle stream, gate_ref gate, std::uint32_t value, std::uint32_t site,
                     captured_opening opened) override {
    at("capture_close"), threads_executor::capture_close(stream, gate, value, site, opened);
  }
  void capture_keep(stream_handle stream, std::shared_ptr<void const> what) override {
    at("capture_keep"), threads_executor::capture_keep(stream, std::move(what));
  }
  worker_grid load(worker_kernel const& kernel, int blocks_per_processor) override {
    return at("load"), threads_executor::load(kernel, blocks_per_processor);
  }
  void exchange(slot_line* slot, slot_content const& content, std::uint64_t limit_ns, std::uint64_t* done,
                std::uint64_t id) override {
    at("exchange"), threads_executor::exchange(slot, content, limit_ns, done, id);
  }

 private:
  class lane final : public copy_lane {
   public:
    lane(stalling_executor& of, std::unique_ptr<copy_lane> real) : of_(of), real_(std::move(real)) {}
    void copy_in(void* to, void const* from, std::size_t bytes) override {
      of_.at("copy_in"), real_->copy_in(to, from, bytes);
    }
    void copy_out(void* to, void const* from, std::size_t bytes) override {
      of_.at("copy_out"), real_->copy_out(to, from, bytes);
    }
    bool done() override { return of_.at("done"), real_->done(); }

   private:
    stalling_executor& of_;
    std::unique_ptr<copy_lane> real_;
  };

  void at(char const* call) const { stall_.at(call); }

  stall& stall_;
};

}  // namespace lull
