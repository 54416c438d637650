// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <lull/host/threads/block.hpp>

namespace lull {

/// The threads that replace a GPU's blocks: `blocks` × `width` of them, started once.
class block_pool {
 public:
  block_pool(int blocks, int width);
  ~block_pool();
  block_pool(block_pool const&) = delete;
  block_pool& operator=(block_pool const&) = delete;

  int blocks() const noexcept { return blocks_; }
  int width() const noexcept { return width_; }

  /// Runs `body` on every block with `shared_bytes` of storage each, and returns when all are done. One call at a time.
  void run(std::size_t shared_bytes, std::function<void(thread_block const&, int block)> const& body) {
    run(blocks_, shared_bytes, body);
  }
  /// … on the first `blocks` of them.
  void run(int blocks, std::size_t shared_bytes, std::function<void(thread_block const&, int block)> const& body);

 private:
  void serve(int block, int rank);

  int const blocks_;
  int const width_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t round_ = 0;
  int asked_ = 0;  // blocks of the current run
  int running_ = 0;
  bool ending_ = false;
  std::function<void(thread_block const&, int)> const* body_ = nullptr;
  std::vector<std::unique_ptr<block_storage>> storage_;
  std::size_t shared_bytes_ = 0;
  std::vector<std::thread> threads_;  // last: they use all of the above
};

}  // namespace lull
