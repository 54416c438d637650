// SPDX-License-Identifier: Apache-2.0
#include <lull/host/contract/compared_arrays.hpp>

#include <algorithm>

namespace lull {

std::size_t compared_arrays::bytes() const noexcept {
  std::size_t sum = 0;
  for (task_array const& each : arrays_) sum += each.array.bytes();
  return sum;
}

compared_arrays::contents compared_arrays::read() const {
  contents found;
  for (task_array const& each : arrays_) {
    found.emplace_back(each.array.bytes());
    executor_.read(found.back().data(), each.memory, found.back().size());
  }
  return found;
}

bool compared_arrays::fit(contents const& saved) const {
  return std::equal(arrays_.begin(), arrays_.end(), saved.begin(), saved.end(),
                    [](task_array const& one, auto const& bytes) { return one.array.bytes() == bytes.size(); });
}

void compared_arrays::write(contents const& saved) const {
  for (std::size_t i = 0; i < arrays_.size(); ++i) executor_.write(arrays_[i].memory, saved[i].data(), saved[i].size());
}

std::string compared_arrays::difference(contents const& expected) const {
  std::vector<unsigned char> found;
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    found.resize(arrays_[i].array.bytes());
    executor_.read(found.data(), arrays_[i].memory, found.size());
    if (found == expected[i]) continue;
    auto const at = std::mismatch(found.begin(), found.end(), expected[i].begin()).first - found.begin();
    return "array '" + arrays_[i].array.name + "' differs from the first run's at byte " + std::to_string(at);
  }
  return {};
}

std::string compared_arrays::moved(task_owner const& owner) const {
  std::vector<task_array> const now = owner.arrays();
  bool const same =
      std::equal(now.begin(), now.end(), arrays_.begin(), arrays_.end(),
                 [](task_array const& one, task_array const& other) { return one.memory == other.memory; });
  return same ? ""
              : "reset() moved the arrays: it must leave them where they are, because the job's functor points there";
}

void compared_arrays::poison(contents const& before, contents const& after, unsigned pattern) const {
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    if (before[i] == after[i]) continue;
    std::vector<unsigned char> const poisoned(arrays_[i].array.bytes(), static_cast<unsigned char>(pattern));
    executor_.write(arrays_[i].memory, poisoned.data(), poisoned.size());
  }
}

}  // namespace lull
