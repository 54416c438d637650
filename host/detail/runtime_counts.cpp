// SPDX-License-Identifier: Apache-2.0
#include <lull/host/runtime.hpp>

namespace lull {

runtime_counts& runtime_counts::operator+=(runtime_counts const& other) noexcept {
  opened += other.opened;
  launches += other.launches;
  armed += other.armed;
  released += other.released;
  no_job += other.no_job;
  too_short += other.too_short;
  fruitless += other.fruitless;
  nested += other.nested;
  unmatched += other.unmatched;
  abandoned += other.abandoned;
  foreign += other.foreign;
  captured += other.captured;
  replayed += other.replayed;
  ungraphed += other.ungraphed;
  held_up += other.held_up;
  raised += other.raised;
  behind += other.behind;
  dropped += other.dropped;
  return *this;
}

}  // namespace lull
