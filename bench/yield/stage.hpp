// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include <lull/bench/yield/bubbles.hpp>
#include <lull/host/cuda/owned.hpp>
#include <lull/host/measure/cuda/blas.hpp>
#include <lull/host/measure/cuda/kernels.hpp>
#include <lull/host/runtime.hpp>

namespace lull::bench {

inline constexpr int warm_up = 20;  // bubbles of each treatment that are not counted
inline constexpr int treatments = 3;

/// The moments of one bubble, on the device.
struct moments {
  std::uint64_t begin;   // before the opening edge
  std::uint64_t closed;  // end of the gap
  std::uint64_t asked;   // arrival
  trainer::stamps comes;
  trainer::stamps training;
  std::uint64_t done;

  static moments none() { return {0, 0, 0, {~std::uint64_t{0}, 0, 0}, {~std::uint64_t{0}, 0, 0}, 0}; }
};

inline double us(std::uint64_t from, std::uint64_t to) {
  return static_cast<double>(static_cast<std::int64_t>(to - from)) / 1e3;
}

/// The two edges of a gate that no worker looks at.
class bare_edges {
 public:
  explicit bare_edges(executor& executor);
  ~bare_edges();
  bare_edges(bare_edges const&) = delete;
  bare_edges& operator=(bare_edges const&) = delete;
  void open(stream_handle stream);
  void close(stream_handle stream);
  void capture_open(stream_handle stream);
  void capture_close(stream_handle stream);

 private:
  executor& executor_;
  std::unique_ptr<bubble_mark> mark_;
  gate_ref gate_;
  std::uint32_t value_ = 0;
  captured_opening opening_ = nullptr;
};

/// The trainer's streams, what it computes, and where its moments are stamped.
struct trainer_device {
  cuda_stream trainer{0};
  cuda_stream other{0};
  cuda_event fork;
  trainer::square_products product{trainer.get()};
  device_buffer stamped_memory;
  moments* const stamped = static_cast<moments*>(stamped_memory.get());  // (bubbles,)

  explicit trainer_device(std::size_t bubbles);
  /// What follows a bubble, and the stamp of its end.
  void train(behind what, moments* when);
};

/// One bubble's figures, all but those of its record.
void add_moments(samples& into, setting const& how, moments const& when, std::uint64_t gap_ns);
void add_record(samples& into, moments const& when, bubble_record const& record);

/// The records of a runtime's bubbles, by their numbers.
class bubble_records {
 public:
  /// Drops what is told by now.
  explicit bubble_records(runtime& side) : side_(side) { side_.take_bubbles(); }
  void take();
  /// … for about that long: the last ones are told late.
  void take_for(std::chrono::milliseconds time);
  /// Adds the record of that bubble, or counts that it was lost.
  void add_to(samples& into, moments const& when, std::uint64_t bubble) const;

 private:
  runtime& side_;
  std::unordered_map<std::uint64_t, bubble_record> records_;
};

}  // namespace lull::bench
