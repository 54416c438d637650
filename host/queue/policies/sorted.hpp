// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <tuple>

namespace lull::queue {

/// Sorts jobs by what `key` returns of each, a tuple, and those of the same by age: ids are in the order of submission.
template <class Jobs, class Key>
void sort_by(Jobs& jobs, Key key) {
  std::sort(jobs.begin(), jobs.end(), [&](auto const& one, auto const& other) {
    return std::tuple_cat(key(one), std::tie(one.id)) < std::tuple_cat(key(other), std::tie(other.id));
  });
}

}  // namespace lull::queue
