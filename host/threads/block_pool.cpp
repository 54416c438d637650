// SPDX-License-Identifier: Apache-2.0
#include <lull/host/threads/block_pool.hpp>

namespace lull {

block_pool::block_pool(int blocks, int width)
    : blocks_(blocks), width_(width), storage_(static_cast<std::size_t>(blocks)) {
  for (auto& storage : storage_) storage = std::make_unique<block_storage>(width_, 0);
  for (int block = 0; block < blocks_; ++block) {
    for (int rank = 0; rank < width_; ++rank) threads_.emplace_back([this, block, rank] { serve(block, rank); });
  }
}

block_pool::~block_pool() {
  {
    std::lock_guard const lock{mutex_};
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void block_pool::run(int blocks, std::size_t shared_bytes, std::function<void(thread_block const&, int)> const& body) {
  std::unique_lock lock{mutex_};
  if (shared_bytes > shared_bytes_) {
    shared_bytes_ = shared_bytes;
    for (auto& storage : storage_) storage = std::make_unique<block_storage>(width_, shared_bytes_);
  }
  body_ = &body;
  asked_ = blocks;
  running_ = blocks_ * width_;
  ++round_;
  changed_.notify_all();
  changed_.wait(lock, [this] { return running_ == 0; });
}

void block_pool::serve(int block, int rank) {
  std::unique_lock lock{mutex_};
  for (std::uint64_t seen = 0;;) {
    changed_.wait(lock, [&] { return ending_ || round_ != seen; });
    if (ending_) return;
    seen = round_;
    if (block < asked_) {
      auto const& body = *body_;
      thread_block const me{*storage_[static_cast<std::size_t>(block)], rank, width_,
                            static_cast<std::uint64_t>(asked_)};
      lock.unlock();
      body(me, block);
      lock.lock();
    }
    if (--running_ == 0) changed_.notify_all();
  }
}

}  // namespace lull
