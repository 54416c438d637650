// SPDX-License-Identifier: Apache-2.0
#include <lull/host/measure/same_result.hpp>

#include <string>

#include <lull/host/error.hpp>

namespace lull {

bool same_result::holds_for(task_owner const& owner) {
  bool const is_first = seen_++ == 0;
  bool same = true;
  std::size_t index = 0;
  for (task_array const& each : owner.arrays()) {
    read_.resize(each.array.bytes());
    executor_.read(read_.data(), each.memory, read_.size());
    if (is_first) first_.push_back(read_);
    same = same && first_.at(index++) == read_;
  }
  if (!same) ++unlike_;
  return same;
}

same_result::verdict same_result::verify(task_owner& owner) const {
  if (seen_ == 0) throw usage_error{"there is no result to verify: no job has finished"};
  std::size_t index = 0;
  for (task_array const& each : owner.arrays())
    executor_.write(each.memory, first_.at(index++).data(), each.array.bytes());
  verification const first = owner.verify();
  if (unlike_ == 0) return {first.ok, first};
  std::string const others =
      std::to_string(unlike_) + " of " + std::to_string(seen_) + " jobs gave another result than the first";
  return {first.ok, {false, first.message + "; but " + others}};
}

}  // namespace lull
