// SPDX-License-Identifier: Apache-2.0
#include <lull/host/solo/bubble_lengths.hpp>

#include <algorithm>
#include <cmath>

#include <lull/host/error.hpp>
#include <lull/host/io/units.hpp>

namespace lull {

using std::chrono::nanoseconds;

bubble_lengths::bubble_lengths(nanoseconds shortest, nanoseconds longest, std::uint64_t seed)
    : shortest_(shortest), longest_(longest), random_(seed) {
  if (shortest.count() <= 0 || longest < shortest)
    throw usage_error{"bubbles of " + format_duration(shortest) + " to " + format_duration(longest) +
                      ": the shortest must be longer than 0 and no longer than the longest"};
}

nanoseconds bubble_lengths::next() {
  double const share = static_cast<double>(random_() >> 11) * 0x1p-53;  // [0, 1)
  double const ratio = static_cast<double>(longest_.count()) / static_cast<double>(shortest_.count());
  nanoseconds const drawn{std::llround(static_cast<double>(shortest_.count()) * std::pow(ratio, share))};
  return std::clamp(drawn, shortest_, longest_);
}

}  // namespace lull
