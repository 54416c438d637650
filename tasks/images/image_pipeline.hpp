// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <lull/host/job.hpp>
#include <lull/tasks/images/codec/read_image.hpp>
#include <lull/tasks/images/image_manifest.hpp>
#include <lull/tasks/images/image_notes.hpp>
#include <lull/tasks/images/picture_buffers.hpp>
#include <lull/tasks/images/pinned_pool.hpp>

namespace lull {

/// A file to resize into another.
struct image_order {
  std::string from;
  std::string to;
  image_header header;
  resize_plan plan;
  image_manifest::input listed;  // the file as it was when it was listed
};

/// The pinned memory through which pictures travel. One pool fits a picture of any order, the other the results of any
/// batch.
struct travel_memory {
  /// `batch_bytes`: of picture_buffers. Throws limit_error.
  travel_memory(executor& executor, std::vector<image_order> const& orders, std::size_t batch_bytes);
  /// Returns the bytes of both.
  static std::size_t bytes(std::vector<image_order> const& orders, std::size_t batch_bytes);

  pinned_pool in;   // two batches at most: one that is decoded and one that is copied
  pinned_pool out;  // one batch at most
};

/// Brings files to the machine and back. Its own threads decode into pinned memory and encode from it; `serve` starts
/// the copies, which continue by themselves. One run; one thread calls `serve`, and the rest after it.
class image_pipeline {
 public:
  /// `orders` and `memory` outlive it. `threads`: at least 1. `kept`: indices of orders whose results stay in memory,
  /// for a verifier.
  image_pipeline(std::vector<image_order> const& orders, travel_memory& memory, unsigned threads,
                 std::vector<std::size_t> kept);
  /// Ends the threads; files that are not yet written stay unwritten.
  ~image_pipeline();
  image_pipeline(image_pipeline const&) = delete;
  image_pipeline& operator=(image_pipeline const&) = delete;

  /// Serves until the job is over; when a finished job's call returns, every file is written. Throws device_error.
  void serve(job& fed, picture_buffers& buffers);

  /// Sets what encoding threads call after writing each file. Call it before `serve`.
  void tell_written(std::function<void(image_order const&)> whom) { written_to_ = std::move(whom); }

  std::vector<std::string> const& problems() const noexcept { return problems_; }
  image_notes const& notes() const noexcept { return notes_; }
  std::uint64_t written() const noexcept { return written_; }
  /// Returns a kept order's result; nothing if the order failed.
  std::optional<std::vector<std::uint8_t>> kept(std::size_t order) const;

 private:
  struct pixels_of {
    std::size_t order = 0;
    pinned_pool::part bytes;  // staged, or the result's
    image_extras extras;
  };
  using batch = std::vector<pixels_of>;

  void end();
  void work();
  bool may_decode();
  void decode_next(std::unique_lock<std::mutex>& lock);
  void encode_next(std::unique_lock<std::mutex>& lock);
  batch take_ready(std::size_t buffer_bytes);
  void put(picture_buffers& buffers, batch pictures);
  bool take(picture_buffers& buffers);
  void to_encoders();
  bool all_decoded() const;
  bool all_written() const;

  std::vector<image_order> const& orders_;
  std::vector<std::size_t> const kept_orders_;
  std::function<void(image_order const&)> written_to_;
  travel_memory& memory_;
  batch arriving_;                // being copied to the machine
  std::deque<batch> on_machine_;  // without bytes; those fed and not yet taken, the oldest first
  batch leaving_;                 // being copied back
  std::uint64_t fed_ = 0;
  std::uint64_t taken_ = 0;  // or being copied back

  mutable std::mutex mutex_;  // all that follows
  std::condition_variable changed_;
  bool serves_ = false;
  std::size_t next_ = 0;                   // order to decode
  std::optional<pinned_pool::part> room_;  // for that
  std::size_t decoding_ = 0;
  std::size_t encoding_ = 0;
  std::deque<pixels_of> ready_;
  std::deque<pixels_of> to_encode_;
  std::vector<std::pair<std::size_t, std::vector<std::uint8_t>>> kept_;
  std::vector<std::string> problems_;
  image_notes notes_;
  std::uint64_t written_ = 0;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace lull
