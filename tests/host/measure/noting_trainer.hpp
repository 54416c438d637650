// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include <lull/device/threads_world.hpp>
#include <lull/host/measure/trainer.hpp>
#include <lull/host/threads/stream.hpp>

namespace lull {

/// A trainer that writes down what is asked of it. Its segments take no time; its waits do, up to `max_wait`.
class noting_trainer final : public stage_trainer {
 public:
  static constexpr std::chrono::nanoseconds max_wait = std::chrono::milliseconds{2};

  stream_handle stream() override { return &stream_; }
  std::string describe() const override { return "nothing"; }
  void begin_replay(std::size_t iterations, std::size_t waits) override {
    moments_ = {};
    moments_.iterations.reserve(iterations);
    moments_.waits.reserve(waits);
    note("replay " + std::to_string(iterations) + " " + std::to_string(waits));
  }
  void begin_iteration() override {
    note("[");
    stream_.enqueue([this] { moments_.iterations.push_back({threads_world::now_ns(), 0}); });
  }
  void work(segment const& what) override { note(what.pass == pass_kind::forward ? "F" : "B"); }
  void wait(std::chrono::nanoseconds length, wait_arrival arrival) override {
    auto const us = std::chrono::duration_cast<std::chrono::microseconds>(length).count();
    note(std::to_string(us) + (arrival == wait_arrival::before_worker ? "us" : "us late"));
    stream_.enqueue([this, length] {
      std::uint64_t const begin_ns = threads_world::now_ns();
      std::this_thread::sleep_for(std::min(length, max_wait));
      moments_.waits.push_back({begin_ns, threads_world::now_ns(), std::nullopt});
    });
  }
  void end_iteration() override {
    note("]");
    stream_.enqueue([this] { moments_.iterations.back().end_ns = threads_world::now_ns(); });
  }
  std::size_t mark() override { return ++marks_; }
  void wait_for_mark(std::size_t number) override {
    max_ahead_ = std::max(max_ahead_, marks_ - number);
    stream_.synchronize();
  }
  bool has_passed(std::size_t) override { return host_is_slow; }
  replay_moments end_replay() override {
    stream_.synchronize();
    return moments_;
  }

  std::string const& noted() const noexcept { return noted_; }   // calls, with a space between
  std::size_t max_ahead() const noexcept { return max_ahead_; }  // marks that were set after one that was waited for

  bool host_is_slow = false;

 private:
  void note(std::string const& call) { noted_ += (noted_.empty() ? "" : " ") + call; }

  std::string noted_;
  replay_moments moments_;
  std::size_t marks_ = 0;
  std::size_t max_ahead_ = 0;
  threads_stream stream_;  // last: its operations use all of the above
};

}  // namespace lull
