// SPDX-License-Identifier: Apache-2.0
#include <lull/tasks/images/pinned_pool.hpp>

#include <algorithm>
#include <iterator>

namespace lull {

pinned_pool::pinned_pool(executor& executor, std::size_t bytes)
    : executor_(executor),
      bytes_(taken_by(bytes)),
      memory_(static_cast<unsigned char*>(executor.pin(bytes_))),
      free_{{0, bytes_}} {}

pinned_pool::~pinned_pool() { executor_.unpin(memory_); }

/// Takes the first part that fits.
std::optional<pinned_pool::part> pinned_pool::take(std::size_t bytes) {
  std::size_t const wanted = taken_by(bytes);
  std::lock_guard const lock{mutex_};
  auto const found = std::find_if(free_.begin(), free_.end(), [&](auto const& each) { return each.second >= wanted; });
  if (found == free_.end()) return std::nullopt;
  auto const [first, length] = *found;
  auto const behind = free_.erase(found);
  if (length > wanted) free_.emplace_hint(behind, first + wanted, length - wanted);
  return part{this, {memory_ + first, bytes}};
}

void pinned_pool::give_back(std::span<unsigned char> part) noexcept {
  std::size_t first = static_cast<std::size_t>(part.data() - memory_);
  std::size_t length = taken_by(part.size());
  std::lock_guard const lock{mutex_};
  auto behind = free_.lower_bound(first);
  if (behind != free_.end() && behind->first == first + length) {
    length += behind->second;
    behind = free_.erase(behind);
  }
  if (behind != free_.begin()) {
    auto const before = std::prev(behind);
    if (before->first + before->second == first) {
      before->second += length;
      return;
    }
  }
  free_.emplace_hint(behind, first, length);
}

}  // namespace lull
