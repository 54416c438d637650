// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/host/threads/executor.hpp>
#include <lull/host/threads/stream.hpp>

namespace lull {

using calls = std::vector<std::string>;

/// What a recording machine saw, and how it must behave; outlives it.
class record {
 public:
  void note(std::string call) {
    std::lock_guard const lock{mutex_};
    calls_.push_back(std::move(call));
  }
  calls take() {
    std::lock_guard const lock{mutex_};
    return std::exchange(calls_, {});
  }
  /// Names a task by its first array, so that slots show it.
  void name(void const* first_array, std::string name) {
    std::lock_guard const lock{mutex_};
    names_[first_array] = std::move(name);
  }
  void filled(slot_line const* slot, slot_content const& content) {
    void const* first_array = nullptr;
    std::memcpy(&first_array, content.functor.bytes, sizeof first_array);
    std::lock_guard const lock{mutex_};
    slots_[slot] = content.at != nullptr ? names_[first_array] : "nothing";
  }
  /// Holds back exchanges: they are asked for and not done.
  void hold_exchanges() {
    std::lock_guard const lock{mutex_};
    holds_exchanges_ = true;
  }
  std::size_t held() {
    std::lock_guard const lock{mutex_};
    return held_.size();
  }
  void let_exchanges_go() {
    std::lock_guard const lock{mutex_};
    holds_exchanges_ = false;
    for (auto const& exchange : held_) exchange();
    held_.clear();
  }
  void exchanged(std::function<void()> exchange) {
    std::lock_guard const lock{mutex_};
    if (holds_exchanges_) return held_.push_back(std::move(exchange));
    exchange();
  }
  /// Returns whether the last exchange for every slot empties it.
  bool all_empty() {
    std::lock_guard const lock{mutex_};
    return std::all_of(slots_.begin(), slots_.end(), [](auto const& slot) { return slot.second == "nothing"; });
  }
  void told(usual_length const& usual, rest_time rest) {
    std::lock_guard const lock{mutex_};
    usual_ = usual;
    rest_ = rest;
  }
  /// Returns the usual length in the last worker's parameters.
  usual_length usual() {
    std::lock_guard const lock{mutex_};
    return usual_;
  }
  /// Returns the rest time in the last worker's parameters.
  rest_time rest() {
    std::lock_guard const lock{mutex_};
    return rest_;
  }
  /// The words that the last captured worker reads.
  std::atomic<site_words*> site = nullptr;

  std::string in(slot_line const* slot) {
    std::lock_guard const lock{mutex_};
    return slots_[slot];
  }

  std::atomic<bool> capturing{false};  // in a way that cannot be asked for
  std::atomic<bool> foreign{false};
  std::atomic<bool> lost{false};
  std::atomic<bool> can_reserve_group{true};
  std::atomic<int> device{0};
  std::atomic<bool> exchanges_throw{false};                    // asked for by the dispatcher
  std::atomic<executor_kind> kind{executor_kind::threads};     // that it claims to be
  std::function<std::chrono::nanoseconds()> length_of_step{};  // of the next one that is over; empty: as it was
  std::atomic<threads_stream*> launches_behind = nullptr;      // a launch waits until this stream is done
  std::atomic<bool> ends_unseen{false};                        // workers that have left are not seen to have
  std::atomic<int> lengths_not_there{0};                       // so many questions for a length come too early
  std::atomic<int> maps_left{-1};  // how many more calls succeed before mapped memory is used up; less than 0: no limit
  std::atomic<int> maps_refused{0};
  std::atomic<bool> memory_is_full{false};
  std::atomic<int> kept_off{0};                 // processors, besides those of workers
  std::function<void()> in_open_edge{};         // called while one is being enqueued
  std::atomic<std::uint32_t> since_look_ns{0};  // what the records of bubbles tell; 0: what their workers do
  std::atomic<int> memories{0};                 // allocated and mapped, and not given back
  std::atomic<int> leftovers_freed{0};
  std::chrono::milliseconds close_comes_late{0};  // the trainer's stream dawdles in front of it
  // of the next such call, which throws
  std::string throws_in;
  enum class moment { before, after } throws = moment::after;

 private:
  std::mutex mutex_;
  calls calls_;
  std::map<void const*, std::string> names_;
  std::map<slot_line const*, std::string> slots_;
  usual_length usual_;
  rest_time rest_;
  bool holds_exchanges_ = false;
  std::vector<std::function<void()>> held_;
};

/// A threads executor that records what it is asked on the trainer's path.
class recording_executor final : public threads_executor {
 public:
  explicit recording_executor(record& into)
      : threads_executor{{.kind = executor_kind::threads, .processors = 2}}, into_(into) {}

