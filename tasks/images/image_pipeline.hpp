// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <lull/host/job.hpp>
#include <lull/tasks/images/picture_slots.hpp>
#include <lull/tasks/images/read_image.hpp>

namespace lull {

/// A file to be resized into another.
struct image_order {
  std::string from;
  std::string to;
  image_header header;
  resize_plan plan;
};

/// Brings files to the machine and back: threads of its own decode and encode, whoever calls `serve` copies. Never more is in memory
/// than a few batches. One run; `serve` from one thread, the rest behind it.
class image_pipeline {
 public:
  /// `orders` outlive it. `threads`: at least 1. `kept`: indices of orders whose results stay in memory, for a verifier.
  image_pipeline(std::vector<image_order> const& orders, unsigned threads, std::vector<std::size_t> kept);
  /// Ends the threads; files that are not written by then are not written.
  ~image_pipeline();
  image_pipeline(image_pipeline const&) = delete;
  image_pipeline& operator=(image_pipeline const&) = delete;

  /// Until the job is over; of a finished one every file is written then. Throws device_error.
  void serve(job& fed, picture_slots& slots);

  std::vector<std::string> const& problems() const noexcept { return problems_; }
  std::uint64_t written() const noexcept { return written_; }
  /// Of an order that was to be kept; nothing where it failed.
  std::optional<std::vector<std::uint8_t>> kept(std::size_t order) const;

 private:
  struct pixels_of {
    std::size_t order = 0;
    std::vector<std::uint8_t> pixels;
    image_extras extras;
  };
  using batch = std::vector<pixels_of>;

  void end();
  void work();
  bool may_decode() const;
  void decode_next(std::unique_lock<std::mutex>& lock);
  void encode_next(std::unique_lock<std::mutex>& lock);
  batch take_ready(std::size_t slot_bytes);
  void feed(job& fed, picture_slots& slots, batch pictures);
  void drain(picture_slots& slots);
  bool all_decoded() const;

  std::vector<image_order> const& orders_;
  std::vector<std::size_t> const kept_orders_;
  std::deque<batch> on_machine_;  // without pixels; those fed and not yet taken, the oldest first
  std::uint64_t fed_ = 0;
  std::uint64_t taken_ = 0;

  mutable std::mutex mutex_;  // all that follows
  std::condition_variable changed_;
  std::size_t most_bytes_ = 0;  // of pixels that wait; 0: nobody serves yet
  std::size_t next_ = 0;        // order to decode
  std::size_t decoding_ = 0;
  std::size_t in_bytes_ = 0;    // decoded, or about to be
  std::size_t out_bytes_ = 0;   // to be encoded, or about to be
  std::size_t encoding_ = 0;
  std::deque<pixels_of> ready_;
  std::deque<pixels_of> to_encode_;
  std::vector<std::pair<std::size_t, std::vector<std::uint8_t>>> kept_;
  std::vector<std::string> problems_;
  std::uint64_t written_ = 0;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace lull
