// SPDX-License-Identifier: Apache-2.0
#include <lull/host/task/kept_result.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include <lull/host/error.hpp>

namespace lull {

namespace {

std::atomic<std::uint64_t> kept_bytes{0};

}  // namespace

kept_result::kept_result(another_owner another, task_owner const& owner, executor& executor)
    : another_(std::move(another)) {
  std::vector<task_array> const arrays = owner.arrays();
  std::uint64_t bytes = 0;
  for (task_array const& each : arrays) bytes += each.array.bytes();
  std::uint64_t before = kept_bytes.load();
  do {
    if (bytes > max_bytes - before) {
      throw limit_error{std::to_string(bytes) + " bytes of its result are more than may be kept beside " +
                        std::to_string(before) + " of others"};
    }
  } while (!kept_bytes.compare_exchange_weak(before, before + bytes));
  try {
    for (task_array const& each : arrays) {
      piece& made = pieces_.emplace_back(piece{each.array, std::vector<std::byte>(each.array.bytes())});
      if (!made.bytes.empty()) executor.read(made.bytes.data(), each.memory, made.bytes.size());
    }
  } catch (...) {
    kept_bytes -= bytes;
    throw;
  }
  bytes_ = bytes;
}

kept_result::~kept_result() { kept_bytes -= bytes_; }

verification kept_result::verify(executor& executor) const {
  std::unique_ptr<task_owner> const owner = another_();
  owner->prepare(executor);
  std::vector<task_array> const arrays = owner->arrays();
  bool const is_same = std::equal(arrays.begin(), arrays.end(), pieces_.begin(), pieces_.end(),
                                  [](task_array const& now, piece const& then) {
                                    return now.array.name == then.array.name && now.array.bytes() == then.bytes.size();
                                  });
  if (!is_same) return {false, "its inputs are no longer those that it was computed from"};
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (!pieces_[i].bytes.empty()) executor.write(arrays[i].memory, pieces_[i].bytes.data(), pieces_[i].bytes.size());
  }
  return owner->verify();
}

}  // namespace lull