  executor_kind kind() const noexcept override { return into_.kind; }
  placement place() const override {
    placement found = threads_executor::place();
    found.device = into_.device;
    found.processors += into_.kept_off;
    return found;
  }
  void free_leftovers() override { ++into_.leftovers_freed; }
  bool reserve_group() override {
    into_.note("reserve_group");
    return into_.can_reserve_group;
  }
  void* allocate(std::size_t bytes) override {
    if (into_.memory_is_full) throw limit_error{"the memory is full"};
    void* const made = threads_executor::allocate(bytes);
    ++into_.memories;
    return made;
  }
  void release(void* memory) noexcept override {
    if (memory != nullptr) --into_.memories;
    threads_executor::release(memory);
  }
  mapped_memory map(std::size_t bytes) override {
    if (into_.maps_left == 0) {
      ++into_.maps_refused;
      throw limit_error{"the mapped memory is used up"};
    }
    if (into_.maps_left > 0) --into_.maps_left;
    mapped_memory const made = threads_executor::map(bytes);
    ++into_.memories;
    return made;
  }
  void unmap(mapped_memory memory, std::size_t bytes) noexcept override {
    if (memory.host != nullptr) --into_.memories;
    threads_executor::unmap(memory, bytes);
  }

  stream_found look_at(stream_handle stream, thread_state from) override {
    if (into_.foreign) return {stream_found::foreign};
    return into_.capturing ? stream_found{stream_found::captured} : threads_executor::look_at(stream, from);
  }
  std::optional<std::uint64_t> capture_of(stream_handle stream) override {
    return into_.capturing ? std::optional<std::uint64_t>{0} : threads_executor::capture_of(stream);
  }
  void open_edge(stream_handle stream, gate_ref gate, std::uint32_t value, std::uint64_t bubble, bubble_mark& mark,
                 bool timed) override {
    EXPECT_TRUE(is_open(value));
    noted("open_edge", timed ? "open_edge timed" : "open_edge", [&] {
      if (into_.in_open_edge) into_.in_open_edge();
      threads_executor::open_edge(stream, gate, value, bubble, mark, timed);
    });
  }
  void close_edge(stream_handle stream, gate_ref gate, std::uint32_t value, bubble_mark& mark, bool timed,
                  closing how) override {
    EXPECT_FALSE(is_open(value));
    std::string const with = how.longer.count() != 0 ? " and " + std::to_string(how.longer.count()) + " ns" : "";
    noted("close_edge", (timed ? "close_edge timed" : "close_edge") + with + (how.waits ? " and a wait" : ""), [&] {
      auto const late = into_.close_comes_late;
      if (late.count() != 0)
        static_cast<threads_stream*>(stream)->enqueue([late] { std::this_thread::sleep_for(late); });
      threads_executor::close_edge(stream, gate, value, mark, timed, how);
    });
  }
  void launch(worker_kernel const& kernel, worker_grid const& grid, worker_params const& params, bubble_mark* mark,
              start_when when) override {
    std::string const stay =
        params.max_lease_ns != 0 ? " for " + std::to_string(params.max_lease_ns / 1000) + " us" : "";
    into_.told(params.usual, params.rest);
    if (into_.since_look_ns != 0)
      params.gate.records[params.bubble & params.gate.record_mask].since_look_ns = into_.since_look_ns;
    std::string const half = grid.blocks == 1 ? " of 1 block" : "";
    noted("launch", "launch " + into_.in(params.slot) + stay + half, [&] {
      if (threads_stream* const behind = into_.launches_behind) behind->synchronize();
      threads_executor::launch(kernel, grid, params, mark, when);
    });
  }

  std::optional<std::chrono::nanoseconds> between(stream_moment& from, stream_moment& to) override {
    auto const was = threads_executor::between(from, to);
    return was && into_.length_of_step ? into_.length_of_step() : was;
  }

  captured_opening capture_open(stream_handle stream, gate_ref gate, std::uint32_t value,
                                std::span<captured_worker const> workers) override {
    into_.note("capture_open with " + std::to_string(workers.size()));
    if (!workers.empty()) into_.site = workers.back().params.site;
    return threads_executor::capture_open(stream, gate, value, workers);
  }
  void capture_close(stream_handle stream, gate_ref gate, std::uint32_t value, std::uint32_t site,
                     captured_opening opened) override {
    into_.note("capture_close");
    threads_executor::capture_close(stream, gate, value, site, opened);
  }

  bool passed(gate_line const& seen, std::uint32_t value) const noexcept override {
    // Without a count of what is on its way, the copied line decides.
    return into_.kind == executor_kind::cuda ? seen.value == value : threads_executor::passed(seen, value);
  }
  bool workers_left(bubble_mark& mark) override { return !into_.ends_unseen && threads_executor::workers_left(mark); }
  std::optional<std::chrono::nanoseconds> length(bubble_mark& mark) override {
    if (into_.lengths_not_there > 0 && into_.lengths_not_there-- > 0) return std::nullopt;
    return threads_executor::length(mark);
  }
  void exchange(slot_line* slot, slot_content const& content, std::uint64_t limit_ns, std::uint64_t* done,
                std::uint64_t id) override {
    if (into_.exchanges_throw) throw device_error{1, "busy", "exchange", "recording"};
    into_.filled(slot, content);
    into_.exchanged(
        [this, slot, content, limit_ns, done, id] { threads_executor::exchange(slot, content, limit_ns, done, id); });
  }
  bool is_lost() noexcept override { return into_.lost; }

 private:
  template <class F>
  void noted(char const* name, std::string text, F&& call) {
    into_.note(std::move(text));
    bool const throws = into_.throws_in == name;
    if (!throws || into_.throws == record::moment::after) call();
    if (throws) throw device_error{700, "broken", name, "recording"};
  }

  record& into_;
};

}  // namespace lull
