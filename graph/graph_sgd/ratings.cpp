// SPDX-License-Identifier: Apache-2.0
#include <lull/graph/graph_sgd/ratings.hpp>
#include <lull/host/task/counter_random.hpp>

namespace lull {

host_array<rating> hold_out(ratings& from, double share, std::uint64_t seed) {
  counter_random const random{seed, 0x4845'4c44};
  host_array<rating> held;
  std::size_t kept = 0;
  for (std::size_t at = 0; at < from.all.size(); ++at) {
    if (static_cast<double>(random.at(at) >> 11) * 0x1p-53 < share) {
      held.push_back(from.all[at]);
    } else {
      from.all[kept++] = from.all[at];
    }
  }
  from.all.resize(kept);
  return held;
}

double mean_of(std::span<rating const> given) {
  double sum = 0;
  for (rating const& each : given) sum += static_cast<double>(each.value);
  return given.empty() ? 0 : sum / static_cast<double>(given.size());
}

}  // namespace lull
